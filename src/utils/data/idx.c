/* SPDX-License-Identifier: MIT
 *
 * Reading IDX files. Lengths in messages are those of the uncompressed content. */
#include "core/tensor/tensor.h"
#include "utils/data/idx.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/io/files/file.h"

#define UBYTE 0x08 /* element type in the third byte of the magic number */

static bool find(const char *folder, const char *name, char *path, size_t room)
{
    snprintf(path, room, "%s/%s", folder, name);
    if (access(path, F_OK) == 0)
        return true;
    snprintf(path, room, "%s/%s.gz", folder, name);
    return access(path, F_OK) == 0;
}

bool ht__idx_exists(const char *folder, const char *name)
{
    char path[4096];

    return find(folder, name, path, sizeof path);
}

/* The error of a file that ended after `got` of `expected` bytes: cut off, or no intact gzip
 * file. */
static ht_status short_file(const ht_idx *idx, int64_t got, int64_t expected)
{
    int error;
    const char *text = gzerror(idx->file, &error);

    if (error != Z_OK && error != Z_BUF_ERROR && error != Z_ERRNO)
        return ht__error_set(HT_ERR_FORMAT, "ht_idx_to_hdf5: %s is damaged: %s", idx->path, text);
    return ht__error_set(HT_ERR_FORMAT,
                         "ht_idx_to_hdf5: %s is truncated: expected %" PRId64
                         " bytes, found %" PRId64,
                         idx->path, expected, got);
}

static int64_t big_endian(const unsigned char *bytes)
{
    return (int64_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static ht_status read_header(ht_idx *idx)
{
    unsigned char bytes[16] = {0};
    int expected = UBYTE << 8 | idx->ndim;
    int got = gzread(idx->file, bytes, (unsigned)idx->header);

    if (got >= 4 && big_endian(bytes) != expected)
        return ht__error_set(
            HT_ERR_FORMAT,
            "ht_idx_to_hdf5: %s has the wrong magic number: expected 0x%08x, found "
            "0x%08x",
            idx->path, (unsigned)expected, (unsigned)big_endian(bytes));
    if (got < idx->header)
        return short_file(idx, got < 0 ? 0 : got, idx->header);
    idx->row_bytes = 1;
    for (int i = 0; i < idx->ndim; i++) {
        idx->shape[i] = big_endian(bytes + 4 + 4 * i);
        if (i > 0)
            idx->row_bytes *= idx->shape[i];
        if (idx->shape[i] == 0 || idx->row_bytes > (INT64_C(1) << 31))
            return ht__error_set(HT_ERR_FORMAT,
                                 "ht_idx_to_hdf5: %s: axis %d has length %" PRId64
                                 ", expected at least 1, and rows of at most 2^31 bytes",
                                 idx->path, i, idx->shape[i]);
    }
    return HT_SUCCESS;
}

ht_status ht__idx_open(ht_idx *idx, const char *folder, const char *name, int ndim)
{
    char path[4096];

    *idx = (ht_idx){.ndim = ndim, .header = 4 + 4 * ndim};
    if (!find(folder, name, path, sizeof path))
        return ht__error_set(HT_ERR_IO, "ht_idx_to_hdf5: %s has neither %s nor %s.gz", folder, name,
                             name);
    idx->path = ht__strdup(path);
    if (ht__file_check("ht_idx_to_hdf5", path) != HT_SUCCESS) /* a FIFO would be waited for */
        return ht_error_get(NULL);
    idx->file = gzopen(path, "rb");
    if (idx->file == NULL)
        return ht__error_set(HT_ERR_IO, "ht_idx_to_hdf5: cannot open %s: %s", path,
                             strerror(errno));
    gzbuffer(idx->file, 256 << 10);
    return read_header(idx);
}

ht_status ht__idx_read(ht_idx *idx, int64_t rows, unsigned char *bytes)
{
    int64_t before = gztell(idx->file), wanted = rows * idx->row_bytes;
    int got = gzread(idx->file, bytes, (unsigned)wanted);

    if (got == wanted)
        return HT_SUCCESS;
    return short_file(idx, before + (got < 0 ? 0 : got),
                      idx->header + idx->shape[0] * idx->row_bytes);
}

ht_status ht__idx_check_end(ht_idx *idx)
{
    unsigned char more;
    int64_t expected = gztell(idx->file);
    int got = gzread(idx->file, &more, 1), code;

    /* A gzip file that ends before its checksum reads as at its end, with this code. */
    gzerror(idx->file, &code);
    if (got == 0 && code != Z_BUF_ERROR)
        return HT_SUCCESS;
    if (got <= 0)
        return short_file(idx, expected, expected);
    return ht__error_set(HT_ERR_FORMAT,
                         "ht_idx_to_hdf5: %s is longer than its header says: expected %" PRId64
                         " bytes",
                         idx->path, expected);
}

void ht__idx_close(ht_idx *idx)
{
    if (idx->file != NULL)
        gzclose(idx->file);
    ht__free(idx->path);
    *idx = (ht_idx){0};
}
