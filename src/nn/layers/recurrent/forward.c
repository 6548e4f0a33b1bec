/* SPDX-License-Identifier: MIT
 *
 * A recurrent layer with its states: the maps that it takes and gives. The call is an ordinary
 * forward of the module, so that wrappers and hooks see it. */
#include "core/base/base.h"
#include "ht/recurrent.h"
#include "nn/module/module.h"

static const char what[] = "ht_nn_recurrent_forward";

static bool put(ht_value *map, const char *key, ht_tensor *x)
{
    return x == NULL || ht_value_set(map, key, ht_value_tensor(x)) == HT_SUCCESS;
}

ht_tensor *ht_nn_recurrent_forward(ht_module *module, ht_tensor *x,
                                   const ht_recurrent_inputs *inputs, ht_tensor **h_n,
                                   ht_tensor **c_n)
{
    const ht_recurrent_inputs in = inputs != NULL ? *inputs : ht_recurrent_inputs_default();
    ht_value *map, *results;
    const ht_module *layer;
    ht_tensor *y;

    if (HT_IS_NULL(module, what, "module") ||
        HT_CHECK_OPTIONS(NULL, what, &in, ht_recurrent_inputs) != HT_SUCCESS)
        return NULL;
    layer = ht__module_unwrapped(module);
    if (!ht__nn_is_recurrent(layer))
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: module is %s, expected a recurrent layer", what,
                layer->type->name);
    if (!ht__nn_is_recurrent(layer) || HT_IS_NULL(x, what, "x"))
        return ht_forward(module, NULL); /* ranks that wait for this one get the error */
    map = ht_value_map();
    if (map == NULL || !put(map, "x", x) || !put(map, "h_0", in.h_0) || !put(map, "c_0", in.c_0) ||
        !put(map, "lengths", in.lengths))
        return NULL;
    results = ht_forward_value(module, map);
    if (results == NULL)
        return NULL;
    y = ht_value_as_tensor(ht_value_get(results, "output"));
    if (y == NULL) { /* a hook has put another result there */
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the result of %s has no output", what,
                layer->type->name);
        return NULL;
    }
    if (h_n != NULL)
        *h_n = ht_value_as_tensor(ht_value_get(results, "h_n"));
    if (c_n != NULL)
        *c_n = ht_value_as_tensor(ht_value_get(results, "c_n"));
    return y;
}
