/* SPDX-License-Identifier: MIT
 *
 * One operand of a product stays where it is, and so do its rows, columns or batches of the
 * product; the slabs of the other one come by, in a ring: in step s each rank has the slab of the
 * rank s places further, its own first. A slab comes in a few panels, and while one is multiplied
 * with the next is on its way, by one Alltoall of a block from each rank to one other.
 *
 * Each rank receives (P - 1) / P of the operand that comes, and holds two panels of it: 16 MiB
 * each, or a quarter of a slab where that is more. */
#include "core/algorithms/product.h"

#include "ht/factories.h"
#include "ht/manipulations.h"

enum { PANEL_BYTES = 16 << 20, PANELS_OF_A_SLAB = 4 };

typedef struct ring {
    ht_tensor *c, *stays; /* local parts */
    ht_tensor *come;      /* as it travels: its last axis without gaps */
    bool stays_left;      /* stays is a, what comes is b */
    bool turned;          /* `come` has its last two axes exchanged */
    int travels;          /* the split axis of `come`, as it travels */
    int axis;             /* and among the product's */
    int panels;           /* of a slab */
} ring;

ht_tensor *ht__product_part(ht_tensor *x, int axis, const ht_body *c, int64_t start, int64_t stop)
{
    if (x == NULL || (axis < c->ndim - 2 && !ht__product_has(x, axis, c)))
        return x;
    return ht_narrow(x, axis - (c->ndim - x->body->ndim), start, stop);
}

/* c with what the indices start ... stop - 1 of the axis along which slabs are cut make of it. */
static ht_status multiply(const ring *r, ht_tensor *slab, int64_t start, int64_t stop, bool first)
{
    const int ndim = r->c->body->ndim, inner = r->stays_left ? ndim - 2 : ndim - 1;
    ht_tensor *c = r->c, *stays = r->stays;
    double beta = 0;

    if (slab != NULL && r->turned)
        slab = ht_transpose(slab, slab->body->ndim - 2, slab->body->ndim - 1);
    if (r->axis == inner) {
        stays = ht_narrow(stays, stays->body->ndim - (r->stays_left ? 1 : 2), start, stop);
        beta = first ? 0 : 1;
    } else {
        if (r->axis < ndim - 2)
            stays = ht__product_part(stays, r->axis, c->body, start, stop);
        c = ht_narrow(c, r->axis, start, stop);
    }
    return r->stays_left ? ht__product_local(c, stays, slab, beta)
                         : ht__product_local(c, slab, stays, beta);
}

/* Where panel `index` of the slab of `rank` begins in it; of index r->panels: the end. */
static int64_t panel_edge(const ring *r, int rank, int index)
{
    const ht_body *come = r->come->body;
    const int64_t length = ht__body_start(come, rank + 1) - ht__body_start(come, rank);

    return length / r->panels * index + length % r->panels * index / r->panels;
}

/* A panel on its way, and the indices that come in it. */
typedef struct panel {
    ht_tensor *memory; /* for the longest */
    ht_request *request;
    int64_t start, stop;
} panel;

static ht_tensor *panel_slab(const ring *r, const panel *p)
{
    return ht_narrow(p->memory, r->travels, 0, p->stop - p->start);
}

