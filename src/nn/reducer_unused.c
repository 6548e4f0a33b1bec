/* SPDX-License-Identifier: MIT
 *
 * Parameters without a gradient. By default each one is an error that names it. With
 * find_unused_parameters the graph of a forward pass tells which to expect, with static_graph the
 * first pass does. What a rank says of a parameter travels as its flag in the bucket, so that all
 * ranks see an error in the same step, at no cost to the steps without one. */
#include "reducer.h"

#include <stdio.h>
#include <string.h>

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

        if (leaf->hooks[i].ready == ht__reducer_ready && param->reducer == walking->reducer)
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
        param->missing = false;
    }
    reducer->walk = 0;
}

double ht__reducer_flag(ht_reducer_param *param, bool has_grad)
{
    const ht_reducer *reducer = param->reducer;
    bool recording = reducer->options.static_graph && !reducer->recorded;

    if (has_grad)
        return HT_FLAG_USED;
    param->missing = reducer->broken || (!reducer->idle && !param->unused && !recording &&
                                         !reducer->options.find_unused_parameters);
    return param->missing ? HT_FLAG_MISSING : 0;
}

/* The bucket may be on its way already, so what came now is in no average. */
ht_status ht__reducer_surprise(ht_reducer_param *param)
{
    const ht_reducer *reducer = param->reducer;

    if (!reducer->begun)
        return HT_FAIL_HERE(reducer->comm, HT_ERR_STATE,
                            "ht_nn_data_parallel: %s got a gradient before any forward pass of the "
                            "wrapper; was forward called on the module inside it, or in evaluation "
                            "mode?",
                            param->name);
    if (!param->unused)
        return HT_FAIL_HERE(reducer->comm, HT_ERR_STATE,
                            "ht_nn_data_parallel: %s got a second gradient after forward pass %d; "
                            "each backward pass needs a forward pass of the wrapper, in training "
                            "mode, before it",
                            param->name, reducer->passes);
    if (reducer->options.static_graph && reducer->recorded)
        return HT_FAIL_HERE(reducer->comm, HT_ERR_STATE,
                            "ht_nn_data_parallel: static_graph, but %s got a gradient in pass %d "
                            "and none in the first",
                            param->name, reducer->passes);
    return HT_FAIL_HERE(reducer->comm, HT_ERR_STATE,
                        "ht_nn_data_parallel: find_unused_parameters: %s got a gradient, but the "
                        "outputs of forward pass %d do not depend on it",
                        param->name, reducer->passes);
}

/* "fc1.weight, fc1.bias and 3 more" of the parameters that stand in `row`. */
static void list_names(const ht_reducer *reducer, const float row[], char *text, size_t room)
{
    size_t used = 0;
    int listed = 0, more = 0;

    for (int i = 0; i < reducer->count; i++) {
        const char *name = reducer->params[i].name;

        if (row[i] == 0)
            continue;
        if (used + strlen(name) + 16 >= room) {
            more++;
            continue;
        }
        used += (size_t)snprintf(text + used, room - used, "%s%s", listed > 0 ? ", " : "", name);
        listed++;
    }
    if (more > 0)
        snprintf(text + used, room - used, " and %d more", more);
}

/* One clause for each run of ranks that miss the same; the last of a row: its pass failed. */
static void describe(const ht_reducer *reducer, const float *rows, char *text, size_t room)
{
    size_t count = (size_t)reducer->count + 1, used = 0;
    int size = reducer->comm->size, next;

    for (int r = 0; r < size && used + 64 < room; r = next) {
        const float *row = rows + (size_t)r * count;
        char names[400] = "";

        for (next = r + 1; next < size; next++) {
            if (memcmp(row, rows + (size_t)next * count, count * sizeof *row) != 0)
                break;
        }
        list_names(reducer, row, names, sizeof names);
        if (names[0] == '\0')
            continue;
        used += (size_t)snprintf(
            text + used, room - used, "%s%s%s on rank%s %d", used > 0 ? "; " : "",
            row[count - 1] != 0 ? "backward failed before it came to " : "no gradient for ", names,
            next > r + 1 ? "s" : "", r);
        if (next > r + 1 && used < room)
            used += (size_t)snprintf(text + used, room - used, "-%d", next - 1);
    }
}

/* A pass of this rank that nobody can complete: its flags tell the others. */
void ht__reducer_break(ht_reducer *reducer)
{
    for (int i = 0; reducer->open && i < reducer->count; i++)
        reducer->broken |= !reducer->params[i].ready;
}

static bool any_broken(const float *rows, size_t count, int size)
{
    for (int r = 0; r < size; r++) {
        if (rows[(size_t)(r + 1) * count - 1] != 0)
            return true;
    }
    return false;
}

/* All ranks come here in the same pass, before they start any operation after its buckets. */
ht_status ht__reducer_name_missing(ht_reducer *reducer)
{
    size_t count = (size_t)reducer->count + 1, mine = (size_t)reducer->comm->rank * count;
    int64_t n = (int64_t)count * reducer->comm->size;
    float *rows = ht__alloc((size_t)n * sizeof *rows);
    char text[800] = "";
    ht_exchange_op *op;
    ht_status status;

    ht__reducer_close(reducer);
    for (int i = 0; i < reducer->count; i++)
        rows[mine + (size_t)i] = reducer->params[i].missing;
    rows[mine + count - 1] = reducer->broken;
    op = ht__exchange_start(reducer->exchange, rows, n, HT_FLOAT32, 1, 0);
    status = ht__exchange_wait(reducer->exchange, op, "naming parameters without a gradient");
    if (status == HT_SUCCESS) {
        ht__exchange_release(reducer->exchange, op);
        describe(reducer, rows, text, sizeof text);
        status = HT_FAIL(reducer->comm, HT_ERR_STATE, "ht_nn_data_parallel: pass %d: %s; %s",
                         reducer->passes, text,
                         any_broken(rows, count, reducer->comm->size)
                             ? "the wrapper is of no use any more: end it, and wrap again"
                             : "if the forward pass leaves them out on purpose, set "
                               "find_unused_parameters");
    }
    ht__free(rows);
    return status;
}
