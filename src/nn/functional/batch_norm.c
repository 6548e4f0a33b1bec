/* SPDX-License-Identifier: MIT
 *
 * Batch normalisation: y = (x - mean) / sqrt(var + eps) weight + bias, by channel (axis 1).
 *
 * Statistics are over the batches of all ranks of a communicator. Each rank holds n values per
 * channel; (n, mean, M2) of all ranks travel in one message of 2 C + 1 doubles, and are merged in
 * the order of the ranks: all have the same bits, and a rank with an empty batch takes part.
 * Backward sends 2 C + 1 doubles, 0, s1 = sum dy and s2 = sum dy (x - mean), and
 *     dx = weight / sqrt(var + eps) (dy - s1 / N - (x - mean) s2 / (N (var + eps))).
 * The gradients of weight and bias are this rank's share: a reducer adds them up.
 *
 * A rank that an error keeps from its part sends -1 ahead of nothing, and all get an error. */
#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "nn/functional/batch_norm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/kernels/nn.h"
#include "ht/manipulations.h"

enum { X, MEAN, VAR, WEIGHT, BIAS, OPERANDS };

/* The running statistics are written, and so stay what they are. */
static const ht_operand_rule rules[OPERANDS] = {
    {"x", "NC*", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_DENSE, HT_CAST_HIGH, HT_REQUIRED},
    {"running_mean", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_NONE, HT_OPTIONAL},
    {"running_var", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_NONE, HT_OPTIONAL},
    {"weight", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_HIGH, HT_OPTIONAL},
    {"bias", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_HIGH, HT_OPTIONAL},
};

/* Kept for backward, beside x and what each channel is normalised with. */
struct kept {
    ht_comm *comm; /* not owned: communicators live until ht_finalize */
    double count;  /* values per channel on all ranks; 0: none, or the statistics were constants */
    int64_t channels;
    const char *what; /* from ht__name: the forward's, and ", backward" */
};

static ht_norm_call shape_of(const ht_body *x)
{
    ht_norm_call norm = {
        .call.operands = 6, .outer = x->lshape[0], .channels = x->shape[1], .inner = 1};

    for (int axis = 2; axis < x->ndim; axis++)
        norm.inner *= x->shape[axis];
    if (x->ndim == 4 && !ht__body_is_contiguous(x)) {
        norm.outer *= norm.inner;
        norm.inner = 1;
    }
    return norm;
}

/* Row-major or channels-last, as like is. */
static ht_tensor *dense(ht_tensor *x, const ht_body *like)
{
    return like->ndim == 4 && !ht__body_is_contiguous(like) && ht__body_is_channels_last(like)
               ? ht_channels_last(x)
               : ht_contiguous(x);
}

static ht_tensor *result_like(const char *what, const ht_tensor *x)
{
    const ht_body *body = x->body;

    if (ht__body_is_contiguous(body))
        return ht__batch_result(what, x, body->dtype, body->ndim, body->shape);
    return ht__batch_result_channels_last(what, x, body->dtype, body->shape);
}

/* Rows of `length` from all ranks, the first number of each being negative where there is an error.
 * `what` stays, as ht__name has it. */
static bool gather(const char *what, ht_comm *comm, double *mine, int64_t length, double *all)
{
    if (ht__comm_allgather_f64(comm, mine, (int)length, all, what) != HT_SUCCESS)
        return false;
    for (int r = 0; r < comm->size; r++) {
        if (all[r * length] >= 0)
            continue;
        if (mine[0] >= 0) /* else it has an error of its own */
            HT_FAIL(comm, HT_ERR_STATE, "%s: rank %d takes no part, because of an error there",
                    what, r);
        return false;
    }
    return true;
}

static void send_error(const char *what, ht_comm *comm, int64_t length)
{
    double *mine = ht__alloc((size_t)(length * (comm->size + 1)) * sizeof *mine);

    mine[0] = -1;
    gather(what, comm, mine, length, mine + length);
    ht__free(mine);
}

/* Chan's formula, rank after rank; the rows of `all` are (n, mean[C], m2[C]). */
static double merge(int ranks, int64_t channels, const double *all, double *mean, double *m2)
{
    const int64_t row = 2 * channels + 1;
    double count = 0;

    memset(mean, 0, (size_t)channels * sizeof *mean);
    memset(m2, 0, (size_t)channels * sizeof *m2);
    for (int r = 0; r < ranks; r++, all += row) {
        const double n = all[0], total = count + n;

        for (int64_t c = 0; n > 0 && c < channels; c++) {
            const double delta = all[1 + c] - mean[c];

            mean[c] += delta * (n / total);
            m2[c] += all[1 + channels + c] + delta * delta * (count * n / total);
        }
        count = total;
    }
    return count;
}

