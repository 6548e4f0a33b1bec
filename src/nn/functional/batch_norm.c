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
#include "nn/functional/batch_norm.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ht/factories.h"

enum { NAME_LENGTH = 80 };

/* Kept for backward, followed by arrays of C doubles: mean, 1 / sqrt(var + eps), scale. */
struct kept {
    ht_comm *comm; /* not owned: communicators live until ht_finalize */
    double count;  /* values per channel on all ranks; 0: none, or the statistics were constants */
    int64_t channels;
    char what[NAME_LENGTH];
    double channel[];
};

static ht_norm shape_of(const ht_body *x)
{
    ht_norm norm = {.dtype = x->dtype, .outer = x->lshape[0], .channels = x->shape[1], .inner = 1};

    for (int axis = 2; axis < x->ndim; axis++)
        norm.inner *= x->shape[axis];
    if (x->ndim == 4 && !ht__body_is_contiguous(x)) {
        norm.outer *= norm.inner;
        norm.inner = 1;
    }
    return norm;
}

/* Row-major or channels-last, as like (or x itself) is. */
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
 */
static bool gather(const char *what, ht_comm *comm, double *mine, int64_t length, double *all)
{
    if (ht__comm_allgather_f64(comm, mine, (int)length, all, ht__name(what)) != HT_SUCCESS)
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

/* mean and m2 over all ranks, and the number of values per channel; negative after an error. */
static double batch_moments(ht_tensor *x, const ht_norm *norm, const ht_batch_norm_job *job,
                            const char *name, double *mean, double *m2)
{
    const int64_t channels = norm->channels, row = 2 * channels + 1;
    const int ranks = job->comm->size;
    double *mine = ht__alloc((size_t)(row * (ranks + 1)) * sizeof *mine), *all = mine + row;
    double count = -1;

    mine[0] = (double)norm->outer * (double)norm->inner;
    if (ht__backend_of(x)->kernels.norm_moments(ht__stream_of(x), norm, ht__body_data(x->body),
                                                mine + 1, mine + 1 + channels) != 0)
        ht__kernel_failed(job->comm, job->what);
    else if (ranks == 1 || gather(name, job->comm, mine, row, all))
        count = merge(ranks, channels, ranks == 1 ? mine : all, mean, m2);
    ht__free(mine);
    if (count != 1)
        return count;
    HT_FAIL(job->comm, HT_ERR_ARGUMENT,
            "%s: %g value per channel in all; batch statistics need 2 at least", job->what, count);
    return -1;
}

/* One (C) tensor, on any device, as doubles; `otherwise` where there is none. */
static bool read_channels(ht_tensor *x, int64_t channels, double otherwise, double *to)
{
    ht_scope *scope;
    ht_tensor *wide;

    for (int64_t c = 0; x == NULL && c < channels; c++)
        to[c] = otherwise;
    if (x == NULL)
        return true;
    scope = ht_scope_open();
    wide = ht__on_host(x, HT_FLOAT64);
    if (wide != NULL)
        memcpy(to, ht__body_data(wide->body), (size_t)channels * sizeof *to);
    ht_scope_close(scope);
    return wide != NULL;
}

/* C doubles into a (C) tensor of any dtype, on any device, of which every rank holds all. */
static bool write_channels(ht_tensor *x, int64_t channels, const double *from)
{
    ht_tensor *wide = ht_empty_on(1, &channels, HT_FLOAT64, HT_NONE, ht__device_cpu(),
                                  HT_COMM_SELF);

    if (wide == NULL)
        return false;
    memcpy(ht__body_data(wide->body), from, (size_t)channels * sizeof *from);
    return ht_copy_(ht_tensor_local(x), ht_to_device(ht_astype(wide, x->body->dtype),
                                                     x->body->storage->device)) == HT_SUCCESS;
}

/* x <- (1 - momentum) x + momentum value */
static bool follow(ht_tensor *x, const double *value, int64_t channels, double momentum,
                   double *scratch)
{
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false), done = read_channels(x, channels, 0, scratch);

    for (int64_t c = 0; c < channels; c++)
        scratch[c] += momentum * (value[c] - scratch[c]);
    done = done && write_channels(x, channels, scratch);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return done;
}

/* mean and var of this batch; the running ones follow, with the unbiased variance. A batch of no
 * rows, on no rank any, says nothing of either: 0, and the running ones stay. */
static double take_batch(ht_tensor *x, const ht_norm *norm, const ht_batch_norm_job *job,
                         const char *name, double *mean, double *var, double *scratch)
{
    const int64_t channels = norm->channels;
    double count = batch_moments(x, norm, job, name, mean, var);

    if (count < 0)
        return count;
    for (int64_t c = 0; count == 0 && c < channels; c++)
        var[c] = 1;
    if (count == 0)
        return count;
    if (job->track && job->running_mean != NULL) {
        for (int64_t c = 0; c < channels; c++)
            var[c] /= count - 1;
        if (!follow(job->running_mean, mean, channels, job->momentum, scratch) ||
            !follow(job->running_var, var, channels, job->momentum, scratch))
            return -1;
        for (int64_t c = 0; c < channels; c++)
            var[c] *= (count - 1) / count;
        return count;
    }
    for (int64_t c = 0; c < channels; c++)
        var[c] /= count;
    return count;
}

