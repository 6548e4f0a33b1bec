/* SPDX-License-Identifier: MIT
 *
 * Reductions of losses, and the checks that losses share. */
#include "nn/functional/losses/losses.h"

#include "core/tensor/tensor.h"
#include "ht/arithmetics.h"
#include "ht/statistics.h"

bool ht__check_reduction(const char *what, const ht_tensor *x, ht_reduction_mode reduction)
{
    if (reduction >= HT_MEAN && reduction <= HT_NO_REDUCTION)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
            "%s: reduction is %d, expected HT_MEAN, HT_SUM or HT_NO_REDUCTION", what,
            (int)reduction);
    return false;
}

bool ht__check_one_shape(const char *what, const char *x_name, const ht_tensor *x, const char *name,
                         const ht_tensor *other)
{
    const ht_body *a = x->body, *b = other->body;

    if (ht__body_same_shape(a, b))
        return true;
    HT_FAIL(a->comm, HT_ERR_SHAPE, "%s: %s is %s, %s is %s, expected the same shape", what, x_name,
            ht__shape_str(a->ndim, a->shape), name, ht__shape_str(b->ndim, b->shape));
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
