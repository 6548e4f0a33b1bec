/* SPDX-License-Identifier: MIT
 *
 * Which layer a parameter belongs to. A layer (a module without children) updates its own
 * parameters right before it runs. A parameter of a module with children, or of several modules,
 * does not have such a place. These parameters are loose, and updated when the wrapper's forward
 * begins. */
#include "nn/parallel/data/data_parallel.h"

#include "nn/layers/batch_norm.h"

static bool is_layer(const ht_module *module)
{
    return ht_module_child_count(module) == 0;
}

/* How many slots of the tree hold each parameter; those of modules with children count twice. */
struct census {
    ht_reducer *reducer;
    int *owners;
};

static void count_owners(const char *name, ht_module *module, void *user)
{
    struct census *census = user;

    (void)name;
    for (int i = 0; i < module->slot_count; i++) {
        ht_slot *slot = &module->slots[i];
        ht_reducer_param *param = NULL;

        if (slot->kind == HT_SLOT_PARAMETER)
            param = ht__reducer_find(census->reducer, *ht__slot_place(module, slot));
        if (param != NULL)
            census->owners[param - census->reducer->params] += is_layer(module) ? 1 : 2;
    }
}

static void before_layer(ht_module *module, void *user)
{
    const ht_dp_layer *layer = user;
    bool by_itself = ht__nn_is_linear(module);

    for (int i = 0; i < layer->count; i++) {
        ht_reducer_param *param = layer->params[i];

        if (param->due && !(by_itself && ht__reducer_comes_in_parts(param)))
            ht__reducer_settle(param);
    }
    if (layer->count > 0)
        ht__reducer_progress(layer->params[0]->reducer);
}

struct hooking {
    ht_data_parallel *dp;
    const int *owners;
};

static void hook_layer(const char *name, ht_module *module, void *user)
{
    struct hooking *hooking = user;
    ht_data_parallel *dp = hooking->dp;
    ht_dp_layer *layer;

    (void)name;
    if (!is_layer(module) || module->slot_count == 0)
        return;
    layer = ht__alloc(sizeof *layer);
    layer->module = module;
    layer->params = ht__alloc((size_t)module->slot_count * sizeof(void *));
    for (int i = 0; i < module->slot_count; i++) {
        ht_slot *slot = &module->slots[i];
        ht_reducer_param *param = NULL;

        if (slot->kind == HT_SLOT_PARAMETER)
            param = ht__reducer_find(dp->reducer, *ht__slot_place(module, slot));
        if (param != NULL && hooking->owners[param - dp->reducer->params] == 1)
            layer->params[layer->count++] = param;
    }
    layer->observer = (ht_forward_observer){.before = before_layer, .user = layer};
    ht__module_observe(module, &layer->observer);
    dp->layers = ht__realloc(dp->layers, ((size_t)dp->layer_count + 1) * sizeof(void *));
    dp->layers[dp->layer_count++] = layer;
}

void ht__dp_hook_layers(ht_data_parallel *dp)
{
    int *owners = ht__alloc((size_t)dp->reducer->count * sizeof *owners);
    struct census census = {dp->reducer, owners};
    struct hooking hooking = {dp, owners};

    ht__module_walk(dp->module, count_owners, &census);
    ht__module_walk(dp->module, hook_layer, &hooking);
    dp->loose = ht__alloc((size_t)dp->reducer->count * sizeof(void *));
    for (int i = 0; i < dp->reducer->count; i++) {
        if (owners[i] != 1)
            dp->loose[dp->loose_count++] = &dp->reducer->params[i];
    }
    ht__free(owners);
}

static void find_collective_layer(const char *name, ht_module *module, void *user)
{
    const ht_module **found = user;
    const ht_batch_norm_layer *bn = ht__batch_norm_of(module);

    (void)name;
    if (*found == NULL && bn != NULL && bn->comm != NULL && bn->comm->size > 1)
        *found = module;
}

const ht_module *ht__dp_collective_layer(const ht_data_parallel *dp)
{
    const ht_module *found = NULL;

    ht__module_walk(dp->module, find_collective_layer, &found);
    return found;
}

void ht__dp_unhook_layers(ht_data_parallel *dp)
{
    for (int i = 0; i < dp->layer_count; i++) {
        ht__module_leave(dp->layers[i]->module, &dp->layers[i]->observer);
        ht__free(dp->layers[i]->params);
        ht__free(dp->layers[i]);
    }
    ht__free(dp->layers);
    ht__free(dp->loose);
}