/* s1 and s2 of all ranks, added in their order. */
static bool sum_over_ranks(const struct kept *kept, int64_t channels, double *sums)
{
    const int64_t count = 2 * channels, row = count + 1;
    const int ranks = kept->comm->size;
    double *mine, *all;
    bool done;

    if (ranks == 1)
        return true;
    mine = ht__alloc((size_t)row * (size_t)(ranks + 1) * sizeof *mine);
    all = mine + row;
    memcpy(mine + 1, sums, (size_t)count * sizeof *sums);
    done = gather(kept->what, kept->comm, mine, row, all);
    if (!done)
        ht__backward_told();
    memset(sums, 0, (size_t)count * sizeof *sums);
    for (int r = 0; r < ranks; r++) {
        for (int64_t i = 0; i < count; i++)
            sums[i] += all[r * row + 1 + i];
    }
    ht__free(mine);
    return done;
}

/* This rank's pass has failed, and the others are on their way into that sum. */
static void abandon(ht_node *node)
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);

    send_error(kept->what, kept->comm, 2 * kept->channels + 1);
}

static ht_tensor *grad_x(ht_node *node, ht_tensor *dy, ht_tensor *x, const struct kept *kept,
                         const ht_norm *norm, double *sums)
{
    const int64_t channels = norm->channels;
    const double *mean = kept->channel, *invstd = mean + channels, *scale = invstd + channels;
    ht_tensor *dx = ht__input_grad("ht_batch_norm", node, 0, dy);

    if (dx == NULL)
        return NULL;
    if (kept->count == 0)
        memset(sums, 0, 2 * (size_t)channels * sizeof *sums);
    else if (!sum_over_ranks(kept, channels, sums))
        return NULL;
    for (int64_t c = 0; kept->count > 0 && c < channels; c++) {
        sums[c] /= kept->count;
        sums[channels + c] *= invstd[c] * invstd[c] / kept->count;
    }
    if (ht__backend_of(dy)->kernels.norm_backward(ht__stream_of(dy), norm, ht__body_data(dy->body),
                                                  ht__body_data(x->body), mean, scale, sums,
                                                  sums + channels, ht__body_data(dx->body)) != 0) {
        ht__kernel_failed(dy->body->comm, "ht_batch_norm");
        return NULL;
    }
    return dx;
}

static ht_tensor *grad_parameter(ht_node *node, int index, const ht_tensor *x, const double *value,
                                 int64_t channels)
{
    ht_tensor *grad = ht__parameter_grad("ht_batch_norm", node, index, x, HT_FLOAT64);

    if (grad == NULL || !write_channels(grad, channels, value))
        return NULL;
    return ht__parameter_grad_done("ht_batch_norm", grad, x);
}

static void run_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);
    ht_tensor *x = ht_node_saved(node, 0), *dy = x != NULL ? dense(grad, x->body) : NULL;
    ht_norm norm;
    double *sums, *scaled;

    if (dy == NULL)
        return;
    norm = shape_of(x->body);
    sums = ht__alloc(3 * (size_t)norm.channels * sizeof *sums);
    scaled = sums + 2 * norm.channels;
    if (ht__backend_of(dy)->kernels.norm_sums(ht__stream_of(dy), &norm, ht__body_data(dy->body),
                                              ht__body_data(x->body), kept->channel, sums,
                                              sums + norm.channels) != 0) {
        ht__kernel_failed(dy->body->comm, "ht_batch_norm");
        ht__free(sums);
        return;
    }
    for (int64_t c = 0; c < norm.channels; c++)
        scaled[c] = sums[norm.channels + c] * kept->channel[norm.channels + c];
    if (ht_node_needs(node, 1))
        grad_inputs[1] = grad_parameter(node, 1, x, scaled, norm.channels);
    if (ht_node_needs(node, 2))
        grad_inputs[2] = grad_parameter(node, 2, x, sums, norm.channels);
    if (ht_node_needs(node, 0))
        grad_inputs[0] = grad_x(node, dy, x, kept, &norm, sums);
    ht__free(sums);
}

/* What fails in there fails on one rank, while the others wait for it. */
static void batch_norm_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);
    ht_comm *outer = ht__together(kept->comm);

    run_backward(node, grad, grad_inputs);
    ht__together_end(outer);
}

static bool check(ht_tensor *x, const ht_batch_norm_job *job)
{
    const struct {
        const char *name;
        ht_tensor *x;
    } others[] = {{"running_mean", job->running_mean},
                  {"running_var", job->running_var},
                  {"weight", job->weight},
                  {"bias", job->bias}};

    if (!ht__check_batch(job->what, "x", x, 0))
        return false;
    if (x->body->ndim < 2) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is %s, expected (N, C, ...)", job->what,
                ht__shape_str(x->body->ndim, x->body->shape));
        return false;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const ht_tensor *other = others[i].x;

        if (other == NULL)
            continue;
        if (!ht__check_parameter(job->what, others[i].name, others[i].x, x))
            return false;
        if (other->body->ndim != 1 || other->body->shape[0] != x->body->shape[1]) {
            HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is %s, %s is %s, expected (%" PRId64 ")",
                    job->what, ht__shape_str(x->body->ndim, x->body->shape), others[i].name,
                    ht__shape_str(other->body->ndim, other->body->shape), x->body->shape[1]);
            return false;
        }
    }
    if (!job->batch_statistics && (job->running_mean == NULL || job->running_var == NULL)) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "%s: without batch statistics running_mean and running_var are needed", job->what);
        return false;
    }
    return true;
}

