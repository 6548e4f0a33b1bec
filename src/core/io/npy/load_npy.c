/* SPDX-License-Identifier: MIT
 *
 * Loading .npy files: each rank reads its slab by itself. Elements with the same bytes in memory
 * are read straight to their place. Others pass through a small buffer, where bytes are swapped and
 * unsigned integers made wider. */
#include "core/io/files/file.h"
#include "core/io/npy/npy.h"
#include "core/io/files/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ht/io.h"

static ht_status open_file(const char *what, const ht__part *part, int *file)
{
    ht_status status = ht__file_check(what, part->path);

    if (status != HT_SUCCESS)
        return status;
    *file = open(part->path, O_RDONLY | O_CLOEXEC);
    if (*file < 0)
        return ht__error_set(HT_ERR_IO, "%s: cannot open %s: %s", what, part->path,
                             strerror(errno));
    return HT_SUCCESS;
}

static ht_status describe(const char *what, const char *dataset, ht__part *part)
{
    int file;
    ht_status status = open_file(what, part, &file);

    (void)dataset;
    if (status != HT_SUCCESS)
        return status;
    status = ht__npy_read_header(what, file, part);
    close(file);
    return status;
}

static void swap_bytes(char *data, int64_t count, int bytes)
{
    for (int64_t i = 0; i < count; i++, data += bytes) {
        for (int k = 0; k < bytes / 2; k++) {
            char byte = data[k];

            data[k] = data[bytes - 1 - k];
            data[bytes - 1 - k] = byte;
        }
    }
}

/* Unsigned integers into the next wider signed ones, bytes into 0 and 1. */
static void convert(const ht__npy_type *type, const char *from, int64_t count, char *to)
{
    if (type->kind == 'u' && type->bytes == 2) {
        for (int64_t i = 0; i < count; i++)
            ((int32_t *)to)[i] = ((const uint16_t *)from)[i];
    } else if (type->kind == 'u' && type->bytes == 4) {
        for (int64_t i = 0; i < count; i++)
            ((int64_t *)to)[i] = ((const uint32_t *)from)[i];
    } else if (type->kind == 'b') {
        for (int64_t i = 0; i < count; i++)
            to[i] = from[i] != 0;
    } else {
        memcpy(to, from, (size_t)(count * type->bytes));
    }
}

/* Whether a number is above INT64_MAX. */
static bool is_too_large(const ht__npy_type *type, const char *numbers, int64_t count)
{
    const int64_t *n = (const int64_t *)numbers; /* their bits */

    if (type->kind != 'u' || type->bytes != 8)
        return false;
    for (int64_t i = 0; i < count; i++) {
        if (n[i] < 0)
            return true;
    }
    return false;
}

/* One run, by way of a buffer unless its elements are what they are to be. */
static int read_run(int file, const ht__npy_type *type, bool swapped, int64_t at, int64_t bytes,
                    char *to)
{
    enum { PIECE = 1 << 16 };
    const bool as_they_are = !swapped && type->kind != 'b' &&
                             !(type->kind == 'u' && type->bytes == 8) &&
                             (size_t)type->bytes == ht_dtype_size(type->dtype);
    _Alignas(16) char buffer[PIECE];
    int error = 0;

    if (as_they_are)
        return ht__read_at(file, to, bytes, at);
    for (int64_t done = 0; done < bytes && error == 0; done += PIECE) {
        int64_t piece = bytes - done < PIECE ? bytes - done : PIECE, count = piece / type->bytes;

        error = ht__read_at(file, buffer, piece, at + done);
        if (error != 0)
            break;
        if (swapped)
            swap_bytes(buffer, piece / type->swapped_by, type->swapped_by);
        if (is_too_large(type, buffer, count))
            return ERANGE;
        convert(type, buffer, count, to);
        to += count * (int64_t)ht_dtype_size(type->dtype);
    }
    return error;
}

static ht_status read_slab(const char *what, const char *dataset, const ht__part *part,
                           const ht__slab *slab, void *memory)
{
    const ht__npy_type *type = &ht__npy_types[part->note[HT_NPY_TYPE]];
    int64_t shape[HT_MAX_NDIM], step;
    int file, error = 0;
    ht_status status = open_file(what, part, &file);

    (void)dataset;
    if (status != HT_SUCCESS)
        return status;
    for (int i = 0; i < part->ndim; i++)
        shape[i] = part->shape[part->fortran ? part->ndim - 1 - i : i];

    ht__runs runs = ht__runs_of(slab, shape, type->bytes);

    step = runs.bytes / type->bytes * (int64_t)ht_dtype_size(type->dtype);
    for (int64_t i = 0; i < runs.count && error == 0; i++)
        error = read_run(file, type, part->note[HT_NPY_SWAPPED] != 0,
                         part->note[HT_NPY_OFFSET] + ht__run_at(&runs, i), runs.bytes,
                         (char *)memory + i * step);
    close(file);
    if (error == 0)
        return HT_SUCCESS;
    if (error == ERANGE)
        return ht__error_set(HT_ERR_FORMAT,
                             "%s: %s has numbers above 2^63 - 1, which int64 cannot hold", what,
                             part->path);
    return ht__error_set(HT_ERR_IO, "%s: cannot read %s: %s", what, part->path,
                         error < 0 ? "it ends before its last element" : strerror(error));
}

static const ht__part_format npy_format = {{".npy", NULL, NULL}, "npy", false, describe, read_slab};

static ht_tensor *load(const char *what, const char *path, bool is_folder, int axis, ht_dtype dtype,
                       ht_place place)
{
    return ht__parts_load(&(ht__parts){.what = what,
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

    return !HT_IS_NULL(comm, what, "the communicator") ? load(what, path, false, 0, dtype, place)
                                                       : NULL;
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

    return !HT_IS_NULL(comm, what, "the communicator") ? load(what, path, true, axis, dtype, place)
                                                       : NULL;
}
