/* SPDX-License-Identifier: MIT
 *
 * Datasets and loaders. Batches are process-local tensors (on HT_COMM_SELF). Source:
 * heat.utils.data. */
#ifndef HT_DATA_H
#define HT_DATA_H

#include "ht/tensor.h"
#include "ht/value.h"

HT_BEGIN_DECLS

/* A batch: rows of the first array as `data`, of the second as `target` (NULL if there is none);
 * all arrays in `arrays`. The tensors are scoped to nobody: valid until the next
 * ht_dataloader_next, longer if retained. rows: number of rows; row_ids: their places in the file
 * (borrowed). */
typedef struct ht_batch {
    ht_tensor *data;
    ht_tensor *target;
    ht_tensor *const *arrays;
    int count;
    int64_t rows;
    const int64_t *row_ids;
} ht_batch;

/* The batch as a map: "data", "target" (unless there is none), and the list "more" of further
 * arrays; tensors of no rows included. It retains them. Scoped. */
HT_API ht_value *ht_batch_value(const ht_batch *batch);

/* Turns the raw rows of array `array` (its file dtype, shape (rows, ...)) into what the batch
 * holds. Runs on the reading thread, gradients off. Returns a scoped tensor, or NULL after
 * ht_transform_fail. */
typedef ht_tensor *ht_transform_fn(ht_tensor *rows, int array, void *user);

/* Fills in why a transform failed; the loader adds file, data set and row. Returns NULL. */
HT_API ht_tensor *ht_transform_fail(const char *format, ...) HT_PRINTF(1, 2);

/* Arrays of equal length in an HDF5 file; rows are indexed by dimension 0. Opens the file, checks,
 * and closes it again. Owned. Collective over `comm`, agrees. Errors: HT_ERR_IO, HT_ERR_FORMAT. */
HT_API ht_dataset *ht_dataset_hdf5(const char *path, int count, const char *const datasets[],
                                   ht_comm *comm);

/* The first `rows` rows of a dataset only, for loaders that are made later: one that is there keeps
 * the rows that it was made for. */
HT_API ht_status ht_dataset_limit(ht_dataset *dataset, int64_t rows);
HT_API int64_t ht_dataset_rows(const ht_dataset *dataset);

/* Shape of array `array` in the file, rows first (*ndim lengths; ndim may be NULL); borrowed. NULL,
 * and 0 lengths, when there is no such array. */
HT_API const int64_t *ht_dataset_shape(const ht_dataset *dataset, int array, int *ndim);

typedef enum ht_remainder_rule {
    HT_REMAINDER_UNEVEN, /* every row once; ranks and last batches may differ in length */
    HT_REMAINDER_DROP, /* all ranks the same number of full batches, at most P B - 1 rows unused */
    HT_REMAINDER_PAD   /* all ranks the same number of rows, short ones repeat their first */
} ht_remainder_rule;

typedef struct ht_dataloader_options {
    size_t size;                 /* of this struct; set by the default function */
    int64_t batch_size;          /* per rank; 64 */
    bool shuffle;                /* true */
    uint64_t seed;               /* 0 */
    ht_remainder_rule remainder; /* HT_REMAINDER_UNEVEN */
    int64_t window_bytes;        /* raw rows held for shuffling; 256 MiB */
    int queue;                   /* batches read ahead; 2 */
    int io_threads;              /* 1; 0 reads in the caller; HT_IO_THREADS overrides */
    ht_transform_fn *transform;  /* NULL: rows as they are in the file */
    void *user;
    ht_device *device; /* where batches go; NULL: cpu */
} ht_dataloader_options;

HT_API ht_dataloader_options ht_dataloader_options_default(void);

