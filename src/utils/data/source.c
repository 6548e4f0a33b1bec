/* SPDX-License-Identifier: MIT
 *
 * A reader's own handles on a dataset's file: default driver, independent reads. HDF5's lock is
 * taken for one unit at a time so that several readers can take turns. */
#include "utils/data/data.h"

#include <sys/stat.h>

#define CHUNK_CACHE (1 << 20) /* HDF5's default */

void ht__source_init(ht_source *source, const ht_dataset *dataset)
{
    source->dataset = dataset;
    source->file = H5I_INVALID_HID;
    for (int i = 0; i < HT_MAX_ARRAYS; i++)
        source->sets[i] = H5I_INVALID_HID;
}

void ht__source_close(ht_source *source)
{
    if (source->file < 0)
        return;
    ht__hdf5_begin();
    for (int i = 0; i < source->dataset->count; i++) {
        if (source->sets[i] >= 0)
            H5Dclose(source->sets[i]);
    }
    H5Fclose(source->file);
    ht__hdf5_end();
    ht__source_init(source, source->dataset);
}

/* The chunk cache holds two chunks, so that an array whose chunks are longer than a unit (labels)
 * is not inflated again for every unit. */
static hid_t open_array(ht_source *source, int index)
{
    const ht_dataset_array *array = &source->dataset->arrays[index];
    int64_t chunk = (int64_t)ht_dtype_size(array->info.dtype);
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    ht_hdf5_info now;

    for (int i = 0; i < array->info.ndim; i++)
        chunk *= array->info.chunk[i];
    if (2 * chunk > CHUNK_CACHE)
        H5Pset_chunk_cache(access, 521, (size_t)(2 * chunk), H5D_CHUNK_CACHE_W0_DEFAULT);

    hid_t set = ht__hdf5_open_dataset("ht_dataloader_new", source->file, source->dataset->path,
                                      array->name, access, &now);

    H5Pclose(access);
    if (set >= 0)
        source->chunks[index] = now.chunks;
    if (set < 0 || (now.dtype == array->info.dtype && now.shape[0] >= source->dataset->rows))
        return set;
    ht__error_set(HT_ERR_FORMAT, "ht_dataloader_new: %s: %s was changed after it was opened",
                  source->dataset->path, array->name);
    H5Dclose(set);
    return H5I_INVALID_HID;
}

/* From the open file, even if another file has its name by now. */
static int64_t bytes_of(hid_t file)
{
    struct stat info;
    void *handle;

    if (H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 || fstat(*(int *)handle, &info) != 0)
        return 0;
    return info.st_size;
}

static ht_status open_all(ht_source *source)
{
    const ht_dataset *dataset = source->dataset;

    source->file = ht__hdf5_open("ht_dataloader_new", dataset->path);
    if (source->file < 0)
        return ht_error_get(NULL);
    source->bytes = bytes_of(source->file);
    for (int i = 0; i < dataset->count; i++) {
        source->sets[i] = open_array(source, i);
        if (source->sets[i] < 0)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

ht_status ht__source_open(ht_source *source)
{
    ht__hdf5_begin();
    ht_status status = open_all(source);

    ht__hdf5_end();
    if (status != HT_SUCCESS)
        ht__source_close(source);
    return status;
}

static ht_status read_array(ht_source *source, int index, int64_t start, int64_t count,
                            char *memory)
{
    const ht_dataset *dataset = source->dataset;
    const ht_dataset_array *array = &dataset->arrays[index];
    hsize_t from[HT_MAX_NDIM] = {(hsize_t)start}, shape[HT_MAX_NDIM] = {(hsize_t)count};

    for (int i = 1; i < array->info.ndim; i++)
        shape[i] = (hsize_t)array->info.shape[i];

    hid_t there = H5Dget_space(source->sets[index]);
    hid_t here = H5Screate_simple(array->info.ndim, shape, NULL);
    hid_t type = ht__hdf5_type(array->info.dtype);
    herr_t result = H5Sselect_hyperslab(there, H5S_SELECT_SET, from, NULL, shape, NULL);

    if (result >= 0)
        result = ht__hdf5_read(source->sets[index], &source->chunks[index], type, here, there,
                               memory);
    if (result < 0)
        ht__error_set(HT_ERR_IO, "ht_dataloader_next: %s: %s: cannot read rows %lld to %lld: %s",
                      dataset->path, array->name, (long long)start, (long long)(start + count - 1),
                      ht__hdf5_error());
    H5Tclose(type);
    H5Sclose(here);
    H5Sclose(there);
    return result < 0 ? HT_ERR_IO : HT_SUCCESS;
}

static ht_status check_length(const ht_source *source)
{
    int64_t bytes = bytes_of(source->file);

    if (bytes >= source->bytes)
        return HT_SUCCESS;
    return ht__error_set(
        HT_ERR_IO,
        "ht_dataloader_next: %s was shortened while it was read: it has %lld bytes, but had %lld "
        "when it was opened",
        source->dataset->path, (long long)bytes, (long long)source->bytes);
}

ht_status ht__source_read(ht_source *source, int64_t start, int64_t count, char *const memory[])
{
    ht_status status = HT_SUCCESS;

    ht__hdf5_begin();
    for (int i = 0; status == HT_SUCCESS && i < source->dataset->count; i++)
        status = read_array(source, i, start, count, memory[i]);
    const ht_status whole = check_length(source); /* says more than a read that failed */

    ht__hdf5_end();
    return whole != HT_SUCCESS ? whole : status;
}
