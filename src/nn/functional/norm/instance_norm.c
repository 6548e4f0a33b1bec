/* SPDX-License-Identifier: MIT
 *
 * Instance normalisation: a row is a channel of a sample. The running statistics are means over the
 * samples of all ranks. */
#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/normalisation.h"
#include "ht/statistics.h"
#include "nn/functional/norm/batch_norm.h"
#include "nn/functional/norm/row_norm.h"

enum { X, MEAN, VAR, WEIGHT, BIAS, OPERANDS };

/* The running statistics are written, and so stay what they are. */
static const ht_operand_rule rules[OPERANDS] = {
    {"x", "NC*", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ROWS, HT_CAST_HIGH, HT_REQUIRED},
    {"running_mean", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_NONE, HT_OPTIONAL},
    {"running_var", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_NONE, HT_OPTIONAL},
    {"weight", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
    {"bias", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_OPTIONAL},
};

static bool is_possible(ht_tensor *const in[], bool use_input_stats)
{
    const ht_body *x = in[X]->body;
    int64_t values = 1;

    for (int axis = 2; axis < x->ndim; axis++)
        values *= x->shape[axis];
    if (use_input_stats ? values != 1 : in[MEAN] != NULL && in[VAR] != NULL)
        return true;
    if (use_input_stats)
        HT_FAIL(x->comm, HT_ERR_SHAPE,
                "ht_instance_norm: x is %s, expected more than one value per channel",
                ht__shape_str(x->ndim, x->shape));
    else
        HT_FAIL(x->comm, HT_ERR_ARGUMENT,
                "ht_instance_norm: running_mean or running_var is NULL, expected both without "
                "use_input_stats");
    return false;
}

/* running <- (1 - momentum) running + momentum (batch's mean over the samples). */
static ht_status follow(ht_tensor *running, ht_tensor *batch, double momentum)
{
    ht_status status;

    if (running == NULL)
        return HT_SUCCESS;
    batch = ht_mean(batch, 0);
    if (batch == NULL)
        return ht_error_get(NULL);
    status = ht_mul_scalar_(running, 1 - momentum);
    return status == HT_SUCCESS ? ht_add_(running, batch, momentum) : status;
}

/* The running statistics follow those of x, in its graph's place. */
static ht_status track(ht_tensor *x, ht_tensor *mean, ht_tensor *var, double momentum)
{
    int axes[HT_MAX_NDIM];
    ht_reduce_options options = ht_reduce_options_default();
    ht_scope *scope;
    ht_status status;
    bool was;

    if ((mean == NULL && var == NULL) || x->body->shape[0] == 0)
        return HT_SUCCESS;
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    options.axes = axes;
    for (int axis = 2; axis < x->body->ndim; axis++)
        axes[options.count++] = axis;
    status = follow(mean, mean != NULL ? ht_mean_ext(x, &options) : NULL, momentum);
    options.ddof = 1;
    if (status == HT_SUCCESS)
        status = follow(var, var != NULL ? ht_var_ext(x, &options) : NULL, momentum);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

/* By the running statistics, as batch normalisation does. */
static ht_tensor *evaluate(ht_tensor *const in[], double eps)
{
    const ht_batch_norm_job job = {.what = "ht_instance_norm",
                                   .comm = HT_COMM_SELF,
                                   .running_mean = in[MEAN],
                                   .running_var = in[VAR],
                                   .weight = in[WEIGHT],
                                   .bias = in[BIAS],
                                   .eps = eps};

    return ht__batch_norm(in[X], &job);
}

ht_tensor *ht_instance_norm(ht_tensor *x, ht_tensor *running_mean, ht_tensor *running_var,
                            ht_tensor *weight, ht_tensor *bias, bool use_input_stats,
                            double momentum, double eps)
{
    ht_tensor *in[OPERANDS] = {x, running_mean, running_var, weight, bias};
    ht_row_norm_job job = {.what = "ht_instance_norm", .channels = 1, .eps = eps};

    if (!HT_PREPARE("ht_instance_norm", rules, in) || !is_possible(in, use_input_stats))
        return NULL;
    if (!use_input_stats)
        return evaluate(in, eps);
    if (track(in[X], in[MEAN], in[VAR], momentum) != HT_SUCCESS)
        return NULL;
    job.groups = in[X]->body->shape[1];
    job.inner = ht__elements_of_axes(in[X], 2, in[X]->body->ndim);
    return ht__row_norm(in[X], in[WEIGHT], in[BIAS], &job);
}
