/* SPDX-License-Identifier: MIT
 *
 * Guards: while a gradient's average is on the way, or its update is due, they protect all memory
 * that the update will change. So every access to it, by any handle, waits for the update
 * (reducer_update.c). */
#include "nn/parallel/data/reducer/reducer.h"

static void guard(ht_guard *guard, bool on, const ht_tensor *x, void *user,
                  void (*bring)(void *, int64_t, int64_t, bool))
{
    ht__guard_clear(guard);
    if (!on || x == NULL)
        return;
    guard->bring = bring;
    guard->user = user;
    ht__guard_set(guard, x->body);
}

void ht__reducer_unwatch(ht_reducer_param *param)
{
    param->tensor->meta->coming = NULL;
    ht__guard_clear(&param->guard);
    ht__guard_clear(&param->own);
    for (int s = 0; s < HT_OPTIMIZER_STATES; s++)
        ht__guard_clear(&param->states[s]);
}

/* The gradient waits like the parameter, and so does the optimizer's state: a program may have
 * their handles, or views of them, from an earlier step. */
void ht__reducer_watch(ht_reducer_param *param)
{
    const ht_bringing *bring = param->reducer->bring;
    ht_bucket *bucket = &param->reducer->buckets[param->bucket];
    bool on_its_way = bucket->state == HT_BUCKET_ACCUMULATING ||
                      bucket->state == HT_BUCKET_IN_FLIGHT;
    ht_tensor *grad = param->tensor->meta->grad;
    bool own = grad == param->grad && grad != param->view;

    param->tensor->meta->coming = on_its_way || param->due != NULL ? bring->gradient : NULL;
    param->tensor->meta->coming_user = param;
    guard(&param->guard, param->due != NULL, param->tensor, param, bring->parameter);
    guard(&param->own, on_its_way && param->presence != HT_GRAD_AWAITED && own, grad, param,
          bring->all_of);
    guard(&bucket->guard, on_its_way || bucket->due > 0, bucket->all, bucket, bring->bucket);
    for (int s = 0; s < HT_OPTIMIZER_STATES; s++)
        guard(&param->states[s], param->due != NULL,
              param->due != NULL ? param->due->optimizer->entries[param->entry].state[s] : NULL,
              param, bring->all_of);
}
