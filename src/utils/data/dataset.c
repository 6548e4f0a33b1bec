/* SPDX-License-Identifier: MIT
 *
 * Datasets: arrays of equal length in an HDF5 file, checked when they are opened. */
#include "utils/data/data.h"

#define UNIT_BYTES (256 << 10)

static const char what[] = "ht_dataset_hdf5";

static void destroy(void *object)
{
    ht_dataset *dataset = object;

    for (int i = 0; i < dataset->count; i++)
        ht__free(dataset->arrays[i].name);
    ht__free(dataset->path);
    ht_release(dataset->comm);
    ht__object_fini(dataset);
    ht__free(dataset);
}

static ht_kind dataset_kind = {.name = "dataset", .destroy = destroy};

static ht_status check_array(ht_dataset *dataset, hid_t file, ht_dataset_array *array)
{
    hid_t set = ht__hdf5_open_dataset("ht_dataset_hdf5", file, dataset->path, array->name,
                                      H5P_DEFAULT, &array->info);
    const ht_dataset_array *first = &dataset->arrays[0];

    if (set < 0)
        return ht_error_get(NULL);
    H5Dclose(set);
    if (array->info.ndim == 0)
        return ht__error_set(HT_ERR_FORMAT,
                             "ht_dataset_hdf5: %s: %s is a scalar, expected at least one axis",
                             dataset->path, array->name);
    if (array->info.shape[0] != first->info.shape[0])
        return ht__error_set(HT_ERR_FORMAT,
                             "ht_dataset_hdf5: %s: %s has %lld rows, %s has %lld: lengths differ",
                             dataset->path, first->name, (long long)first->info.shape[0],
                             array->name, (long long)array->info.shape[0]);
    array->row_bytes = (int64_t)ht_dtype_size(array->info.dtype);
    for (int i = 1; i < array->info.ndim; i++)
        array->row_bytes *= array->info.shape[i];
    return HT_SUCCESS;
}

static ht_status check_file(ht_dataset *dataset)
{
    ht_status status = HT_SUCCESS;

    ht__hdf5_begin();
    hid_t file = ht__hdf5_open("ht_dataset_hdf5", dataset->path);

    if (file < 0)
        status = ht_error_get(NULL);
    for (int i = 0; status == HT_SUCCESS && i < dataset->count; i++)
        status = check_array(dataset, file, &dataset->arrays[i]);
    if (file >= 0)
        H5Fclose(file);
    ht__hdf5_end();
    return status;
}

static ht_status check_names(const char *path, int count, const char *const datasets[])
{
    bool good = path != NULL && datasets != NULL && count >= 1 && count <= HT_MAX_ARRAYS;

    for (int i = 0; good && i < count; i++)
        good = datasets[i] != NULL;
    if (good)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_ARGUMENT,
                         "%s: path, datasets or a name in it is NULL, or count is %d, expected "
                         "names and a count of 1 to %d",
                         what, count, HT_MAX_ARRAYS);
}

static ht_dataset *make(const char *path, int count, const char *const datasets[], ht_comm *comm)
{
    ht_dataset *dataset = ht__alloc(sizeof *dataset);

    ht__object_init(dataset, &dataset_kind);
    dataset->comm = ht_retain(comm);
    dataset->path = ht__strdup(path);
    dataset->count = count;
    for (int i = 0; i < count; i++)
        dataset->arrays[i].name = ht__strdup(datasets[i]);
    return dataset;
}

ht_dataset *ht_dataset_hdf5(const char *path, int count, const char *const datasets[],
                            ht_comm *comm)
{
    ht_dataset *dataset = NULL;
    ht_status status;

    if (HT_IS_NULL(comm, what, "comm"))
        return NULL;
    status = check_names(path, count, datasets);
    if (status == HT_SUCCESS) {
        dataset = make(path, count, datasets, comm);
        status = check_file(dataset);
    }
    if (ht__agree(what, comm, status) != HT_SUCCESS) {
        ht_release(dataset);
        return NULL;
    }
    dataset->rows = dataset->file_rows = dataset->arrays[0].info.shape[0];
    return dataset;
}

ht_dataset *ht__dataset_fixed(const ht_dataset *dataset)
{
    ht_dataset *fixed = ht__alloc(sizeof *fixed);

    *fixed = *dataset;
    ht__object_init(fixed, &dataset_kind);
    ht_retain(fixed->comm);
    fixed->path = ht__strdup(dataset->path);
    for (int i = 0; i < dataset->count; i++)
        fixed->arrays[i].name = ht__strdup(dataset->arrays[i].name);
    return fixed;
}

ht_status ht_dataset_limit(ht_dataset *dataset, int64_t rows)
{
    if (HT_IS_NULL(dataset, "ht_dataset_limit", "dataset"))
        return ht_error_get(NULL);
    if (rows < 0 || rows > dataset->file_rows)
        return HT_FAIL(dataset->comm, HT_ERR_ARGUMENT,
                       "ht_dataset_limit: rows is %lld, expected 0 to the rows of %s, %lld",
                       (long long)rows, dataset->path, (long long)dataset->file_rows);
    dataset->rows = rows;
    return HT_SUCCESS;
}

int64_t ht_dataset_rows(const ht_dataset *dataset)
{
    return HT_IS_THERE(dataset) ? dataset->rows : 0;
}

const int64_t *ht_dataset_shape(const ht_dataset *dataset, int array, int *ndim)
{
    bool known = !HT_IS_NULL(dataset, "ht_dataset_shape", "dataset") && array >= 0 &&
                 array < dataset->count;

    if (ndim != NULL)
        *ndim = known ? dataset->arrays[array].info.ndim : 0;
    if (!known)
        return NULL;
    return dataset->arrays[array].info.shape;
}

int64_t ht__dataset_row_bytes(const ht_dataset *dataset)
{
    int64_t bytes = 0;

    for (int i = 0; i < dataset->count; i++)
        bytes += dataset->arrays[i].row_bytes;
    return bytes;
}

int64_t ht__dataset_unit_rows(const ht_dataset *dataset, int64_t most)
{
    const ht_dataset_array *largest = &dataset->arrays[0];

    for (int i = 1; i < dataset->count; i++) {
        if (dataset->arrays[i].row_bytes > largest->row_bytes)
            largest = &dataset->arrays[i];
    }
    int64_t chunk = largest->info.chunk[0] > 0 ? largest->info.chunk[0] : 1;
    int64_t bytes = chunk * largest->row_bytes;
    int64_t rows = bytes > 0 && bytes < UNIT_BYTES ? (UNIT_BYTES + bytes - 1) / bytes * chunk
                                                   : chunk;

    if (rows > most)
        rows = most >= chunk ? most / chunk * chunk : most;
    return rows > 1 ? rows : 1;
}
