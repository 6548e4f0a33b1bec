/* SPDX-License-Identifier: MIT
 *
 * Distances between rows. Source: heat.spatial.
 *
 * x is (m, k) and y (n, k), of distances among the rows of x the same tensor; the result is (m, n),
 * split 0 if x is split, 1 if y alone is, and each rank holds its part of it, of x and y, and two
 * panels of what the other ranks have of y: nothing else travels. Operands that are split along
 * their columns are split along their rows first. Computed in float32, or float64 where an operand
 * has it; float16 and bfloat16 are rounded once, integers and bool give float32. `expand`: sums of
 * squares of differences are x^2 + y^2 - 2 x y, by a product of matrices, which is faster and loses
 * what is near 0; else differences are exact. Collective if an operand is split. Differentiable,
 * with slope 0 where a distance is 0. Errors: HT_ERR_SHAPE, HT_ERR_DTYPE for complex numbers,
 * HT_ERR_ARGUMENT. */
#ifndef HT_SPATIAL_H
#define HT_SPATIAL_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* (sum |x - y|^2)^(1/2). Source: heat.spatial.cdist. */
HT_API ht_tensor *ht_cdist(ht_tensor *x, ht_tensor *y, bool expand);

/* sum |x - y|. Source: heat.spatial.manhattan. */
HT_API ht_tensor *ht_manhattan(ht_tensor *x, ht_tensor *y);

/* exp(-(sum |x - y|^2) / (2 sigma^2)), sigma > 0. Source: heat.spatial.rbf. */
HT_API ht_tensor *ht_rbf(ht_tensor *x, ht_tensor *y, double sigma, bool expand);

HT_END_DECLS
#endif
