/* SPDX-License-Identifier: MIT
 *
 * Inputs of layers that take several tensors: a list of them. */
#include "nn/module/inputs.h"

#include <string.h>

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
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: inputs is invalid, expected a list of %d to %d tensors",
                what, required, count);
    return good;
}

static bool take_item(const ht_input_names *names, const char *key, const ht_value *item,
                      ht_tensor *in[], double numbers[])
{
    for (int i = 0; i < names->tensors + names->numbers; i++) {
        const bool number = i >= names->tensors;

        if (strcmp(names->name[i], key) != 0)
            continue;
        if (ht_value_get_kind(item) != (number ? HT_VALUE_NUMBER : HT_VALUE_TENSOR))
            return false;
        if (number)
            numbers[i - names->tensors] = ht_value_as_number(item);
        else
            in[i] = ht_value_as_tensor(item);
        return true;
    }
    return false;
}

bool ht__named_inputs(const char *what, const ht_input_names *names, const ht_value *inputs,
                      ht_tensor *in[], double numbers[])
{
    if (ht_value_get_kind(inputs) != HT_VALUE_MAP)
        return ht__inputs(what, inputs, names->required, names->tensors, in);
    for (int i = 0; i < names->tensors; i++)
        in[i] = NULL;
    for (int i = 0; i < ht_value_count(inputs); i++) {
        const char *key = ht_value_key(inputs, i);

        if (take_item(names, key, ht_value_at(inputs, i), in, numbers))
            continue;
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: inputs has '%s', expected only names of its inputs",
                what, key);
        return false;
    }
    for (int i = 0; i < names->required; i++) {
        if (in[i] != NULL)
            continue;
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: inputs has no entry '%s', expected one", what,
                names->name[i]);
        return false;
    }
    return true;
}

ht_value *ht__output(ht_tensor *y)
{
    return y != NULL ? ht_value_tensor(y) : NULL;
}
