/* SPDX-License-Identifier: MIT
 *
 * Making and ending a reducer: its parameters and their hooks. */
#include "nn/parallel/data/reducer/reducer.h"

#include "nn/module/module.h"

static void add_param(const char *name, ht_tensor *tensor, void *user)
{
    ht_reducer *reducer = user;
    ht_reducer_param *param;

    if (!ht_tensor_requires_grad(tensor))
        return;
    reducer->params = ht__realloc(reducer->params,
                                  ((size_t)reducer->count + 1) * sizeof *reducer->params);
    param = &reducer->params[reducer->count++];
    *param = (ht_reducer_param){.tensor = ht_retain(tensor), .name = ht__strdup(name)};
}

static void add_optimizer(ht_reducer *reducer, ht_optimizer *optimizer)
{
    ht_reducer_optimizer *added = &reducer->optimizers[reducer->optimizer_count++];

    added->optimizer = ht_retain(optimizer);
    added->params = ht__alloc((size_t)optimizer->count * sizeof(void *));
    for (int i = 0; i < optimizer->count; i++)
        added->params[i] = ht__reducer_find(reducer, optimizer->entries[i].parameter);
}

/* Layers run backward in about the reverse order of their registration. */
static void set_first_order(ht_reducer *reducer)
{
    reducer->order = ht__alloc((size_t)reducer->count * sizeof *reducer->order);
    reducer->seen = ht__alloc((size_t)reducer->count * sizeof *reducer->seen);
    for (int i = 0; i < reducer->count; i++)
        reducer->order[i] = reducer->count - 1 - i;
}

static void set_hooks(ht_reducer *reducer)
{
    for (int i = 0; i < reducer->count; i++) {
        ht_reducer_param *param = &reducer->params[i];

        param->reducer = reducer;
        param->unit = 1;
        param->hook = ht__register_early_hook(param->tensor, ht__reducer_ready, ht__reducer_filling,
                                              ht__reducer_moving, param);
    }
}

static void find_buffer(const char *name, ht_tensor *tensor, void *user)
{
    (void)name;
    (void)tensor;
    *(bool *)user = true;
}

ht_reducer *ht__reducer_new(ht_module *module, ht_comm *comm,
                            const ht_data_parallel_options *options, bool waits)
{
    ht_reducer *reducer = ht__alloc(sizeof *reducer);

    reducer->comm = ht_retain(comm);
    reducer->options = *options;
    reducer->loss_scale = 1;
    reducer->waits = waits;
    if (options->broadcast_buffers)
        ht__module_walk_tensors(module, HT_SLOT_BUFFER, find_buffer, &reducer->waits);
    reducer->bring = &ht__reducer_bringing;
    reducer->exchange = ht__exchange_get(comm, HT_PURPOSE_REDUCER);
    reducer->reports = ht__exchange_get(comm, HT_PURPOSE_REPORT);
    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, add_param, reducer);
    set_first_order(reducer);
    reducer->optimizers = ht__alloc((size_t)options->optimizer_count * sizeof *reducer->optimizers);
    for (int i = 0; i < options->optimizer_count; i++)
        add_optimizer(reducer, options->optimizers[i]);
    reducer->options.optimizers = NULL; /* the caller's */
    set_hooks(reducer);
    ht__reducer_enter(reducer);
    reducer->label = ht__strdup(module->path[0] != '\0' ? module->path : module->type->name);
    if (reducer->exchange == NULL || reducer->reports == NULL ||
        ht__reducer_take_number(reducer) != HT_SUCCESS ||
        ht__reducer_layout(reducer) != HT_SUCCESS) {
        ht__reducer_free(reducer);
        return NULL;
    }
    return reducer;
}

/* Bucket memory returns to the exchange: a gradient in it moves to separate memory. */
static void detach_gradient(ht_reducer_param *param)
{
    ht_grad_meta *meta = param->tensor->meta;
    ht_scope *scope;

    if (meta->grad != param->view)
        return;
    scope = ht_scope_open();
    ht_tensor_set_grad(param->tensor, meta->overwrite ? NULL : ht_copy(param->inside));
    ht_scope_close(scope);
}

void ht__reducer_free(ht_reducer *reducer)
{
    if (reducer->buckets != NULL && reducer->failure == HT_SUCCESS) /* else it was reported */
        ht__reducer_drain(reducer);
    for (int i = 0; i < reducer->count; i++) {
        ht_reducer_param *param = &reducer->params[i];

        ht_tensor_remove_hook(param->tensor, param->hook);
        ht__reducer_unwatch(param);
        if (param->view != NULL)
            detach_gradient(param);
        ht_release(param->view);
        ht_release(param->inside);
        ht_release(param->tensor);
        ht__free(param->name);
    }
    ht__reducer_leave(reducer);
    ht__reducer_delist(reducer);
    ht__reducer_unsent(reducer);
    ht__exchange_release(reducer->exchange, reducer->head_op);
    ht__reducer_end_order(reducer);
    ht__reducer_drop_buckets(reducer->buckets, reducer->bucket_count);
    ht__free(reducer->params);
    ht__free(reducer->order);
    ht__free(reducer->seen);
    ht__free(reducer->numbers);
    ht__free(reducer->label);
    ht__free(reducer->message);
    ht__free(reducer->why);
    ht__reducer_end_report(reducer);
    for (int i = 0; i < reducer->optimizer_count; i++) {
        ht_release(reducer->optimizers[i].optimizer);
        ht__free(reducer->optimizers[i].params);
    }
    ht__free(reducer->optimizers);
    ht_release(reducer->comm);
    ht__free(reducer);
}

ht_reducer_param *ht__reducer_find(ht_reducer *reducer, const ht_tensor *parameter)
{
    for (int i = 0; i < reducer->count; i++) {
        if (reducer->params[i].tensor == parameter)
            return &reducer->params[i];
    }
    return NULL;
}
