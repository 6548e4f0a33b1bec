/* SPDX-License-Identifier: MIT
 *
 * Forward passes that have failed on this rank. Without a loss, the graph does not say which
 * wrappers a backward pass belongs to. Other ranks begin a pass of the wrappers that failed here,
 * and of those that made their inputs. If a discriminator failed on detached inputs, the generator,
 * which waits for its own loss, is not among them. */
#include "core/autograd/autograd.h"
#include "nn/parallel/data/data_parallel.h"

static bool fail_node(uint64_t number, void *user)
{
    (void)user;
    for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next) {
        for (int i = 0; i < dp->armed_count; i++)
            dp->armed[i].failed |= ht__dp_has_made(&dp->armed[i], number);
    }
    return true;
}

/* Those that made these values, too: the loss that is missing would have come to them. */
static void fail_inputs(const ht_value *value)
{
    ht_tensor *x = ht_value_as_tensor(value);

    if (x != NULL)
        ht__graph_walk_nodes(x, fail_node, NULL);
    for (int i = 0; i < ht_value_count(value); i++)
        fail_inputs(ht_value_at(value, i));
}

static bool is_superseded(const ht_dp_forward *forward)
{
    return forward->superseded;
}

/* A missing loss takes all forward passes that failed. The last one without a graph represents the
 * earlier ones without a graph, because a program may continue after an error without saying that
 * the loss is missing. */
static void forget_superseded_of(ht_data_parallel *dp)
{
    bool later = false;

    for (int i = dp->armed_count - 1; i >= 0; i--) {
        ht_dp_forward *forward = &dp->armed[i];
        const bool alone = forward->failed && !forward->lost &&
                           ht__object_count(forward->origin) == 1;

        forward->superseded = later && alone;
        later |= alone;
    }
    ht__dp_forget_those(dp, is_superseded);
}

static void forget_superseded(void)
{
    for (ht_data_parallel *dp = ht__dp_known(); dp != NULL; dp = dp->next)
        forget_superseded_of(dp);
}

void ht__dp_failed(ht_data_parallel *dp, const ht_value *inputs)
{
    ht_dp_forward *forward = ht__dp_open(dp);

    if (forward != NULL)
        forward->failed = true;
    dp->unanswered |= forward != NULL;
    ht__dp_enter();
    fail_inputs(inputs);
    forget_superseded();
    ht__dp_exit();
}

/* Behind a forward pass that failed, or else an error that no wrapper knows of. */
void ht__dp_missed(ht_data_parallel *dp)
{
    ht_dp_forward *forward = ht__dp_open(dp);

    if (forward != NULL)
        forward->failed = ht__dp_any_failed();
    dp->unanswered |= forward != NULL;
    ht__dp_enter();
    forget_superseded();
    ht__dp_exit();
}
