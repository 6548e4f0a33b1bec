/* SPDX-License-Identifier: MIT
 *
 * Element types between HDF5 and libht, and opening files and data sets with messages that name
 * both. */
#include "hdf5_util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core.h"

static ht_dtype integer_of(size_t bytes, bool is_signed)
{
    switch (bytes) {
    case 1:
        return is_signed ? HT_INT8 : HT_UINT8;
    case 2:
        return is_signed ? HT_INT16 : HT_INT32;
    case 4:
        return is_signed ? HT_INT32 : HT_INT64;
    case 8:
        return is_signed ? HT_INT64 : HT_DTYPE_COUNT;
    default:
        return HT_DTYPE_COUNT;
    }
}

static ht_dtype float_of(size_t bytes)
{
    return bytes == 2 || bytes == 4 ? HT_FLOAT32 : bytes == 8 ? HT_FLOAT64 : HT_DTYPE_COUNT;
}

/* A compound {r, i} of two equal floating types: complex, as h5py writes it. */
static ht_dtype complex_of(hid_t type)
{
    ht_dtype found = HT_DTYPE_COUNT;

    if (H5Tget_nmembers(type) != 2 || H5Tget_member_index(type, "r") != 0 ||
        H5Tget_member_index(type, "i") != 1)
        return HT_DTYPE_COUNT;

    hid_t r = H5Tget_member_type(type, 0), i = H5Tget_member_type(type, 1);

    if (H5Tget_class(r) == H5T_FLOAT && H5Tequal(r, i) > 0)
        found = H5Tget_size(r) == 4   ? HT_COMPLEX64
                : H5Tget_size(r) == 8 ? HT_COMPLEX128
                                      : HT_DTYPE_COUNT;
    H5Tclose(r);
    H5Tclose(i);
    return found;
}

ht_dtype ht__hdf5_dtype_of(hid_t type)
{
    size_t bytes = H5Tget_size(type);

    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        return integer_of(bytes, H5Tget_sign(type) == H5T_SGN_2);
    case H5T_FLOAT:
        return float_of(bytes);
    case H5T_ENUM: /* h5py's bool */
        return bytes == 1 && H5Tget_nmembers(type) == 2 ? HT_BOOL : HT_DTYPE_COUNT;
    case H5T_COMPOUND:
        return complex_of(type);
    default:
        return HT_DTYPE_COUNT;
    }
}

static hid_t complex_type(hid_t part)
{
    size_t bytes = H5Tget_size(part);
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * bytes);

    H5Tinsert(type, "r", 0, part);
    H5Tinsert(type, "i", bytes, part);
    return type;
}

hid_t ht__hdf5_type(ht_dtype dtype)
{
    switch (dtype) {
    case HT_BOOL:
    case HT_UINT8:
        return H5Tcopy(H5T_NATIVE_UINT8);
    case HT_INT8:
        return H5Tcopy(H5T_NATIVE_INT8);
    case HT_INT16:
        return H5Tcopy(H5T_NATIVE_INT16);
    case HT_INT32:
        return H5Tcopy(H5T_NATIVE_INT32);
    case HT_INT64:
        return H5Tcopy(H5T_NATIVE_INT64);
    case HT_FLOAT32:
        return H5Tcopy(H5T_NATIVE_FLOAT);
    case HT_FLOAT64:
        return H5Tcopy(H5T_NATIVE_DOUBLE);
    case HT_COMPLEX64:
        return complex_type(H5T_NATIVE_FLOAT);
    case HT_COMPLEX128:
        return complex_type(H5T_NATIVE_DOUBLE);
    default:
        return H5I_INVALID_HID;
    }
}

hid_t ht__hdf5_open(const char *what, const char *path)
{
    int probe = open(path, O_RDONLY | O_CLOEXEC);

    if (probe < 0) {
        ht__error_set(HT_ERR_IO, "%s: cannot open %s: %s", what, path, strerror(errno));
        return H5I_INVALID_HID;
    }
    close(probe);

    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);

    if (file < 0)
        ht__error_set(HT_ERR_FORMAT, "%s: cannot open %s as HDF5: %s", what, path,
                      ht__hdf5_error());
    return file;
}

static ht_status describe(const char *what, hid_t set, const char *path, const char *name,
                          ht__hdf5_info *info)
{
    hsize_t shape[H5S_MAX_RANK];
    hid_t space = H5Dget_space(set), type = H5Dget_type(set), layout = H5Dget_create_plist(set);
    ht_status status = HT_SUCCESS;

    memset(info, 0, sizeof *info);
    info->ndim = H5Sget_simple_extent_dims(space, shape, NULL);
    info->dtype = ht__hdf5_dtype_of(type);
    if (info->ndim < 0 || info->ndim > HT_MAX_NDIM)
        status = ht__error_set(HT_ERR_FORMAT,
                               "%s: %s: %s has %d dimensions, at most %d are supported", what, path,
                               name, info->ndim, HT_MAX_NDIM);
    else if (info->dtype == HT_DTYPE_COUNT)
        status = ht__error_set(HT_ERR_FORMAT, "%s: %s: %s has elements of a type no dtype can hold",
                               what, path, name);
    for (int i = 0; status == HT_SUCCESS && i < info->ndim; i++)
        info->shape[i] = (int64_t)shape[i];
    if (status == HT_SUCCESS && H5Pget_layout(layout) == H5D_CHUNKED &&
        H5Pget_chunk(layout, info->ndim, shape) == info->ndim) {
        for (int i = 0; i < info->ndim; i++)
            info->chunk[i] = (int64_t)shape[i];
    }
    H5Pclose(layout);
    H5Tclose(type);
    H5Sclose(space);
    return status;
}

hid_t ht__hdf5_open_dataset(const char *what, hid_t file, const char *path, const char *name,
                            hid_t access, ht__hdf5_info *info)
{
    hid_t set = H5Dopen2(file, name, access);

    if (set < 0) {
        ht__error_set(HT_ERR_FORMAT, "%s: %s has no data set %s: %s", what, path, name,
                      ht__hdf5_error());
        return set;
    }
    if (describe(what, set, path, name, info) == HT_SUCCESS)
        return set;
    H5Dclose(set);
    return H5I_INVALID_HID;
}
