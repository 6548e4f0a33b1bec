/* SPDX-License-Identifier: MIT
 *
 * Makes a description of a tensor's parts, and a tensor from such a description. No element
 * travels: the ranks agree by one Allreduce of a few numbers. They compare their descriptions, and
 * find out if all parts are dense. */
#include "ht/partitioned.h"

#include <inttypes.h>
#include <string.h>

#include "core/collective/collective.h"

static const char from_what[] = "ht_from_partitioned";

ht_status ht_tensor_partitioned(ht_tensor *x, ht_partitioned *partitioned, ht_partition parts[])
{
    static const char what[] = "ht_tensor_partitioned";
    const ht_body *body;
    ht_tensor *local;

    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    body = x->body;
    if (partitioned == NULL || parts == NULL)
        return HT_FAIL(body->comm, HT_ERR_ARGUMENT, "%s: %s is NULL", what,
                       partitioned == NULL ? "partitioned" : "parts");
    local = ht_tensor_local(x);
    if (local == NULL)
        return ht_error_get(NULL);

    *partitioned = (ht_partitioned){.ndim = body->ndim,
                                    .dtype = body->dtype,
                                    .parts = parts,
                                    .local = local,
                                    .comm = body->comm};
    for (int i = 0; i < body->ndim; i++) {
        partitioned->shape[i] = body->shape[i];
        partitioned->tiling[i] = i == body->split ? body->comm->size : 1;
    }
    for (int r = 0; r < body->comm->size; r++) {
        parts[r] = (ht_partition){.location = r};
        memcpy(parts[r].shape, partitioned->shape, sizeof parts[r].shape);
        if (body->split == HT_NONE)
            continue;
        parts[r].start[body->split] = ht__body_start(body, r);
        parts[r].shape[body->split] = ht__body_start(body, r + 1) - ht__body_start(body, r);
    }
    return HT_SUCCESS;
}

/* The axis that is divided, or HT_NONE. */
static ht_status find_split(const ht_partitioned *from, int *split)
{
    *split = HT_NONE;
    for (int i = 0; i < from->ndim; i++) {
        if (from->tiling[i] == 1)
            continue;
        if (*split != HT_NONE || from->tiling[i] != from->comm->size)
            return ht__error_set(HT_ERR_SHAPE,
                                 "%s: partitioned.tiling is %s, expected at most one axis that is "
                                 "divided, into %d parts",
                                 from_what, ht__shape_str(from->ndim, from->tiling),
                                 from->comm->size);
        *split = i;
    }
    return HT_SUCCESS;
}

/* The part of one rank is where the ones before it end. */
static ht_status check_part(const ht_partitioned *from, int split, int r, int64_t begin)
{
    const ht_partition *part = &from->parts[r];
    bool right = part->location == r;

    for (int i = 0; i < from->ndim; i++)
        right &= part->start[i] == (i == split ? begin : 0) &&
                 (i == split ? part->shape[i] >= 0 : part->shape[i] == from->shape[i]);
    if (right)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_SHAPE,
                         "%s: part %d is %s, starts at %s and is on rank %d; expected rank %d, a "
                         "start along axis %s at %" PRId64 ", and all of the other axes of %s",
                         from_what, r, ht__shape_str(from->ndim, part->shape),
                         ht__shape_str(from->ndim, part->start), part->location, r,
                         ht__int_str(split), begin, ht__shape_str(from->ndim, from->shape));
}

static ht_status check_parts(const ht_partitioned *from, int *split)
{
    int64_t begin = 0;
    ht_status status = find_split(from, split);

    for (int r = 0; r < from->comm->size && status == HT_SUCCESS; r++) {
        status = check_part(from, *split, r, begin);
        if (*split != HT_NONE)
            begin += from->parts[r].shape[*split];
    }
    if (status == HT_SUCCESS && *split != HT_NONE && begin != from->shape[*split])
        status = ht__error_set(HT_ERR_SHAPE,
                               "%s: the parts together have length %" PRId64
                               " along axis %d, expected %" PRId64,
                               from_what, begin, *split, from->shape[*split]);
    return status;
}

static ht_status check_local(const ht_partitioned *from)
{
    const ht_partition *part = &from->parts[from->comm->rank];
    const ht_body *local;

    if (ht__alive(from->local, from_what, "partitioned.local") == NULL)
        return ht__error_set_null(from_what, "partitioned.local");
    local = from->local->body;
    if (local->dtype != from->dtype)
        return ht__error_set(HT_ERR_DTYPE,
                             "%s: partitioned.local is %s, expected %s as in the description",
                             from_what, ht_dtype_name(local->dtype), ht_dtype_name(from->dtype));
    if (ht__same_shape(local->ndim, local->lshape, from->ndim, part->shape))
        return HT_SUCCESS;
    return ht__error_set(
        HT_ERR_SHAPE, "%s: partitioned.local is %s, expected %s as in the description", from_what,
        ht__shape_str(local->ndim, local->lshape), ht__shape_str(from->ndim, part->shape));
}

