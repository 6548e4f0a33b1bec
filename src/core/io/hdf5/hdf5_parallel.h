/* SPDX-License-Identifier: MIT
 *
 * A file that all ranks of a communicator have open through MPI-IO. Any call of HDF5 on it may wait
 * for the other ranks, by a message that cannot be polled. So enter gives out its id under the
 * watchdog's deadline, which ends with leave. The library's own waits must not come in between:
 * they have their own deadline, and say more. */
#ifndef HT_CORE_IO_HDF5_HDF5_PARALLEL_H
#define HT_CORE_IO_HDF5_HDF5_PARALLEL_H

#include "core/comm/comm.h"
#include "core/io/hdf5/hdf5.h"

typedef struct ht_parallel {
    const char *what; /* the public function; a literal */
    ht_comm *comm;
    hid_t hidden;      /* H5I_INVALID_HID: not open */
    const char *outer; /* between enter and leave: the guard before */
} ht_parallel;

/* For writing: each rank reads with handles of its own. `newest`: in HDF5's newest format, whose
 * metadata have checksums. An error is HDF5's reason alone. Collective; the status is this rank's.
 */
ht_status ht__parallel_open(ht_parallel *file, const char *path, bool newest);

hid_t ht__parallel_enter(ht_parallel *file);
void ht__parallel_leave(ht_parallel *file);

/* Nothing if it is not open. `status`, if that is an error, whose message stays; else one as above.
 */
ht_status ht__parallel_close(ht_parallel *file, ht_status status);

/* From here on nothing reaches the disk, so that closing cannot fail, after an error that all ranks
 * have agreed on. Otherwise a full disk could stop some ranks alone, which then leave HDF5 while
 * the others wait for them. The file is left as it is, unfinished. Collective. Nothing if not open.
 */
void ht__parallel_abandon(ht_parallel *file);

#endif
