/* SPDX-License-Identifier: MIT
 *
 * Products of (batches of) matrices: the shared declarations of the product on this rank alone, the
 * two ways in which data travel, and the choice between them. */
#ifndef HT_CORE_ALGORITHMS_PRODUCT_PRODUCT_H
#define HT_CORE_ALGORITHMS_PRODUCT_PRODUCT_H

#include "core/collective/collective.h"
#include "core/ops/ops.h"

/* c (..., m, n) = a (..., m, k) b (..., k, n) + beta c for process-local tensors of two axes or
 * more; batch axes of a and b broadcast to c's. c is row-major inside its matrices, and may be of a
 * wider dtype. beta: 0 or 1. */
ht_status ht__product_local(ht_tensor *c, ht_tensor *a, ht_tensor *b, double beta);

/* The same for a tensor c whose split rows, columns or batches are those of the operand that stays,
 * a or b. The other operand, of any split, arrives in panels (product_ring.c). */
ht_status ht__product_ring(ht_tensor *c, ht_tensor *a, ht_tensor *b, bool a_stays);

/* c, split along its rows, is the sum of what the ranks make of their slabs of the inner axis
 * (product_sum.c). */
ht_status ht__product_sum(ht_tensor *c, ht_tensor *a, ht_tensor *b);

/* a b of any splits, without a node; of two axes or more, and one dtype, which is not bool. */
ht_tensor *ht__product(ht_tensor *a, ht_tensor *b);

/* An axis of an operand, counted as the axes of a product of ndim axes: batches, then rows and
 * columns, the inner axis being a's columns and b's rows. */
static inline int ht__product_axis(const ht_tensor *x, int axis, int ndim)
{
    return axis == HT_NONE ? HT_NONE : axis + ndim - x->body->ndim;
}

/* Whether x has the batch axis of a product, with this length and not by broadcasting. */
static inline bool ht__product_has(const ht_tensor *x, int axis, const ht_body *c)
{
    const int own = axis - (c->ndim - x->body->ndim);

    return own >= 0 && x->body->shape[own] == c->shape[axis];
}

/* A view of x along one of the product's axes, where it has that: else x, which broadcasts. */
ht_tensor *ht__product_part(ht_tensor *x, int axis, const ht_body *c, int64_t start, int64_t stop);

#endif
