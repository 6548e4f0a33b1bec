/* SPDX-License-Identifier: MIT
 *
 * Distances between the rows of two matrices. Source: heat.spatial.
 *
 * x: (m, k).
 * y: (n, k); x itself for distances among the rows of x.
 * expand: computes sums of squared differences as x^2 + y^2 - 2 x y, by a product of matrices. That
 * is faster and loses small distances; otherwise differences are exact.
 * Computed in float32, or in float64 if an operand has it.
 * Each rank holds its part of x, of y and of the result, and two panels of the other ranks' y.
 * Nothing else travels. Operands that are split along their columns are first split along their
 * rows.
 * Collective if an operand is split. Differentiable, with slope 0 where a distance is 0. Gradients
 * of ht_cdist and ht_rbf in float32 are sums in float64, which lose digits of pairs whose distance
 * is below 2^-29 of the largest. Those in float64 take differences of pairs if sums would lose
 * digits.
 * Result: (m, n), split 0 if x is split, split 1 if y alone is. The slabs are those of its rows, or
 * balanced if it is split along its columns. The dtype is that to which x and y promote: float16
 * and bfloat16 are rounded once, integers and bool give float32.
 * Errors: HT_ERR_SHAPE unless x and y are matrices of equally long rows, HT_ERR_DTYPE for complex
 * numbers. */
#ifndef HT_SPATIAL_H
#define HT_SPATIAL_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Returns the Euclidean distances (sum |x - y|^2)^(1/2) between the rows of x and y.
 *
 * expand: see the top.
 * Source: heat.spatial.cdist. */
HT_API ht_tensor *ht_cdist(ht_tensor *x, ht_tensor *y, bool expand);

/* Returns the Manhattan distances sum |x - y| between the rows of x and y. Source:
 * heat.spatial.manhattan. */
HT_API ht_tensor *ht_manhattan(ht_tensor *x, ht_tensor *y);

/* Returns the Gaussian kernel exp(-(sum |x - y|^2) / (2 sigma^2)) of the rows of x and y.
 *
 * sigma: above 0.
 * expand: see the top.
 * Errors: HT_ERR_ARGUMENT for another sigma.
 * Source: heat.spatial.rbf. */
HT_API ht_tensor *ht_rbf(ht_tensor *x, ht_tensor *y, double sigma, bool expand);

HT_END_DECLS
#endif
