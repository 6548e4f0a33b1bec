/* SPDX-License-Identifier: MIT
 *
 * A rank's slab of a data set, written in pieces that MPI and HDF5 can count. */
#ifndef HT_CORE_IO_HDF5_SLAB_WRITE_H
#define HT_CORE_IO_HDF5_SLAB_WRITE_H

#include "core/io/files/slab.h"
#include "core/io/hdf5/hdf5_parallel.h"

/* Bytes of one piece at most (unless one element is larger). Tests make it small. */
extern int64_t ht__io_piece_bytes;

/* Writes the slab of a data set of `file` from row-major memory, in the elements of `dtype`. All
 * ranks write together, as often as the rank with most pieces needs. An error is HDF5's reason
 * alone. The status is this rank's: the caller agrees on it. Collective over the communicator of
 * the file. */
ht_status ht__slab_write(ht_parallel *file, hid_t set, ht_dtype dtype, const ht_slab *slab,
                         const void *memory);

#endif
