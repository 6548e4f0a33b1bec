/* SPDX-License-Identifier: MIT
 *
 * Root mean square normalisation over the last axes, by differentiable operations. */
#include <float.h>

#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/normalisation.h"
#include "ht/statistics.h"
#include "nn/functional/norm/row_norm.h"

enum { X, WEIGHT, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
    {"weight", NULL, HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
};

ht_tensor *ht_rms_norm(ht_tensor *x, int ndim, const int64_t shape[], ht_tensor *weight, double eps)
{
    ht_tensor *in[OPERANDS] = {x, weight}, *wide, *y;
    int axes[HT_MAX_NDIM];
    ht_reduce_options options = ht_reduce_options_default();
    ht_dtype dtype;

    if (!HT_PREPARE("ht_rms_norm", rules, in) ||
        !ht__check_last_axes("ht_rms_norm", in[X], ndim, shape, in[WEIGHT], NULL))
        return NULL;
    dtype = in[X]->body->dtype;
    if (eps < 0)
        eps = dtype == HT_FLOAT64 ? DBL_EPSILON : FLT_EPSILON;
    for (int i = 0; i < ndim; i++)
        axes[i] = i - ndim;
    options.axes = axes;
    options.count = ndim;
    options.keepdims = true;
    /* Squares of 16 bits would overflow. */
    wide = dtype == HT_FLOAT64 ? in[X] : ht_astype(in[X], HT_FLOAT32);
    y = ht_div(wide, ht_sqrt(ht_add_scalar(ht_mean_ext(ht_square(wide), &options), eps)));
    if (in[WEIGHT] != NULL && y != NULL)
        y = ht_mul(y, ht_astype(in[WEIGHT], y->body->dtype));
    return ht_astype(y, dtype);
}
