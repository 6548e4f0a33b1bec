/* SPDX-License-Identifier: MIT
 *
 * Loading DASO's state. It is checked on all ranks before anything is changed on any rank. If the
 * state comes from a job with other ranks or nodes, each rank begins with a mean. */
#include "core/ops/ops.h"

#include "nn/parallel/daso/daso.h"
#include "nn/parallel/daso/state.h"
#include "nn/parallel/data/data_parallel.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/log.h"
#include "ht/manipulations.h"
#include "ht/statistics.h"
#include "ht/tensor.h"

static const char what[] = "ht_daso_load_state_dict";

static int64_t saved(const ht_value *state, const char *name)
{
    return (int64_t)ht_value_as_number(ht_value_get(state, name));
}

static bool state_skips_sync(const ht_value *state)
{
    return ht__daso_skips_sync(saved(state, "global_skip"), saved(state, "batch"),
                               saved(state, "batches"));
}

/* Checks an entry with a number of elements for each of `ranks` (0: the same for all): in rows, one
 * for each rank, or all on each. */
static ht_status check_elements(const ht_daso *daso, const ht_value *state, const char *name,
                                int64_t ranks, int64_t n)
{
    const ht_tensor *x = ht_value_as_tensor(ht_value_get(state, name));
    int64_t elements = n * (ranks > 0 ? ranks : 1);

    if (x->body->comm->size != 1 && x->body->comm->size != daso->comm->size)
        return ht__error_set(HT_ERR_FORMAT, "%s: \"%s\" is on %d ranks, DASO on %d", what, name,
                             x->body->comm->size, daso->comm->size);
    if (x->body->ndim == (ranks > 0 ? 2 : 1) && ht_tensor_size(x) == elements &&
        (ranks == 0 || x->body->shape[0] == ranks))
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_FORMAT, "%s: \"%s\" has %" PRId64 " elements, expected %" PRId64,
                         what, name, ht_tensor_size(x), elements);
}

static ht_status check_tensor(const ht_daso *daso, const ht_value *state, const char *name,
                              int64_t ranks, int64_t n)
{
    const ht_tensor *x = ht_value_as_tensor(ht_value_get(state, name));

    if (x == NULL)
        return ht__error_set(HT_ERR_FORMAT, "%s: the state has no tensor \"%s\"", what, name);
    if (!ht_dtype_is_floating(x->body->dtype))
        return ht__error_set(HT_ERR_FORMAT, "%s: \"%s\" is %s, expected a floating dtype", what,
                             name, ht_dtype_name(x->body->dtype));
    return check_elements(daso, state, name, ranks, n);
}

/* States of earlier versions lack them. */
static ht_status check_integers(const ht_daso *daso, const ht_value *state)
{
    const ht_value *entry = ht_value_get(state, ht__daso_counts);
    const ht_tensor *x = ht_value_as_tensor(entry);

    if (entry == NULL)
        return HT_SUCCESS;
    if (x == NULL || x->body->dtype != HT_INT64)
        return ht__error_set(
            HT_ERR_FORMAT, "%s: \"%s\" is %s, expected an int64 tensor", what, ht__daso_counts,
            x != NULL ? ht_dtype_name(x->body->dtype) : ht__value_kind_name(entry));
    return check_elements(daso, state, ht__daso_counts, saved(state, "ranks"),
                          ht__daso_count_elements(daso));
}

static ht_status check_number(const ht_value *state, const char *name, int64_t low)
{
    int64_t count;

    if (ht__value_whole(ht_value_get(state, name), &count) && count >= low)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_FORMAT, "%s: the state has no integer \"%s\" of at least %" PRId64,
                         what, name, low);
}

