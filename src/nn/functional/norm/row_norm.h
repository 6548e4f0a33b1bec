/* SPDX-License-Identifier: MIT
 *
 * Rows less their mean, over their standard deviation, times weights, plus biases: layer, group,
 * instance and root mean square normalisation. */
#ifndef HT_NN_FUNCTIONAL_NORM_ROW_NORM_H
#define HT_NN_FUNCTIONAL_NORM_ROW_NORM_H

#include "nn/functional/functional.h"

/* How ht__row_norm sees x, as (outer, groups, channels, inner): a row is (channels, inner). */
typedef struct ht_row_norm_job {
    const char *what; /* the public function */
    int64_t groups, channels, inner;
    double eps;
    bool root_mean_square; /* the mean counts as 0 */
} ht_row_norm_job;

/* y = (x - mean) / sqrt(var + eps) weight + bias by row, for a row-major x of this rank. weight and
 * bias have groups * channels elements; each may be NULL. A split of x is along an axis before the
 * groups. Nothing is sent. Differentiable; scoped. */
ht_tensor *ht__row_norm(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                        const ht_row_norm_job *job);

/* Whether `shape` is that of the last axes of x, and of weight and bias where they are, and none of
 * those axes is the split one. HT_ERR_SHAPE or HT_ERR_ARGUMENT else. */
bool ht__check_last_axes(const char *what, const ht_tensor *x, int ndim, const int64_t shape[],
                         const ht_tensor *weight, const ht_tensor *bias);

/* The elements of the axes `begin` to `end` - 1 of x. */
int64_t ht__elements_of_axes(const ht_tensor *x, int begin, int end);

#endif
