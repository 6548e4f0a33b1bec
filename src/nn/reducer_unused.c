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

    if (has_grad && !reducer->broken)
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

/* A report: for each rank a row that says which parameters it misses, whether its pass failed (1:
 * in the middle, 2: there was no loss), the error's code, and its text. */
enum { WHY = 400, MORE = 2 + WHY };

static size_t row_length(const ht_reducer *reducer)
{
    return (size_t)reducer->count + MORE;
}

static const float *row_of(const ht_reducer *reducer, int rank)
{
    return reducer->report + (size_t)rank * row_length(reducer);
}

static int failed_as(const ht_reducer *reducer, int rank)
{
    return (int)row_of(reducer, rank)[reducer->count];
}

static void write_why(const ht_reducer *reducer, const float *row, char *text, size_t room)
{
    size_t i = 0;

    for (row += reducer->count + 2; i + 1 < room && i < WHY && row[i] != 0; i++)
        text[i] = (char)row[i];
    text[i] = '\0';
}

/* A clause for the ranks first ... last, which tell the same. */
static size_t describe_rows(const ht_reducer *reducer, int first, int last, char *text, size_t room)
{
    static const char *const heads[] = {"no gradient for ", "backward failed before it came to ",
                                        "no loss"};
    int how = failed_as(reducer, first);
    char names[400] = "", why[WHY + 3] = "", ranks[32];

    if (how != 2)
        list_names(reducer, row_of(reducer, first), names, sizeof names);
    if (how != 2 && names[0] == '\0')
        return 0;
    if (how == 2)
        write_why(reducer, row_of(reducer, first), why, sizeof why);
    snprintf(ranks, sizeof ranks, last > first ? "s %d-%d" : " %d", first, last);
    return (size_t)snprintf(text, room, "%s%s on rank%s%s%s", heads[how], names, ranks,
                            why[0] != '\0' ? ": " : "", why);
}

static void describe(const ht_reducer *reducer, char *text, size_t room)
{
    size_t bytes = row_length(reducer) * sizeof(float), used = 0;
    int size = reducer->comm->size, next;

    for (int r = 0; r < size && used + 64 < room; r = next) {
        size_t comma = used > 0 ? 2 : 0, more;

        for (next = r + 1; next < size; next++) {
            if (memcmp(row_of(reducer, r), row_of(reducer, next), bytes) != 0)
                break;
        }
        more = describe_rows(reducer, r, next - 1, text + used + comma, room - used - comma);
        if (more > 0 && comma > 0)
            memcpy(text + used, "; ", 2);
        used += more > 0 ? more + comma : 0;
    }
}

/* A pass of this rank that nobody can complete: its flags tell the others. */
void ht__reducer_break(ht_reducer *reducer, bool lossless, const ht_error_kept *cause)
{
    bool broken = lossless;

    for (int i = 0; reducer->open && !lossless && i < reducer->count; i++)
        broken |= !reducer->params[i].ready;
    if (!broken || reducer->broken)
        return;
    reducer->broken = true;
    reducer->lossless = lossless;
    reducer->cause = cause->code;
    reducer->why = ht__strdup(cause->code != HT_SUCCESS ? cause->message : "");
}

/* All rows; each rank fills its own, and the sum is all of them. */
void ht__reducer_report(ht_reducer *reducer)
{
    size_t length = row_length(reducer), count = (size_t)reducer->count;
    int64_t n = (int64_t)length * reducer->comm->size;
    float *mine;

    if (reducer->reporting != NULL)
        return;
    reducer->report = ht__alloc((size_t)n * sizeof *reducer->report);
    mine = reducer->report + (size_t)reducer->comm->rank * length;
    for (size_t i = 0; i < count; i++)
        mine[i] = reducer->params[i].missing;
    if (reducer->broken) {
        mine[count] = reducer->lossless ? 2 : 1;
        mine[count + 1] = (float)reducer->cause;
        for (size_t i = 0; i < WHY && reducer->why[i] != '\0'; i++)
            mine[count + 2 + i] = reducer->why[i];
    }
    reducer->reporting = ht__exchange_start(reducer->reports, reducer->report, n, HT_FLOAT32, 1, 0);
}

void ht__reducer_end_report(ht_reducer *reducer)
{
    if (reducer->reporting != NULL)
        ht__exchange_release(reducer->reports, reducer->reporting);
    ht__free(reducer->report);
    reducer->reporting = NULL;
    reducer->report = NULL;
}

/* Of the lowest rank without a loss: what its program would have seen. */
static ht_status code_of(const ht_reducer *reducer, bool *broken)
{
    ht_status code = HT_SUCCESS;

    *broken = false;
    for (int r = reducer->comm->size - 1; r >= 0; r--) {
        *broken |= failed_as(reducer, r) > 0;
        if (failed_as(reducer, r) == 2)
            code = (ht_status)row_of(reducer, r)[reducer->count + 1];
    }
    return code != HT_SUCCESS ? code : HT_ERR_STATE;
}

/* All ranks come here when they await an average of this pass; who knew before has sent its part.
 */
ht_status ht__reducer_name_missing(ht_reducer *reducer)
{
    char text[800] = "";
    ht_status status, code;
    bool broken;

    ht__reducer_close(reducer);
    ht__reducer_report(reducer);
    status = ht__exchange_wait(reducer->reports, reducer->reporting,
                               "naming parameters without a gradient");
    if (status != HT_SUCCESS)
        return status;
    describe(reducer, text, sizeof text);
    code = code_of(reducer, &broken);
    ht__reducer_end_report(reducer);
    return HT_FAIL(reducer->comm, code, "ht_nn_data_parallel: pass %d: %s; %s", reducer->passes,
                   text,
                   broken ? "the wrapper is of no use any more: end it, and wrap again"
                          : "if the forward pass leaves them out on purpose, set "
                            "find_unused_parameters");
}
