/* SPDX-License-Identifier: MIT
 *
 * The description of a data set's chunks. The index and the stored chunks are compared with it
 * before HDF5 uses them: HDF5 1.10 reads out of bounds if they do not match. */
#ifndef HT_CORE_IO_HDF5_CHUNKS_H
#define HT_CORE_IO_HDF5_CHUNKS_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ht/types.h"

/* Filters that change the number of bytes, as bits. */
enum { HT_CHUNK_DEFLATE = 1, HT_CHUNK_PACKED = 2, HT_CHUNK_SZIP = 4, HT_CHUNK_OTHER = 8 };

struct ht_hdf5_info;

typedef struct ht_chunks {
    int ndim; /* 0: not chunked, and nothing is checked */
    uint64_t shape[HT_MAX_NDIM], chunk[HT_MAX_NDIM];
    uint64_t element, bytes; /* bytes of an element, and of a chunk in memory */
    int filters;
    unsigned resizing; /* bits of the filters in the pipeline that change the number of bytes */
    int sum;           /* index of fletcher32 in the pipeline, which adds 4 bytes; -1: without */
    unsigned outer; /* the last filter that changes the number of bytes, as above; 0: none, ... */
    int outer_at;   /* ... and its index in the pipeline */
    bool indexed;   /* a node of the index was read, ... */
    bool skipping;  /* ... and it has a chunk without all filters */
    bool proved;    /* an inflated chunk had the right number of bytes */
} ht_chunks;

/* Fills `chunks` from the creation properties of a data set. Returns NULL, or why the file is
 * damaged: text. */
const char *ht__chunks_describe(ht_chunks *chunks, hid_t layout, hid_t type,
                                const struct ht_hdf5_info *info);

/* Checks the bytes of a node of the index, a B-tree of HDF5's format 1. Returns NULL, or text like
 * that above. */
const char *ht__chunks_check_node(ht_chunks *chunks, const unsigned char *node, size_t bytes);

/* Checks a stored chunk before HDF5 unpacks it. Inflates the first chunk of a data set.
 * Returns NULL, or text like that above. */
const char *ht__chunks_check_stored(ht_chunks *chunks, const unsigned char *stored, size_t bytes);

#endif
