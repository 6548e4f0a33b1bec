/* SPDX-License-Identifier: MIT
 *
 * Halos. All ranks know the bounds of all parts, so each rank sees alone which elements others need
 * from it. The pieces for all ranks lie one after another in a buffer. One Alltoall brings the
 * elements that this rank needs, in the order of the ranks, which is that of the tensor. Only halos
 * are sent and stored, not parts. */
#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/halo.h"
#include "ht/manipulations.h"

typedef struct range {
    int64_t start, stop;
} range;

typedef struct widths {
    int64_t before, after;
} widths;

static int64_t clip(int64_t index, int64_t low, int64_t high)
{
    return index < low ? low : index > high ? high : index;
}

/* The part of `of` in the halos of `rank`: of that before, or of that after. */
static range common(const ht_body *x, widths w, int rank, int of)
{
    const int64_t n = x->shape[x->split];
    const int64_t start = ht__body_start(x, rank), stop = ht__body_start(x, rank + 1);
    const int64_t mine = ht__body_start(x, of), end = ht__body_start(x, of + 1);
    const int64_t low = w.before < start ? start - w.before : 0;
    const int64_t high = w.after < n - stop ? stop + w.after : n;

    if (start == stop || rank == of)
        return (range){mine, mine};
    if (of < rank)
        return (range){clip(low, mine, end), end};
    return (range){mine, clip(high, mine, end)};
}

/* Edges of the blocks for each rank, or from each, in a buffer; the last one is its length. */
static int64_t *edges_of(const ht_body *x, widths w, bool sent)
{
    const int size = x->comm->size, me = x->comm->rank;
    int64_t *edges = ht__alloc(((size_t)size + 1) * sizeof *edges);

    for (int rank = 0; rank < size; rank++) {
        const range r = sent ? common(x, w, rank, me) : common(x, w, me, rank);

        edges[rank + 1] = edges[rank] + r.stop - r.start;
    }
    return edges;
}

/* A process-local buffer of `length` indices along the split axis. */
static ht_tensor *new_buffer(const char *what, const ht_body *x, int axis, int64_t length)
{
    int64_t shape[HT_MAX_NDIM];

    for (int i = 0; i < x->ndim; i++)
        shape[i] = i == axis ? length : x->lshape[i];
    return ht__tensor_new(ht__body_new(what, ht_comm_self(), x->storage->device, x->dtype, x->ndim,
                                       shape, HT_NONE, NULL));
}

static ht_tensor *pack(const char *what, ht_tensor *x, widths w, const int64_t edges[])
{
    const ht_body *body = x->body;
    const int size = body->comm->size, me = body->comm->rank;
    ht_tensor *buffer = new_buffer(what, body, body->split, edges[size]);
    ht_tensor *local = ht_tensor_local(x);

    for (int rank = 0; rank < size && buffer != NULL; rank++) {
        const range r = common(body, w, rank, me);
        ht_scope *scope;
        ht_status status;

        if (r.start == r.stop)
            continue;
        scope = ht_scope_open();
        status = ht__copy_local(
            what, ht_narrow(buffer, body->split, edges[rank], edges[rank + 1])->body,
            ht_narrow(local, body->split, r.start - body->split_start, r.stop - body->split_start)
                ->body);
        if (status == HT_SUCCESS)
            ht__storage_touch(buffer->body->storage);
        ht_scope_close(scope);
        buffer = status == HT_SUCCESS ? buffer : NULL;
    }
    return buffer;
}