/* Integers of at least 0 and below `below`, of all ranks or of those that are here. */
static ht_status check_counts(const ht_value *state, const char *name, double below,
                              const char *expected)
{
    ht_tensor *x = ht__on_host(what, ht_value_as_tensor(ht_value_get(state, name)), HT_FLOAT64);
    const double *counts;

    if (x == NULL)
        return ht_error_get(NULL);
    counts = ht__body_data(x->body);
    for (int64_t i = 0; i < x->body->lsize; i++) {
        if (!(counts[i] >= 0 && counts[i] < below && counts[i] == floor(counts[i])))
            return ht__error_set(HT_ERR_FORMAT, "%s: \"%s\" has %g, expected %s", what, name,
                                 counts[i], expected);
    }
    return HT_SUCCESS;
}

/* Which state tensors there are: the same on all ranks; and which of them each rank has used. States
 * of earlier versions do not say. */
static ht_status check_kinds(const ht_daso *daso, const ht_value *state)
{
    int64_t places = (int64_t)daso->optimizer->count * HT_OPTIMIZER_STATES;
    static const char flags[] = "0 and 1";
    ht_status status;

    if (ht_value_get(state, "optimizer_made") == NULL)
        return HT_SUCCESS;
    status = check_tensor(daso, state, "optimizer_made", 0, places);
    if (status == HT_SUCCESS &&
        ht_value_as_tensor(ht_value_get(state, "optimizer_made"))->body->lsize != places)
        return ht__error_set(HT_ERR_FORMAT,
                             "%s: \"optimizer_made\" is split, expected a replicated tensor", what);
    if (status == HT_SUCCESS)
        status = check_counts(state, "optimizer_made", 2, flags);
    if (status == HT_SUCCESS)
        status = check_tensor(daso, state, "optimizer_used", saved(state, "ranks"), places);
    return status == HT_SUCCESS ? check_counts(state, "optimizer_used", 2, flags) : status;
}

/* Before anything is changed, on any rank. */
static ht_status check_detector(const ht_value *state)
{
    return ht__plateau_detector_check_state(what, ht_value_get(state, "detector"));
}

static ht_status check_layout(const ht_daso *daso, const ht_value *state)
{
    int64_t ranks = saved(state, "ranks");
    ht_status status = check_tensor(daso, state, "nodes", 0, ranks);
    const double *nodes;

    if (status != HT_SUCCESS)
        return status;
    if (ht_value_as_tensor(ht_value_get(state, "nodes"))->body->lsize != ranks)
        return ht__error_set(HT_ERR_FORMAT, "%s: \"nodes\" is split, expected a replicated tensor",
                             what);
    nodes = ht__daso_saved_nodes(state);
    if (nodes == NULL && ranks > 0)
        return ht_error_get(NULL);
    for (int64_t r = 0; r < ranks; r++) {
        if (!(nodes[r] >= 0 && nodes[r] < ranks && nodes[r] == floor(nodes[r])))
            return ht__error_set(HT_ERR_FORMAT, "%s: rank %" PRId64 " is on node %g of the state",
                                 what, r, nodes[r]);
    }
    return HT_SUCCESS;
}

static ht_status check_numbers(const ht_value *state)
{
    ht_status status = check_number(state, "ranks", 1);

    if (status == HT_SUCCESS)
        status = check_number(state, "elements", 0);
    for (int i = 0; i < HT_DASO_NUMBERS && status == HT_SUCCESS; i++)
        status = check_number(state, ht__daso_numbers[i].name, 0);
    if (status == HT_SUCCESS && ht_value_get(state, "buffers_current") != NULL)
        status = check_number(state, "buffers_current", 0);
    if (status == HT_SUCCESS && saved(state, "batch") > saved(state, "batches"))
        return ht__error_set(HT_ERR_FORMAT,
                             "%s: the state was taken after batch %" PRId64 " of %" PRId64, what,
                             saved(state, "batch"), saved(state, "batches"));
    return status == HT_SUCCESS ? check_detector(state) : status;
}

