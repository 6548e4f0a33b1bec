/* SPDX-License-Identifier: MIT
 *
 * A rank's slab of a data set, written in pieces that MPI and HDF5 can count. */
#ifndef HT_CORE_IO_SLAB_H
#define HT_CORE_IO_SLAB_H

#include "core/tensor/tensor.h"
#include "core/io/hdf5_parallel.h"

/* Bytes of one piece at most (unless one element is larger). Tests make it small. */
extern int64_t ht__io_piece_bytes;

/* Shorter runs of a file are short. Tests make it 0. */
extern int64_t ht__io_run_bytes;

typedef struct ht__slab {
    int ndim;
    int64_t start[HT_MAX_NDIM]; /* in the data set */
    int64_t count[HT_MAX_NDIM];
    size_t element; /* bytes */
} ht__slab;

/* The local part of a tensor's body. */
ht__slab ht__slab_of(const ht_body *body);

/* The axis that a tensor of this split is to be split along while it is transferred: one further
 * out where its slab would be many short runs of the file, which take longer by far than to split
 * it again. The same on all ranks. */
int ht__slab_axis(const ht_comm *comm, int ndim, const int64_t shape[], size_t element, int split);

/* What this rank writes of a tensor: its slab, or of one that all have, an equal part of axis 0;
 * *data: where that begins. */
ht__slab ht__slab_share(ht_comm *comm, const ht_body *body, const char **data);

/* Writes the slab of a data set of `file` from row-major memory, in the elements of `dtype`. All
 * ranks write together, as often as the rank with most pieces needs. An error is HDF5's reason
 * alone. The status is this rank's: the caller agrees on it. Collective over the communicator of
 * the file. */
ht_status ht__slab_write(ht__parallel *file, hid_t set, ht_dtype dtype, const ht__slab *slab,
                         const void *memory);

#endif
