/* SPDX-License-Identifier: MIT
 *
 * Layer normalisation: rows over the last axes. */
#include "ht/normalisation.h"
#include "nn/functional/norm/row_norm.h"

enum { X, WEIGHT, BIAS, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ROWS, HT_CAST_HIGH, HT_REQUIRED},
    {"weight", NULL, HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
    {"bias", NULL, HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
};

ht_tensor *ht_layer_norm(ht_tensor *x, int ndim, const int64_t shape[], ht_tensor *weight,
                         ht_tensor *bias, double eps)
{
    ht_tensor *in[OPERANDS] = {x, weight, bias};
    ht_row_norm_job job = {.what = "ht_layer_norm", .groups = 1, .inner = 1, .eps = eps};

    if (!HT_PREPARE("ht_layer_norm", rules, in) ||
        !ht__check_last_axes("ht_layer_norm", in[X], ndim, shape, in[WEIGHT], in[BIAS]))
        return NULL;
    job.channels = ht__elements_of_axes(in[X], in[X]->body->ndim - ndim, in[X]->body->ndim);
    return ht__row_norm(in[X], in[WEIGHT], in[BIAS], &job);
}