/* mean, 1 / sqrt(var + eps), scale and shift into four arrays; the count, 0 when the statistics are
 * constants, negative after an error. */
static double coefficients(ht_tensor *x, const ht_norm *norm, const ht_batch_norm_job *job,
                           const char *name, double *mean)
{
    const int64_t channels = norm->channels;
    double *invstd = mean + channels, *scale = invstd + channels, *shift = scale + channels;
    double count = 0;

    if (job->batch_statistics)
        count = take_batch(x, norm, job, name, mean, invstd, scale);
    else if (!read_channels(job->running_mean, channels, 0, mean) ||
             !read_channels(job->running_var, channels, 1, invstd))
        count = -1;
    if (count < 0 || !read_channels(job->weight, channels, 1, scale) ||
        !read_channels(job->bias, channels, 0, shift))
        return -1;
    for (int64_t c = 0; c < channels; c++) {
        invstd[c] = 1 / sqrt(invstd[c] + job->eps);
        scale[c] *= invstd[c];
    }
    return count;
}

static ht_tensor *record(ht_tensor *x, ht_tensor *y, const ht_batch_norm_job *job, double count,
                         const char *name, const double *mean, int64_t channels)
{
    /* Absent parameters come as NULL: nothing that needs a gradient. */
    ht_node *node = ht_node_new("ht_batch_norm", batch_norm_backward, 3,
                                (ht_tensor *[]){x, job->weight, job->bias});
    size_t bytes = 3 * (size_t)channels * sizeof *mean;
    struct kept *kept;

    if (node == NULL)
        return y;
    kept = ht_node_context(node, sizeof *kept + bytes);
    kept->comm = job->comm;
    kept->count = count;
    kept->channels = channels;
    snprintf(kept->what, sizeof kept->what, "%s, backward", name);
    memcpy(kept->channel, mean, bytes);
    if (job->features > 0 && job->comm->size > 1 && count > 0 && ht_node_needs(node, 0))
        ht__node_set_abandon(node, abandon);
    ht_node_save(node, x);
    return ht_node_set_output(node, y);
}

static void write_name(const ht_batch_norm_job *job, char name[NAME_LENGTH - 16])
{
    snprintf(name, NAME_LENGTH - 16, "%s%s%s", job->what, job->layer != NULL ? " of layer " : "",
             job->layer != NULL ? job->layer : "");
}

static ht_tensor *normalise(ht_tensor *x, const ht_batch_norm_job *job)
{
    char name[NAME_LENGTH - 16];
    ht_tensor *y = NULL;
    ht_norm norm;
    double *mean, count;

    x = dense(x, x->body);
    if (x == NULL)
        return NULL;
    write_name(job, name);
    norm = shape_of(x->body);
    mean = ht__alloc(4 * (size_t)norm.channels * sizeof *mean);
    count = coefficients(x, &norm, job, name, mean);
    if (count >= 0)
        y = result_like(job->what, x);
    if (y != NULL &&
        ht__backend_of(x)->kernels.norm_forward(
            ht__stream_of(x), &norm, ht__body_data(x->body), mean, mean + 2 * norm.channels,
            mean + 3 * norm.channels, ht__body_data(y->body)) != 0) {
        ht__kernel_failed(x->body->comm, job->what);
        y = NULL;
    }
    if (y != NULL)
        y = record(x, y, job, count, name, mean, norm.channels);
    ht__free(mean);
    return y;
}

static bool is_possible(ht_tensor *x, const ht_batch_norm_job *job)
{
    if (HT_IS_NULL(x, job->what, "x") || !check(x, job))
        return false;
    if (ht__backend_of(x)->kernels.norm_forward != NULL)
        return true;
    ht__kernel_missing(job->what, x);
    return false;
}

void ht__batch_norm_missed(const ht_batch_norm_job *job)
{
    char name[NAME_LENGTH - 16];
    ht_error_kept cause;

    if (job->features == 0 || job->comm->size == 1 || !job->batch_statistics)
        return;
    write_name(job, name);
    ht__error_set_aside(&cause);
    send_error(name, job->comm, 2 * job->features + 1);
    ht__error_put_back(&cause);
}

ht_tensor *ht__batch_norm(ht_tensor *x, const ht_batch_norm_job *job)
{
    ht_comm *outer;
    ht_tensor *y;

    if (!is_possible(x, job)) {
        ht__batch_norm_missed(job);
        return NULL;
    }
    outer = ht__together(job->comm);
    y = normalise(x, job);
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
