/* SPDX-License-Identifier: MIT
 *
 * loss[i] = (x[i] - target[i])^2, its mean or its sum, by elementwise operations; and what losses
 * do with many values. */
#include "ht/arithmetics.h"
#include "ht/statistics.h"

#include "nn/functional/functional.h"

bool ht__check_reduction(const char *what, const ht_tensor *x, ht_reduction_mode reduction)
{
    if (reduction >= HT_MEAN && reduction <= HT_NO_REDUCTION)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
            "%s: reduction is %d, expected HT_MEAN, HT_SUM or HT_NO_REDUCTION", what,
            (int)reduction);
    return false;
}

ht_tensor *ht__reduce_losses(ht_tensor *losses, ht_reduction_mode reduction)
{
    if (losses == NULL || reduction == HT_NO_REDUCTION)
        return losses;
    if (reduction == HT_SUM || ht_tensor_size(losses) == 0)
        return ht_sum(losses, HT_NONE);
    return ht_mean(losses, HT_NONE);
}

/* Of any dtypes and splits, which meet as in ht_sub. */
static const ht_operand_rule rules[] = {
    {"x", .cast = HT_CAST_HIGH},
    {"target", .cast = HT_CAST_HIGH},
};

ht_tensor *ht_mse_loss(ht_tensor *x, ht_tensor *target, ht_reduction_mode reduction)
{
    ht_tensor *in[] = {x, target}, *difference;
    const ht_body *a, *b;

    if (!HT_PREPARE("ht_mse_loss", rules, in) ||
        !ht__check_reduction("ht_mse_loss", in[0], reduction))
        return NULL;
    a = in[0]->body;
    b = in[1]->body;
    /* (N, 1) and (N) would broadcast to (N, N), which nobody means. */
    if (!ht__body_same_shape(a, b)) {
        HT_FAIL(a->comm, HT_ERR_SHAPE, "ht_mse_loss: x is %s, target is %s: one shape is needed",
                ht__shape_str(a->ndim, a->shape), ht__shape_str(b->ndim, b->shape));
        return NULL;
    }
    difference = ht_sub(in[0], in[1]);
    return ht__reduce_losses(ht_mul(difference, difference), reduction);
}
