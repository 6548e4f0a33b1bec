/* SPDX-License-Identifier: MIT
 *
 * One sample as a batch, and results with indices. */
#include "nn/layers/window/sample.h"

#include "core/tensor/tensor.h"
#include "ht/manipulations.h"
#include "nn/module/inputs.h"

ht_tensor *ht__as_batch(const char *what, const char *name, ht_tensor *x, int axes,
                        ht_operand_split split)
{
    if (x->body->ndim == axes)
        return x;
    if (x->body->ndim == axes - 1)
        return split == HT_SPLIT_ANY ? ht_expand_dims(x, 0) : ht__sample_batch(what, name, x, NULL);
    HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: %s is %s, expected %d or %d axes", what, name,
            ht__shape_str(x->body->ndim, x->body->shape), axes - 1, axes);
    return NULL;
}

ht_tensor *ht__as_given(ht_tensor *y, const ht_tensor *x, int axes)
{
    return y != NULL && x->body->ndim < axes ? ht_squeeze(y, 0) : y;
}

ht_value *ht__with_indices(ht_tensor *y, ht_tensor *indices)
{
    if (y == NULL || indices == NULL)
        return ht__output(y);
    return ht_value_tensors(2, (ht_tensor *[]){y, indices});
}
