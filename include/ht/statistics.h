/* SPDX-License-Identifier: MIT
 *
 * Statistics over one axis (negative from the end) or all (HT_NONE); the axis is dropped.
 * Collective when the split axis is reduced: the result then has no split; otherwise it is split as
 * x. NaN propagates. Empty reductions of max and argmax are HT_ERR_SHAPE. Sums are those of ht_sum:
 * rounded once; extremes and positions have the same bits on any number of ranks.
 * Source: heat.statistics. */
#ifndef HT_STATISTICS_H
#define HT_STATISTICS_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Divided before it is rounded; integers give float32. Differentiable. */
HT_API ht_tensor *ht_mean(ht_tensor *x, int axis);

/* Mean of |x - mean|^2, in two passes in the accumulator's dtype, and its square root; real where x
 * is complex; integers give float32. Differentiable. */
HT_API ht_tensor *ht_var(ht_tensor *x, int axis);
HT_API ht_tensor *ht_std(ht_tensor *x, int axis);

/* Differentiable; ties share the gradient. Of zeros -0 is the smaller. */
HT_API ht_tensor *ht_max(ht_tensor *x, int axis);
HT_API ht_tensor *ht_min(ht_tensor *x, int axis);
/* Of two operands, element by element, with ht/arithmetics.h's rules; not bool or complex; ties
 * share the gradient. */
HT_API ht_tensor *ht_maximum(ht_tensor *a, ht_tensor *b);
HT_API ht_tensor *ht_minimum(ht_tensor *a, ht_tensor *b);

HT_API ht_tensor *ht_argmax(ht_tensor *x, int axis); /* int64; the first of equals; global index */
HT_API ht_tensor *ht_argmin(ht_tensor *x, int axis);

HT_END_DECLS
#endif
