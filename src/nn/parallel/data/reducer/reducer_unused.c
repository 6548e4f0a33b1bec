/* SPDX-License-Identifier: MIT
 *
 * Parameters without a gradient. By default each one is an error that names it. With
 * find_unused_parameters the graph of a forward pass shows which to expect, with static_graph the
 * first pass does. A rank's flag in the bucket reports a parameter to the others. So all ranks see
 * an error in the same step, without a cost for steps without an error. */
#include "core/autograd/autograd.h"
#include "nn/parallel/data/reducer/reducer.h"

struct walking {
    ht_reducer *reducer;
    uint64_t walk;
};

/* A leaf of the graph; the reducer's own have its hook. */
static void meet_leaf(const ht_grad_meta *leaf, void *user)
{
    const struct walking *walking = user;

    for (int i = 0; i < leaf->hook_count; i++) {
        ht_reducer_param *param = leaf->hooks[i].user;

        if (leaf->hooks[i].moving == ht__reducer_moving && param->reducer == walking->reducer)
            param->reached = walking->walk;
    }
}

static void walk_value(const ht_value *value, struct walking *walking)
{
    ht_tensor *tensor = ht_value_as_tensor(value);

    if (tensor != NULL)
        ht__graph_walk(tensor, walking->walk, meet_leaf, walking);
    for (int i = 0; i < ht_value_count(value); i++)
        walk_value(ht_value_at(value, i), walking);
}

void ht__reducer_walk(ht_reducer *reducer, const ht_value *outputs)
{
    struct walking walking = {.reducer = reducer};

    if (!reducer->options.find_unused_parameters ||
        (reducer->options.static_graph && reducer->recorded))
        return;
    walking.walk = ht__graph_new_walk();
    if (reducer->walk == 0)
        reducer->walk = walking.walk;
    walk_value(outputs, &walking);
}

/* Several forward passes may share a backward pass: all walks since the last one count. */
void ht__reducer_expect(ht_reducer *reducer)
{
    bool recorded = reducer->options.static_graph && reducer->recorded;

    for (int i = 0; i < reducer->count; i++) {
        ht_reducer_param *param = &reducer->params[i];

        if (recorded)
            param->unused = !param->fired;
        else
            param->unused = reducer->walk != 0 && param->reached < reducer->walk;
        param->unused &= !reducer->idle;
    }
    reducer->walk = 0;
}

ht_presence ht__reducer_presence(const ht_reducer_param *param, bool has_grad)
{
    const ht_reducer *reducer = param->reducer;
    bool recording = reducer->options.static_graph && !reducer->recorded;

    if (reducer->broken != HT_BROKEN_NOT)
        return HT_GRAD_MISSING;
    if (has_grad)
        return HT_GRAD_GIVEN;
    return reducer->idle || param->unused || recording || reducer->options.find_unused_parameters
               ? HT_GRAD_NONE
               : HT_GRAD_MISSING;
}

static ht_status name_surprise(const ht_reducer_param *param)
{
    const ht_reducer *reducer = param->reducer;

    if (reducer->pass == HT_PASS_NONE)
        return HT_FAIL(reducer->comm, HT_ERR_STATE,
                       "ht_nn_data_parallel: %s got a gradient before any forward pass of the "
                       "wrapper; was forward called on the module inside it, or in evaluation "
                       "mode?",
                       param->name);
    if (!param->unused)
        return HT_FAIL(reducer->comm, HT_ERR_STATE,
                       "ht_nn_data_parallel: %s got a second gradient after forward pass %d; "
                       "each backward pass needs a forward pass of the wrapper, in training "
                       "mode, before it",
                       param->name, reducer->passes);
    if (reducer->options.static_graph && reducer->recorded)
        return HT_FAIL(reducer->comm, HT_ERR_STATE,
                       "ht_nn_data_parallel: static_graph, but %s got a gradient in pass %d "
                       "and none in the first",
                       param->name, reducer->passes);
    return HT_FAIL(reducer->comm, HT_ERR_STATE,
                   "ht_nn_data_parallel: find_unused_parameters: %s got a gradient, but the "
                   "outputs of forward pass %d do not depend on it",
                   param->name, reducer->passes);
}

/* The bucket may be on its way already, so what came now is in no average. Other ranks may not
 * notice, so it is reported to them. */
void ht__reducer_surprise(const ht_reducer_param *param)
{
    ht_error_kept cause;

    if (param->reducer->failure != HT_SUCCESS || param->reducer->broken != HT_BROKEN_NOT)
        return;
    name_surprise(param);
    ht__error_set_aside(&cause);
    ht__reducer_spoil(param->reducer, &cause);
    ht__error_put_back(&cause);
}
