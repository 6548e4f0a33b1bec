/* SPDX-License-Identifier: MIT
 *
 * Loading tensors: collective HDF5 through MPI-IO, each rank its slab. Data are read in the file's
 * own type and converted afterwards: a conversion inside HDF5 would turn a collective read into
 * independent ones. */
#include "hdf5_util.h"
#include "io_slab.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ht/manipulations.h"

/* A file that one rank cannot see must not reach the collective open. */
static ht_status check_readable(ht_comm *comm, const char *path)
{
    ht_status status = HT_SUCCESS;

    if (access(path, R_OK) != 0)
        status = ht__error_set(HT_ERR_IO, "ht_load_hdf5: cannot open %s: %s", path,
                               strerror(errno));
    return ht__agree(comm, status);
}

static ht_status open_for_reading(ht_comm *comm, const char *path, const char *name, hid_t *file,
                                  hid_t *set, ht__hdf5_info *info)
{
    hid_t parallel = ht__io_parallel_access(comm);
    ht_status status = HT_SUCCESS;

    const char *outer = ht__watch_guard("ht_load_hdf5");

    *file = H5Fopen(path, H5F_ACC_RDONLY, parallel);
    ht__watch_unguard(outer);
    if (*file < 0)
        status = ht__error_set(HT_ERR_FORMAT, "ht_load_hdf5: cannot open %s as HDF5: %s", path,
                               ht__hdf5_error());
    H5Pclose(parallel);
    status = ht__agree(comm, status);
    if (status != HT_SUCCESS)
        return status;
    *set = ht__hdf5_open_dataset("ht_load_hdf5", *file, path, name, H5P_DEFAULT, info);
    return ht__agree(comm, *set < 0 ? ht_error_get(NULL) : HT_SUCCESS);
}

/* The data set in its own dtype; split along axis 0 where no split is wanted, so that no byte is
 * read twice. */
static ht_tensor *read_slabs(ht_comm *comm, const char *path, const char *name, hid_t set,
                             const ht__hdf5_info *info, int split)
{
    if (split == HT_NONE && info->ndim > 0)
        split = 0;
    if (!ht__check_shape("ht_load_hdf5", comm, info->ndim, info->shape, &split))
        return NULL;

    ht_body *body = ht__body_new("ht_load_hdf5", comm, ht__device_cpu(), info->dtype, info->ndim,
                                 info->shape, split, NULL);

    if (body == NULL)
        return NULL;
    ht_tensor *x = ht__tensor_new(body);
    ht__slab slab = ht__slab_of(body);
    hid_t type = ht__hdf5_type(info->dtype);
    ht_status status = ht__slab_transfer("ht_load_hdf5", comm, set, type, &slab,
                                         ht__body_data(body), false);

    H5Tclose(type);
    if (status != HT_SUCCESS) {
        const char *cause;

        ht_error_get(&cause);
        ht__error_set(HT_ERR_IO, "ht_load_hdf5: %s: %s: cannot read: %s", path, name, cause);
    }
    return ht__agree(comm, status) == HT_SUCCESS ? x : NULL;
}

static ht_tensor *load(ht_comm *comm, const char *path, const char *name, int split)
{
    hid_t file = H5I_INVALID_HID, set = H5I_INVALID_HID;
    ht__hdf5_info info;
    ht_tensor *x = NULL;

    if (check_readable(comm, path) != HT_SUCCESS)
        return NULL;
    ht__hdf5_begin();
    if (open_for_reading(comm, path, name, &file, &set, &info) == HT_SUCCESS)
        x = read_slabs(comm, path, name, set, &info, split);
    if (set >= 0)
        H5Dclose(set);
    if (file >= 0)
        H5Fclose(file);
    ht__hdf5_end();
    return x;
}

ht_tensor *ht_load_hdf5(const char *path, const char *dataset, ht_dtype dtype, int split)
{
    ht_comm *comm = ht_get_comm();

    if (path == NULL || dataset == NULL) {
        HT_FAIL(comm, HT_ERR_ARGUMENT, "ht_load_hdf5: the name of the file or data set is NULL");
        return NULL;
    }
    if (ht_dtype_size(dtype) == 0) {
        HT_FAIL(comm, HT_ERR_DTYPE, "ht_load_hdf5: %d is no dtype", (int)dtype);
        return NULL;
    }

    ht_scope *scope = ht_scope_open();
    ht__begin(comm, (ht_call){.what = "ht_load_hdf5", .dtype = dtype});

    ht_tensor *x = load(comm, path, dataset, split);

    if (x != NULL)
        x = ht_astype(x, dtype);
    if (x != NULL && split == HT_NONE && x->body->split != HT_NONE)
        x = ht_resplit(x, HT_NONE);
    if (x != NULL)
        x = ht_to_device(x, ht_get_device());
    return ht_scope_return(scope, x);
}
