/* SPDX-License-Identifier: MIT
 *
 * From forward to backward: which data-parallel wrappers a backward pass belongs to. Usually there
 * is one. A model with a wrapper for each submodule has several, and a loss may reach only some of
 * them. For example a discriminator's loss does not reach the generator, whose output was
 * detached. */
#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "core/autograd/autograd.h"
#include "nn/parallel/data/data_parallel.h"

static const char what[] = "ht_backward";

/* A pass of this wrapper begins: the seed's factor; negative after an error. A rank whose batch has
 * weight 0 leaves its backward out, unless others may wait there, in a layer or a second run. Then
 * it runs it, and with a factor that float32 rounds to 0 its gradients are 0. */
static double begin_one(ht_data_parallel *dp, ht_tensor *root)
{
    bool worthless = dp->pass_weight == 0, idle = worthless && !ht__graph_may_wait(root), sync;
    double scale;

    if (ht__dp_count_pass(dp, &sync) != HT_SUCCESS) { /* on this rank maybe alone */
        ht__dp_begin_counted(dp, sync);
        return -1;
    }
    scale = ht__dp_seed_scale(dp); /* first: of the samples before this pass */
    if (ht__reducer_begin(dp->reducer, dp->pass_weight, sync, idle) != HT_SUCCESS)
        return -1;
    dp->buffers_current &= !sync;
    dp->met = false;
    if (worthless)
        return idle ? 0 : DBL_MIN;
    return scale;
}

/* Marks the forward pass that made this node; false when none is left. */
static bool meet_node(uint64_t number, void *user)
{
    int *unmet = user;

    for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next) {
        for (int i = 0; i < dp->armed_count; i++) {
            ht_dp_forward *forward = &dp->armed[i];

            if (forward->reached || !ht__dp_has_made(forward, number))
                continue;
            forward->reached = true;
            --*unmet;
        }
    }
    return *unmet > 0;
}

/* Other ranks may have inputs that agree by chance. */
static ht_status check_rows(const ht_data_parallel *dp, const ht_dp_forward *forward)
{
    if (!isnan(forward->weight) || !isnan(dp->weight))
        return HT_SUCCESS;
    return HT_FAIL(dp->comm, HT_ERR_STATE,
                   "%s: the inputs of forward have %" PRId64 " and %" PRId64 " rows (axis 0); "
                   "give the number of samples of the loss by ht_data_parallel_set_weight",
                   what, forward->rows[0], forward->rows[1]);
}

/* If a loss is made of several forward passes, one weight has to hold for all. Under the other
 * averages, one of them with rows is enough. */
static ht_status check_weight(const ht_data_parallel *dp, const ht_dp_forward *forward)
{
    if (dp->reducer->options.averaging != HT_AVERAGE_WEIGHTED || !isnan(dp->weight) ||
        forward->weight == dp->pass_weight)
        return HT_SUCCESS;
    return HT_FAIL(dp->comm, HT_ERR_STATE,
                   "%s: the loss depends on two forward passes of %g and %g rows; give its "
                   "weight by ht_data_parallel_set_weight",
                   what, dp->pass_weight, forward->weight);
}

/* The facts about this pass from the forward passes that the loss reaches; whether it reaches
 * any. */
static bool look_at_reached(ht_data_parallel *dp, ht_status *status)
{
    bool reaches = false;

    for (int i = 0; i < dp->armed_count; i++) {
        const ht_dp_forward *forward = &dp->armed[i];

        if (!forward->reached)
            continue;
        if (*status == HT_SUCCESS)
            *status = check_rows(dp, forward);
        if (*status == HT_SUCCESS && reaches)
            *status = check_weight(dp, forward);
        dp->pass_weight = reaches ? fmax(dp->pass_weight, forward->weight) : forward->weight;
        dp->pass_sync = forward->sync;
        reaches = true;
    }
    if (reaches && !isnan(dp->weight))
        dp->pass_weight = dp->weight;
    return reaches;
}

static bool is_reached(const ht_dp_forward *forward)
{
    return forward->reached;
}

/* Those that the loss does not reach still wait. */
static void take_reached(ht_data_parallel *dp)
{
    ht__dp_forget_those(dp, is_reached);
    dp->weight = NAN;
}

/* The factor of the seed of this pass. */
static double factor_of(const ht_data_parallel *dp)
{
    return dp->pass_weight == 0 ? 0 : ht__dp_seed_scale(dp);
}

/* A loss has one seed, so all wrappers that scale it must agree on the factor. */
static ht_status check_factors(const ht_data_parallel *a, const ht_data_parallel *b)
{
    if (a == NULL || (a->reducer->options.averaging == b->reducer->options.averaging &&
                      factor_of(a) == factor_of(b)))
        return HT_SUCCESS;
    return HT_FAIL(
        a->comm, HT_ERR_STATE,
        "%s: the loss reaches two data-parallel wrappers that differ in their "
        "averaging, in accumulation_steps or in the weight of this pass (%.15g and %.15g "
        "rows); ht_data_parallel_set_weight sets it",
        what, a->pass_weight, b->pass_weight);
}

/* This rank refuses its loss. Those of other ranks may be all right, and begin their passes. */
static void begin_refused(void)
{
    for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next) {
        if (!dp->begins)
            continue;
        take_reached(dp);
        ht__dp_begin_broken(dp);
    }
}

