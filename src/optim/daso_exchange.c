/* SPDX-License-Identifier: MIT
 *
 * What DASO does after an update: the mean of all ranks at once, or the exchange of one rank of
 * each node, which is sent after one batch and received after a later one. */
#include "daso_impl.h"

#include <inttypes.h>
#include <math.h>

#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/communication.h"
#include "ht/manipulations.h"
#include "ht/tensor.h"

static const char what[] = "ht_daso_step";

static ht_status fail_not_finite(ht_daso *daso)
{
    return HT_FAIL(daso->comm, HT_ERR_STATE,
                   "%s: the parameters exchanged after batch %" PRId64 " of epoch %" PRId64
                   " are infinite or NaN",
                   what, daso->batch, daso->schedule.epoch);
}

static ht_status ask_finite(const ht_tensor *x, bool *finite)
{
    double sum = 0;
    ht_status status = ht__optim_reduce(what, x, HT_REDUCE_SUM_ABS, &sum);

    *finite = isfinite(sum);
    return status;
}

/* y <- a y + b x */
static ht_status blend(ht_tensor *y, double a, ht_tensor *x, double b)
{
    return ht__axpby(what, b, x, a, y);
}

static ht_status average(ht_daso *daso, ht_dtype wire)
{
    return ht__flat_average(daso->flat, daso->everyone, daso->comm->size, wire,
                            "DASO's mean over all ranks");
}

/* With 16 bits on the wire it is the difference from what was agreed before that is rounded:
 * parameters themselves would lose every update below 2^-9 of them. */
static ht_status average_difference(ht_daso *daso)
{
    ht_tensor *all = daso->flat->all, *agreed = daso->agreed->all;
    ht_status status = blend(all, 1, agreed, -1);

    if (status == HT_SUCCESS)
        status = average(daso, daso->options.downcast_type);
    return status == HT_SUCCESS ? blend(agreed, 1, all, 1) : status;
}

static ht_tensor *agreed_values(const ht_daso *daso)
{
    return ht_narrow(daso->agreed->all, 0, 0, daso->values->body->lsize);
}

/* From what was agreed before, along the difference to the mean, which is minus the gradient of
 * SGD with Nesterov momentum: v = mu v + d, x = agreed + lr (d + mu v). */
static ht_status step_outside(ht_daso *daso)
{
    const ht_daso_options *o = &daso->options;
    ht_tensor *agreed = agreed_values(daso);
    ht_status status = blend(daso->values, 1, agreed, -1);

    if (status == HT_SUCCESS)
        status = blend(daso->outer, o->outer_momentum, daso->values, 1);
    if (status == HT_SUCCESS)
        status = blend(daso->values, o->outer_lr, daso->outer, o->outer_lr * o->outer_momentum);
    return status == HT_SUCCESS ? blend(daso->values, 1, agreed, 1) : status;
}

static ht_status average_values(ht_daso *daso)
{
    ht_tensor *all = daso->flat->all;
    ht_status status = average(daso, all->body->dtype);

    if (status == HT_SUCCESS && daso->outer != NULL && daso->schedule.phase == HT_DASO_CYCLING)
        status = step_outside(daso);
    return status == HT_SUCCESS && daso->agreed != NULL ? ht_copy_(daso->agreed->all, all) : status;
}

/* The mean over all ranks. It has the same bits on all of them, so all find the same in it. */
static ht_status agree(ht_daso *daso)
{
    bool difference = ht__daso_rounds(daso) && daso->schedule.phase != HT_DASO_CYCLING;
    ht_flat_tensors *result = difference ? daso->agreed : daso->flat;
    ht_status status = ht__flat_gather(daso->flat, daso->shared);
    bool finite = true;

    if (status == HT_SUCCESS)
        status = difference ? average_difference(daso) : average_values(daso);
    if (status == HT_SUCCESS)
        status = ask_finite(result->all, &finite);
    if (!finite)
        return fail_not_finite(daso);
    return status == HT_SUCCESS ? ht__flat_scatter(result, daso->shared) : status;
}

static bool is_in(const ht_daso *daso, int group)
{
    return daso->groups.place == group;
}

static bool sends_differences(const ht_daso *daso)
{
    return daso->options.downcast_asynchronous && ht__daso_rounds(daso);
}

