/* SPDX-License-Identifier: MIT
 *
 * A folder of MNIST's four IDX files as one HDF5 file. Serial: default driver, needs no MPI. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/tensor/tensor.h"
#include "core/io/hdf5/hdf5.h"
#include "ht/data.h"
#include "utils/data/idx.h"

#define CHUNK_BYTES (128 << 10)
#define DEFLATE     4

static const struct part {
    const char *images, *labels; /* files */
    const char *group;
} parts[] = {
    {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "train"},
    {"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte", "test"},
};

enum { PARTS = sizeof parts / sizeof *parts };

struct job {
    ht_whole target;
    hid_t file;
    ht_idx_progress_fn *progress; /* may be NULL */
    void *user;
    int64_t done, total; /* rows of images and labels */
};

static ht_status hdf5_failed(const struct job *job)
{
    return ht__error_set(HT_ERR_IO, "ht_idx_to_hdf5: cannot write %s: %s", job->target.path,
                         ht__hdf5_error());
}

/* Complete rows, a power of two of them, at most CHUNK_BYTES. */
static int64_t chunk_rows(const ht_idx *idx)
{
    int64_t rows = 1;

    while (2 * rows * idx->row_bytes <= CHUNK_BYTES)
        rows *= 2;
    return rows < idx->shape[0] ? rows : idx->shape[0];
}