/* The wrappers that the loss reaches; whether they agree on its pass, unless it fails already. */
static ht_status find_reached(ht_status status)
{
    ht_data_parallel *last = NULL;

    for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next) {
        dp->begins = look_at_reached(dp, &status);
        if (dp->begins && status == HT_SUCCESS)
            status = check_factors(last, dp);
        last = dp->begins ? dp : last;
    }
    return status;
}

/* Also a pass that is not sent by itself (of an unfinished group, or within no_sync): the pass that
 * sends its gradients reports it. */
static void break_pass(ht_data_parallel *dp, const ht_error_kept *cause)
{
    ht__reducer_break(dp->reducer, false, cause);
    if (dp->begins && !ht__reducer_is_synced(dp->reducer))
        ht__reducer_spoil(dp->reducer, cause);
}

/* Breaks the passes of the wrappers before `end`; NULL: of all. */
static void break_passes(const ht_data_parallel *end)
{
    ht_error_kept cause;

    ht__error_set_aside(&cause);
    for (ht_data_parallel *dp = ht__dp_known(); dp != end; dp = dp->next)
        break_pass(dp, &cause);
    ht__error_put_back(&cause);
}

/* The wrappers that the loss reaches begin, in the order in which they were made. All ranks have
 * that order; the order of first forward passes may differ. Where one cannot begin on this rank,
 * the others of other ranks begin, too. */
static double begin_reached(ht_tensor *root)
{
    bool failed = false;
    double scale = 1;

    if (find_reached(HT_SUCCESS) != HT_SUCCESS) {
        begin_refused();
        return -1;
    }
    for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next) {
        if (!dp->begins)
            continue;
        take_reached(dp);
        if (failed) {
            ht__dp_begin_broken(dp);
            continue;
        }
        scale = begin_one(dp, root);
        failed = scale < 0;
        if (failed)
            break_passes(dp);
    }
    return scale;
}

/* The wrappers whose outputs the loss depends on. A loss of another model in between reaches no
 * wrapper. Mostly the walk ends at the first node that it meets behind the loss. */
static bool meet_nodes(ht_tensor *root)
{
    int unmet = 0, armed;

    ht__dp_disarm_dropped();
    for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next) {
        dp->begins &= ht__backward_running(); /* one inside another belongs to that */
        unmet += dp->armed_count;
    }
    armed = unmet;
    if (unmet > 0)
        ht__graph_walk_nodes(root, meet_node, &unmet);
    return unmet < armed;
}

static double begin_backward(ht_tensor *root, void *user)
{
    double scale = 1;

    (void)user;
    ht__dp_enter();
    if (meet_nodes(root))
        scale = begin_reached(root);
    ht__dp_exit();
    return scale;
}

static void progress(void *user)
{
    (void)user;
    for (ht_data_parallel *dp = ht__dp_enter(); dp != NULL; dp = dp->next)
        ht__reducer_progress(dp->reducer);
    ht__dp_exit();
}

/* A loss that this rank refuses shows which passes the others begin. */
static void fail_to_begin(ht_tensor *root)
{
    if (root == NULL) {
        ht__dp_all_lost();
        return;
    }
    if (meet_nodes(root)) {
        find_reached(ht_error_get(NULL));
        begin_refused();
    }
}

/* In the middle of a pass, or before it. */
static void fail(bool begun, ht_tensor *root, void *user)
{
    (void)user;
    ht__dp_enter();
    if (begun)
        break_passes(NULL);
    else
        fail_to_begin(root);
    ht__dp_exit();
}

static _Thread_local ht_backward_observer observer = {
    .begins = begin_backward, .progress = progress, .failed = fail};

/* The first parameter decides, unless all of them were frozen (ht_module_requires_grad). */
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
    dp->origin = ht__origin_begin();
    if (!is_trainable(dp))
        return;
    ht__dp_get_known(dp);
    ht__dp_disarm_dropped();
    ht__backward_observe(&observer);
    if (dp->armed_count == dp->armed_capacity) {
        dp->armed_capacity = 2 * dp->armed_capacity + 4;
        dp->armed = ht__realloc(dp->armed, (size_t)dp->armed_capacity * sizeof *dp->armed);
    }
    dp->armed[dp->armed_count++] = (ht_dp_forward){.begin = ht__node_last_number(),
                                                   .end = UINT64_MAX,
                                                   .origin = ht_retain(dp->origin),
                                                   .weight = weight,
                                                   .rows = {dp->rows[0], dp->rows[1]},
                                                   .sync = sync};
}

void ht__dp_close(ht_data_parallel *dp, ht_origin *outer)
{
    if (dp->origin == outer)
        return;
    ht__origin_end(dp->origin);
    dp->origin = outer;
}

ht_dp_forward *ht__dp_open(ht_data_parallel *dp)
{
    for (int i = dp->armed_count - 1; i >= 0; i--) {
        if (dp->armed[i].origin == dp->origin)
            return &dp->armed[i];
    }
    return NULL;
}

void ht__dp_armed(ht_data_parallel *dp)
{
    ht_dp_forward *forward = ht__dp_open(dp);

    if (forward != NULL)
        forward->end = ht__node_last_number();
}

void ht__dp_forget(ht_data_parallel *dp)
{
    ht__dp_leave_known(dp); /* first: its thread goes through what follows */
    ht__dp_close(dp, NULL);
    ht__dp_disarm(dp);
    if (ht__dp_enter() == NULL)
        ht__backward_leave(&observer);
    ht__dp_exit();
}
