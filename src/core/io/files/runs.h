/* SPDX-License-Identifier: MIT
 *
 * Slabs of a row-major array in a plain file, and single runs of bytes. */
#ifndef HT_CORE_IO_FILES_RUNS_H
#define HT_CORE_IO_FILES_RUNS_H

#include "core/io/files/slab.h"

/* All the bytes, in as many calls as it takes. 0, the system's error, or -1: the file ends. */
int ht__read_at(int file, void *memory, int64_t bytes, int64_t offset);
int ht__write_at(int file, const void *memory, int64_t bytes, int64_t offset);

/* The runs of a slab: each `bytes` long, run i at the file's byte ht__run_at from the first
 * element on; in row-major memory they follow one another. */
typedef struct ht_runs {
    int64_t count, bytes;
    int axis; /* a run is a range of this axis */
    ht_slab slab;
    int64_t stride[HT_MAX_NDIM]; /* bytes */
} ht_runs;

ht_runs ht__runs_of(const ht_slab *slab, const int64_t shape[], int64_t element);
int64_t ht__run_at(const ht_runs *runs, int64_t index);

#endif
