/* SPDX-License-Identifier: MIT
 *
 * Datasets and loaders. Batches are process-local tensors (on HT_COMM_SELF).
 *
 * P is the number of ranks of the dataset's communicator, r the rank, N the number of rows. The
 * shard of a rank is its rows [r N / P, (r + 1) N / P). A NULL dataset or loader is
 * HT_ERR_ARGUMENT. Questions that return a number give 0 for it, without an error.
 * Source: heat.utils.data. */
#ifndef HT_DATA_H
#define HT_DATA_H

#include "ht/tensor.h"
#include "ht/value.h"

HT_BEGIN_DECLS

/* A batch of rows.
 *
 * Its tensors are valid until the next ht_dataloader_next; retain those that must live longer.
 * Their dtype is that of the array, as ht_load_hdf5_ext reads it with HT_DTYPE_OF_FILE, unless
 * there is a transform. */
typedef struct ht_batch {
    ht_tensor *data;          /* rows of the first array */
    ht_tensor *target;        /* rows of the second array; NULL if there is none */
    ht_tensor *const *arrays; /* rows of all arrays */
    int count;                /* of arrays */
    int64_t rows;             /* number of rows */
    const int64_t *row_ids;   /* their indices in the file; borrowed */
} ht_batch;

/* Returns `batch` as a map: "data", "target" (if there is one), and a list "more" of further
 * arrays.
 *
 * batch: can have 0 rows. The map retains its tensors.
 * Not collective.
 * Result: scoped.
 * Errors: HT_ERR_ARGUMENT if batch is NULL, or empty after the end of an epoch. */
HT_API ht_value *ht_batch_value(const ht_batch *batch);

/* A function that turns raw rows of an array into the tensor of a batch.
 *
 * It runs on the reading thread, without gradients. Random numbers that it draws on HT_COMM_SELF
 * depend on the seed of the loader, the epoch and the first row of the batch alone. An interrupted
 * epoch that is resumed therefore has the same numbers; those of the program are separate.
 *
 * rows: shape (rows, ...), in the dtype of the file.
 * array: index of the array.
 * user: ht_dataloader_options.user.
 * Result: a scoped tensor with as many rows. NULL after ht_transform_fail or an error of the
 *   library. The loader then fails with that code, also if the result is a tensor. An error inside
 *   a transform does not end the job by itself, whatever the error handlers are. A NULL without an
 *   error, or another number of rows, is HT_ERR_ARGUMENT of the loader. */
typedef ht_tensor *ht_transform_fn(ht_tensor *rows, int array, void *user);

/* Records the cause of a failed transform.
 *
 * format: as of printf. The loader adds file, data set and row to the message.
 * Not collective.
 * Result: NULL, for the transform to return.
 * Errors: the loader fails with HT_ERR_ARGUMENT. */
HT_API ht_tensor *ht_transform_fail(const char *format, ...) HT_PRINTF(1, 2);

/* Makes a dataset of arrays of equal length in an HDF5 file; axis 0 indexes the rows.
 *
 * Opens the file, checks it, and closes it again.
 *
 * path: of the file.
 * count: number of arrays, 1 to 16.
 * datasets: their names in the file; copied.
 * comm: the ranks that share the rows; retained.
 * Collective over `comm`, agrees.
 * Result: owned.
 * Errors: HT_ERR_IO if the file cannot be opened. HT_ERR_FORMAT if it is not HDF5 or lacks an
 * array, and for arrays without axes, of different lengths or of a type that is not a dtype (text).
 * HT_ERR_ARGUMENT for a value that is out of range or NULL. */
HT_API ht_dataset *ht_dataset_hdf5(const char *path, int count, const char *const datasets[],
                                   ht_comm *comm);

/* Limits `dataset` to its first `rows` rows, for loaders that are made later.
 *
 * Loaders that exist keep the rows that they were made for. All ranks set the same limit.
 *
 * rows: 0 to the number of rows in the file.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT for rows out of range. */
HT_API ht_status ht_dataset_limit(ht_dataset *dataset, int64_t rows);

/* Returns the number of rows of `dataset`, after ht_dataset_limit. Not collective. */
HT_API int64_t ht_dataset_rows(const ht_dataset *dataset);

/* Returns the shape of an array of `dataset` in the file, rows first. ht_dataset_limit does not
 * change it.
 *
 * array: index of the array.
 * ndim: *ndim is the number of lengths; ndim may be NULL.
 * Not collective.
 * Result: borrowed. NULL, and *ndim = 0, for an index out of range (without an error) or a NULL
 * dataset. */
