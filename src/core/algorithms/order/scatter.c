/* SPDX-License-Identifier: MIT
 *
 * Puts elements back to the places along an axis from which sorting took them. Along an axis that
 * is not split each rank moves its own lines. Lines along the split axis are dealt out to the
 * ranks, like in sorting, if there are enough of them. Otherwise each element is sent, with its
 * place, to the rank that owns the place: one Alltoall of counts and two of elements. */
#include <string.h>

#include "core/algorithms/order/order.h"
#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

/* to[at[i]] <- from[i] for elements of `bytes` bytes. */
static void put(char *to, const int64_t *at, const char *from, int64_t n, size_t bytes)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(to + at[i] * (int64_t)bytes, from + i * (int64_t)bytes, bytes);
}

static ht_tensor *new_lines(const char *what, const ht_body *like, int64_t n, int split,
                            ht_bounds *bounds)
{
    ht_tensor *y = ht__tensor_new(ht__body_new(what, like->comm, ht__device_cpu(), like->dtype, 2,
                                               (int64_t[]){like->shape[0], n}, split, bounds));

    if (y != NULL && n != like->shape[1] && y->body->lsize > 0)
        memset(ht__body_data(y->body), 0, (size_t)y->body->lsize * ht_dtype_size(like->dtype));
    return y;
}

/* Lines that are here as a whole, into lines of length n. */
static ht_tensor *scatter_whole(const char *what, ht_tensor *values, ht_tensor *places, int64_t n)
{
    const ht_body *from = values->body;
    ht_tensor *y = new_lines(what, from, n, from->split, from->bounds);
    const int64_t count = from->lshape[1], bytes = (int64_t)ht_dtype_size(from->dtype);

    for (int64_t line = 0; y != NULL && line < from->lshape[0]; line++)
        put((char *)ht__body_data(y->body) + line * n * bytes,
            (const int64_t *)ht__body_data(places->body) + line * count,
            (const char *)ht__body_data(from) + line * count * bytes, count, (size_t)bytes);
    return y;
}

/* ---- along the split axis ------------------------------------------------------------------ */

