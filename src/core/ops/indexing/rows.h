/* SPDX-License-Identifier: MIT
 *
 * Rows of a tensor. Indices along some of its axes name a row together, and the row has all
 * elements along the other axes. In a result the axes of the indices are adjacent, and the others
 * surround them. */
#ifndef HT_CORE_OPS_INDEXING_ROWS_H
#define HT_CORE_OPS_INDEXING_ROWS_H

#include "core/ops/ops.h"

typedef struct ht_row_index {
    int axes; /* of x that have an index, at least one */
    int axis[HT_MAX_NDIM];
    ht_tensor *at[HT_MAX_NDIM]; /* of each: int64, all of one shape and in the same slabs, their
                                   local parts contiguous or of one axis; within the tensor's */
    int place;                  /* the first axis of the indices in a result */
    bool own; /* each rank's indices along x's split axis are among those of its slab */
} ht_row_index;

/* The axis of a result that is x's `axis`, which has no index. */
int ht__rows_axis(const ht_row_index *index, int axis);

/* A kernel (take, put) between x, or its local slab, and `rows` of the local indices. Axes are
 * those of a result, or of a part of it with one axis in the place of the indices'. Rows that x
 * does not have on this rank are left out. */
ht_status ht__rows_run(const char *what, ht_kernel kernel, const ht_body *x,
                       const ht_row_index *index, int index_ndim, const ht_body *rows);

/* x[index] in new memory; x[index] <- values, or += them, of a result's shape. In the graph. Each
 * is collective where x or the indices are split. */
ht_tensor *ht__take_rows(const char *what, ht_tensor *x, const ht_row_index *index);
ht_status ht__put_rows(const char *what, ht_tensor *x, const ht_row_index *index, ht_tensor *values,
                       bool add);

/* (n, ndim): the indices of x's n elements that are not 0; of slabs of x's first axis, so that it
 * may be unbalanced. x has axes. Collective if x is split. */
ht_tensor *ht__nonzero(const char *what, ht_tensor *x);

/* The shape of a result, and its split; bounds: not owned, NULL for canonical slabs. */
typedef struct ht_rows_shape {
    int ndim, split;
    ht_bounds *bounds;
    int64_t shape[HT_MAX_NDIM];
} ht_rows_shape;
bool ht__rows_shape(const char *what, const ht_body *x, const ht_row_index *index,
                    ht_rows_shape *shape);

/* ---- rows of other ranks (row_route.c) ---------------------------------------------
 * Each rank wants rows of the others, its own part of the indices. */
typedef struct ht_row_route {
    int64_t *memory;
    int64_t *want, *serve; /* edges of the rows that come from each rank, and of those that go
                              there; in `memory` */
    ht_tensor *position;   /* where each row that is wanted stands among those that come */
    ht_row_index asked;    /* what the others want of this rank's slab */
} ht_row_route;
ht_status ht__row_route(const char *what, const ht_tensor *x, const ht_row_index *index,
                        ht_row_route *route);
void ht__row_route_end(ht_row_route *route);

#endif
