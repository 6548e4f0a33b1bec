/* SPDX-License-Identifier: MIT
 *
 * Element types between HDF5 and libht, and opening files and data sets with messages that name
 * both. */
#include "core/tensor/tensor.h"
#include "core/io/hdf5/hdf5.h"

#include <stdio.h>
#include <string.h>

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

/* h5py's bool: {FALSE = 0, TRUE = 1} in one byte. Any other enumeration has names for numbers that
 * would be lost. */
static bool is_bool(hid_t type)
{
    static const char *const expected[] = {"FALSE", "TRUE"};
    bool same = H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2;

    for (unsigned i = 0; i < 2 && same; i++) {
        char *name = H5Tget_member_name(type, i);
        unsigned char value = 2;

        same = name != NULL && strcmp(name, expected[i]) == 0 &&
               H5Tget_member_value(type, i, &value) >= 0 && value == i;
        H5free_memory(name);
    }
    return same;
}

ht_dtype ht__hdf5_dtype_of(hid_t type)
{
    size_t bytes = H5Tget_size(type);

    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        return integer_of(bytes, H5Tget_sign(type) == H5T_SGN_2);
    case H5T_FLOAT:
        return float_of(bytes);
    case H5T_ENUM:
        return is_bool(type) ? HT_BOOL : HT_DTYPE_COUNT;
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
    hid_t file, access;

    if (ht__file_check(what, path) != HT_SUCCESS)
        return H5I_INVALID_HID;
    access = ht__hdf5_reader();
    file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (file < 0)
        ht__error_set(HT_ERR_FORMAT, "%s: cannot open %s as HDF5: %s", what, path,
                      ht__hdf5_error());
    H5Pclose(access);
    return file;
}

/* Shape and chunks into `info`; NULL, or why they cannot be those of a tensor. */
static const char *take_shape(hid_t space, hid_t layout, ht_hdf5_info *info)
{
    static _Thread_local char why[80];
    hsize_t shape[H5S_MAX_RANK], most[H5S_MAX_RANK];
    int64_t elements = 1;

    if (H5Sget_simple_extent_type(space) == H5S_NULL)
        return "has no elements and no shape (a null data space)";
    info->ndim = H5Sget_simple_extent_dims(space, shape, most);
    if (info->ndim < 0 || info->ndim > HT_MAX_NDIM) {
        snprintf(why, sizeof why, "has %d axes, expected at most %d", info->ndim, HT_MAX_NDIM);
        return why;
    }
    for (int i = 0; i < info->ndim; i++) {
        info->shape[i] = (int64_t)shape[i];
        if (info->shape[i] < 0 ||
            __builtin_mul_overflow(elements, shape[i] > 0 ? shape[i] : 1, &elements) ||
            elements > INT64_MAX / 16)
            return "has 2^59 elements or more";
        if (shape[i] > most[i]) /* without a limit: the largest number */
            return "is damaged: its shape is larger than it can become";
    }
    if (H5Pget_layout(layout) == H5D_CHUNKED &&
        H5Pget_chunk(layout, info->ndim, shape) == info->ndim) {
        for (int i = 0; i < info->ndim; i++) {
            info->chunk[i] = (int64_t)shape[i];
            if (info->shape[i] > 0 && shape[i] > most[i])
                return "is damaged: its chunks are larger than it can become";
        }
    }
    return NULL;
}

static const char no_dtype[] = "has elements of a type that no dtype can hold";

/* Whether elements in one piece fill the bytes that the file has for them; none where nothing was
 * written yet. A damaged shape asks for others. */
static bool fills_storage(hid_t set, hid_t type, hid_t layout, const ht_hdf5_info *info)
{
    const H5D_layout_t kind = H5Pget_layout(layout);
    hsize_t bytes = H5Tget_size(type), stored;

    if ((kind != H5D_CONTIGUOUS && kind != H5D_COMPACT) || info->elsewhere)
        return true;
    stored = H5Dget_storage_size(set); /* of chunks, it would read the complete index */
    if (stored == 0 && kind == H5D_CONTIGUOUS)
        return true;
    for (int i = 0; i < info->ndim; i++)
        bytes *= (hsize_t)info->shape[i];
    return bytes == stored;
}

static ht_status describe(const char *what, hid_t set, const char *path, const char *name,
                          ht_hdf5_info *info)
{
    hid_t space = H5Dget_space(set), type = H5Dget_type(set), layout = H5Dget_create_plist(set);
    const char *why;

    memset(info, 0, sizeof *info);
    why = take_shape(space, layout, info);
    info->dtype = ht__hdf5_dtype_of(type);
    info->elsewhere = H5Pget_layout(layout) == H5D_VIRTUAL || H5Pget_external_count(layout) > 0;
    info->is_uint64 = H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 8 &&
                      H5Tget_sign(type) == H5T_SGN_NONE;
    if (info->is_uint64)
        info->dtype = HT_INT64;
    if (why == NULL && info->dtype == HT_DTYPE_COUNT)
        why = no_dtype;
    if (why == NULL && !fills_storage(set, type, layout, info))
        why = "is damaged: its shape does not match its number of bytes in the file";
    if (why == NULL)
        why = ht__chunks_describe(&info->chunks, layout, type, info);
    H5Pclose(layout);
    H5Tclose(type);
    H5Sclose(space);
    if (why == NULL)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_FORMAT, "%s: %s: %s %s", what, path, name, why);
}

/* The names of a group's links, up to 8, in the order in which they lie. */
typedef struct names {
    char text[160];
    int count;
} names;

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    names *list = user;
    size_t used = strlen(list->text);

    (void)group;
    (void)info;
    if (list->count++ < 8)
        snprintf(list->text + used, sizeof list->text - used, "%s%s", used > 0 ? ", " : "", name);
    return 0;
}

static void no_set(const char *what, hid_t file, const char *path, const char *name)
{
    const char *why = ht__hdf5_error(); /* text of the thread, which the next call leaves alone */
    names there = {.count = 0};
    hsize_t at = 0;

    H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, &at, add_name, &there);
    if (there.count > 0)
        ht__error_set(HT_ERR_FORMAT, "%s: %s has no data set %s: %s; it has %s%s", what, path, name,
                      why, there.text, there.count > 8 ? ", ..." : "");
    else
        ht__error_set(HT_ERR_FORMAT, "%s: %s has no data set %s: %s", what, path, name, why);
}

hid_t ht__hdf5_open_any(const char *what, hid_t file, const char *path, const char *name,
                        hid_t access, ht_hdf5_info *info)
{
    hid_t set = H5Dopen2(file, name, access);

    if (set < 0) {
        no_set(what, file, path, name);
        return set;
    }
    if (describe(what, set, path, name, info) == HT_SUCCESS)
        return set;
    H5Dclose(set);
    return H5I_INVALID_HID;
}

hid_t ht__hdf5_open_dataset(const char *what, hid_t file, const char *path, const char *name,
                            hid_t access, ht_hdf5_info *info)
{
    hid_t set = ht__hdf5_open_any(what, file, path, name, access, info);

    if (set < 0 || !info->is_uint64)
        return set;
    ht__error_set(HT_ERR_FORMAT, "%s: %s: %s %s", what, path, name, no_dtype);
    H5Dclose(set);
    return H5I_INVALID_HID;
}
