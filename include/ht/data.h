/* SPDX-License-Identifier: MIT
 *
 * Datasets and loaders. Batches are process-local tensors (on HT_COMM_SELF). Source: heat.utils.data. */
#ifndef HT_DATA_H
#define HT_DATA_H

#include "ht/tensor.h"
#include "ht/value.h"

HT_BEGIN_DECLS

/* A batch: rows of the first array as `data`, of the second as `target` (NULL if there is none); all
 * arrays in `arrays`. The tensors are scoped to nobody: valid until the next ht_dataloader_next, longer
 * if retained. rows: number of rows; row_ids: their places in the file (borrowed). */
typedef struct ht_batch {
    ht_tensor *data;
    ht_tensor *target;
    ht_tensor *const *arrays;
    int count;
    int64_t rows;
    const int64_t *row_ids;
} ht_batch;

/* Turns the raw rows of array `array` (its file dtype, shape (rows, ...)) into what the batch holds.
 * Runs on the reading thread, gradients off. Returns a scoped tensor, or NULL after ht_transform_fail. */
typedef ht_tensor *ht_transform_fn(ht_tensor *rows, int array, void *user);

/* Fills in why a transform failed; the loader adds file, data set and row. Returns NULL. */
HT_API ht_tensor *ht_transform_fail(const char *format, ...) HT_PRINTF(1, 2);

/* Arrays of equal length in an HDF5 file; rows are indexed by dimension 0. Opens the file, checks, and
 * closes it again. Owned. Collective over `comm`, agrees. Errors: HT_ERR_IO, HT_ERR_FORMAT. */
HT_API ht_dataset *ht_dataset_hdf5(const char *path, int count, const char *const datasets[],
                                   ht_comm *comm);

/* The first `rows` rows of a dataset only. */
HT_API ht_status ht_dataset_limit(ht_dataset *dataset, int64_t rows);
HT_API int64_t ht_dataset_rows(const ht_dataset *dataset);

typedef enum ht_remainder {
    HT_REMAINDER_UNEVEN, /* every row once; ranks and last batches may differ in length */
    HT_REMAINDER_DROP,   /* all ranks the same number of full batches, at most P B - 1 rows unused */
    HT_REMAINDER_PAD     /* all ranks the same number of rows, short ones repeat their first */
} ht_remainder;

typedef struct ht_dataloader_options {
    size_t size;              /* of this struct; set by the default function */
    int64_t batch_size;       /* per rank; 64 */
    bool shuffle;             /* true */
    uint64_t seed;            /* 0 */
    ht_remainder remainder;   /* HT_REMAINDER_UNEVEN */
    int64_t window_bytes;     /* raw rows held for shuffling; 256 MiB */
    int queue;                /* batches read ahead; 2 */
    int io_threads;           /* 1; 0 reads in the caller; HT_IO_THREADS overrides */
    ht_transform_fn *transform; /* NULL: rows as they are in the file */
    void *user;
    ht_device *device; /* where batches go; NULL: cpu */
} ht_dataloader_options;

HT_API ht_dataloader_options ht_dataloader_options_default(void);

/* A loader of this rank's shard, rows [r N / P, (r + 1) N / P). Retains the dataset. Owned. Collective
 * over the dataset's communicator, agrees. */
HT_API ht_dataloader *ht_dataloader_new(ht_dataset *dataset, const ht_dataloader_options *options);

/* The next batch of the epoch; false at its end, and the next call begins the next epoch. Every row
 * of the shard comes exactly once per epoch. All ranks make as many batches as the longest shard needs:
 * a rank whose rows have run out gets batches of 0 rows. An error (file, data set, row) reaches all ranks
 * at the batch it concerns: false, and ht_dataloader_status tells. Collective only in that sense: errors
 * are agreed upon at the end of the epoch or when a rank fails. */
HT_API bool ht_dataloader_next(ht_dataloader *loader, ht_batch *batch);
HT_API ht_status ht_dataloader_status(const ht_dataloader *loader);

HT_API int64_t ht_dataloader_batches(const ht_dataloader *loader); /* per epoch, same on all ranks */
HT_API int64_t ht_dataloader_shard_rows(const ht_dataloader *loader);
HT_API ht_status ht_dataloader_set_epoch(ht_dataloader *loader, int64_t epoch);
HT_API int64_t ht_dataloader_epoch(const ht_dataloader *loader);

/* Normalise: y = (x / scale - mean) / std as float32 or float64 for arrays of numbers; integer labels
 * (1-d arrays) become int64. For ht_dataloader_options.transform; user: ht_normalize *. */
typedef struct ht_normalize {
    double scale, mean, std;
    ht_dtype dtype;
    bool add_channel; /* (N, H, W) -> (N, 1, H, W) */
} ht_normalize;
HT_API ht_tensor *ht_transform_normalize(ht_tensor *rows, int array, void *normalize);

/* Turns a folder of MNIST-format IDX files (train-images-idx3-ubyte[.gz], ...) into one HDF5 file:
 * train/images (N, 28, 28) uint8, train/labels (N) uint8, test/... chunked and deflated. Written under a
 * temporary name and renamed. Not collective. */
HT_API ht_status ht_idx_to_hdf5(const char *folder, const char *path);

HT_END_DECLS
#endif
