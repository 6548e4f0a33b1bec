/* SPDX-License-Identifier: MIT
 *
 * Loading tensors: collective HDF5 through MPI-IO, each rank its slab. Data are read in the file's
 * own type and converted afterwards: a conversion inside HDF5 would turn a collective read into
 * independent ones. */
#include "core/ops/ops.h"
#include "core/io/slab.h"

#include "ht/manipulations.h"

static ht_status check_arguments(const char *what, const char *path, const char *dataset,
                                 ht_dtype dtype, const ht_place *place)
{
    if (HT_IS_NULL(place->device, what, "the device"))
        return ht_error_get(NULL);
    if (path == NULL || dataset == NULL)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: the name of the file or data set is NULL", what);
    if (ht_dtype_size(dtype) == 0)
        return ht__error_set(HT_ERR_DTYPE, "%s: %d is no dtype", what, (int)dtype);
    /* A file that one rank cannot see must not reach the collective open. */
    return ht__file_check(what, path);
}

static ht_status open_for_reading(ht__parallel *file, const char *path, const char *name,
                                  int *split, hid_t *set, ht__hdf5_info *info)
{
    ht_status status = ht__parallel_open(file, path, HT_FILE_READ, false);
    const char *why;

    if (status != HT_SUCCESS) {
        ht_error_get(&why);
        ht__error_set(status, "%s: cannot open %s as HDF5: %s", file->what, path, why);
    }
    status = ht__agree(file->what, file->comm, status);
    if (status != HT_SUCCESS)
        return status;

    bool begun = ht__agree_begin();

    *set = ht__hdf5_open_dataset(file->what, ht__parallel_enter(file), path, name, H5P_DEFAULT,
                                 info);
    ht__parallel_leave(file);
    if (*set < 0 || !ht__check_shape(file->what, file->comm, info->ndim, info->shape, split))
        status = ht_error_get(NULL);
    return ht__agree_end(file->what, file->comm, begun, status);
}

/* The data set in its own dtype; split along axis 0 where no split is wanted, so that no byte is
 * read twice, or where the slabs of the split would be short runs. */
static ht_tensor *read_slabs(ht__parallel *file, const char *path, const char *name, hid_t set,
                             const ht__hdf5_info *info, int split)
{
    if (split == HT_NONE && info->ndim > 0)
        split = 0;
    split = ht__slab_axis(file->comm, info->ndim, info->shape, ht_dtype_size(info->dtype), split);

    ht_body *body = ht__body_new(file->what, file->comm, ht__device_cpu(), info->dtype, info->ndim,
                                 info->shape, split, NULL);

    if (body == NULL)
        return NULL;
    ht_tensor *x = ht__tensor_new(body);
    ht__slab slab = ht__slab_of(body);
    ht_status status = ht__slab_transfer(file, set, info->dtype, &slab, ht__body_data(body), false);

    if (status != HT_SUCCESS) {
        const char *cause;

        ht_error_get(&cause);
        ht__error_set(HT_ERR_IO, "%s: %s: %s: cannot read: %s", file->what, path, name, cause);
    }
    return ht__agree(file->what, file->comm, status) == HT_SUCCESS ? x : NULL;
}

static ht_tensor *load(const char *what, ht_comm *comm, const char *path, const char *name,
                       int split)
{
    ht__parallel file = {.what = what, .comm = comm};
    hid_t set = H5I_INVALID_HID;
    ht__hdf5_info info;
    ht_tensor *x = NULL;

    if (open_for_reading(&file, path, name, &split, &set, &info) == HT_SUCCESS)
        x = read_slabs(&file, path, name, set, &info, split);
    if (set >= 0) {
        ht__parallel_enter(&file);
        H5Dclose(set);
        ht__parallel_leave(&file);
    }
    ht__parallel_close(&file, HT_SUCCESS);
    return x == NULL || x->body->split == split ? x : ht_resplit(x, split);
}

static ht_tensor *load_hdf5(const char *what, const char *path, const char *dataset, ht_dtype dtype,
                            ht_place place)
{
    if (place.comm == NULL)
        return NULL;

    bool begun = ht__agree_begin();
    ht_status status = check_arguments(what, path, dataset, dtype, &place);

    ht__begin(place.comm, (ht_call){.what = what, .dtype = dtype, .refused = status != HT_SUCCESS});
    if (ht__agree_end(what, place.comm, begun, status) != HT_SUCCESS)
        return NULL;

    ht_scope *scope = ht_scope_open();
    ht_tensor *x = load(what, place.comm, path, dataset, place.split);

    if (x != NULL)
        x = ht_astype(x, dtype);
    if (x != NULL)
        x = ht_to_device(x, place.device);
    return ht_scope_return(scope, x);
}

ht_tensor *ht_load_hdf5(const char *path, const char *dataset, ht_dtype dtype, int split)
{
    return load_hdf5("ht_load_hdf5", path, dataset, dtype, ht__place_here("ht_load_hdf5", split));
}

ht_tensor *ht_load_hdf5_ext(const char *path, const char *dataset, ht_dtype dtype, int split,
                            ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_load_hdf5_ext";
    ht_place place = {.comm = comm, .device = device, .split = split};

    return !HT_IS_NULL(comm, what, "the communicator")
               ? load_hdf5(what, path, dataset, dtype, place)
               : NULL;
}
