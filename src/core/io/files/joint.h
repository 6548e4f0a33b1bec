/* SPDX-License-Identifier: MIT
 *
 * A plain file that all ranks of a communicator write together, under another name. It is moved to
 * its place when it is complete. */
#ifndef HT_CORE_IO_FILES_JOINT_H
#define HT_CORE_IO_FILES_JOINT_H

#include "core/comm/comm.h"
#include "core/io/files/file.h"

typedef struct ht_joint {
    ht_comm *comm;
    int file; /* this rank's descriptor; -1: not open */
    ht_whole whole;
    ht_errhandler handler; /* of the communicator, which meanwhile returns errors */
} ht_joint;

/* Rank 0's path counts; `what` is a literal. Ranks that each write a process-local tensor to one
 * path write to different files: the last to end gives the file its name. Without success there is
 * nothing to end. Collective, agrees. */
ht_status ht__joint_begin(ht_joint *joint, const char *what, const char *path, ht_comm *comm);

/* Gives it this many bytes, which a full disk refuses. Collective, agrees. */
ht_status ht__joint_reserve(ht_joint *joint, int64_t bytes);

/* This rank's bytes; errors are recorded. */
ht_status ht__joint_write(const ht_joint *joint, const void *memory, int64_t bytes, int64_t offset);

/* Puts it in its place, or removes it where `status` is an error on any rank. Collective, agrees.
 */
ht_status ht__joint_end(ht_joint *joint, ht_status status);

#endif
