/* SPDX-License-Identifier: MIT
 *
 * One data set from each HDF5 file of a folder: the parts of a tensor along an axis. */
#include "core/io/hdf5/hdf5_format.h"

#include "ht/io.h"

static ht_tensor *load(const char *what, const char *folder, const char *dataset, ht_dtype dtype,
                       int axis, ht_place place)
{
    return ht__parts_load(&(ht_file_parts){.what = what,
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

    return !HT_IS_NULL(comm, what, "comm") ? load(what, folder, dataset, dtype, axis, place) : NULL;
}