/* (rows, C) numbers of float64 in the memory of x's device, which every rank holds. Scoped. */
static ht_tensor *new_channels(const ht_tensor *x, int64_t rows)
{
    const int64_t shape[2] = {rows, x->body->shape[1]};

    return ht_empty_ext(2, shape, HT_FLOAT64, HT_NONE, x->body->storage->device, HT_COMM_SELF);
}

/* moments <- those of all ranks; the number of values per channel, negative after an error. */
static double merge_moments(ht_tensor *moments, double count, const ht_batch_norm_job *job)
{
    const int64_t channels = moments->body->shape[1], row = 2 * channels + 1;
    const int ranks = job->comm->size;
    double *mine = ht__alloc((size_t)(row * (ranks + 1)) * sizeof *mine), *all = mine + row;
    double total = -1;

    mine[0] = count;
    if (ht__get_local(job->what, moments->body, mine + 1) == HT_SUCCESS &&
        gather(job->what, job->comm, mine, row, all)) {
        total = merge(ranks, channels, all, mine, mine + channels);
        if (ht__set_local(job->what, moments->body, mine) != HT_SUCCESS)
            total = -1;
    }
    ht__free(mine);
    return total;
}

/* Moments over the batches of all ranks, and the number of values per channel; negative after an
 * error. A batch of no rows, on no rank any, has moments of 0. */
static double batch_moments(ht_tensor *x, const ht_norm_call *norm, const ht_batch_norm_job *job,
                            ht_tensor *moments)
{
    double count = (double)norm->outer * (double)norm->inner;
    ht_norm_call run = *norm;

    run.x = ht__operand_of(x->body, HT_READ);
    run.moments = ht__operand_of(moments->body, HT_WRITE);
    if (HT_RUN(x, HT_KERNEL_NORM_MOMENTS, &run, job->what) != HT_SUCCESS)
        return -1;
    if (job->comm->size > 1)
        count = merge_moments(moments, count, job);
    if (count != 1)
        return count;
    HT_FAIL(job->comm, HT_ERR_ARGUMENT,
            "%s: %g value per channel in all; batch statistics need 2 at least", job->what, count);
    return -1;
}

/* sums <- those of all ranks, added in their order. */
static bool sum_over_ranks(const struct kept *kept, ht_tensor *sums)
{
    const int64_t count = 2 * kept->channels, row = count + 1;
    const int ranks = kept->comm->size;
    double *mine, *all;
    bool done;

    if (ranks == 1)
        return true;
    mine = ht__alloc((size_t)row * (size_t)(ranks + 1) * sizeof *mine);
    all = mine + row;
    done = ht__get_local(kept->what, sums->body, mine + 1) == HT_SUCCESS;
    if (done && !gather(kept->what, kept->comm, mine, row, all)) {
        ht__backward_told();
        done = false;
    }
    memset(mine, 0, (size_t)row * sizeof *mine);
    for (int r = 0; done && r < ranks; r++) {
        for (int64_t i = 0; i < count; i++)
            mine[i] += all[r * row + 1 + i];
    }
    done = done && ht__set_local(kept->what, sums->body, mine) == HT_SUCCESS;
    ht__free(mine);
    return done;
}

/* This rank's pass has failed, and the others are on their way into that sum. */
static void abandon(ht_node *node)
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);

    send_error(kept->what, kept->comm, 2 * kept->channels + 1);
}

static ht_tensor *grad_x(ht_node *node, ht_tensor *dy, const struct kept *kept, ht_norm_call norm,
                         ht_tensor *sums)
{
    ht_tensor *dx = ht__input_grad(kept->what, node, 0, dy);

    if (dx == NULL || (kept->count > 0 && !sum_over_ranks(kept, sums)))
        return NULL;
    norm.count = kept->count;
    norm.dx = ht__operand_of(dx->body, HT_WRITE);
    norm.sums.written = false;
    if (dx->body->lsize > 0 && HT_RUN(dx, HT_KERNEL_NORM_BACKWARD, &norm, kept->what) != HT_SUCCESS)
        return NULL;
    return dx;
}

/* A row of (rows, C). Scoped. */
static ht_tensor *row_of(ht_tensor *channels, int row)
{
    return ht_squeeze(ht_narrow(channels, 0, row, row + 1), 0);
}

static ht_tensor *grad_parameter(const char *what, ht_node *node, int index, const ht_tensor *x,
                                 ht_tensor *value)
{
    ht_tensor *grad = ht__parameter_grad(what, node, index, x, HT_FLOAT64);

    if (grad == NULL || value == NULL ||
        ht__copy_local(what, grad->body, value->body) != HT_SUCCESS)
        return NULL;
    return ht__parameter_grad_done(what, grad, x);
}

