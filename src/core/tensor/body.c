/* SPDX-License-Identifier: MIT
 *
 * Bodies: all of a tensor but its history. They never change once a tensor has them. */
#include <stdio.h>
#include <string.h>

#include "core/tensor/tensor.h"

static void destroy_bounds(void *object)
{
    ht__object_fini(object);
    ht__free(object);
}

static ht_kind bounds_kind = {.name = "bounds", .destroy = destroy_bounds};

ht_bounds *ht__bounds_new(int ranks)
{
    ht_bounds *bounds = ht__alloc(sizeof *bounds + ((size_t)ranks + 1) * sizeof bounds->start[0]);

    ht__object_init(bounds, &bounds_kind);
    return bounds;
}

static void destroy_body(void *object)
{
    ht_body *body = object;

    ht_release(body->storage);
    ht_release(body->comm);
    ht_release(body->bounds);
    ht__free(body->number);
    ht__object_fini(body);
    ht__block_free(body, sizeof *body);
}

static ht_kind body_kind = {.name = "body", .destroy = destroy_body};

void ht__strides_row_major(int ndim, const int64_t shape[], int64_t stride[])
{
    int64_t step = 1;

    for (int i = ndim - 1; i >= 0; i--) {
        stride[i] = step;
        step *= shape[i] > 0 ? shape[i] : 1;
    }
}

int64_t ht__body_start(const ht_body *body, int rank)
{
    int64_t start, count;

    if (body->split == HT_NONE)
        return 0;
    if (body->bounds != NULL)
        return body->bounds->start[rank];
    if (rank == body->comm->size)
        return body->shape[body->split];
    ht_comm_chunk(body->comm, body->shape[body->split], rank, &start, &count);
    return start;
}

void ht__body_settle(ht_body *body)
{
    memcpy(body->lshape, body->shape, sizeof body->lshape);
    body->split_start = 0;
    if (body->split != HT_NONE) {
        body->split_start = ht__body_start(body, body->comm->rank);
        body->lshape[body->split] = ht__body_start(body, body->comm->rank + 1) - body->split_start;
    }
    body->lsize = 1;
    for (int i = 0; i < body->ndim; i++)
        body->lsize *= body->lshape[i];
}

/* Everything but strides and storage. */
static ht_body *new_shape(ht_comm *comm, ht_dtype dtype, int ndim, const int64_t shape[], int split,
                          ht_bounds *bounds)
{
    ht_body *body = ht__block_alloc(sizeof *body);

    ht__object_init(body, &body_kind);
    body->comm = ht_retain(comm);
    body->dtype = dtype;
    body->ndim = ndim;
    body->split = split;
    body->bounds = ht_retain(bounds);
    if (ndim > 0)
        memcpy(body->shape, shape, (size_t)ndim * sizeof shape[0]);
    ht__body_settle(body);
    return body;
}

static int64_t longest_slab(const ht_body *body)
{
    int64_t longest = 0;

    for (int r = 0; r < body->comm->size; r++) {
        int64_t count = ht__body_start(body, r + 1) - ht__body_start(body, r);

        longest = count > longest ? count : longest;
    }
    return longest;
}

/* Whether the part of some rank has more bytes than a process can address. All ranks get the same
 * answer. */
static bool is_too_large(const ht_body *body)
{
    double bytes = (double)ht_dtype_size(body->dtype);

    for (int i = 0; i < body->ndim; i++)
        bytes *= (double)body->shape[i];
    if (bytes > 0x1p48 && body->split != HT_NONE)
        bytes *= (double)longest_slab(body) / (double)body->shape[body->split];
    return bytes > 0x1p48;
}

static bool has_room(const char *what, const ht_body *body)
{
    if (!is_too_large(body))
        return true;
    HT_FAIL(body->comm, HT_ERR_MEMORY,
            "%s: out of memory: %s of shape %s has more than 2^48 bytes for a rank", what,
            ht_dtype_name(body->dtype), ht__shape_str(body->ndim, body->shape));
    return false;
}

static bool is_countable(const char *what, ht_comm *comm, int ndim, const int64_t shape[])
{
    if (ht__shape_counts(ndim, shape))
        return true;
    HT_FAIL(comm, HT_ERR_SHAPE, "%s: a result of shape %s has 2^59 elements or more", what,
            ht__shape_str(ndim, shape));
    return false;
}

bool ht__check_size(const char *what, ht_comm *comm, ht_dtype dtype, int ndim,
                    const int64_t shape[], int split)
{
    ht_body *body;
    bool fits;

    if (!is_countable(what, comm, ndim, shape))
        return false;
    body = new_shape(comm, dtype, ndim, shape, split, NULL);
    fits = has_room(what, body);
    ht_release(body);
    return fits;
}

static ht_body *give_memory(const char *what, ht_body *body, ht_device *device)
{
    size_t bytes = (size_t)body->lsize * ht_dtype_size(body->dtype);

    if (!has_room(what, body)) {
        ht_release(body);
        return NULL;
    }
    body->storage = ht__storage_new(device, bytes);
    if (body->storage != NULL)
        return body;
    HT_FAIL_HERE(body->comm, HT_ERR_MEMORY, "%s: out of memory: %zu bytes on %s for %s of shape %s",
                 what, bytes, ht_device_name(device), ht_dtype_name(body->dtype),
                 ht__shape_str(body->ndim, body->lshape));
    ht_release(body);
    return NULL;
}

static const int channels_last[] = {0, 2, 3, 1};

/* Dense strides, the axes one after another in memory in this order; NULL: row-major, known when
 * this is compiled. */