HT_API const int64_t *ht_dataset_shape(const ht_dataset *dataset, int array, int *ndim);

/* Rules for rows that cannot be shared evenly; B is the batch size. */
typedef enum ht_remainder_rule {
    HT_REMAINDER_UNEVEN, /* every row once; shards and last batches can differ in length */
    HT_REMAINDER_DROP,   /* same number of full batches on all ranks; at most P B - 1 rows unused */
    HT_REMAINDER_PAD     /* same number of rows on all ranks; a short shard repeats its first row */
} ht_remainder_rule;

/* Options of ht_dataloader_new. Those from batch_size to window_bytes are the same on all ranks;
 * `seed` gives each rank an order of its own. */
typedef struct ht_dataloader_options {
    size_t size;                 /* of this struct; set by the default function */
    int64_t batch_size;          /* 64: rows of a batch on each rank; at least 1 */
    bool shuffle;                /* true */
    uint64_t seed;               /* 0 */
    ht_remainder_rule remainder; /* HT_REMAINDER_UNEVEN */
    int64_t window_bytes;        /* 256 MiB: raw rows in memory for shuffling; at least 1 */
    int queue;                   /* 2: batches read ahead; 1 to 4096 */
    int io_threads;              /* 1; 0 reads in the caller; no other number. HT_IO_THREADS
                                    overrides it */
    ht_transform_fn *transform;  /* NULL: rows unchanged */
    void *user;                  /* of transform */
    ht_device *device;           /* where batches go; NULL: cpu */
} ht_dataloader_options;

/* Returns the default options of ht_dataloader_new, given at each field. Not collective. */
HT_API ht_dataloader_options ht_dataloader_options_default(void);

/* Makes a loader of this rank's shard.
 *
 * A thread reads ahead, in complete chunks, with its own handles of the file. If the shard fits
 * into the window, it is read once and permuted as one. Otherwise two windows of half the size are
 * in use. The order of chunks is then random, and so is the order of rows inside a window. For a
 * given file, number of ranks and window, the order depends on (seed, epoch, rank) alone. The file
 * is opened here and may lose its name afterwards.
 *
 * dataset: the loader keeps a copy, rows included; the caller still releases its reference.
 * options: NULL takes the defaults.
 * Collective over the dataset's communicator, agrees.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for a value out of range, for options or data sets that differ between
 * ranks, and for HT_REMAINDER_PAD with fewer rows than ranks. HT_ERR_IO if the file cannot be
 * opened. */
HT_API ht_dataloader *ht_dataloader_new(ht_dataset *dataset, const ht_dataloader_options *options);

/* Gets the next batch of the epoch; returns false at its end.
 *
 * At the end the epoch is advanced, and the next call begins it. With HT_REMAINDER_UNEVEN, every
 * row of the shard comes exactly once in an epoch. All ranks then make as many batches as the
 * longest shard needs, and a rank without further rows gets batches of 0 rows.
 *
 * An error comes with the batch that needed the failed rows, and names file, data set and rows.
 * Under HT_ERRORS_ABORT this call does not communicate, and the failed rank ends the job. Under
 * HT_ERRORS_RETURN it is collective and agrees: all ranks get false at the same batch, at the cost
 * of one small message exchange per batch. ht_dataloader_status then returns the error. The loader
 * stays in that state until ht_dataloader_set_epoch or ht_dataloader_load_state_dict.
 *
 * loader: changed.
 * batch: filled in; empty if the result is false.
 * Collective under HT_ERRORS_RETURN; else not collective.
 * Result: false also if loader or batch is NULL. */
HT_API bool ht_dataloader_next(ht_dataloader *loader, ht_batch *batch);

/* Returns the error on which ht_dataloader_next of `loader` agrees; HT_SUCCESS without one. NULL
 * gives the thread's last error. Not collective. */
HT_API ht_status ht_dataloader_status(const ht_dataloader *loader);

/* Returns the number of batches of an epoch of `loader`, the same on all ranks. Not collective. */
HT_API int64_t ht_dataloader_batches(const ht_dataloader *loader);

/* Returns the number of remaining batches of this epoch of `loader`, the same on all ranks. Not
 * collective. */
HT_API int64_t ht_dataloader_batches_left(const ht_dataloader *loader);

/* Returns the number of rows in the shard of this rank of `loader`. Not collective. */
HT_API int64_t ht_dataloader_shard_rows(const ht_dataloader *loader);

