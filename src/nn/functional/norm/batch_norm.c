/* SPDX-License-Identifier: MIT
 *
 * Batch normalisation: y = (x - mean) / sqrt(var + eps) weight + bias, by channel (axis 1).
 *
 * Statistics are over the batches of all ranks of a communicator (ranks.h). Backward sums
 * s1 = sum dy and s2 = sum dy (x - mean) over them, and
 *     dx = weight / sqrt(var + eps) (dy - s1 / N - (x - mean) s2 / (N (var + eps))).
 * The gradients of weight and bias are this rank's share: a reducer adds them up. */
#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "nn/functional/norm/batch_norm.h"
#include "nn/functional/norm/norm_call.h"
#include "nn/functional/norm/ranks.h"

#include <stdio.h>

#include "ht/arithmetics.h"
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

/* Kept for backward, in addition to x and the numbers that normalise each channel. */
struct kept {
    ht_comm *comm; /* not owned: the node keeps it */
    double count;  /* values per channel on all ranks; 0: none, or the statistics were constants */
    const char *what; /* from ht__name: the forward's, and ", backward" */
};

/* A channels-last image has one element of every channel in a row. */
static ht_norm_call call_of(const ht_body *x)
{
    ht_norm_call norm = ht__norm_call(x, 1, 1);

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

/* Moments over the batches of all ranks, and the number of values per channel; negative after an
 * error. A batch of no rows, on no rank any, has moments of 0. */
static double batch_moments(ht_tensor *x, const ht_norm_call *norm, const ht_batch_norm_job *job,
                            ht_tensor *moments)
{
    double count = (double)norm->outer * (double)norm->inner;
    ht_norm_call run = *norm;

    run.moments = ht__operand_of(moments->body, HT_WRITE);
    if (HT_RUN(x, HT_KERNEL_NORM_MOMENTS, &run, job->what) != HT_SUCCESS)
        return -1;
    if (job->comm->size > 1)
        count = ht__norm_merge_moments(job->what, job->comm, moments, count);
    if (count != 1)
        return count;
    HT_FAIL(job->comm, HT_ERR_ARGUMENT,
            "%s: x has %g value per channel on all ranks, expected at least 2 for batch statistics",
            job->what, count);
    return -1;
}

static ht_tensor *grad_x(ht_node *node, ht_tensor *dy, const struct kept *kept, ht_norm_call norm,
                         ht_tensor *sums)
{
    ht_tensor *dx = ht__input_grad(kept->what, node, 0, dy);

    if (dx == NULL || (kept->count > 0 && !ht__norm_add_sums(kept->what, kept->comm, sums)))
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

static void run_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);
    ht_tensor *x = ht_node_saved(node, 0), *channel = ht_node_saved(node, 1);
    ht_tensor *dy = x != NULL && channel != NULL ? dense(g, x->body) : NULL;
    ht_tensor *sums = dy != NULL ? ht__norm_numbers(x, 2, x->body->shape[1]) : NULL;
    ht_norm_call norm;

    if (sums == NULL)
        return;
    norm = call_of(x->body);
    norm.y = ht__operand_of(dy->body, HT_READ);
    norm.channel = ht__operand_of(channel->body, HT_READ);
    norm.sums = ht__operand_of(sums->body, HT_WRITE);
    if (HT_RUN(dy, HT_KERNEL_NORM_SUMS, &norm, kept->what) != HT_SUCCESS)
        return;
    if (ht_node_needs(node, 1))
        gin[1] = ht__norm_parameter_grad(kept->what, node, 1, x,
                                         ht_mul(row_of(sums, 1), row_of(channel, 1)));
    if (ht_node_needs(node, 2))
        gin[2] = ht__norm_parameter_grad(kept->what, node, 2, x, row_of(sums, 0));
    if (ht_node_needs(node, 0))
        gin[0] = grad_x(node, dy, kept, norm, sums);
}

/* A failure in there is on one rank, while the others wait for it. */
static void batch_norm_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);
    ht_comm *outer = ht__together(kept->comm);

    run_backward(node, g, gin);
    ht__together_end(outer);
}

/* In addition to the rules: the running statistics exist where they are needed, and can be written.
 */
static bool check_running(ht_tensor *const in[], const ht_batch_norm_job *job)
{
    ht_comm *comm = in[X]->body->comm;

    for (int i = MEAN; i <= VAR; i++) {
        if (in[i] == NULL || !job->track || !in[i]->body->read_only)
            continue;
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: %s is %s, expected a tensor that can be written",
                job->what, rules[i].name, ht__read_only_name(in[i]->body));
        return false;
    }
    if (!job->batch_statistics && (in[MEAN] == NULL || in[VAR] == NULL)) {
        HT_FAIL(comm, HT_ERR_ARGUMENT,
                "%s: running_mean or running_var is NULL, expected both without batch statistics",
                job->what);
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

/* The numbers that normalise each channel; the running statistics follow. */
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
        moments = ht__norm_numbers(x, 2, x->body->shape[1]);
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

static void wait_for_ranks(ht_node *node, const struct kept *kept, int64_t channels)
{
    const ht_meeting meeting = ht__norm_meeting(kept->what, kept->comm, channels);

    ht__node_waits(node, &meeting);
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
    ht__node_keep(node, job->comm);
    kept->count = count;
    kept->what = backward_name(job->what);
    if (job->features > 0 && job->comm->size > 1 && count > 0 && ht_node_needs(node, 0))
        wait_for_ranks(node, kept, x->body->shape[1]);
    ht_node_save(node, x);
    ht_node_save(node, channel);
    return ht_node_set_output(node, y);
}

static ht_tensor *normalise(ht_tensor *x, const ht_batch_norm_job *job)
{
    ht_tensor *channel, *y;
    ht_norm_call norm;
    double count;

    channel = ht__norm_numbers(x, 4, x->body->shape[1]);
    if (channel == NULL)
        return NULL;
    norm = call_of(x->body);
    count = coefficients(x, &norm, job, channel);
    y = count >= 0 ? result_like(job->what, x) : NULL;
    if (y == NULL)
        return NULL;
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
    ht__norm_send_error(job->what, job->comm, job->features);
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