/* Whether the run can resume here at all. */
static ht_status check_place(const ht_daso *daso, const ht_value *state)
{
    int64_t batch = saved(state, "batch"), batches = saved(state, "batches");
    bool within = batch > 0 && batch < batches;
    ht_daso_layout_text theirs, ours;

    if (daso->model == NULL || daso->batches == 0)
        return ht__error_set(HT_ERR_STATE, "%s: set the model and the last batch before the state",
                             what);
    if (saved(state, "elements") != daso->values->body->lsize)
        return ht__error_set(HT_ERR_FORMAT,
                             "%s: the state is of a model with %" PRId64
                             " trainable elements, this one has %" PRId64,
                             what, saved(state, "elements"), daso->values->body->lsize);
    ht__daso_describe_layouts(daso, ht__daso_saved_nodes(state), saved(state, "ranks"), theirs,
                              ours);
    if (within && !ht__daso_is_same_job(daso, state))
        return ht__error_set(HT_ERR_STATE,
                             "%s: the state is of %s, after batch %" PRId64 " of %" PRId64 "; %s "
                             "can resume only between two epochs",
                             what, theirs, batch, batches, ours);
    if (within && batches != daso->batches)
        return ht__error_set(HT_ERR_FORMAT,
                             "%s: the state is from an epoch of %" PRId64 " batches, this run has "
                             "%" PRId64,
                             what, batches, daso->batches);
    return HT_SUCCESS;
}

static ht_status check_tensors(const ht_daso *daso, const ht_value *state, int64_t state_elements)
{
    int64_t ranks = saved(state, "ranks"), all = ht__flat_elements(daso->flat, daso->states);
    bool skips_sync = state_skips_sync(state);
    ht_status status = check_tensor(daso, state, "optimizer_steps", ranks, daso->optimizer->count);

    if (daso->options.exchange_momentum)
        all += state_elements;
    if (status == HT_SUCCESS)
        status = check_counts(state, "optimizer_steps", 1e15, "integers of at least 0");
    if (status == HT_SUCCESS && daso->optimizer->type->number_name != NULL)
        status = check_tensor(daso, state, "optimizer_numbers", ranks, daso->optimizer->count);
    if (status == HT_SUCCESS && state_elements > 0)
        status = check_tensor(daso, state, "optimizer_state", ranks, state_elements);
    if (status == HT_SUCCESS && skips_sync)
        status = check_tensor(daso, state, "values", ranks, all);
    if (status == HT_SUCCESS && skips_sync && daso->agreed != NULL)
        status = check_tensor(daso, state, "agreed", 0, all);
    if (status == HT_SUCCESS)
        status = check_integers(daso, state);
    if (status == HT_SUCCESS && daso->outer != NULL)
        status = check_tensor(daso, state, "outer", 0, daso->outer->body->lsize);
    return status;
}

/* *flat: receives the optimizer's tensors that the state has. */
static ht_status check(ht_daso *daso, const ht_value *state, ht_flat_tensors **flat)
{
    ht_status status = check_numbers(state);

    if (status == HT_SUCCESS)
        status = check_layout(daso, state);
    if (status == HT_SUCCESS)
        status = check_place(daso, state);
    if (status == HT_SUCCESS)
        status = check_kinds(daso, state);
    if (status != HT_SUCCESS)
        return status;
    *flat = ht__daso_saved_states(what, daso, state);
    return *flat != NULL ? check_tensors(daso, state, (*flat)->all->body->lsize)
                         : ht_error_get(NULL);
}

static void tell_of_other_job(const ht_daso *daso, const ht_value *state)
{
    ht_daso_layout_text theirs, ours;

    ht__daso_describe_layouts(daso, ht__daso_saved_nodes(state), saved(state, "ranks"), theirs,
                              ours);
    ht_log_write0(HT_LOG_INFO,
                  "%s: the state is of %s, this job has %s: each rank begins with the mean of the "
                  "optimizers' states",
                  what, theirs, ours);
}

