/* SPDX-License-Identifier: MIT
 *
 * join: ranks that run out of data take part in the others' exchanges with zeros until all are out
 * of data (reducer_join.c). Then a rank that ran longest gives its model to all. With throwing, the
 * first rank to run out ends the loop of every rank, in the same forward pass. */
#include "nn/parallel/data/data_parallel.h"

#include <inttypes.h>
#include <pthread.h>

static const char begin[] = "ht_data_parallel_join_begin";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ht_data_parallel *joining; /* wrappers between begin and end; under the lock */

static _Thread_local uint64_t refusal; /* the error of the last join that ended early; 0: none */

ht_join_options ht_join_options_default(void)
{
    return (ht_join_options){
        .size = sizeof(ht_join_options), .divide_by_initial_world_size = true, .enable = true};
}

static bool is_joining(const ht_comm *comm)
{
    const ht_data_parallel *other;

    pthread_mutex_lock(&lock);
    for (other = joining; other != NULL && other->comm != comm; other = other->next_joining)
        ;
    pthread_mutex_unlock(&lock);
    return other != NULL;
}

static ht_status check_options(ht_data_parallel *dp, const ht_join_options *o)
{
    const ht_module *found;

    if (HT_CHECK_OPTIONS(dp->comm, begin, o, ht_join_options) != HT_SUCCESS)
        return HT_ERR_ARGUMENT;
    if (dp->join != HT_JOIN_NONE)
        return HT_FAIL(dp->comm, HT_ERR_STATE, "%s: the wrapper is already in a join", begin);
    if (!o->enable || o->throw_on_early_termination)
        return HT_SUCCESS;
    found = ht__dp_collective_layer(dp);
    if (found != NULL)
        return HT_FAIL(dp->comm, HT_ERR_UNSUPPORTED,
                       "%s: SyncBatchNorm%s%s needs every rank in each forward pass; set "
                       "throw_on_early_termination",
                       begin, found->path[0] != '\0' ? " at " : "", found->path);
    if (is_joining(dp->comm))
        return HT_FAIL(dp->comm, HT_ERR_STATE,
                       "%s: another wrapper on this communicator is in a join: a rank out of data "
                       "could not distinguish their passes",
                       begin);
    return HT_SUCCESS;
}

static ht_status check_alike(ht_data_parallel *dp, const ht_join_options *o)
{
    int64_t mine = o->enable + 2 * o->divide_by_initial_world_size +
                   4 * o->throw_on_early_termination;
    int64_t range[2] = {mine, -mine};
    ht_status status = ht__comm_allreduce_i64(dp->comm, range, 2, HT_OP_MIN, begin);

    if (status != HT_SUCCESS || range[0] == -range[1])
        return status;
    return HT_FAIL(dp->comm, HT_ERR_ARGUMENT, "%s: the options differ between ranks", begin);
}

void ht__dp_leave_join(ht_data_parallel *dp)
{
    ht_data_parallel **at = &joining;

    pthread_mutex_lock(&lock);
    while (*at != NULL && *at != dp)
        at = &(*at)->next_joining;
    if (*at != NULL)
        *at = dp->next_joining;
    pthread_mutex_unlock(&lock);
    dp->join = HT_JOIN_NONE;
    dp->reducer->joining = HT_JOINING_OFF;
}

ht_status ht_data_parallel_join_begin(ht_module *wrapper, const ht_join_options *options)
{
    ht_data_parallel *dp = ht__dp_get(begin, wrapper);
    ht_join_options o = options != NULL ? *options : ht_join_options_default();
    ht_status status;
    bool held;

    if (dp == NULL)
        return ht_error_get(NULL);
    held = ht__agree_begin();
    status = ht__agree_end(begin, dp->comm, held, check_options(dp, &o));
    if (status == HT_SUCCESS)
        status = check_alike(dp, &o);
    if (status == HT_SUCCESS && o.enable) /* passes begun without a head end without one */
        status = ht__reducer_drain(dp->reducer);
    if (status != HT_SUCCESS)
        return status;
    dp->join = !o.enable                      ? HT_JOIN_DISABLED
               : o.throw_on_early_termination ? HT_JOIN_THROWING
                                              : HT_JOIN_SHADOWING;
    dp->join_passes = 0;
    refusal = 0;
    if (dp->join != HT_JOIN_SHADOWING)
        return HT_SUCCESS;
    dp->reducer->lowest = 0;
    dp->reducer->joining = o.divide_by_initial_world_size ? HT_JOINING_ALL : HT_JOINING_ACTIVE;
    pthread_mutex_lock(&lock);
    dp->next_joining = joining;
    joining = dp;
    pthread_mutex_unlock(&lock);
    return HT_SUCCESS;
}

