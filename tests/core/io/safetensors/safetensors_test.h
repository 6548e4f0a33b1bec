/* SPDX-License-Identifier: MIT
 *
 * Files of bytes that tests of safetensors make. */
#ifndef HT_TEST_SAFETENSORS_H
#define HT_TEST_SAFETENSORS_H

#include "core/tensor/tensor.h"
#include "ht_test.h"

#include <stdio.h>
#include <string.h>

/* Rank 0 writes, all wait. */
static void write_bytes(const char *path, const void *bytes, size_t count)
{
    ht_barrier(HT_COMM_WORLD); /* the others have read the earlier file */
    if (ht_test_rank == 0) {
        FILE *file = fopen(path, "wb");

        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, count, file), count);
        fclose(file);
    }
    ht_barrier(HT_COMM_WORLD);
}

/* A file of this header and of `bytes` bytes 0, 1, 2, ... after it. */
static inline void write_header(const char *path, const char *header, int bytes)
{
    char file[2048] = {0};
    const size_t length = strlen(header);

    assert_true(8 + length + (size_t)bytes < sizeof file);
    file[0] = (char)(length & 0xff);
    file[1] = (char)(length >> 8);
    memcpy(file + 8, header, length);
    for (int i = 0; i < bytes; i++)
        file[8 + length + (size_t)i] = (char)i;
    write_bytes(path, file, 8 + length + (size_t)bytes);
}

#endif
