/* SPDX-License-Identifier: MIT
 *
 * DASO's exchanges after an update: the mean of all ranks at once, or the exchange between one rank
 * of each node. The latter is sent after one batch and received after a later one. */
#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "nn/parallel/daso/daso.h"

#include <inttypes.h>
#include <math.h>

#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/communication.h"
#include "ht/manipulations.h"
#include "ht/tensor.h"
#include "ht/kernels/reduce.h"

static const char what[] = "ht_daso_step";

/* All ranks have found a value that is infinite or NaN: the mark of one whose batch has failed, or
 * a parameter. */
static ht_status fail_not_finite(ht_daso *daso)
{
    ht_status mine = HT_SUCCESS, status;

    if (daso->failure != NULL)
        mine = ht__error_set(daso->failure->code, "%s", daso->failure->message);
    status = ht__agree(what, daso->comm, mine);
    if (status != HT_SUCCESS)
        return status;
    return HT_FAIL(daso->comm, HT_ERR_STATE,
                   "%s: the parameters exchanged after batch %" PRId64 " of epoch %" PRId64
                   " are infinite or NaN",
                   what, daso->batch, daso->schedule.epoch);
}

static ht_status ask_finite(const ht_tensor *x, bool *finite)
{
    double sum = 0;
    ht_status status = ht__optim_reduce(what, x, HT_KERNEL_SUM_ABS, &sum);

    *finite = isfinite(sum);
    return status;
}

/* y <- a y + b x */
static ht_status blend(ht_tensor *y, double a, ht_tensor *x, double b)
{
    return ht__axpby(what, b, x, a, y);
}

static ht_tensor *agreed_part(const ht_daso *daso, int64_t begin, int64_t end)
{
    return ht_narrow(daso->agreed->all, 0, begin, end);
}

/* A rank whose batch has failed sends NaN as its first element. */
static ht_status mark(const ht_daso *daso, ht_tensor *flat, int64_t begin)
{
    return daso->failure != NULL && begin == 0 ? ht_fill_(ht_narrow(flat, 0, 0, 1), NAN)
                                               : HT_SUCCESS;
}

/* With 16 bits on the wire, the difference from the last agreed values is rounded: parameters
 * themselves would lose every update below 2^-9 of them. */
static bool agrees_on_differences(const ht_daso *daso)
{
    return ht__daso_rounds(daso) && daso->schedule.phase != HT_DASO_CYCLING;
}

/* x from the last agreed values, along the difference to the mean, which is minus the gradient of
 * SGD with Nesterov momentum: v = mu v + d, x = agreed + lr (d + mu v). */
static ht_status step_outside(const ht_daso_options *o, ht_tensor *x, ht_tensor *agreed,
                              ht_tensor *v)
{
    ht_status status = blend(x, 1, agreed, -1);

    if (status == HT_SUCCESS)
        status = blend(v, o->outer_momentum, x, 1);
    if (status == HT_SUCCESS)
        status = blend(x, o->outer_lr, v, o->outer_lr * o->outer_momentum);
    return status == HT_SUCCESS ? blend(x, 1, agreed, 1) : status;
}

static ht_status leave_piece(void *user, int64_t begin, int64_t end)
{
    const ht_daso *daso = user;
    ht_scope *scope = ht_scope_open();
    ht_status status = HT_SUCCESS;

    if (agrees_on_differences(daso))
        status = blend(ht_narrow(daso->flat->all, 0, begin, end), 1, agreed_part(daso, begin, end),
                       -1);
    if (status == HT_SUCCESS)
        status = mark(daso, daso->flat->all, begin);
    ht_scope_close(scope);
    return status;
}

/* The mean of these elements is in x. It has the same bits on all ranks: all find the same in it.
 */
