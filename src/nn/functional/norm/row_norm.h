/* SPDX-License-Identifier: MIT
 *
 * Rows less their mean, over their standard deviation: layer, group and instance normalisation. */
#ifndef HT_NN_FUNCTIONAL_NORM_ROW_NORM_H
#define HT_NN_FUNCTIONAL_NORM_ROW_NORM_H

#include "nn/functional/functional.h"

/* y = (x - mean) / sqrt(var + eps) of each row of a row-major x. An index of the first `leading`
 * axes is a row; a split is along one of them. Nothing is sent. Differentiable; scoped. */
ht_tensor *ht__row_norm(const char *what, ht_tensor *x, int leading, double eps);

/* y weight + bias, where weight and bias (each may be NULL) have the axes of y from `axis` on, all
 * the same ones. A split is along an axis before those. Differentiable; scoped. */
ht_tensor *ht__affine(const char *what, ht_tensor *y, int axis, ht_tensor *weight, ht_tensor *bias);

/* Whether `shape` is that of the last axes of x, and of weight and bias where they are, and none of
 * those axes is the split one. HT_ERR_SHAPE or HT_ERR_ARGUMENT else. */
bool ht__check_last_axes(const char *what, const ht_tensor *x, int ndim, const int64_t shape[],
                         const ht_tensor *weight, const ht_tensor *bias);

#endif