static inline void lay(ht_body *body, const int order[])
{
    int64_t step = 1, global_step = 1;

    for (int i = body->ndim - 1; i >= 0; i--) {
        int axis = order != NULL ? order[i] : i;

        body->stride[axis] = step;
        body->gstride[axis] = global_step;
        step *= body->lshape[axis] > 0 ? body->lshape[axis] : 1;
        global_step *= body->shape[axis] > 0 ? body->shape[axis] : 1;
    }
}

void ht__body_lay_row_major(ht_body *body)
{
    lay(body, NULL);
}

void ht__body_lay_channels_last(ht_body *body)
{
    lay(body, channels_last);
}

ht_body *ht__body_new(const char *what, ht_comm *comm, ht_device *device, ht_dtype dtype, int ndim,
                      const int64_t shape[], int split, ht_bounds *bounds)
{
    ht_body *body;

    if (!is_countable(what, comm, ndim, shape))
        return NULL;
    body = new_shape(comm, dtype, ndim, shape, split, bounds);
    ht__body_lay_row_major(body);
    return give_memory(what, body, device);
}

ht_body *ht__body_on(ht_storage *storage, ht_comm *comm, ht_dtype dtype, int ndim,
                     const int64_t shape[], int split, ht_bounds *bounds)
{
    ht_body *body = new_shape(comm, dtype, ndim, shape, split, bounds);

    ht__body_lay_row_major(body);
    body->storage = storage;
    return body;
}

/* Whether the elements of all ranks would lie one after another, the axes in this order; strides of
 * axes of length 1 may be any. */
static inline bool lies(const ht_body *body, const int order[])
{
    int64_t step = 1;

    for (int i = body->ndim - 1; i >= 0; i--) {
        int axis = order != NULL ? order[i] : i;

        if (body->shape[axis] != 1 && body->gstride[axis] != step)
            return false;
        step *= body->shape[axis] > 0 ? body->shape[axis] : 1;
    }
    return true;
}

/* The axes as they follow each other in memory. */
static void order_of(const ht_body *body, int order[])
{
    for (int i = 0; i < body->ndim; i++) {
        int j = i;

        for (; j > 0 && body->gstride[order[j - 1]] < body->gstride[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
    }
}

ht_body *ht__body_metadata(const ht_body *of)
{
    ht_body *body = ht__block_copy(of, sizeof *body);

    ht__object_init(body, &body_kind);
    body->storage = NULL;
    body->number = NULL;
    ht_retain(body->comm);
    ht_retain(body->bounds);
    return body;
}

ht_body *ht__body_view(const ht_body *of)
{
    ht_body *body = ht__body_metadata(of);

    body->storage = ht_retain(of->storage);
    return body;
}

ht_body *ht__body_new_as(const char *what, const ht_body *like, ht_dtype dtype)
{
    ht_body *body = ht__body_metadata(like);
    int order[HT_MAX_NDIM];

    body->dtype = dtype;
    body->offset = 0;
    body->read_only = HT_WRITABLE;
    body->inside = false;
    if (lies(like, NULL)) {
        ht__body_lay_row_major(body);
    } else {
        order_of(like, order);
        lay(body, order);
    }
    return give_memory(what, body, like->storage->device);
}

static bool is_empty(const ht_body *body)
{
    for (int i = 0; i < body->ndim; i++) {
        if (body->shape[i] == 0)
            return true;
    }
    return false;
}

bool ht__body_is_contiguous(const ht_body *body)
{
    return lies(body, NULL) || is_empty(body);
}

bool ht__body_is_channels_last(const ht_body *body)
{
    return body->ndim == 4 && lies(body, channels_last);
}

bool ht__body_same_slabs(const ht_body *a, const ht_body *b)
{
    if (a->split != b->split)
        return false;
    if (a->split == HT_NONE || a->bounds == b->bounds)
        return true;
    for (int rank = 0; rank <= a->comm->size; rank++) {
        if (ht__body_start(a, rank) != ht__body_start(b, rank))
            return false;
    }
    return true;
}

bool ht__body_same_shape(const ht_body *a, const ht_body *b)
{
    return ht__same_shape(a->ndim, a->shape, b->ndim, b->shape);
}

bool ht__body_fits(const ht_body *a, const ht_body *b)
{
    bool both = a->storage != NULL && b->storage != NULL;

    return a->dtype == b->dtype && (!both || a->storage->device == b->storage->device) &&
           ht__comm_compatible(a->comm, b->comm) && ht__body_same_shape(a, b) &&
           ht__body_same_slabs(a, b);
}

const char *ht__read_only_name(const ht_body *body)
{
    static const char *const names[] = {"a tensor", "a read-only view (ht_broadcast_to)",
                                        "a number (ht_scalar)",
                                        "read-only memory (ht_from_dlpack)"};

    return names[body->read_only];
}

const char *ht__body_str(const ht_body *body)
{
    static _Thread_local char texts[4][256];
    static _Thread_local unsigned next;
    char *text = texts[next++ % 4], split[64] = "", ranks[32] = "";

    if (body->split != HT_NONE)
        snprintf(split, sizeof split, " split along axis %d%s", body->split,
                 body->bounds != NULL ? " in slabs of its own" : "");
    if (body->comm->size > 1)
        snprintf(ranks, sizeof ranks, " of %d ranks", body->comm->size);
    snprintf(text, sizeof texts[0], "%s %s%s on %s%s", ht_dtype_name(body->dtype),
             ht__shape_str(body->ndim, body->shape), split,
             body->storage != NULL ? ht_device_name(body->storage->device) : "any device", ranks);
    return text;
}