static ht_status take_mean(ht_daso *daso, ht_tensor *x, int64_t begin, int64_t end)
{
    ht_tensor *agreed = daso->agreed != NULL ? agreed_part(daso, begin, end) : NULL;
    bool outside = daso->outer != NULL && daso->schedule.phase == HT_DASO_CYCLING &&
                   end <= daso->values->body->lsize;
    bool finite = true;
    ht_status status = HT_SUCCESS;

    if (agrees_on_differences(daso))
        status = blend(x, 1, agreed, 1);
    else if (outside)
        status = step_outside(&daso->options, x, agreed, ht_narrow(daso->outer, 0, begin, end));
    if (status == HT_SUCCESS)
        status = ask_finite(x, &finite);
    if (status == HT_SUCCESS && finite && agreed != NULL)
        status = ht_copy_(agreed, x);
    return finite ? status : fail_not_finite(daso);
}

static ht_status take_piece(void *user, int64_t begin, int64_t end)
{
    ht_daso *daso = user;
    ht_scope *scope = ht_scope_open();
    ht_status status = take_mean(daso, ht_narrow(daso->flat->all, 0, begin, end), begin, end);

    ht_scope_close(scope);
    return status;
}

/* The mean over all ranks. */
static ht_status agree(ht_daso *daso)
{
    bool differences = agrees_on_differences(daso);
    ht_flat_average how = {.exchange = daso->everyone,
                           .ranks = daso->comm->size,
                           .wire = differences ? daso->options.downcast_type
                                               : daso->flat->all->body->dtype,
                           .what = "DASO's mean over all ranks",
                           .leave = differences || daso->failure != NULL ? leave_piece : NULL,
                           .arrive = take_piece,
                           .user = daso};

    return ht__flat_average(daso->flat, &how);
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

static ht_status pack(void *user, int64_t begin, int64_t end)
{
    const ht_daso *daso = user;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_narrow(daso->travelling, 0, begin, end);
    ht_status status = ht_copy_(x, ht_narrow(daso->values, 0, begin, end));

    if (status == HT_SUCCESS && sends_differences(daso))
        status = blend(x, 1, agreed_part(daso, begin, end), -1);
    if (status == HT_SUCCESS && daso->groups.weight != 1)
        status = ht_mul_scalar_(x, daso->groups.weight);
    if (status == HT_SUCCESS)
        status = mark(daso, daso->travelling, begin);
    ht_scope_close(scope);
    return status;
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
    status = ht__flat_gather(what, daso->flat, daso->parameters, pack, daso);
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
static ht_status merge(void *user, int64_t begin, int64_t end)
{
    const ht_daso *daso = user;
    int64_t staleness = daso->report.staleness;
    double p = daso->groups.nodes, n = staleness > 0 ? 2 * (double)staleness : 1;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_narrow(daso->values, 0, begin, end);
    ht_status status = blend(x, n / (n + p), ht_narrow(daso->travelling, 0, begin, end),
                             1 / (n + p));

    if (status == HT_SUCCESS && sends_differences(daso))
        status = blend(x, 1, agreed_part(daso, begin, end), p / (n + p));
    ht_scope_close(scope);
    return status;
}

/* One rank of each node has the sum, which has the same bits on all of them. Each first tells its
 * node whether it is finite, so that either all ranks fail or none. Updates of this node meanwhile
 * stay on it; all nodes see them when they are sent. */
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
        status = ht__flat_gather(what, daso->flat, daso->parameters, merge, daso);
    if (status == HT_SUCCESS)
        status = ht__comm_bcast(daso->groups.node, daso->values, flight->group);
    return status == HT_SUCCESS ? ht__flat_scatter(what, daso->flat, daso->parameters, NULL, NULL)
                                : status;
}

static ht_status do_what_is_due(ht_daso *daso)
{
    ht_daso_actions due = ht__daso_schedule_actions(&daso->schedule, daso->batch, daso->batches);
    ht_status status = due.receive ? ht__daso_receive(daso) : HT_SUCCESS;

    daso->report.blocking = due.blocking;
    if (status == HT_SUCCESS && due.blocking)
        status = ht__daso_renew_states(what, daso, true);
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
