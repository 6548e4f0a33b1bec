/* SPDX-License-Identifier: MIT
 *
 * From forward to backward: which data-parallel wrappers a backward pass belongs to. Mostly there
 * is one; a model with a wrapper for each submodule has several, and a loss may reach some of them
 * only (a discriminator's does not reach the generator, whose output was detached). */
#include <float.h>

#include "data_parallel.h"
#include "layers_batch_norm.h"

static const char what[] = "ht_backward";

/* All wrappers that ran forward on this thread, in the order of their first time. */
static _Thread_local ht_data_parallel *known;

static void find_synchronised(const char *name, ht_module *module, void *found)
{
    const ht_batch_norm_layer *bn = ht__batch_norm_of(module);

    (void)name;
    *(bool *)found |= bn != NULL && bn->comm != NULL && bn->comm->size > 1;
}

/* Whether a layer's backward needs every rank (SyncBatchNorm). */
static bool has_collective_layers(const ht_data_parallel *dp)
{
    bool found = false;

    ht__module_walk(dp->module, find_synchronised, &found);
    return found;
}

/* A pass of this wrapper begins: the seed's factor; negative after an error. A rank whose batch is
 * worth nothing leaves its backward out, unless others would wait there: then it goes through it,
 * and with a factor that float32 rounds to 0 its gradients are none. */
static double begin_one(ht_data_parallel *dp)
{
    bool worthless = dp->armed_weight == 0, idle = worthless && !has_collective_layers(dp), sync;

    dp->armed--;
    if (ht__dp_count_pass(dp, &sync) != HT_SUCCESS ||
        ht__reducer_begin(dp->reducer, dp->armed_weight, sync, idle) != HT_SUCCESS)
        return -1;
    dp->buffers_current &= !sync;
    if (worthless)
        return idle ? 0 : DBL_MIN;
    return ht__dp_seed_scale(dp);
}

/* A pass of a rank that ran no forward. */
static ht_status begin_idle(ht_data_parallel *dp)
{
    bool sync;
    ht_status status = ht__dp_count_pass(dp, &sync);

    dp->armed = 0;
    if (status != HT_SUCCESS)
        return status;
    dp->buffers_current &= !sync;
    return ht__reducer_begin(dp->reducer, 0, sync, true);
}

static void add_leaf(const ht_grad_meta *leaf, void *leaves)
{
    ht__address_add(leaves, leaf);
}

static bool is_reached(const ht_data_parallel *dp, ht_address_set *leaves)
{
    for (int i = 0; dp->armed > 0 && i < dp->reducer->count; i++) {
        if (ht__address_has(leaves, dp->reducer->params[i].tensor->meta))
            return true;
    }
    return false;
}

/* A loss has one seed, so that all who scale it have to agree on the factor. */
static ht_status check_weights(ht_address_set *leaves)
{
    const ht_data_parallel *a = NULL;

    for (const ht_data_parallel *b = known; b != NULL; b = b->next) {
        if (!is_reached(b, leaves))
            continue;
        if (a != NULL && (a->reducer->options.averaging != b->reducer->options.averaging ||
                          a->armed_weight != b->armed_weight))
            return HT_FAIL(a->comm, HT_ERR_STATE,
                           "%s: the loss reaches two data-parallel wrappers that differ in their "
                           "averaging, or in the weight of this pass (%g and %g rows); "
                           "ht_data_parallel_set_weight sets it",
                           what, a->armed_weight, b->armed_weight);
        a = b;
    }
    return HT_SUCCESS;
}

/* Several wrappers wait for a backward pass: those that the loss reaches begin, in an order that is
 * the same on all ranks. */
static double begin_reached(ht_tensor *root)
{
    ht_address_set leaves = {0};
    double scale = 1;

    ht__graph_walk(root, ht__graph_new_walk(), add_leaf, &leaves);
    if (check_weights(&leaves) != HT_SUCCESS)
        scale = -1;
    for (ht_data_parallel *dp = known; dp != NULL && scale >= 0; dp = dp->next) {
        if (is_reached(dp, &leaves))
            scale = begin_one(dp);
    }
    ht__address_set_free(&leaves);
    return scale;
}

static double begin_backward(ht_tensor *root, void *user)
{
    ht_data_parallel *last = NULL;
    int armed = 0;

    (void)user;
    for (ht_data_parallel *dp = known; dp != NULL; dp = dp->next) {
        if (dp->armed == 0)
            continue;
        last = dp;
        armed++;
    }
    if (armed <= 1)
        return armed == 0 ? 1 : begin_one(last);
    return begin_reached(root);
}

static void progress(void *user)
{
    (void)user;
    for (ht_data_parallel *dp = known; dp != NULL; dp = dp->next)
        ht__reducer_progress(dp->reducer);
}

static void get_known(ht_data_parallel *dp)
{
    ht_data_parallel **place = &known;

    while (*place != NULL && *place != dp)
        place = &(*place)->next;
    if (*place == NULL)
        *place = dp;
    ht__backward_set_seed_scale(begin_backward, NULL);
    ht__backward_set_progress(progress, NULL);
}

/* The first parameter tells, unless all of them were frozen (ht_module_requires_grad). */
static bool is_trainable(const ht_data_parallel *dp)
{
    for (int i = 0; i < dp->reducer->count; i++) {
        if (ht_tensor_requires_grad(dp->reducer->params[i].tensor))
            return true;
    }
    return false;
}

void ht__dp_arm(ht_data_parallel *dp, bool sync, double weight)
{
    if (!is_trainable(dp))
        return;
    get_known(dp);
    dp->armed++;
    dp->armed_sync = sync;
    dp->armed_weight = weight;
}

ht_status ht__dp_begin_idle(ht_data_parallel *dp)
{
    if (has_collective_layers(dp))
        return HT_FAIL(dp->comm, HT_ERR_STATE,
                       "ht_data_parallel_backward: the model has SyncBatchNorm layers, which need "
                       "every rank: run forward and backward with a batch of no rows, not NULL");
    return begin_idle(dp);
}

void ht__dp_forget(ht_data_parallel *dp)
{
    ht_data_parallel **place = &known;

    while (*place != NULL && *place != dp)
        place = &(*place)->next;
    if (*place != NULL)
        *place = dp->next;
    if (known == NULL) {
        ht__backward_set_seed_scale(NULL, NULL);
        ht__backward_set_progress(NULL, NULL);
    }
}
