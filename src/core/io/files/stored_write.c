/* SPDX-License-Identifier: MIT
 *
 * Writing a tensor into a plain file. Each rank writes its slab, by itself. A slab of split 0 is
 * one run of the file; with another split there is a run for each combination of indices before it.
 * If these runs would be short, x is split along an outer axis first, by one exchange. */
#include "core/io/files/runs.h"
#include "core/io/files/stored.h"

#include "ht/devices.h"
#include "ht/manipulations.h"

ht_tensor *ht__stored_form(ht_tensor *x)
{
    const ht_body *body;
    int axis;

    if (x == NULL)
        return NULL;
    body = x->body;
    axis = ht__slab_axis(body->comm, body->ndim, body->shape, ht_dtype_size(body->dtype),
                         body->split);
    if (axis != body->split)
        x = ht_resplit(x, axis);
    return ht_contiguous(ht_to_device(x, ht_device_get("cpu")));
}

/* A scalar that all ranks have is rank 0's to write: ht__slab_share gives others an empty list. */
ht_status ht__stored_write(ht_joint *file, const ht_body *body, int64_t offset)
{
    const char *data;
    ht_status status = HT_SUCCESS;

    if (file->comm->rank != 0 && (body->ndim == 0 || body->comm->size < file->comm->size))
        return HT_SUCCESS;

    ht_slab slab = ht__slab_share(body->comm, body, &data);
    ht_runs runs = ht__runs_of(&slab, body->shape, (int64_t)slab.element);

    for (int64_t i = 0; i < runs.count && status == HT_SUCCESS; i++)
        status = ht__joint_write(file, data + i * runs.bytes, runs.bytes,
                                 offset + ht__run_at(&runs, i));
    return status;
}