/* Whether the next forward pass takes the buffers of its node's first rank, as that of the run that
 * saved did. States of earlier versions do not say: it does, as after most batches. */
static void load_buffers_current(ht_daso *daso, const ht_value *state)
{
    const ht_value *current = ht_value_get(state, "buffers_current");

    if (daso->wrapper != NULL)
        ht__dp_of(daso->wrapper)->buffers_current = current != NULL &&
                                                    ht_value_as_number(current) != 0;
}

static ht_status load_parameters(ht_daso *daso, const ht_value *state)
{
    bool skips_sync = state_skips_sync(state);
    ht_status status = HT_SUCCESS;

    if (daso->outer != NULL)
        status = ht_copy_(daso->outer, ht__daso_whole(state, "outer"));
    if (status == HT_SUCCESS && skips_sync) {
        status = ht_copy_(daso->flat->all, ht__daso_row_of(daso, state, "values", false));
        if (status == HT_SUCCESS)
            status = ht__flat_scatter(what, daso->flat, daso->shared, NULL, NULL);
    }
    if (status != HT_SUCCESS || daso->agreed == NULL)
        return status;
    if (skips_sync)
        return ht_copy_(daso->agreed->all, ht__daso_whole(state, "agreed"));
    status = ht__flat_gather(what, daso->flat, daso->shared, NULL, NULL);
    return status == HT_SUCCESS ? ht_copy_(daso->agreed->all, daso->flat->all) : status;
}

/* Collective: what one rank finds is every rank's error. */
static ht_status check_all(ht_daso *daso, const ht_value *state, ht_flat_tensors **flat)
{
    bool held = ht__agree_begin();
    ht_status status = HT_SUCCESS;

    if (state == NULL && ht_error_get(NULL) != HT_SUCCESS)
        status = ht_error_get(NULL);
    else if (state == NULL)
        status = ht__error_set(HT_ERR_ARGUMENT,
                               "%s: state is NULL; was the checkpoint written by a run with "
                               "DASO?",
                               what);
    else
        status = check(daso, state, flat);
    return ht__agree_end(what, daso->comm, held, status);
}

static ht_status load(ht_daso *daso, const ht_value *state, ht_flat_tensors *flat)
{
    int64_t batches = daso->batches;
    ht_status status = ht_plateau_detector_set_state(daso->schedule.detector,
                                                     ht_value_get(state, "detector"));

    if (status == HT_SUCCESS)
        status = ht__daso_receive(daso);
    if (status != HT_SUCCESS)
        return status;
    for (int i = 0; i < HT_DASO_NUMBERS; i++)
        *ht__daso_number(daso, i) = saved(state, ht__daso_numbers[i].name);
    if (daso->batch > 0 && daso->batch == daso->batches)
        daso->batch = batches;
    daso->batches = batches;
    ht__daso_schedule_resume(&daso->schedule);
    daso->stepped = -1;
    status = ht__daso_load_optimizer(what, daso, state, flat);
    if (!ht__daso_is_same_job(daso, state))
        tell_of_other_job(daso, state);
    if (status == HT_SUCCESS)
        status = ht__daso_renew_states(what, daso, false);
    if (status == HT_SUCCESS)
        status = load_parameters(daso, state);
    if (status == HT_SUCCESS)
        status = ht__daso_load_counts(daso, state);
    if (status != HT_SUCCESS)
        return status;
    load_buffers_current(daso, state);
    ht__daso_tell(daso);
    return ht__daso_prepare(daso);
}

ht_status ht_daso_load_state_dict(ht_daso *daso, const ht_value *state)
{
    ht_flat_tensors *flat = NULL;
    ht_scope *scope;
    ht_status status;
    bool was;

    if (HT_IS_NULL(daso, what, "daso"))
        return ht_error_get(NULL);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = check_all(daso, state, &flat);
    if (status == HT_SUCCESS)
        status = load(daso, state, flat);
    ht__flat_free(flat);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}
