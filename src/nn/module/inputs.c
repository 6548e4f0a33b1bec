/* SPDX-License-Identifier: MIT
 *
 * Inputs of layers that take several tensors: a list of them. */
#include "nn/module/inputs.h"

#include "core/base/base.h"

bool ht__inputs(const char *what, const ht_value *inputs, int required, int count, ht_tensor *in[])
{
    const bool one = ht_value_get_kind(inputs) == HT_VALUE_TENSOR;
    const int given = one ? 1 : ht_value_count(inputs);
    bool good = given >= required && given <= count;

    for (int i = 0; i < count; i++) {
        in[i] = one && i == 0 ? ht_value_as_tensor(inputs)
                : i < given   ? ht_value_as_tensor(ht_value_at(inputs, i))
                              : NULL;
        good = good && (i >= given || in[i] != NULL);
    }
    if (!good)
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the inputs are not a list of %d to %d tensors", what,
                required, count);
    return good;
}

ht_value *ht__output(ht_tensor *y)
{
    return y != NULL ? ht_value_tensor(y) : NULL;
}