/* Begins the transfer of number `index` of all that come. */
static ht_status post(const ring *r, panel *p, int index)
{
    const ht_body *come = r->come->body;
    const int size = come->comm->size, rank = come->comm->rank;
    const int step = 1 + index / r->panels, which = index % r->panels;
    const int from = (rank + step) % size, to = (rank - step + size) % size;
    const int64_t begin = panel_edge(r, rank, which), end = panel_edge(r, rank, which + 1);
    int64_t *send = ht__alloc(2 * ((size_t)size + 1) * sizeof *send), *recv = send + size + 1;
    ht_tensor *sent = ht_narrow(ht_tensor_local(r->come), r->travels, begin, end), *come_to;

    p->start = ht__body_start(come, from) + panel_edge(r, from, which);
    p->stop = ht__body_start(come, from) + panel_edge(r, from, which + 1);
    come_to = panel_slab(r, p);
    for (int i = 0; i <= size; i++) {
        send[i] = i > to ? end - begin : 0;
        recv[i] = i > from ? p->stop - p->start : 0;
    }
    p->request = ht__comm_alltoall_axis(come->comm, sent, r->travels, send, come_to, r->travels,
                                        recv, "ht_matmul");
    ht__free(send);
    return p->request != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* In how many panels the longest slab comes; the same on all ranks. */
static int count_panels(const ht_body *come, int axis, int64_t *longest)
{
    double row = (double)ht_dtype_size(come->dtype), panels;

    *longest = 0;
    for (int rank = 0; rank < come->comm->size; rank++) {
        const int64_t length = ht__body_start(come, rank + 1) - ht__body_start(come, rank);

        *longest = length > *longest ? length : *longest;
    }
    for (int i = 0; i < come->ndim; i++)
        row *= i == axis ? 1 : (double)come->shape[i];
    panels = row * (double)*longest / PANEL_BYTES;
    panels = panels > PANELS_OF_A_SLAB ? PANELS_OF_A_SLAB : panels;
    return 1 + (int)panels;
}

static ht_status prepare(ring *r, panel panels[2])
{
    const ht_body *come = r->come->body;
    int64_t shape[HT_MAX_NDIM], longest;

    r->panels = count_panels(come, r->travels, &longest);
    for (int i = 0; i < come->ndim; i++)
        shape[i] = i == r->travels ? longest / r->panels + 1 : come->lshape[i];
    for (int i = 0; i < 2; i++) {
        panels[i].memory = ht_empty_ext(come->ndim, shape, come->dtype, HT_NONE,
                                        come->storage->device, ht_comm_self());
        if (panels[i].memory == NULL)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

/* The own slab first, while the first panel comes. */
static ht_status go_round(const ring *r, panel panels[2])
{
    const ht_body *come = r->come->body;
    const int count = (come->comm->size - 1) * r->panels;
    ht_status status = count > 0 ? post(r, &panels[0], 0) : HT_SUCCESS;

    if (status == HT_SUCCESS)
        status = multiply(r, ht_tensor_local(r->come), come->split_start,
                          come->split_start + come->lshape[r->travels], true);
    for (int i = 0; i < count && status == HT_SUCCESS; i++) {
        ht_scope *scope = ht_scope_open();
        panel *now = &panels[i % 2];

        status = ht_wait(&now->request);
        if (status == HT_SUCCESS && i + 1 < count)
            status = post(r, &panels[(i + 1) % 2], i + 1);
        if (status == HT_SUCCESS)
            status = multiply(r, panel_slab(r, now), now->start, now->stop, false);
        ht_scope_close(scope);
    }
    ht_release(panels[0].request);
    ht_release(panels[1].request);
    return status;
}

/* What travels has no gaps along its last axis; a transposed matrix travels as it lies. */
static ht_tensor *as_it_travels(ht_tensor *come, bool *turned)
{
    const int row = come->body->ndim - 2, column = row + 1;

    *turned = come->body->gstride[column] != 1 && come->body->gstride[row] == 1;
    if (*turned)
        return ht_transpose(come, row, column);
    return come->body->gstride[column] == 1 ? come : ht_contiguous(come);
}

ht_status ht__product_ring(ht_tensor *c, ht_tensor *a, ht_tensor *b, bool a_stays)
{
    ring r = {.c = ht_tensor_local(c), .stays_left = a_stays};
    panel panels[2] = {{0}};
    ht_status status;

    if (a == NULL || b == NULL)
        return ht_error_get(NULL);
    r.stays = ht_tensor_local(r.stays_left ? a : b);
    r.come = r.stays_left ? b : a;
    if (r.come->body->split == HT_NONE)
        return ht__product_local(r.c, ht_tensor_local(a), ht_tensor_local(b), 0);
    r.axis = ht__product_axis(r.come, r.come->body->split, c->body->ndim);
    r.come = as_it_travels(r.come, &r.turned);
    if (r.come == NULL)
        return ht_error_get(NULL);
    r.travels = r.come->body->split;
    status = prepare(&r, panels);
    return status == HT_SUCCESS ? go_round(&r, panels) : status;
}
