/* SPDX-License-Identifier: MIT
 *
 * Reading a slab of an array in a plain file. Elements with the same bytes in memory are read
 * straight to their place. Others pass through a small buffer, where bytes are swapped and unsigned
 * integers made wider. */
#include "core/io/files/file.h"
#include "core/io/files/runs.h"
#include "core/io/files/stored.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

bool ht__stored_swapped(bool little)
{
    const int one = 1;
    const bool is_little = *(const char *)&one == 1;

    return little != is_little;
}

ht_status ht__stored_open(const char *what, const char *path, int *file)
{
    ht_status status = ht__file_check(what, path);

    if (status != HT_SUCCESS)
        return status;
    *file = open(path, O_RDONLY | O_CLOEXEC);
    if (*file < 0)
        return ht__error_set(HT_ERR_IO, "%s: cannot open %s: %s", what, path, strerror(errno));
    return HT_SUCCESS;
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
static void convert(const ht_stored_type *type, const char *from, int64_t count, char *to)
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
static bool is_too_large(const ht_stored_type *type, const char *numbers, int64_t count)
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
static int read_run(int file, const ht_stored_type *type, bool swapped, int64_t at, int64_t bytes,
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

ht_status ht__stored_read(const char *what, const ht_file_part *part, const ht_stored *stored,
                          const ht_slab *slab, void *memory)
{
    const ht_stored_type *type = stored->type;
    int64_t shape[HT_MAX_NDIM], step;
    int file, error = 0;
    ht_status status = ht__stored_open(what, part->path, &file);

    if (status != HT_SUCCESS)
        return status;
    for (int i = 0; i < part->ndim; i++)
        shape[i] = part->shape[part->fortran ? part->ndim - 1 - i : i];

    ht_runs runs = ht__runs_of(slab, shape, type->bytes);

    step = runs.bytes / type->bytes * (int64_t)ht_dtype_size(type->dtype);
    for (int64_t i = 0; i < runs.count && error == 0; i++)
        error = read_run(file, type, stored->swapped, stored->offset + ht__run_at(&runs, i),
                         runs.bytes, (char *)memory + i * step);
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