static ht_status check(const ht_partitioned *from, int *split)
{
    ht_status status;

    if (from->ndim < 0 || from->ndim > HT_MAX_NDIM || from->parts == NULL)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: ndim is %s, expected 0 to %d%s", from_what,
                             ht__int_str(from->ndim), HT_MAX_NDIM,
                             from->parts == NULL ? ", and parts that are not NULL" : "");
    if (from->ndim > 0 && !ht__shape_counts(from->ndim, from->shape))
        return ht__error_set(
            HT_ERR_SHAPE,
            "%s: partitioned.shape is %s, expected lengths of at least 0 and fewer "
            "than 2^59 elements",
            from_what, ht__shape_str(from->ndim, from->shape));
    status = check_parts(from, split);
    return status == HT_SUCCESS ? check_local(from) : status;
}

static bool is_dense(const ht_body *local)
{
    int64_t stride[HT_MAX_NDIM];
    bool dense = true;

    ht__strides_row_major(local->ndim, local->lshape, stride);
    for (int i = 0; i < local->ndim && local->lsize > 0; i++)
        dense &= local->lshape[i] == 1 || local->stride[i] == stride[i];
    return dense;
}

static uint64_t key_of(const ht_partitioned *from, int split)
{
    uint64_t key = (uint64_t)from->dtype * 64 + (uint64_t)from->ndim;

    for (int i = 0; i < from->ndim; i++)
        key = (key ^ (uint64_t)from->shape[i]) * 0x9e3779b97f4a7c15u;
    for (int r = 0; split != HT_NONE && r < from->comm->size; r++)
        key = (key ^ (uint64_t)from->parts[r].start[split]) * 0x9e3779b97f4a7c15u;
    return (key + (uint64_t)(split == HT_NONE ? 0 : split + 1)) >> 1;
}

/* NULL: the slabs of ht_comm_chunk. */
static ht_bounds *bounds_of(const ht_partitioned *from, int split)
{
    const ht_comm *comm = from->comm;
    ht_bounds *bounds = split != HT_NONE ? ht__bounds_new(comm->size) : NULL;
    bool canonical = true;

    for (int r = 0; bounds != NULL && r < comm->size; r++) {
        int64_t start;

        ht_comm_chunk(comm, from->shape[split], r, &start, NULL);
        bounds->start[r] = from->parts[r].start[split];
        canonical &= bounds->start[r] == start;
    }
    if (bounds != NULL)
        bounds->start[comm->size] = from->shape[split];
    if (!canonical)
        return bounds;
    ht_release(bounds);
    return NULL;
}

/* If one part is not dense, the global strides must have gaps, so that no code takes the tensor to
 * be dense. */
static void lay_apart(ht_body *body, const ht_body *local)
{
    int64_t step = 2;

    memcpy(body->stride, local->stride, sizeof body->stride);
    for (int i = body->ndim - 1; i >= 0; i--) {
        body->gstride[i] = step;
        step *= body->shape[i] + 1;
    }
}

ht_tensor *ht_from_partitioned(const ht_partitioned *partitioned)
{
    enum { APART, READ_ONLY, KEY, KEY_BELOW, VALUES };
    const ht_body *local;
    ht_bounds *bounds;
    ht_body *body;
    int split = HT_NONE;
    bool begun;
    ht_status status;

    if (partitioned == NULL || partitioned->comm == NULL) {
        ht__fail_null(NULL, from_what, partitioned == NULL ? "description" : "communicator");
        return NULL;
    }

    ht_comm *comm = partitioned->comm;

    begun = ht__agree_begin();
    status = check(partitioned, &split);
    if (ht__agree_end(from_what, comm, begun, status) != HT_SUCCESS)
        return NULL;
    local = partitioned->local->body;

    int64_t key = (int64_t)key_of(partitioned, split);
    int64_t values[VALUES] = {!is_dense(local), local->read_only, key, -key};

    if (ht__comm_allreduce_i64(comm, values, VALUES, HT_OP_MAX, from_what) != HT_SUCCESS)
        return NULL;
    if (values[KEY] != -values[KEY_BELOW]) {
        HT_FAIL(comm, HT_ERR_ARGUMENT,
                "%s: the ranks describe different dtypes, shapes or parts, expected the same on "
                "all ranks",
                from_what);
        return NULL;
    }
    bounds = bounds_of(partitioned, split);
    body = ht__body_on(ht_retain(local->storage), comm, local->dtype, local->ndim,
                       partitioned->shape, split, bounds);
    ht_release(bounds);
    body->offset = local->offset;
    body->read_only = (ht_read_only)values[READ_ONLY];
    if (values[APART])
        lay_apart(body, local);
    return ht__tensor_view(body);
}
