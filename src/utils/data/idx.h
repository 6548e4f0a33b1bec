/* SPDX-License-Identifier: MIT
 *
 * IDX files, the format of MNIST: a magic number, the dimensions (big-endian), then bytes. */
#ifndef HT_UTILS_DATA_IDX_H
#define HT_UTILS_DATA_IDX_H

#include <zlib.h>

#include "ht/error.h"

typedef struct ht_idx {
    char *path;  /* owned */
    gzFile file; /* reads plain and gzipped files */
    int ndim;
    int64_t shape[3];
    int64_t row_bytes;
    int64_t header; /* bytes before the data */
} ht_idx;

/* Opens `name` or `name`.gz in `folder`, whichever is there, and checks that it holds bytes in
 * `ndim` dimensions. Returns the code of the error recorded. The file is to be closed after failure
 * too. */
ht_status ht__idx_open(ht_idx *idx, const char *folder, const char *name, int ndim);

/* Whether ht__idx_open would find it. */
bool ht__idx_exists(const char *folder, const char *name);

/* The next `rows` rows. A file that ends early is an error with both lengths in it. */
ht_status ht__idx_read(ht_idx *idx, int64_t rows, unsigned char *bytes);

/* That nothing follows the last row. */
ht_status ht__idx_check_end(ht_idx *idx);

void ht__idx_close(ht_idx *idx);

#endif
