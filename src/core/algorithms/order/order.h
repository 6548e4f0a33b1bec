/* SPDX-License-Identifier: MIT
 *
 * Sorted tensors, for functions that build on them. The results are not recorded in a graph; call
 * these with ht_set_grad_enabled(false). */
#ifndef HT_CORE_ALGORITHMS_ORDER_ORDER_H
#define HT_CORE_ALGORITHMS_ORDER_ORDER_H

#include "core/tensor/tensor.h"

/* How to sort, for the public function `what`. */
typedef struct ht_order {
    const char *what;
    bool descending, indexed;
    int64_t keep; /* elements of each line, from its beginning; HT_KEEP_ALL */
} ht_order;

#define HT_KEEP_ALL INT64_MAX

/* Values in order, and where they stood; both scoped, `indices` NULL where not indexed. */
typedef struct ht_sorted {
    ht_tensor *values, *indices;
} ht_sorted;

/* x sorted along an axis (one that it has). False after an error. Collective along the split axis;
 * the result is then in canonical slabs, else in those of x. */
bool ht__sort_axis(const ht_order *order, ht_tensor *x, int axis, ht_sorted *sorted);

/* Rows of lines (lines, n), split along axis 1 and fewer than there are ranks, as a whole, in the
 * canonical slabs (sort_samples.c). */
bool ht__sort_samples(const ht_order *order, ht_tensor *lines, ht_sorted *sorted);

/* The local part of x, each line along `axis` by itself (sort_local.c); `first`: what the first
 * place counts as. */
bool ht__sort_local(const ht_order *order, ht_tensor *x, int axis, int64_t first,
                    ht_sorted *sorted);

/* y[..., places[..., i], ...] = values[..., i, ...] along an axis, in the shape and slabs of
 * `like`, and 0 elsewhere, where no place along the axis is named twice (scatter.c). places: int64,
 * in the slabs of values. */
ht_tensor *ht__scatter_axis(const char *what, ht_tensor *values, ht_tensor *places, int axis,
                            const ht_body *like);

/* lines.c. x as (lines, n), lines along the axis; split along axis 1 where x is along that axis.
 * And back: the shape of `like`, row-major. */
ht_tensor *ht__as_lines(ht_tensor *x, int axis);
ht_tensor *ht__from_lines(ht_tensor *lines, const ht_body *like, int axis);

#endif
