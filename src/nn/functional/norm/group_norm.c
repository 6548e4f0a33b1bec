/* SPDX-License-Identifier: MIT
 *
 * Group normalisation: a row is a group of channels of a sample. */
#include "ht/normalisation.h"
#include "nn/functional/norm/row_norm.h"

enum { X, WEIGHT, BIAS, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x", "NC*", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ROWS, HT_CAST_HIGH, HT_REQUIRED},
    {"weight", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
    {"bias", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
};

/* PyTorch counts the values of all samples, and refuses samples without values. */
static bool check_groups(const ht_body *x, int64_t groups)
{
    int64_t values = x->shape[0], of_sample = 1;

    if (groups < 1 || x->shape[1] % groups != 0) {
        HT_FAIL(x->comm, HT_ERR_SHAPE,
                "ht_group_norm: x is %s: %lld groups do not divide %lld channels",
                ht__shape_str(x->ndim, x->shape), (long long)groups, (long long)x->shape[1]);
        return false;
    }
    for (int axis = 1; axis < x->ndim; axis++)
        of_sample *= axis == 1 ? x->shape[axis] / groups : x->shape[axis];
    values *= of_sample;
    if (of_sample > 0 && values != 1)
        return true;
    HT_FAIL(x->comm, HT_ERR_SHAPE, "ht_group_norm: x is %s, expected more than one value per group",
            ht__shape_str(x->ndim, x->shape));
    return false;
}

ht_tensor *ht_group_norm(ht_tensor *x, int64_t groups, ht_tensor *weight, ht_tensor *bias,
                         double eps)
{
    ht_tensor *in[OPERANDS] = {x, weight, bias};
    ht_row_norm_job job = {.what = "ht_group_norm", .groups = groups, .eps = eps};

    if (!HT_PREPARE("ht_group_norm", rules, in) || !check_groups(in[X]->body, groups))
        return NULL;
    job.channels = in[X]->body->shape[1] / groups;
    job.inner = ht__elements_of_axes(in[X], 2, in[X]->body->ndim);
    return ht__row_norm(in[X], in[WEIGHT], in[BIAS], &job);
}
