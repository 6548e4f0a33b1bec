/* SPDX-License-Identifier: MIT
 *
 * Slabs of tensors in files: the part that a rank transfers, and its axis. */
#include "core/io/files/slab.h"

int64_t ht__io_run_bytes = INT64_C(1) << 18;

ht_slab ht__slab_of(const ht_body *body)
{
    ht_slab slab = {.ndim = body->ndim, .element = ht_dtype_size(body->dtype)};

    for (int i = 0; i < body->ndim; i++) {
        slab.start[i] = i == body->split ? body->split_start : 0;
        slab.count[i] = body->lshape[i];
    }
    return slab;
}

int ht__slab_axis(const ht_comm *comm, int ndim, const int64_t shape[], size_t element, int split)
{
    double run = (double)element / comm->size; /* bytes; products of lengths may be huge */

    for (int i = split > 0 ? split : 0; i < ndim; i++)
        run *= (double)shape[i];
    if (comm->size == 1 || run >= (double)ht__io_run_bytes)
        return split;
    for (int axis = 0; axis < split; axis++) {
        if (shape[axis] >= comm->size) /* no rank holds much more than its share meanwhile */
            return axis;
    }
    return split;
}

ht_slab ht__slab_share(ht_comm *comm, const ht_body *body, const char **data)
{
    ht_slab slab = ht__slab_of(body);
    int64_t row = (int64_t)slab.element;

    *data = ht__body_data(body);
    if (body->split != HT_NONE || comm->size == 1)
        return slab;
    if (body->ndim == 0) {
        slab.ndim = comm->rank == 0 ? 0 : 1;
        slab.count[0] = 0;
        return slab;
    }
    for (int i = 1; i < body->ndim; i++)
        row *= body->lshape[i];
    ht_comm_chunk(comm, body->shape[0], comm->rank, &slab.start[0], &slab.count[0]);
    *data += slab.start[0] * row;
    return slab;
}
