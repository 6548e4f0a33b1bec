/* SPDX-License-Identifier: MIT
 *
 * Running statistics recomputed as means over the batches of one pass. */
#include "ht/autograd.h"
#include "ht/averaged_model.h"
#include "ht/factories.h"
#include "nn/layers/batch_norm.h"
#include "nn/module/module.h"

static const char what[] = "ht_update_bn";

/* The layers that track statistics, and their option that changes meanwhile. */
struct layers {
    ht_batch_norm_layer **layers; /* owned array; not owned */
    bool *cumulative;             /* owned */
    int count;
    ht_module **modules; /* all of them; owned array; not owned */
    bool *training;      /* owned */
    int module_count;
    ht_status status;
};

static void note_mode(const char *path, ht_module *module, void *user)
{
    struct layers *all = user;
    const size_t room = (size_t)all->module_count + 1;

    (void)path;
    all->modules = ht__realloc(all->modules, room * sizeof *all->modules);
    all->training = ht__realloc(all->training, room * sizeof *all->training);
    all->modules[all->module_count] = module;
    all->training[all->module_count++] = module->training;
}

static void begin_layer(const char *path, ht_module *module, void *user)
{
    ht_batch_norm_layer *layer = ht__batch_norm_of(module);
    struct layers *all = user;
    const size_t room = (size_t)all->count + 1;

    (void)path;
    if (layer == NULL || layer->running_mean == NULL || all->status != HT_SUCCESS)
        return;
    all->layers = ht__realloc(all->layers, room * sizeof *all->layers);
    all->cumulative = ht__realloc(all->cumulative, room * sizeof *all->cumulative);
    all->layers[all->count] = layer;
    all->cumulative[all->count++] = layer->options.cumulative_average;
    layer->options.cumulative_average = true;
    all->status = ht_fill_(layer->running_mean, 0);
    if (all->status == HT_SUCCESS)
        all->status = ht_fill_(layer->running_var, 1);
    if (all->status == HT_SUCCESS)
        all->status = ht_fill_(layer->batches, 0);
}

/* The inputs of a batch; NULL after the last one. After an error, ranks that wait for this one in
 * the module get it. */
static ht_value *next_inputs(ht_module *module, ht_next_batch_fn *next, void *user,
                             ht_status *status)
{
    ht_error_kept earlier;
    ht_value *inputs;

    ht__error_set_aside(&earlier);
    inputs = next(user);
    if (inputs == NULL)
        *status = ht_error_get(NULL);
    ht__error_put_back(&earlier);
    if (*status != HT_SUCCESS)
        ht__module_missed(module);
    return inputs;
}

static ht_status run_batches(ht_module *module, ht_next_batch_fn *next, void *user)
{
    ht_status status = HT_SUCCESS;
    bool more = true;

    while (more && status == HT_SUCCESS) {
        ht_scope *scope = ht_scope_open();
        ht_value *inputs = next_inputs(module, next, user, &status);

        more = inputs != NULL;
        if (more && ht_forward_value(module, inputs) == NULL)
            status = ht_error_get(NULL);
        ht_scope_close(scope);
    }
    return status;
}

static ht_status run(ht_module *module, ht_next_batch_fn *next, void *user)
{
    struct layers all = {.status = HT_SUCCESS};

    ht_module_apply(module, note_mode, &all);
    ht_module_apply(module, begin_layer, &all);
    if (all.status == HT_SUCCESS && all.count > 0) {
        all.status = ht_module_train(module);
        if (all.status == HT_SUCCESS)
            all.status = run_batches(module, next, user);
    }
    for (int i = 0; i < all.module_count; i++)
        all.modules[i]->training = all.training[i];
    for (int i = 0; i < all.count; i++)
        all.layers[i]->options.cumulative_average = all.cumulative[i];
    ht__free(all.layers);
    ht__free(all.cumulative);
    ht__free(all.modules);
    ht__free(all.training);
    return all.status;
}

ht_status ht_update_bn(ht_module *module, ht_next_batch_fn *next, void *user)
{
    ht_status status;
    bool was;

    if (HT_IS_NULL(module, what, "module") || HT_IS_NULL(next, what, "next"))
        return ht_error_get(NULL);
    was = ht_set_grad_enabled(false);
    status = run(module, next, user);
    ht_set_grad_enabled(was);
    return status;
}