static hid_t create_dataset(hid_t file, const char *name, const ht_idx *idx)
{
    hsize_t shape[3], chunk[3];
    hid_t links = H5Pcreate(H5P_LINK_CREATE), layout = H5Pcreate(H5P_DATASET_CREATE), space, set;

    for (int i = 0; i < idx->ndim; i++)
        shape[i] = chunk[i] = (hsize_t)idx->shape[i];
    chunk[0] = (hsize_t)chunk_rows(idx);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_chunk(layout, idx->ndim, chunk);
    H5Pset_deflate(layout, DEFLATE);
    space = H5Screate_simple(idx->ndim, shape, NULL);
    set = H5Dcreate2(file, name, H5T_STD_U8LE, space, links, layout, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(layout);
    H5Pclose(links);
    return set;
}

static ht_status write_rows(const struct job *job, hid_t set, const ht_idx *idx, int64_t start,
                            int64_t rows, const void *bytes)
{
    hsize_t from[3] = {(hsize_t)start}, count[3] = {(hsize_t)rows};

    for (int i = 1; i < idx->ndim; i++)
        count[i] = (hsize_t)idx->shape[i];

    hid_t there = H5Dget_space(set), here = H5Screate_simple(idx->ndim, count, NULL);

    H5Sselect_hyperslab(there, H5S_SELECT_SET, from, NULL, count, NULL);
    ht_status status = HT_SUCCESS;

    if (H5Dwrite(set, H5T_NATIVE_UINT8, here, there, H5P_DEFAULT, bytes) < 0)
        status = hdf5_failed(job); /* closing would forget the reason */
    H5Sclose(here);
    H5Sclose(there);
    return status;
}

/* Chunk by chunk, so that the file is never completely in memory. */
static ht_status copy_rows(struct job *job, hid_t set, ht_idx *idx)
{
    int64_t chunk = chunk_rows(idx), all = idx->shape[0];
    unsigned char *bytes = ht__alloc((size_t)(chunk * idx->row_bytes));
    ht_status status = HT_SUCCESS;

    for (int64_t start = 0; status == HT_SUCCESS && start < all; start += chunk) {
        int64_t rows = all - start < chunk ? all - start : chunk;

        status = ht__idx_read(idx, rows, bytes);
        if (status == HT_SUCCESS)
            status = write_rows(job, set, idx, start, rows, bytes);
        job->done += rows;
        if (status == HT_SUCCESS && job->progress != NULL)
            job->progress(job->done, job->total, job->user);
    }
    ht__free(bytes);
    return status == HT_SUCCESS ? ht__idx_check_end(idx) : status;
}

static ht_status convert_array(struct job *job, const char *name, ht_idx *idx)
{
    hid_t set = create_dataset(job->file, name, idx);

    if (set < 0)
        return hdf5_failed(job);

    ht_status status = copy_rows(job, set, idx);

    if (status == HT_SUCCESS && H5Dflush(set) < 0)
        status = hdf5_failed(job);
    if (status != HT_SUCCESS)
        ht__hdf5_abandon(job->file);
    H5Dclose(set);
    return status;
}

struct pair {
    ht_idx images, labels;
};

static ht_status open_pair(struct pair *pair, const char *folder, const struct part *part)
{
    ht_status status = ht__idx_open(&pair->images, folder, part->images, 3);

    if (status == HT_SUCCESS)
        status = ht__idx_open(&pair->labels, folder, part->labels, 1);
    if (status == HT_SUCCESS && pair->images.shape[0] != pair->labels.shape[0])
        return ht__error_set(
            HT_ERR_FORMAT,
            "ht_idx_to_hdf5: %s has %" PRId64 " images, %s has %" PRId64 " labels: lengths differ",
            pair->images.path, pair->images.shape[0], pair->labels.path, pair->labels.shape[0]);
    return status;
}

static ht_status check_folder(const char *folder)
{
    struct stat info;

    if (stat(folder, &info) != 0)
        return ht__error_set(HT_ERR_IO, "ht_idx_to_hdf5: cannot open %s: %s", folder,
                             strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return ht__error_set(HT_ERR_IO, "ht_idx_to_hdf5: %s is not a folder", folder);
    for (int i = 0; i < PARTS; i++) {
        if (ht__idx_exists(folder, parts[i].images) || ht__idx_exists(folder, parts[i].labels))
            return HT_SUCCESS;
    }
    return ht__error_set(HT_ERR_IO,
                         "ht_idx_to_hdf5: %s holds no IDX files (%s or %s.gz, and so on)", folder,
                         parts[0].images, parts[0].images);
}

static ht_status convert_all(struct job *job, struct pair pairs[])
{
    ht_status status = HT_SUCCESS;
    char name[32];

    for (int i = 0; status == HT_SUCCESS && i < PARTS; i++) {
        snprintf(name, sizeof name, "%s/images", parts[i].group);
        status = convert_array(job, name, &pairs[i].images);
        if (status != HT_SUCCESS)
            return status;
        snprintf(name, sizeof name, "%s/labels", parts[i].group);
        status = convert_array(job, name, &pairs[i].labels);
    }
    return status;
}

static ht_status write_file(struct job *job, struct pair pairs[])
{
    int error = ht__hdf5_write_empty(job->target.part);
    ht_status status;

    if (error != 0)
        return ht__error_set(HT_ERR_IO, "ht_idx_to_hdf5: cannot write %s: %s", job->target.path,
                             strerror(error));
    job->file = H5Fopen(job->target.part, H5F_ACC_RDWR, H5P_DEFAULT);
    if (job->file < 0)
        return hdf5_failed(job);
    status = convert_all(job, pairs);
    if (status == HT_SUCCESS && H5Fflush(job->file, H5F_SCOPE_GLOBAL) < 0)
        status = hdf5_failed(job);
    if (status != HT_SUCCESS)
        ht__hdf5_abandon(job->file);
    H5Fclose(job->file);
    return status;
}

static ht_status open_pairs(struct job *job, struct pair pairs[], const char *folder)
{
    ht_status status = check_folder(folder);

    for (int i = 0; status == HT_SUCCESS && i < PARTS; i++) {
        status = open_pair(&pairs[i], folder, &parts[i]);
        job->total += pairs[i].images.shape[0] + pairs[i].labels.shape[0];
    }
    return status;
}

static ht_status convert(struct job *job, const char *folder, const char *path)
{
    struct pair pairs[PARTS] = {0};
    ht_status status = open_pairs(job, pairs, folder);
    char suffix[32];

    snprintf(suffix, sizeof suffix, ".part-%ld", (long)getpid());
    if (status == HT_SUCCESS) {
        status = ht__whole_begin(&job->target, "ht_idx_to_hdf5", path, suffix);
        if (status == HT_SUCCESS)
            status = ht__whole_end(&job->target, write_file(job, pairs));
    }
    for (int i = 0; i < PARTS; i++) {
        ht__idx_close(&pairs[i].images);
        ht__idx_close(&pairs[i].labels);
    }
    return status;
}

/* progress is the program's, so the name of `what` comes into a message when all is done. */
static ht_status idx_to_hdf5(const char *what, const char *folder, const char *path,
                             ht_idx_progress_fn *progress, void *user)
{
    struct job job = {.progress = progress, .user = user};
    const char *message;
    ht_status status;

    if (folder == NULL || path == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: folder or path is NULL", what);
    ht__hdf5_begin();
    status = convert(&job, folder, path);
    ht__hdf5_end();
    if (status == HT_SUCCESS)
        return status;
    ht_error_get(&message);
    HT_NAMED(what);
    HT_FAIL(NULL, status, "%s", message);
    return status;
}

ht_status ht_idx_to_hdf5_ext(const char *folder, const char *path, ht_idx_progress_fn *progress,
                             void *user)
{
    return idx_to_hdf5("ht_idx_to_hdf5_ext", folder, path, progress, user);
}

ht_status ht_idx_to_hdf5(const char *folder, const char *path)
{
    return idx_to_hdf5("ht_idx_to_hdf5", folder, path, NULL, NULL);
}
