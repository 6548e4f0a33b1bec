/* SPDX-License-Identifier: MIT
 *
 * HDF5 files as parts of a tensor. Each rank opens by itself the files that its slab lies in, with
 * libht's own driver for reading. A read that fails is an error on that rank, and by agreement on
 * all; MPI-IO reports no error for elements beyond the end of a damaged file. Elements are read in
 * the file's own type and converted afterwards. */
#include "core/io/hdf5/hdf5_format.h"
#include "core/io/hdf5/hdf5.h"

#include "ht/io.h"

/* Not collective; under HDF5's lock. */
static hid_t open_set(const char *what, const char *dataset, const ht_file_part *part, hid_t *file,
                      ht_hdf5_info *info)
{
    hid_t set;

    *file = ht__hdf5_open(what, part->path);
    if (*file < 0)
        return H5I_INVALID_HID;
    set = ht__hdf5_open_any(what, *file, part->path, dataset, H5P_DEFAULT, info);
    if (set < 0)
        H5Fclose(*file);
    return set;
}

static ht_status describe(const char *what, const char *dataset, ht_file_part *part)
{
    ht_hdf5_info info;
    hid_t file, set;

    ht__hdf5_begin();
    set = open_set(what, dataset, part, &file, &info);
    if (set >= 0) {
        part->dtype = info.dtype;
        part->ndim = info.ndim;
        part->note[0] = info.is_uint64;
        for (int i = 0; i < info.ndim; i++)
            part->shape[i] = info.shape[i];
        H5Dclose(set);
        H5Fclose(file);
    }
    ht__hdf5_end();
    return set >= 0 ? HT_SUCCESS : ht_error_get(NULL);
}

/* HDF5 would make the largest int64 of them. */
static bool has_large(const uint64_t *numbers, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (numbers[i] > INT64_MAX)
            return true;
    }
    return false;
}

static herr_t transfer(hid_t set, ht_hdf5_info *info, const ht_file_part *part, const ht_slab *slab,
                       void *memory)
{
    const bool is_uint64 = part->note[0] != 0;
    hid_t type = is_uint64 ? H5Tcopy(H5T_NATIVE_UINT64) : ht__hdf5_type(part->dtype);
    hid_t there = H5Dget_space(set), here;
    hsize_t start[HT_MAX_NDIM], count[HT_MAX_NDIM];
    int64_t elements = 1;
    herr_t result;

    for (int i = 0; i < slab->ndim; i++) {
        elements *= slab->count[i];
        start[i] = (hsize_t)slab->start[i];
        count[i] = (hsize_t)slab->count[i];
    }
    here = slab->ndim > 0 ? H5Screate_simple(slab->ndim, count, NULL) : H5Screate(H5S_SCALAR);
    if (slab->ndim > 0)
        H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, count, NULL);
    result = ht__hdf5_read(set, &info->chunks, type, here, there, memory);
    if (result < 0)
        ht__error_set(HT_ERR_IO, "%s", ht__hdf5_error());
    if (result >= 0 && is_uint64 && has_large(memory, elements)) {
        ht__error_set(HT_ERR_FORMAT, "it has numbers above 2^63 - 1, which int64 cannot hold");
        result = -1;
    }
    H5Sclose(here);
    H5Sclose(there);
    H5Tclose(type);
    return result;
}

static ht_status read_slab(const char *what, const char *dataset, const ht_file_part *part,
                           const ht_slab *slab, void *memory)
{
    ht_hdf5_info info;
    ht_status status = HT_SUCCESS;
    hid_t file, set;
    const char *cause;

    ht__hdf5_begin();
    set = open_set(what, dataset, part, &file, &info);
    if (set < 0) {
        status = ht_error_get(NULL);
    } else {
        if (transfer(set, &info, part, slab, memory) < 0) {
            status = ht_error_get(&cause);
            ht__error_set(status, "%s: %s: %s: cannot read: %s", what, part->path, dataset, cause);
        }
        H5Dclose(set);
        H5Fclose(file);
    }
    ht__hdf5_end();
    return status;
}

const ht_part_format ht__hdf5_format = {{".h5", ".hdf5", NULL}, "HDF5", true, describe, read_slab};

static ht_tensor *load(const char *what, const char *path, const char *dataset, ht_dtype dtype,
                       ht_place place)
{
    return ht__parts_load(&(ht_file_parts){.what = what,
                                           .format = &ht__hdf5_format,
                                           .path = path,
                                           .dataset = dataset,
                                           .dtype = dtype,
                                           .place = place});
}

ht_tensor *ht_load_hdf5(const char *path, const char *dataset, ht_dtype dtype, int split)
{
    static const char what[] = "ht_load_hdf5";

    return load(what, path, dataset, dtype, ht__place_here(what, split));
}

ht_tensor *ht_load_hdf5_ext(const char *path, const char *dataset, ht_dtype dtype, int split,
                            ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_load_hdf5_ext";
    ht_place place = {.comm = comm, .device = device, .split = split};

    return !HT_IS_NULL(comm, what, "comm") ? load(what, path, dataset, dtype, place) : NULL;
}