/* The rank whose slab a place lies in. */
static int owner_of(const ht_body *body, int64_t place)
{
    int low = 0, high = body->comm->size - 1;

    while (low < high) {
        const int middle = (low + high + 1) / 2;

        if (ht__body_start(body, middle) <= place)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* The elements for each rank, and their places in the part of that rank. */
typedef struct parcel {
    ht_tensor *values, *places; /* owned */
    int64_t *edges;             /* owned; of the ranks */
} parcel;

static bool pack(const ht_body *y, const ht_body *values, const ht_body *places, parcel *p)
{
    const int size = y->comm->size;
    const int64_t all = values->lsize, n = values->lshape[1];
    const size_t bytes = ht_dtype_size(values->dtype);
    const int64_t *place = ht__body_data(places);
    const char *from = ht__body_data(values);
    int64_t *next, *to_place;
    char *to;
    int *owner;

    HT_STEP(p->values,
            ht_empty_ext(1, &all, values->dtype, HT_NONE, ht__device_cpu(), ht_comm_self()));
    HT_STEP(p->places, ht_empty_ext(1, &all, HT_INT64, HT_NONE, ht__device_cpu(), ht_comm_self()));
    if (p->values == NULL || p->places == NULL)
        return false;
    to = ht__body_data(p->values->body);
    to_place = ht__body_data(p->places->body);
    owner = ht__alloc((size_t)all * sizeof *owner);
    for (int64_t i = 0; i < all; i++) {
        owner[i] = owner_of(y, place[i]);
        p->edges[owner[i] + 1]++;
    }
    for (int rank = 0; rank < size; rank++)
        p->edges[rank + 1] += p->edges[rank];
    next = ht__alloc((size_t)size * sizeof *next);
    memcpy(next, p->edges, (size_t)size * sizeof *next);
    for (int64_t i = 0; i < all; i++) {
        const int64_t start = ht__body_start(y, owner[i]);
        const int64_t length = ht__body_start(y, owner[i] + 1) - start, at = next[owner[i]]++;

        to_place[at] = i / n * length + place[i] - start;
        memcpy(to + at * (int64_t)bytes, from + i * (int64_t)bytes, bytes);
    }
    ht__free(next);
    ht__free(owner);
    return true;
}

/* like: shape and slabs of the result. A rank holds what it sends and what came, of one at a time,
 * and then what came and the result. */
static ht_tensor *scatter_sent(const char *what, ht_tensor *values, ht_tensor *places,
                               const ht_body *like)
{
    ht_comm *comm = like->comm;
    const size_t count = (size_t)comm->size + 1;
    int64_t *came = ht__alloc(2 * count * sizeof *came);
    parcel p = {.edges = came + count};
    ht_tensor *y = NULL;

    if (pack(like, values->body, places->body, &p) &&
        ht__comm_ask_edges(comm, p.edges, came, what) == HT_SUCCESS) {
        HT_STEP(p.values, ht__comm_deal(comm, p.values, p.edges, came, what));
        if (p.values != NULL)
            HT_STEP(p.places, ht__comm_deal(comm, p.places, p.edges, came, what));
        if (p.values != NULL && p.places != NULL)
            y = new_lines(what, values->body, like->shape[1], 1, like->bounds);
    }
    if (y != NULL)
        put(ht__body_data(y->body), ht__body_data(p.places->body), ht__body_data(p.values->body),
            p.values->body->lsize, ht_dtype_size(y->body->dtype));
    ht_release(p.values);
    ht_release(p.places);
    ht__free(came);
    return y;
}

/* Lines split along axis 1, into lines of length n in slabs of these bounds. */
static ht_tensor *scatter_split(const char *what, ht_tensor *values, ht_tensor *places, int64_t n,
                                ht_bounds *bounds)
{
    ht_body like = {.split = 1, .ndim = 2, .bounds = bounds};

    if (values == NULL || places == NULL)
        return NULL;
    like.comm = values->body->comm;
    like.shape[0] = values->body->shape[0];
    like.shape[1] = n;
    if (like.shape[0] < like.comm->size)
        return scatter_sent(what, values, places, &like);
    values = ht_resplit(values, 0);
    places = values != NULL ? ht_resplit(places, 0) : NULL;
    if (places == NULL)
        return NULL;
    return ht__match_slabs(what, scatter_whole(what, values, places, n), &like);
}

static ht_tensor *scatter_local(const char *what, ht_tensor *values, ht_tensor *places, int axis,
                                const ht_body *like)
{
    ht_tensor *y = ht__tensor_new(ht__body_new(what, like->comm, ht__device_cpu(), like->dtype,
                                               like->ndim, like->shape, like->split, like->bounds));
    ht_tensor *local = y != NULL ? ht_tensor_local(y) : NULL, *lines;

    if (local == NULL || y->body->lsize == 0)
        return y;
    if (values->body->lsize == 0)
        return ht__fill_local(what, y->body, HT_NUM(0)) == HT_SUCCESS ? y : NULL;
    values = ht__as_lines(ht_tensor_local(values), axis);
    places = values != NULL ? ht__as_lines(ht_tensor_local(places), axis) : NULL;
    lines = places != NULL ? scatter_whole(what, values, places, local->body->shape[axis]) : NULL;
    lines = ht__from_lines(lines, local->body, axis);
    if (lines == NULL || ht__copy_local(what, y->body, lines->body) != HT_SUCCESS)
        return NULL;
    return y;
}

ht_tensor *ht__scatter_axis(const char *what, ht_tensor *values, ht_tensor *places, int axis,
                            const ht_body *like)
{
    ht_device *device;
    ht_comm *outer;
    ht_tensor *y;

    if (values == NULL || places == NULL)
        return NULL;
    device = values->body->storage->device;
    outer = ht__together(like->comm);
    values = ht__on_host(what, values, values->body->dtype);
    places = ht__on_host(what, places, HT_INT64);
    if (values == NULL || places == NULL)
        y = NULL;
    else if (like->split != axis || like->comm->size == 1 || ht_tensor_size(values) == 0)
        y = scatter_local(what, values, places, axis, like);
    else
        y = ht__from_lines(scatter_split(what, ht__as_lines(values, axis),
                                         ht__as_lines(places, axis), like->shape[axis],
                                         like->bounds),
                           like, axis);
    y = y != NULL ? ht_to_device(y, device) : NULL;
    ht__together_end(outer);
    return y;
}
