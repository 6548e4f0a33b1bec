/* SPDX-License-Identifier: MIT
 *
 * From forward to backward: which data-parallel wrappers a backward pass belongs to. Mostly there
 * is one; a model with a wrapper for each submodule has several, and a loss may reach some of them
 * only (a discriminator's does not reach the generator, whose output was detached). */
#include "data_parallel.h"

static const char what[] = "ht_backward";

/* All wrappers that ran forward on this thread, in the order of their first time. */
static _Thread_local ht_data_parallel *known;

/* A pass of this wrapper begins: the seed's factor; negative after an error. */
static double begin_one(ht_data_parallel *dp)
{
    bool sync;

    dp->armed--;
    if (ht__dp_count_pass(dp, &sync) != HT_SUCCESS ||
        ht__reducer_begin(dp->reducer, dp->armed_weight, sync) != HT_SUCCESS)
        return -1;
    dp->buffers_current &= !sync;
    return dp->armed_weight == 0 ? 0 : ht__dp_seed_scale(dp);
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
    get_known(dp);
    dp->armed = 1;
    dp->armed_weight = 0;
    return begin_one(dp) < 0 ? ht_error_get(NULL) : HT_SUCCESS;
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