static void run_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);
    ht_tensor *x = ht_node_saved(node, 0), *channel = ht_node_saved(node, 1);
    ht_tensor *dy = x != NULL && channel != NULL ? dense(grad, x->body) : NULL;
    ht_tensor *sums = dy != NULL ? new_channels(x, 2) : NULL;
    ht_norm_call norm;

    if (sums == NULL)
        return;
    norm = shape_of(x->body);
    norm.x = ht__operand_of(x->body, HT_READ);
    norm.y = ht__operand_of(dy->body, HT_READ);
    norm.channel = ht__operand_of(channel->body, HT_READ);
    norm.sums = ht__operand_of(sums->body, HT_WRITE);
    if (HT_RUN(dy, HT_KERNEL_NORM_SUMS, &norm, kept->what) != HT_SUCCESS)
        return;
    if (ht_node_needs(node, 1))
        grad_inputs[1] = grad_parameter(kept->what, node, 1, x,
                                        ht_mul(row_of(sums, 1), row_of(channel, 1)));
    if (ht_node_needs(node, 2))
        grad_inputs[2] = grad_parameter(kept->what, node, 2, x, row_of(sums, 0));
    if (ht_node_needs(node, 0))
        grad_inputs[0] = grad_x(node, dy, kept, norm, sums);
}

/* What fails in there fails on one rank, while the others wait for it. */
static void batch_norm_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);
    ht_comm *outer = ht__together(kept->comm);

    run_backward(node, grad, grad_inputs);
    ht__together_end(outer);
}

/* Beside the rules: the running statistics are there where they are needed, and can be written. */
static bool check_running(ht_tensor *const in[], const ht_batch_norm_job *job)
{
    ht_comm *comm = in[X]->body->comm;

    for (int i = MEAN; i <= VAR; i++) {
        if (in[i] == NULL || !job->track || !in[i]->body->read_only)
            continue;
        HT_FAIL(comm, HT_ERR_ARGUMENT,
                "%s: %s is a read-only view (ht_broadcast_to), and is to be written", job->what,
                rules[i].name);
        return false;
    }
    if (!job->batch_statistics && (in[MEAN] == NULL || in[VAR] == NULL)) {
        HT_FAIL(comm, HT_ERR_ARGUMENT,
                "%s: without batch statistics running_mean and running_var are needed", job->what);
        return false;
    }
    return true;
}

/* A running statistic as the kernel writes it; a copy where that is a view that it cannot. */
static ht_tensor *to_be_written(ht_tensor *x)
{
    return x == NULL || (ht__body_is_contiguous(x->body) && !x->body->read_only) ? x : ht_copy(x);
}

static ht_status write_back(const char *what, ht_tensor *x, ht_tensor *written)
{
    if (x == NULL)
        return HT_SUCCESS;
    if (x == written) {
        ht__storage_touch(x->body->storage);
        return HT_SUCCESS;
    }
    return ht__copy_into(what, ht_tensor_local(x), ht_tensor_local(written));
}

/* What each channel is normalised with; the running statistics follow. */
static ht_status prepare(ht_tensor *x, const ht_batch_norm_job *job, double count,
                         const ht_tensor *moments, const ht_tensor *channel)
{
    const bool track = job->track && moments != NULL && count > 0;
    ht_tensor *mean = to_be_written(job->running_mean), *var = to_be_written(job->running_var);
    const ht_access running = track ? HT_WRITE : HT_READ;
    ht_norm_channels_call norm = {.call.operands = 6,
                                  .channels = x->body->shape[1],
                                  .count = count,
                                  .eps = job->eps,
                                  .momentum = job->momentum,
                                  .track = track,
                                  .moments = ht__operand_if_any(moments, HT_READ),
                                  .running_mean = ht__operand_if_any(mean, running),
                                  .running_var = ht__operand_if_any(var, running),
                                  .weight = ht__operand_if_any(job->weight, HT_READ),
                                  .bias = ht__operand_if_any(job->bias, HT_READ),
                                  .channel = ht__operand_if_any(channel, HT_WRITE)};
    ht_status status;

    if ((mean == NULL) != (job->running_mean == NULL) ||
        (var == NULL) != (job->running_var == NULL))
        return ht_error_get(NULL);
    status = HT_RUN(x, HT_KERNEL_NORM_PREPARE, &norm, job->what);
    if (status == HT_SUCCESS && track)
        status = write_back(job->what, job->running_mean, mean);
    if (status == HT_SUCCESS && track)
        status = write_back(job->what, job->running_var, var);
    return status;
}

