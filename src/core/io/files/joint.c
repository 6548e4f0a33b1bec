/* SPDX-License-Identifier: MIT
 *
 * Rank 0 makes the file and gives it its name; in between all ranks open it. */
#include "core/io/files/joint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/io/files/runs.h"

static ht_status cannot_write(const ht_joint *joint, const char *why)
{
    return ht__error_set(HT_ERR_IO, "%s: cannot write %s: %s", joint->whole.what, joint->whole.path,
                         why);
}

static ht_status make(ht_joint *joint, const char *what, const char *path)
{
    char suffix[32] = ".part";

    if (joint->comm->size != ht_comm_size(HT_COMM_WORLD))
        snprintf(suffix, sizeof suffix, ".%d.part", ht_comm_rank(HT_COMM_WORLD));
    return ht__whole_begin(&joint->whole, what, path, suffix);
}

/* Names of the file, for all; then each opens it. */
static ht_status open_all(ht_joint *joint, const char *what)
{
    ht_status status = ht__comm_bcast_bytes(joint->comm, joint->whole.part,
                                            sizeof joint->whole.part, 0, what);

    if (status != HT_SUCCESS)
        return status;
    joint->file = open(joint->whole.part, O_RDWR | O_CLOEXEC);
    if (joint->file < 0)
        status = cannot_write(joint, strerror(errno));
    return ht__agree(what, joint->comm, status);
}

ht_status ht__joint_begin(ht_joint *joint, const char *what, const char *path, ht_comm *comm)
{
    ht_status status;

    *joint = (ht_joint){.comm = comm, .file = -1, .whole = {.what = what, .path = path}};
    status = comm->rank == 0 ? make(joint, what, path) : HT_SUCCESS;
    status = ht__agree(what, comm, status);
    if (status != HT_SUCCESS)
        return status;
    /* The handler may end the job, so the unfinished file is removed first. */
    joint->handler = comm->handler;
    comm->handler = HT_ERRORS_RETURN;
    status = open_all(joint, what);
    return status == HT_SUCCESS ? status : ht__joint_end(joint, status);
}

ht_status ht__joint_reserve(ht_joint *joint, int64_t bytes)
{
    int error = joint->comm->rank == 0 ? ht__file_reserve(joint->file, bytes) : 0;
    ht_status status = HT_SUCCESS;
    char why[160];

    if (error != 0) {
        snprintf(why, sizeof why, "cannot reserve %lld bytes: %s", (long long)bytes,
                 strerror(error));
        status = cannot_write(joint, why);
    }
    return ht__agree(joint->whole.what, joint->comm, status);
}

ht_status ht__joint_write(const ht_joint *joint, const void *memory, int64_t bytes, int64_t offset)
{
    int error = ht__write_at(joint->file, memory, bytes, offset);

    return error == 0 ? HT_SUCCESS : cannot_write(joint, strerror(error));
}

ht_status ht__joint_end(ht_joint *joint, ht_status status)
{
    ht_comm *comm = joint->comm;

    if (joint->file >= 0 && close(joint->file) != 0 && status == HT_SUCCESS)
        status = cannot_write(joint, strerror(errno));
    joint->file = -1;
    status = ht__agree(joint->whole.what, comm, status);
    if (comm->rank == 0)
        status = ht__whole_end(&joint->whole, status);
    comm->handler = joint->handler;
    return ht__agree(joint->whole.what, comm, status);
}
