/* SPDX-License-Identifier: MIT
 *
 * One data set of each HDF5 file of a folder: each rank opens by itself the files that its slab
 * lies in, with the default driver. */
#include "core/io/parts.h"

#include "ht/io.h"

/* Of this rank; under HDF5's lock. */
static hid_t open_set(const char *what, const char *dataset, const ht__part *part, hid_t *file,
                      ht__hdf5_info *info)
{
    hid_t set;

    *file = ht__hdf5_open(what, part->path);
    if (*file < 0)
        return H5I_INVALID_HID;
    set = ht__hdf5_open_dataset(what, *file, part->path, dataset, H5P_DEFAULT, info);
    if (set < 0)
        H5Fclose(*file);
    return set;
}

static ht_status describe(const char *what, const char *dataset, ht__part *part)
{
    ht__hdf5_info info;
    hid_t file, set;

    ht__hdf5_begin();
    set = open_set(what, dataset, part, &file, &info);
    if (set >= 0) {
        part->dtype = info.dtype;
        part->ndim = info.ndim;
        for (int i = 0; i < info.ndim; i++)
            part->shape[i] = info.shape[i];
        H5Dclose(set);
        H5Fclose(file);
    }
    ht__hdf5_end();
    return set >= 0 ? HT_SUCCESS : ht_error_get(NULL);
}

static herr_t transfer(hid_t set, ht_dtype dtype, const ht__slab *slab, void *memory)
{
    hid_t type = ht__hdf5_type(dtype), there = H5Dget_space(set), here;
    hsize_t start[HT_MAX_NDIM], count[HT_MAX_NDIM];
    herr_t result;

    for (int i = 0; i < slab->ndim; i++) {
        start[i] = (hsize_t)slab->start[i];
        count[i] = (hsize_t)slab->count[i];
    }
    here = slab->ndim > 0 ? H5Screate_simple(slab->ndim, count, NULL) : H5Screate(H5S_SCALAR);
    if (slab->ndim > 0)
        H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, count, NULL);
    result = H5Dread(set, type, here, there, H5P_DEFAULT, memory);
    if (result < 0)
        ht__error_set(HT_ERR_IO, "%s", ht__hdf5_error());
    H5Sclose(here);
    H5Sclose(there);
    H5Tclose(type);
    return result;
}

static ht_status read_slab(const char *what, const char *dataset, const ht__part *part,
                           const ht__slab *slab, void *memory)
{
    ht__hdf5_info info;
    ht_status status = HT_SUCCESS;
    hid_t file, set;
    const char *cause;

    ht__hdf5_begin();
    set = open_set(what, dataset, part, &file, &info);
    if (set < 0) {
        status = ht_error_get(NULL);
    } else {
        if (transfer(set, part->dtype, slab, memory) < 0) {
            ht_error_get(&cause);
            status = ht__error_set(HT_ERR_IO, "%s: %s: %s: cannot read: %s", what, part->path,
                                   dataset, cause);
        }
        H5Dclose(set);
        H5Fclose(file);
    }
    ht__hdf5_end();
    return status;
}

const ht__part_format ht__hdf5_format = {{".h5", ".hdf5", NULL}, "HDF5", describe, read_slab};

static ht_tensor *load(const char *what, const char *folder, const char *dataset, ht_dtype dtype,
                       int axis, ht_place place)
{
    return ht__parts_load(&(ht__parts){.what = what,
                                       .format = &ht__hdf5_format,
                                       .path = folder,
                                       .dataset = dataset,
                                       .dtype = dtype,
                                       .place = place,
                                       .is_folder = true,
                                       .axis = axis});
}

ht_tensor *ht_load_multiple_hdf5(const char *folder, const char *dataset, ht_dtype dtype)
{
    static const char what[] = "ht_load_multiple_hdf5";

    return load(what, folder, dataset, dtype, 0, ht__place_here(what, 0));
}

ht_tensor *ht_load_multiple_hdf5_ext(const char *folder, const char *dataset, ht_dtype dtype,
                                     int axis, int split, ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_load_multiple_hdf5_ext";
    ht_place place = {.comm = comm, .device = device, .split = split};

    return !HT_IS_NULL(comm, what, "the communicator")
               ? load(what, folder, dataset, dtype, axis, place)
               : NULL;
}