static ht_status prepare_without_graph(ht_tensor *x, const ht_batch_norm_job *job, double count,
                                       const ht_tensor *moments, const ht_tensor *channel)
{
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = prepare(x, job, count, moments, channel);

    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

/* Fills `channel` (4, C); the count, 0 when the statistics are constants, negative after an error.
 */
static double coefficients(ht_tensor *x, const ht_norm_call *norm, const ht_batch_norm_job *job,
                           ht_tensor *channel)
{
    ht_tensor *moments = NULL;
    double count = 0;

    if (job->batch_statistics) {
        moments = new_channels(x, 2);
        count = moments != NULL ? batch_moments(x, norm, job, moments) : -1;
    }
    return count >= 0 && prepare_without_graph(x, job, count, moments, channel) == HT_SUCCESS
               ? count
               : -1;
}

const char *ht__layer_name(const char *call, const char *path)
{
    char name[256];

    if (path[0] == '\0')
        return call;
    snprintf(name, sizeof name, "%s in %.200s", call, path);
    return ht__name(name);
}

static const char *backward_name(const char *what)
{
    char name[256];

    snprintf(name, sizeof name, "%.240s, backward", what);
    return ht__name(name);
}

static ht_tensor *record(ht_tensor *x, ht_tensor *y, const ht_batch_norm_job *job, double count,
                         ht_tensor *channel)
{
    /* Absent parameters come as NULL: nothing that needs a gradient. */
    ht_node *node = ht_node_new("ht_batch_norm", batch_norm_backward,
                                HT_LIST(ht_tensor *, x, job->weight, job->bias));
    struct kept *kept;

    if (node == NULL)
        return y;
    kept = ht_node_context(node, sizeof *kept);
    kept->comm = job->comm;
    kept->count = count;
    kept->channels = x->body->shape[1];
    kept->what = backward_name(job->what);
    if (job->features > 0 && job->comm->size > 1 && count > 0 && ht_node_needs(node, 0))
        ht__node_set_abandon(node, abandon);
    ht_node_save(node, x);
    ht_node_save(node, channel);
    return ht_node_set_output(node, y);
}

static ht_tensor *normalise(ht_tensor *x, const ht_batch_norm_job *job)
{
    ht_tensor *channel, *y;
    ht_norm_call norm;
    double count;

    channel = new_channels(x, 4);
    if (channel == NULL)
        return NULL;
    norm = shape_of(x->body);
    count = coefficients(x, &norm, job, channel);
    y = count >= 0 ? result_like(job->what, x) : NULL;
    if (y == NULL)
        return NULL;
    norm.x = ht__operand_of(x->body, HT_READ);
    norm.y = ht__operand_of(y->body, HT_WRITE);
    norm.channel = ht__operand_of(channel->body, HT_READ);
    if (y->body->lsize > 0 && HT_RUN(x, HT_KERNEL_NORM_FORWARD, &norm, job->what) != HT_SUCCESS)
        return NULL;
    return record(x, y, job, count, channel);
}

static bool is_possible(ht_tensor *in[], const ht_batch_norm_job *job)
{
    return HT_PREPARE(job->what, rules, in) && check_running(in, job) &&
           ht__has_kernel(job->what, in[X], HT_KERNEL_NORM_FORWARD);
}

void ht__batch_norm_missed(const ht_batch_norm_job *job)
{
    ht_error_kept cause;

    if (job->features == 0 || job->comm->size == 1 || !job->batch_statistics)
        return;
    ht__error_set_aside(&cause);
    send_error(job->what, job->comm, 2 * job->features + 1);
    ht__error_put_back(&cause);
}

ht_tensor *ht__batch_norm(ht_tensor *x, const ht_batch_norm_job *wanted)
{
    ht_batch_norm_job job = *wanted;
    ht_tensor *in[OPERANDS] = {x, job.running_mean, job.running_var, job.weight, job.bias}, *y;
    ht_comm *outer;

    if (!is_possible(in, &job)) {
        ht__batch_norm_missed(&job);
        return NULL;
    }
    job.weight = in[WEIGHT];
    job.bias = in[BIAS];
    outer = ht__together(job.comm);
    y = normalise(in[X], &job);
    ht__together_end(outer);
    return y;
}

ht_tensor *ht_batch_norm(ht_tensor *x, ht_tensor *running_mean, ht_tensor *running_var,
                         ht_tensor *weight, ht_tensor *bias, bool training, double momentum,
                         double eps)
{
    const ht_batch_norm_job job = {
        .what = "ht_batch_norm",
        .comm = x != NULL ? x->body->split != HT_NONE ? x->body->comm : HT_COMM_SELF : NULL,
        .running_mean = running_mean,
        .running_var = running_var,
        .weight = weight,
        .bias = bias,
        .batch_statistics = training,
        .track = training,
        .momentum = momentum,
        .eps = eps,
    };

    return ht__batch_norm(x, &job);
}
