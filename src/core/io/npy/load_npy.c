/* SPDX-License-Identifier: MIT
 *
 * Loading .npy files: each rank reads its slab by itself. */
#include "core/io/files/stored.h"
#include "core/io/npy/npy.h"

#include <unistd.h>

#include "ht/io.h"

static ht_status describe(const char *what, const char *dataset, ht_file_part *part)
{
    int file;
    ht_status status = ht__stored_open(what, part->path, &file);

    (void)dataset;
    if (status != HT_SUCCESS)
        return status;
    status = ht__npy_read_header(what, file, part);
    close(file);
    return status;
}

static ht_status read_slab(const char *what, const char *dataset, const ht_file_part *part,
                           const ht_slab *slab, void *memory)
{
    const ht_stored stored = {.type = &ht__npy_types[part->note[HT_NPY_TYPE]],
                              .swapped = part->note[HT_NPY_SWAPPED] != 0,
                              .offset = part->note[HT_NPY_OFFSET]};

    (void)dataset;
    return ht__stored_read(what, part, &stored, slab, memory);
}

static const ht_part_format npy_format = {{".npy", NULL, NULL}, "npy", false, describe, read_slab};

static ht_tensor *load(const char *what, const char *path, bool is_folder, int axis, ht_dtype dtype,
                       ht_place place)
{
    return ht__parts_load(&(ht_file_parts){.what = what,
                                           .format = &npy_format,
                                           .path = path,
                                           .dtype = dtype,
                                           .place = place,
                                           .is_folder = is_folder,
                                           .axis = axis});
}

ht_tensor *ht_load_npy(const char *path, ht_dtype dtype, int split)
{
    return load("ht_load_npy", path, false, 0, dtype, ht__place_here("ht_load_npy", split));
}

ht_tensor *ht_load_npy_ext(const char *path, ht_dtype dtype, int split, ht_device *device,
                           ht_comm *comm)
{
    static const char what[] = "ht_load_npy_ext";
    ht_place place = {.comm = comm, .device = device, .split = split};

    return !HT_IS_NULL(comm, what, "comm") ? load(what, path, false, 0, dtype, place) : NULL;
}

ht_tensor *ht_load_npy_from_path(const char *path, ht_dtype dtype, int split)
{
    static const char what[] = "ht_load_npy_from_path";

    return load(what, path, true, split, dtype, ht__place_here(what, split));
}

ht_tensor *ht_load_npy_from_path_ext(const char *path, ht_dtype dtype, int axis, int split,
                                     ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_load_npy_from_path_ext";
    ht_place place = {.comm = comm, .device = device, .split = split};

    return !HT_IS_NULL(comm, what, "comm") ? load(what, path, true, axis, dtype, place) : NULL;
}