/* The halos, one behind the other, and where the second begins; the request is owned. */
static ht_request *begin(const char *what, ht_tensor *x, widths w, ht_tensor **halos,
                         int64_t *middle)
{
    const int size = x->body->comm->size, split = x->body->split;
    int64_t *send_edges = edges_of(x->body, w, true), *recv_edges = edges_of(x->body, w, false);
    ht_tensor *send = pack(what, x, w, send_edges);
    ht_request *request = NULL;

    *middle = recv_edges[x->body->comm->rank];
    *halos = send != NULL ? new_buffer(what, x->body, split, recv_edges[size]) : NULL;
    if (*halos != NULL)
        request = ht__comm_alltoall_axis(x->body->comm, send, split, send_edges, *halos, split,
                                         recv_edges, what);
    ht__free(send_edges);
    ht__free(recv_edges);
    return request;
}

static bool check(const char *what, const ht_tensor *x, widths w)
{
    if (HT_IS_NULL(x, what, "x"))
        return false;
    if (w.before >= 0 && w.after >= 0 && x->body->ndim > 0)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
            "%s: the halos are %lld and %lld rows for x of shape %s, expected at least 0 rows "
            "and at least one axis",
            what, (long long)w.before, (long long)w.after,
            ht__shape_str(x->body->ndim, x->body->shape));
    return false;
}

/* Empty ones; the others' axis is the split. */
static ht_request *start(const char *what, ht_tensor *x, widths w, ht_tensor **prev,
                         ht_tensor **next)
{
    const bool was = ht_set_grad_enabled(false);
    const int axis = x->body->split == HT_NONE ? 0 : x->body->split;
    ht_tensor *halos = NULL;
    ht_request *request = NULL;
    int64_t middle = 0;

    if (x->body->split == HT_NONE)
        halos = new_buffer(what, x->body, 0, 0);
    else
        request = begin(what, x, w, &halos, &middle);
    if (halos != NULL && (request != NULL || x->body->split == HT_NONE)) {
        if (prev != NULL)
            *prev = ht_narrow(halos, axis, 0, middle);
        if (next != NULL)
            *next = ht_narrow(halos, axis, middle, halos->body->shape[axis]);
    }
    ht_set_grad_enabled(was);
    return request;
}

ht_request *ht_iget_halo(ht_tensor *x, int64_t before, int64_t after, ht_tensor **prev,
                         ht_tensor **next)
{
    const widths w = {before, after};

    return check("ht_iget_halo", x, w) ? start("ht_iget_halo", x, w, prev, next) : NULL;
}

static ht_status get(const char *what, ht_tensor *x, widths w, ht_tensor **prev, ht_tensor **next)
{
    ht_tensor *found[2] = {NULL, NULL};
    ht_comm *outer = ht__together(x->body->comm);
    ht_request *request = start(what, x, w, &found[0], &found[1]);
    ht_status status = request != NULL ? ht_wait(&request) : HT_SUCCESS;

    ht__together_end(outer);
    if (status != HT_SUCCESS || found[0] == NULL || found[1] == NULL)
        return ht_error_get(NULL);
    if (prev != NULL)
        *prev = found[0];
    if (next != NULL)
        *next = found[1];
    return HT_SUCCESS;
}

ht_status ht_get_halo(ht_tensor *x, int64_t before, int64_t after, ht_tensor **prev,
                      ht_tensor **next)
{
    HT_NAMED("ht_get_halo");
    const widths w = {before, after};

    return check("ht_get_halo", x, w) ? get("ht_get_halo", x, w, prev, next) : ht_error_get(NULL);
}

ht_tensor *ht_array_with_halos(ht_tensor *x, int64_t before, int64_t after)
{
    static const char what[] = "ht_array_with_halos";
    HT_NAMED(what);
    const widths w = {before, after};
    ht_tensor *parts[3], *y;
    bool was;

    if (!check(what, x, w))
        return NULL;
    was = ht_set_grad_enabled(false);
    parts[1] = ht_tensor_local(x);
    y = parts[1];
    if (x->body->split != HT_NONE)
        y = get(what, x, w, &parts[0], &parts[2]) == HT_SUCCESS
                ? ht__concatenate(what, 3, parts, x->body->split)
                : NULL;
    ht_set_grad_enabled(was);
    return y;
}