/* A loader of this rank's shard, rows [r N / P, (r + 1) N / P); options NULL: defaults. A thread
 * reads ahead, in whole chunks, with handles of its own. A shard that fits into the window is read
 * once and permuted as a whole; of a longer one, two windows of half the size are held: the order
 * of its chunks is random, and so are the rows inside a window. The order depends on (seed, epoch,
 * rank) alone. The file is opened here and may lose its name afterwards. Retains the dataset.
 * Owned. Collective over the dataset's communicator, agrees. */
HT_API ht_dataloader *ht_dataloader_new(ht_dataset *dataset, const ht_dataloader_options *options);

/* The next batch of the epoch; false at its end (the epoch is then advanced), and the next call
 * begins the next one. Every row of the shard comes exactly once per epoch. All ranks make as many
 * batches as the longest shard needs: a rank whose rows have run out gets batches of 0 rows. Errors
 * carry file, data set and rows, and come with the batch that needed those rows. Under
 * HT_ERRORS_ABORT this call does not communicate: the rank that failed ends the job. Under
 * HT_ERRORS_RETURN it is collective and agrees (one small message exchange per batch): all ranks
 * get false at the same batch, ht_dataloader_status tells, and it stays so until
 * ht_dataloader_set_epoch. */
HT_API bool ht_dataloader_next(ht_dataloader *loader, ht_batch *batch);
HT_API ht_status ht_dataloader_status(const ht_dataloader *loader);

HT_API int64_t
ht_dataloader_batches(const ht_dataloader *loader); /* per epoch, same on all ranks */
HT_API int64_t
ht_dataloader_batches_left(const ht_dataloader *loader); /* in this epoch, same on all ranks */
HT_API int64_t ht_dataloader_shard_rows(const ht_dataloader *loader);

/* Goes to the start of an epoch, forgetting what was read ahead (but not a shard in memory). */
HT_API ht_status ht_dataloader_set_epoch(ht_dataloader *loader, int64_t epoch);

/* The epoch of the batches that come; from 0 on. */
HT_API int64_t ht_dataloader_epoch(const ht_dataloader *loader);

/* Where the loader is, as a map, the same on all ranks: seed, epoch, and which rows of the epoch
 * each rank still has to come. What ht_dataloader_next has handed out counts as had. Scoped. Not
 * collective.
 *
 * Loading goes on from there: on as many ranks with the same rows in the same order (batches of the
 * same size are the same batches); on another number with what was left to all ranks, dealt out
 * anew: every row of the epoch exactly once in all. Units without any row that is still to come are
 * not read. The seed becomes the loader's. HT_ERR_FORMAT, with nothing changed, when the state is
 * of another data set, or of a loader with another `shuffle`. All ranks load the same. Collective
 * over the dataset's communicator, agrees. */
HT_API ht_value *ht_dataloader_state_dict(const ht_dataloader *loader);
HT_API ht_status ht_dataloader_load_state_dict(ht_dataloader *loader, const ht_value *state);

/* Normalise: y = (x / scale - mean) / std as float32 or float64 for arrays of numbers; integer
 * labels (1-d arrays) become int64. For ht_dataloader_options.transform; user: ht_normalize *. */
typedef struct ht_normalize {
    double scale, mean, std;
    ht_dtype dtype;
    bool add_channel; /* (N, H, W) -> (N, 1, H, W) */
} ht_normalize;
HT_API ht_tensor *ht_transform_normalize(ht_tensor *rows, int array, void *normalize);

/* Turns a folder of MNIST-format IDX files (train-images-idx3-ubyte[.gz], ...) into one HDF5 file:
 * train/images (N, 28, 28) uint8, train/labels (N) uint8, test/... chunked and deflated. Written
 * under a temporary name and renamed. Not collective. */
HT_API ht_status ht_idx_to_hdf5(const char *folder, const char *path);

/* The same, telling after each chunk how many of all rows are written. */
typedef void ht_idx_progress_fn(int64_t done, int64_t total, void *user);
HT_API ht_status ht_idx_to_hdf5_ext(const char *folder, const char *path,
                                    ht_idx_progress_fn *progress, void *user);

HT_END_DECLS
#endif