/* Moves `loader` to the start of an epoch, and clears its error.
 *
 * Batches that were read ahead are dropped; a shard in memory stays there.
 *
 * epoch: at least 0; the same on all ranks.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT for an epoch below 0. */
HT_API ht_status ht_dataloader_set_epoch(ht_dataloader *loader, int64_t epoch);

/* Returns the epoch of the next batch of `loader`, counted from 0. Not collective. */
HT_API int64_t ht_dataloader_epoch(const ht_dataloader *loader);

/* Returns the position of `loader` as a map, the same on all ranks.
 *
 * It holds the seed, the epoch, and the rows of the epoch that each rank has still to read. Rows
 * that ht_dataloader_next has returned count as read. The map is for ht_dataloader_load_state_dict,
 * which agrees on its errors.
 *
 * Not collective.
 * Result: scoped. */
HT_API ht_value *ht_dataloader_state_dict(const ht_dataloader *loader);

/* Loads a state of ht_dataloader_state_dict: resumes at its position.
 *
 * On the same number of ranks, the same rows follow in the same order. Batches of the same size are
 * then the same batches. On another number of ranks, the remaining rows of all ranks are
 * redistributed in nearly equal shards. The loader takes the seed of the state, and keeps its own
 * batch size and remainder rule. With HT_REMAINDER_UNEVEN, every row of the epoch comes exactly
 * once in all. The other rules drop or repeat rows of the new shards. Chunks of the file without a
 * remaining row are mostly not read. An error of the loader (ht_dataloader_status) is cleared.
 *
 * loader: unchanged if the state does not fit.
 * state: the same on all ranks; not retained.
 * Collective over the dataset's communicator, agrees.
 * Errors: HT_ERR_FORMAT if the state does not fit (ht/value.h). This holds for a data set with
 * another number of rows (after ht_dataset_limit), bytes of a row or rows of a chunk, and for
 * another `shuffle`. Path and names are not compared. HT_ERR_ARGUMENT for states that differ
 * between ranks. HT_ERR_IO if the file must be opened again, and cannot be. */
HT_API ht_status ht_dataloader_load_state_dict(ht_dataloader *loader, const ht_value *state);

/* Parameters of ht_transform_normalize. */
typedef struct ht_normalize {
    double scale, mean, std; /* scale and std are not 0 */
    ht_dtype dtype;          /* HT_FLOAT32 or HT_FLOAT64 */
    bool add_channel;        /* (N, H, W) -> (N, 1, H, W) */
} ht_normalize;

/* Normalises rows: y = (x / scale - mean) / std. For ht_dataloader_options.transform.
 *
 * Integer labels (1-d arrays of integers or bool) become int64 instead.
 *
 * rows: numbers of a real dtype.
 * array: ignored.
 * normalize: an ht_normalize; its address is ht_dataloader_options.user.
 * Not collective.
 * Result: dtype of `normalize`, scoped; NULL after an error.
 * Errors: HT_ERR_ARGUMENT for another dtype, complex rows, or a scale or std of 0. */
HT_API ht_tensor *ht_transform_normalize(ht_tensor *rows, int array, void *normalize);

/* Converts a folder of MNIST-format IDX files to one HDF5 file.
 *
 * The file holds train/images (N, H, W) uint8, train/labels (N) uint8, and the same under test/,
 * chunked and deflated. It is written under a temporary name and then renamed.
 *
 * folder: with train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
 * t10k-labels-idx1-ubyte, each of which may end in .gz.
 * path: of the new file; an existing file is replaced.
 * Not collective: one rank calls it, and a barrier lets the others wait for the file.
 * Errors: HT_ERR_IO if a file is missing or cannot be read, or path cannot be written.
 * HT_ERR_FORMAT for damaged files, and if the numbers of images and labels differ. HT_ERR_ARGUMENT
 * if folder or path is NULL. After an error, an existing file is intact. */
HT_API ht_status ht_idx_to_hdf5(const char *folder, const char *path);

/* A function that is told the progress of a conversion.
 *
 * done: rows written so far.
 * total: rows of all arrays.
 * user: that of ht_idx_to_hdf5_ext. */
typedef void ht_idx_progress_fn(int64_t done, int64_t total, void *user);

/* ht_idx_to_hdf5 of `folder` to `path` that reports its progress after each chunk.
 *
 * progress: NULL reports nothing.
 * user: passed to `progress`.
 * Not collective.
 * Errors: those of ht_idx_to_hdf5. */
HT_API ht_status ht_idx_to_hdf5_ext(const char *folder, const char *path,
                                    ht_idx_progress_fn *progress, void *user);

HT_END_DECLS
#endif