/* A chunk each; the same chunks in the same order on all ranks of the group. */
static ht_status start_chunks(ht_daso *daso)
{
    ht_dtype dtype = daso->travelling->body->dtype;
    ht_dtype wire = sends_differences(daso) ? daso->options.downcast_type : dtype;
    int64_t n = daso->travelling->body->lsize, chunk = daso->options.sending_chunk_size;
    char *data = ht__body_data(daso->travelling->body);

    for (int i = 0; i < daso->flight.op_count; i++) {
        int64_t first = i * chunk, count = n - first < chunk ? n - first : chunk;

        daso->flight.ops[i] = ht__exchange_start_as(daso->groups.between,
                                                    data + (size_t)first * ht_dtype_size(dtype),
                                                    count, dtype, wire, 1, 0);
        if (daso->flight.ops[i] == NULL)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

static ht_status send(ht_daso *daso)
{
    int group = (int)(daso->sends++ % daso->groups.count);
    ht_status status;

    daso->flight.outstanding = true;
    daso->flight.group = daso->report.sent = group;
    daso->flight.update = daso->updates;
    if (!is_in(daso, group))
        return HT_SUCCESS;
    status = ht__flat_gather(daso->flat, daso->parameters);
    if (status == HT_SUCCESS)
        status = ht_copy_(daso->travelling, daso->values);
    if (status == HT_SUCCESS && sends_differences(daso))
        status = blend(daso->travelling, 1, agreed_values(daso), -1);
    if (status == HT_SUCCESS && daso->groups.weight != 1)
        status = ht_mul_scalar_(daso->travelling, daso->groups.weight);
    return status == HT_SUCCESS ? start_chunks(daso) : status;
}

static ht_status wait_for_chunks(ht_daso *daso)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < daso->flight.op_count; i++) {
        ht_status one = ht__exchange_wait(daso->groups.between, daso->flight.ops[i],
                                          "DASO's exchange between nodes");

        ht__exchange_release(daso->groups.between, daso->flight.ops[i]);
        daso->flight.ops[i] = NULL;
        status = status == HT_SUCCESS ? one : status;
    }
    return status;
}

/* x = (n x + sum) / (n + P). */
static ht_status merge(ht_daso *daso, int64_t staleness)
{
    double p = daso->groups.nodes, n = staleness > 0 ? 2 * (double)staleness : 1;
    ht_status status = ht__flat_gather(daso->flat, daso->parameters);

    if (status == HT_SUCCESS)
        status = blend(daso->values, n / (n + p), daso->travelling, 1 / (n + p));
    if (status == HT_SUCCESS && sends_differences(daso))
        status = blend(daso->values, 1, agreed_values(daso), p / (n + p));
    return status;
}

/* One rank of each node has the sum, which has the same bits on all of them: each tells its node
 * first whether it is finite, so that all ranks fail together or none. What this node's parameters
 * became meanwhile is its own, and seen by all when it is sent. */
ht_status ht__daso_receive(ht_daso *daso)
{
    ht_daso_flight *flight = &daso->flight;
    ht_status status = HT_SUCCESS;
    bool finite = true;

    if (!flight->outstanding)
        return HT_SUCCESS;
    daso->report.staleness = daso->updates - flight->update;
    flight->outstanding = false;
    if (is_in(daso, flight->group)) {
        status = wait_for_chunks(daso);
        if (status == HT_SUCCESS)
            status = ask_finite(daso->travelling, &finite);
    }
    if (status == HT_SUCCESS)
        status = ht__comm_bcast_bytes(daso->groups.node, &finite, sizeof finite, flight->group,
                                      "DASO's broadcast inside a node");
    if (!finite)
        return fail_not_finite(daso);
    if (status == HT_SUCCESS && is_in(daso, flight->group))
        status = merge(daso, daso->report.staleness);
    if (status == HT_SUCCESS)
        status = ht_bcast(daso->groups.node, daso->values, flight->group);
    return status == HT_SUCCESS ? ht__flat_scatter(daso->flat, daso->parameters) : status;
}

static ht_status do_what_is_due(ht_daso *daso)
{
    ht_daso_actions due = ht__daso_schedule_actions(&daso->schedule, daso->batch, daso->batches);
    ht_status status = due.receive ? ht__daso_receive(daso) : HT_SUCCESS;

    daso->report.blocking = due.blocking;
    if (status == HT_SUCCESS && due.blocking)
        status = ht__daso_renew_states(what, daso);
    if (status == HT_SUCCESS && due.blocking)
        status = agree(daso);
    if (status == HT_SUCCESS && due.send)
        status = send(daso);
    return status;
}

ht_status ht__daso_exchange(ht_daso *daso)
{
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = do_what_is_due(daso);

    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}