/* All ranks are here: before a forward pass, or (going: false) at the end of their data. */
ht_status ht__dp_meet(ht_data_parallel *dp, bool going)
{
    int size = dp->comm->size, out = 0, lowest = size;
    int64_t mine = going, *all = ht__alloc((size_t)size * sizeof *all);
    ht_status status = ht__comm_allgather_i64(
        dp->comm, &mine, 1, all, "ht_data_parallel_join: asking which ranks have data");

    for (int r = size - 1; r >= 0; r--) {
        out += all[r] == 0;
        lowest = all[r] == 0 ? r : lowest;
    }
    ht__free(all);
    dp->join_passes += going;
    dp->met = going;
    if (status != HT_SUCCESS || out == 0 || out == size)
        return status;
    ht__dp_leave_join(dp);
    status = HT_FAIL(dp->comm, HT_ERR_STATE,
                     "ht_data_parallel_join: %d of %d ranks (rank %d first) ran out of data before "
                     "forward pass %" PRId64 " of the others; throw_on_early_termination ends the "
                     "loops of all",
                     out, size, lowest, dp->join_passes + !going);
    refusal = ht__error_number();
    return status;
}

bool ht__dp_is_refused(void)
{
    return refusal != 0 && ht__error_number() == refusal;
}

/* The lowest rank with data: its buffers count. */
static ht_status agree_on_root(ht_data_parallel *dp, bool active, int *root)
{
    int64_t lowest = active ? dp->comm->rank : dp->comm->size;
    ht_status status = ht__comm_allreduce_i64(
        dp->comm, &lowest, 1, HT_OP_MIN, "ht_data_parallel_join: asking whose buffers to take");

    *root = (int)lowest;
    return status;
}

ht_status ht__dp_join_buffers(ht_data_parallel *dp, int *root)
{
    const ht_status status = ht__reducer_announce_buffers(dp->reducer);

    return status == HT_SUCCESS ? agree_on_root(dp, true, root) : status;
}

static ht_status shadow_buffers(ht_data_parallel *dp)
{
    int root = 0;
    ht_status status = agree_on_root(dp, false, &root);

    return status == HT_SUCCESS ? ht__dp_broadcast_buffers(dp->module, dp->comm, root) : status;
}

/* Takes part in the others' passes until there are none; how many there were. */
static ht_status shadow_all(ht_data_parallel *dp, int64_t *passes)
{
    ht_shadow shadow = HT_SHADOW_PASS;
    ht_status status = HT_SUCCESS;

    while (status == HT_SUCCESS && shadow != HT_SHADOW_OVER) {
        status = ht__reducer_shadow(dp->reducer, &shadow);
        if (status == HT_SUCCESS && shadow == HT_SHADOW_BUFFERS)
            status = shadow_buffers(dp);
        *passes += shadow == HT_SHADOW_PASS;
    }
    return status;
}

/* A rank that shadowed nothing was there to the end: its model, state of optimizers included, goes
 * to all. When no rank shadowed anything they are equal already. Gradients are zeroed in any case:
 * the numbers of batches do not decide what the next pass adds to. */
static ht_status equalise(ht_data_parallel *dp, int64_t shadowed)
{
    int64_t least[2] = {shadowed == 0 ? dp->comm->rank : dp->comm->size, -shadowed};
    ht_status status = ht__comm_allreduce_i64(dp->comm, least, 2, HT_OP_MIN,
                                              "ht_data_parallel_join: asking whose model is the "
                                              "latest");

    for (int i = 0; i < dp->reducer->count && status == HT_SUCCESS; i++)
        ht__reducer_forget(&dp->reducer->params[i]);
    if (status != HT_SUCCESS || least[1] == 0)
        return status;
    dp->buffers_current = true;
    return ht__dp_broadcast_state(dp->module, dp->comm, dp->optimizer_count, dp->optimizers,
                                  (int)least[0]);
}

ht_status ht_data_parallel_join_end(ht_module *wrapper)
{
    static const char what[] = "ht_data_parallel_join_end";
    ht_data_parallel *dp = ht__dp_get(what, wrapper);
    int64_t shadowed = 0;
    ht_status status = HT_SUCCESS;

    if (dp == NULL)
        return ht_error_get(NULL);
    if (dp->join == HT_JOIN_NONE)
        return HT_FAIL(dp->comm, HT_ERR_STATE, "%s: no join was begun", what);
    if (dp->join == HT_JOIN_THROWING)
        status = ht__dp_meet(dp, false);
    if (status == HT_SUCCESS && dp->join != HT_JOIN_DISABLED)
        status = ht__dp_flush(dp);
    if (status == HT_SUCCESS && dp->join == HT_JOIN_SHADOWING)
        status = shadow_all(dp, &shadowed);
    if (status == HT_SUCCESS && dp->join == HT_JOIN_SHADOWING)
        status = equalise(dp, shadowed);
    ht__dp_disarm(dp);
    ht__dp_leave_join(dp);
    return status;
}
