/* SPDX-License-Identifier: MIT
 *
 * Root mean square normalisation: rows over the last axes, without their mean. */
#include <float.h>

#include "ht/normalisation.h"
#include "nn/functional/norm/row_norm.h"

enum { X, WEIGHT, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ROWS, HT_CAST_HIGH, HT_REQUIRED},
    {"weight", NULL, HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
};

ht_tensor *ht_rms_norm(ht_tensor *x, int ndim, const int64_t shape[], ht_tensor *weight, double eps)
{
    ht_tensor *in[OPERANDS] = {x, weight};
    ht_row_norm_job job = {
        .what = "ht_rms_norm", .groups = 1, .inner = 1, .root_mean_square = true};

    if (!HT_PREPARE("ht_rms_norm", rules, in) ||
        !ht__check_last_axes("ht_rms_norm", in[X], ndim, shape, in[WEIGHT], NULL))
        return NULL;
    job.eps = eps >= 0 ? eps : in[X]->body->dtype == HT_FLOAT64 ? DBL_EPSILON : FLT_EPSILON;
    job.channels = ht__elements_of_axes(in[X], in[X]->body->ndim - ndim, in[X]->body->ndim);
    return ht__row_norm(in[X], in[WEIGHT], NULL, &job);
}
