/* SPDX-License-Identifier: MIT
 *
 * Joins the outputs of parts: tensors are concatenated, lists item by item, maps key by key. The
 * graph of an output keeps the copy that made it alive, because it may refer to the copy: a
 * function that runs again, a hook of a tensor, a program's own node. The reference is in a node
 * behind the output, where the copy cannot refer to it, so no cycle arises. */
#include "core/autograd/autograd.h"
#include "nn/parallel/device/device_parallel.h"
#include "ht/factories.h"
#include "ht/log.h"
#include "ht/manipulations.h"

/* The parts to join: as many values as parts. */
struct join {
    const char *what;
    const ht_device_layout *layout;
    int count;
    ht_module *const *replicas;
};

/* The pass has yet to go through the copy. */
static void keep_replica(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht__backward_keep(*(ht_module **)ht_node_context(node, 0));
    gin[0] = g;
}

static ht_tensor *output_of(const struct join *join, ht_tensor *x, ht_module *replica)
{
    ht_node *node = ht_node_new(join->what, keep_replica, 1, &x);
    ht_tensor *y;

    if (node == NULL)
        return x;
    *(ht_module **)ht_node_context(node, sizeof replica) = replica;
    ht__node_keep(node, replica);
    y = ht__tensor_view(ht__body_view(x->body));
    ht__set_base(y, x);
    return ht_node_set_output(node, y);
}

static void warn_of_scalars(const char *what)
{
    static atomic_bool said;

    if (!atomic_exchange(&said, true))
        ht_log_write0(HT_LOG_WARN,
                      "%s: the module returned scalars, which become a vector with an element "
                      "for each part",
                      what);
}

static ht_value *join_tensors(const struct join *join, ht_value *const values[])
{
    ht_tensor *tensors[HT_MAX_REPLICAS];
    int dim = join->layout->dim;

    for (int i = 0; i < join->count; i++) {
        ht_tensor *x = ht_value_as_tensor(values[i]);

        if (i > 0)
            x = output_of(join, x, join->replicas[i]);
        if (x == NULL)
            return NULL;
        if (x->body->ndim == 0) {
            warn_of_scalars(join->what);
            x = ht_expand_dims(x, 0);
            dim = 0;
        }
        tensors[i] = ht_to_device(x, join->layout->output);
    }
    return ht_value_tensor(ht_concatenate(join->count, tensors, dim));
}

static ht_value *join_numbers(const struct join *join, ht_value *const values[])
{
    double numbers[HT_MAX_REPLICAS];

    warn_of_scalars(join->what);
    for (int i = 0; i < join->count; i++)
        numbers[i] = ht_value_as_number(values[i]);
    return ht_value_tensor(ht_to_device(
        ht_array(numbers, HT_SHAPE(join->count), HT_FLOAT64, HT_LOCAL), join->layout->output));
}

static bool agree(const struct join *join, ht_value *const values[])
{
    for (int i = 1; i < join->count; i++) {
        const char *kind = ht__value_kind_name(values[0]);

        if (ht_value_get_kind(values[0]) != ht_value_get_kind(values[i])) {
            HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: part 0 returned %s, part %d %s", join->what, kind,
                    i, ht__value_kind_name(values[i]));
            return false;
        }
        if (ht_value_count(values[0]) != ht_value_count(values[i])) {
            HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: part 0 returned %s of %d, part %d one of %d",
                    join->what, kind, ht_value_count(values[0]), i, ht_value_count(values[i]));
            return false;
        }
    }
    return true;
}

static ht_value *join_values(const struct join *join, ht_value *const values[]);

static ht_value *join_lists(const struct join *join, ht_value *const values[])
{
    ht_value *list = ht_value_list(), *items[HT_MAX_REPLICAS];

    for (int k = 0; k < ht_value_count(values[0]); k++) {
        for (int i = 0; i < join->count; i++)
            items[i] = ht_value_at(values[i], k);
        if (ht_value_append(list, join_values(join, items)) != HT_SUCCESS)
            return NULL;
    }
    return list;
}

static ht_value *join_maps(const struct join *join, ht_value *const values[])
{
    ht_value *map = ht_value_map(), *items[HT_MAX_REPLICAS];

    for (int k = 0; k < ht_value_count(values[0]); k++) {
        const char *key = ht_value_key(values[0], k);

        for (int i = 0; i < join->count; i++) {
            items[i] = ht_value_get(values[i], key);
            if (items[i] != NULL)
                continue;
            HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: part 0 returned a map with '%s', part %d without",
                    join->what, key, i);
            return NULL;
        }
        if (ht_value_set(map, key, join_values(join, items)) != HT_SUCCESS)
            return NULL;
    }
    return map;
}

static ht_value *join_values(const struct join *join, ht_value *const values[])
{
    if (!agree(join, values))
        return NULL;
    switch (ht_value_get_kind(values[0])) {
    case HT_VALUE_TENSOR:
        return join_tensors(join, values);
    case HT_VALUE_NUMBER:
        return join_numbers(join, values);
    case HT_VALUE_LIST:
        return join_lists(join, values);
    case HT_VALUE_MAP:
        return join_maps(join, values);
    default:
        return NULL;
    }
}

ht_value *ht__device_gather(const char *what, const ht_device_layout *layout, int count,
                            ht_module *const replicas[], ht_value *const outputs[])
{
    struct join join = {.what = what, .layout = layout, .count = count, .replicas = replicas};

    return join_values(&join, outputs);
}
