/* SPDX-License-Identifier: MIT
 *
 * One operand of a product stays in place, and so do its rows, columns or batches of the product.
 * The other operand passes in slabs (ring.c gives the costs). Each slab makes its columns, rows or
 * batches of the product. A slab of the inner axis adds to all of the product. */
#include "core/algorithms/product/product.h"
#include "core/algorithms/parts/ring.h"

#include "ht/manipulations.h"

typedef struct round {
    ht_tensor *c, *stays; /* local parts */
    bool stays_left;      /* stays is a, what comes is b */
    bool turned;          /* what comes has its last two axes exchanged */
    int axis;             /* along which it is cut, among the product's */
    bool begun;           /* c holds a part of the sum */
} round;

ht_tensor *ht__product_part(ht_tensor *x, int axis, const ht_body *c, int64_t start, int64_t stop)
{
    if (x == NULL || (axis < c->ndim - 2 && !ht__product_has(x, axis, c)))
        return x;
    return ht_narrow(x, axis - (c->ndim - x->body->ndim), start, stop);
}

static ht_status multiply(void *user, ht_tensor *slab, int64_t start, int64_t stop)
{
    round *r = user;
    const int ndim = r->c->body->ndim, inner = r->stays_left ? ndim - 2 : ndim - 1;
    ht_tensor *c = r->c, *stays = r->stays;
    double beta = 0;

    if (slab != NULL && r->turned)
        slab = ht_transpose(slab, slab->body->ndim - 2, slab->body->ndim - 1);
    if (r->axis == inner) {
        stays = ht_narrow(stays, stays->body->ndim - (r->stays_left ? 1 : 2), start, stop);
        beta = r->begun ? 1 : 0;
        r->begun = true;
    } else {
        if (r->axis < ndim - 2)
            stays = ht__product_part(stays, r->axis, c->body, start, stop);
        c = ht_narrow(c, r->axis, start, stop);
    }
    return r->stays_left ? ht__product_local(c, stays, slab, beta)
                         : ht__product_local(c, slab, stays, beta);
}

/* A matrix that travels has no gaps along its last axis; a transposed matrix travels in its own
 * layout. */
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
    ht_tensor *come = a_stays ? b : a;
    round r = {.c = ht_tensor_local(c), .stays_left = a_stays};

    if (a == NULL || b == NULL)
        return ht_error_get(NULL);
    r.stays = ht_tensor_local(a_stays ? a : b);
    if (come->body->split == HT_NONE)
        return ht__product_local(r.c, ht_tensor_local(a), ht_tensor_local(b), 0);
    r.axis = ht__product_axis(come, come->body->split, c->body->ndim);
    come = as_it_travels(come, &r.turned);
    return come != NULL ? ht__ring(come, multiply, &r, "ht_matmul") : ht_error_get(NULL);
}
