/* SPDX-License-Identifier: MIT
 *
 * Normalisation by row. Kept for backward: x, the weight, and 2 numbers of float64 for each row. */
#include "nn/functional/norm/row_norm.h"

#include "core/autograd/autograd.h"
#include "ht/arithmetics.h"
#include "ht/kernels/nn.h"
#include "ht/manipulations.h"
#include "nn/functional/norm/norm_call.h"

enum { X, WEIGHT, BIAS, INPUTS };

struct kept {
    ht_row_norm_job job;
    bool weighted;
};

int64_t ht__elements_of_axes(const ht_tensor *x, int begin, int end)
{
    int64_t n = 1;

    for (int i = begin; i < end; i++)
        n *= x->body->shape[i];
    return n;
}

static ht_row_norm_call call_of(const ht_row_norm_job *job, const ht_body *x,
                                const ht_tensor *weight)
{
    const int64_t n = job->groups * job->channels * job->inner;

    return (ht_row_norm_call){.call.operands = HT_ROW_NORM_OPERANDS,
                              .x = ht__operand_of(x, HT_READ),
                              .weight = ht__operand_if_any(weight, HT_READ),
                              .outer = n > 0 ? x->lsize / n : 0,
                              .groups = job->groups,
                              .channels = job->channels,
                              .inner = job->inner,
                              .eps = job->eps,
                              .root_mean_square = job->root_mean_square};
}

/* For the sums of a parameter's gradient; 0 on a rank without rows. */
static ht_tensor *new_sums(const ht_tensor *x, const ht_row_norm_job *job)
{
    ht_tensor *sums = ht__norm_numbers(x, 1, job->groups * job->channels);

    if (sums == NULL || x->body->lsize > 0)
        return sums;
    return ht_fill_(sums, 0.0) == HT_SUCCESS ? sums : NULL;
}

static void row_norm_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);
    const ht_row_norm_job *job = &kept->job;
    ht_tensor *x = ht_node_saved(node, 0), *stats = ht_node_saved(node, 1);
    ht_tensor *weight = kept->weighted ? ht_node_saved(node, 2) : NULL, *result[INPUTS];
    ht_tensor *dy = x != NULL && stats != NULL ? ht_contiguous(g) : NULL;
    ht_row_norm_call norm;

    if (dy == NULL || (kept->weighted && weight == NULL))
        return;
    for (int i = X; i < INPUTS; i++) {
        result[i] = !ht_node_needs(node, i) ? NULL
                    : i == X                ? ht__input_grad(job->what, node, X, dy)
                                            : new_sums(x, job);
        if (result[i] == NULL && ht_node_needs(node, i))
            return;
    }
    norm = call_of(job, x->body, weight);
    norm.y = ht__operand_of(dy->body, HT_READ);
    norm.stats = ht__operand_of(stats->body, HT_READ);
    norm.dx = ht__operand_if_any(result[X], HT_WRITE);
    norm.dweight = ht__operand_if_any(result[WEIGHT], HT_WRITE);
    norm.dbias = ht__operand_if_any(result[BIAS], HT_WRITE);
    if (x->body->lsize > 0 &&
        HT_RUN(x, HT_KERNEL_ROW_NORM_BACKWARD, &norm, job->what) != HT_SUCCESS)
        return;
    gin[X] = result[X];
    for (int i = WEIGHT; i < INPUTS; i++) {
        if (result[i] != NULL)
            gin[i] = ht__norm_parameter_grad(job->what, node, i, x, result[i]);
    }
}

ht_tensor *ht__row_norm(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                        const ht_row_norm_job *job)
{
    ht_tensor *in[INPUTS] = {x, weight, bias}, *y, *stats;
    ht_row_norm_call norm;
    ht_node *node;

    if (x == NULL || !ht__has_kernel(job->what, x, HT_KERNEL_ROW_NORM_FORWARD))
        return NULL;
    for (int i = X; i < INPUTS; i++) {
        if (in[i] != NULL && (in[i] = ht_contiguous(in[i])) == NULL)
            return NULL;
    }
    norm = call_of(job, in[X]->body, in[WEIGHT]);
    y = ht__empty(job->what, in[X]->body, in[X]->body->dtype);
    stats = ht__norm_numbers(in[X], 2, norm.outer * norm.groups);
    if (y == NULL || stats == NULL)
        return NULL;
    norm.bias = ht__operand_if_any(in[BIAS], HT_READ);
    norm.y = ht__operand_of(y->body, HT_WRITE);
    norm.stats = ht__operand_of(stats->body, HT_WRITE);
    if (y->body->lsize > 0 &&
        HT_RUN(in[X], HT_KERNEL_ROW_NORM_FORWARD, &norm, job->what) != HT_SUCCESS)
        return NULL;
    node = ht_node_new(job->what, row_norm_backward, INPUTS, in);
    if (node == NULL)
        return y;
    *(struct kept *)ht_node_context(node, sizeof(struct kept)) = (struct kept){*job,
                                                                               in[WEIGHT] != NULL};
    ht_node_save(node, in[X]);
    ht_node_save(node, stats);
    ht_node_save(node, in[WEIGHT]);
    return ht_node_set_output(node, y);
}
