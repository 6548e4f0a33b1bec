/* SPDX-License-Identifier: MIT
 *
 * Scaled dot-product attention: y = dropout(softmax(scale q k^T + mask)) v, by a kernel that holds
 * tiles of the scores only. The result and a number for each row are kept for backward. */
#include <math.h>

#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "nn/functional/attention/attention.h"

#define WHAT "ht_scaled_dot_product_attention"

enum {
    QUERY = HT_ATTENTION_QUERY,
    KEY = HT_ATTENTION_KEY,
    VALUE = HT_ATTENTION_VALUE,
    MASK = HT_ATTENTION_MASK,
    OPERANDS = HT_ATTENTION_OPERANDS
};
enum { RESULT = OPERANDS, LSE }; /* saved behind the operands */

ht_attention_options ht_attention_options_default(void)
{
    return (ht_attention_options){.size = sizeof(ht_attention_options), .scale = NAN};
}

static int64_t matrices(const ht_tensor *x)
{
    int64_t count = 1;

    for (int i = 0; i < x->body->ndim - 2; i++)
        count *= x->body->lshape[i];
    return count;
}

static int64_t length_of(const ht_tensor *x, int behind)
{
    return x->body->shape[x->body->ndim - behind];
}

/* All of the call but its memory. */
static ht_attention_call job_of(ht_tensor *const in[], const ht_attention_options *options)
{
    const ht_body *q = in[QUERY]->body;
    const int64_t batch = matrices(in[QUERY]), k = matrices(in[KEY]), v = matrices(in[VALUE]);
    ht_attention_call job = {
        .call.operands = 11,
        .draw = {.seed = options->seed, .draw = options->draw, .a = options->dropout_p},
        .batch = batch,
        .k_group = k > 0 ? batch / k : 1,
        .v_group = v > 0 ? batch / v : 1,
        .l = length_of(in[QUERY], 2),
        .s = length_of(in[KEY], 2),
        .e = length_of(in[QUERY], 1),
        .ev = length_of(in[VALUE], 1),
        .causal = options->is_causal};

    job.scale = isnan(options->scale) ? 1 / sqrt((double)job.e) : options->scale;
    if (q->split != HT_NONE && q->lshape[0] > 0)
        job.draw.start = q->split_start * (batch / q->lshape[0]);
    ht__attention_set_mask(&job, in[QUERY], in[MASK]);
    return job;
}

static void set_operands(ht_attention_call *job, ht_tensor *const in[])
{
    job->q = ht__operand_of(in[QUERY]->body, HT_READ);
    job->k = ht__operand_of(in[KEY]->body, HT_READ);
    job->v = ht__operand_of(in[VALUE]->body, HT_READ);
    job->mask = ht__operand_if_any(in[MASK], HT_READ);
}

/* Memory for the gradients that are needed; the one of the mask starts with zeros, and so do all
 * where no kernel runs. */
static bool make_grads(ht_node *node, ht_tensor *const in[], ht_tensor *dy, ht_tensor *grads[])
{
    for (int i = QUERY; i <= MASK; i++) {
        if (in[i] == NULL || !ht_node_needs(node, i))
            continue;
        if (i == MASK && in[MASK]->body->split == HT_NONE)
            grads[i] = ht__parameter_grad(WHAT, node, MASK, dy, dy->body->dtype);
        else
            grads[i] = ht__input_grad(WHAT, node, i, dy);
        if (grads[i] == NULL || ((i == MASK || in[QUERY]->body->lsize == 0) &&
                                 ht__fill_local(WHAT, grads[i]->body, HT_NUM(0)) != HT_SUCCESS))
            return false;
    }
    return true;
}

static void attention_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_attention_call job = *(ht_attention_call *)ht_node_context(node, sizeof job);
    ht_tensor *saved[LSE + 1], *grads[OPERANDS] = {NULL}, *dy = ht_contiguous(g);

    for (int i = 0; i <= LSE; i++) {
        saved[i] = ht_node_saved(node, i);
        if (saved[i] == NULL && i != MASK)
            return;
    }
    if (dy == NULL || !make_grads(node, saved, dy, grads))
        return;
    set_operands(&job, saved);
    job.y = ht__operand_of(saved[RESULT]->body, HT_READ);
    job.lse = ht__operand_of(saved[LSE]->body, HT_READ);
    job.dy = ht__operand_of(dy->body, HT_READ);
    job.dq = ht__operand_if_any(grads[QUERY], HT_WRITE);
    job.dk = ht__operand_if_any(grads[KEY], HT_WRITE);
    job.dv = ht__operand_if_any(grads[VALUE], HT_WRITE);
    job.dmask = ht__operand_if_any(grads[MASK], HT_WRITE);
    if (job.batch > 0 && HT_RUN(dy, HT_KERNEL_ATTENTION_BACKWARD, &job, WHAT) != HT_SUCCESS)
        return;
    if (grads[MASK] != NULL && saved[MASK]->body->split == HT_NONE)
        grads[MASK] = ht__parameter_grad_done(WHAT, grads[MASK], dy);
    for (int i = QUERY; i <= MASK; i++) {
        if (grads[i] != NULL)
            gin[i] = grads[i];
    }
}

/* The result, and in *lse the logarithm of each row's sum. */
static ht_tensor *run(ht_attention_call *job, ht_tensor *const in[], ht_tensor **lse)
{
    const ht_body *q = in[QUERY]->body;
    int64_t shape[HT_MAX_NDIM];
    ht_tensor *y;

    for (int i = 0; i < q->ndim; i++)
        shape[i] = q->shape[i];
    shape[q->ndim - 1] = job->ev;
    y = ht__batch_result(WHAT, in[QUERY], q->dtype, q->ndim, shape);
    *lse = ht__batch_result(WHAT, in[QUERY], q->dtype, q->ndim - 1, shape);
    if (y == NULL || *lse == NULL)
        return NULL;
    set_operands(job, in);
    job->y = ht__operand_of(y->body, HT_WRITE);
    job->lse = ht__operand_of((*lse)->body, HT_WRITE);
    if (job->batch > 0 && HT_RUN(y, HT_KERNEL_ATTENTION_FORWARD, job, WHAT) != HT_SUCCESS)
        return NULL;
    return y;
}

/* The same for operands that are prepared. */
static ht_tensor *attend(ht_tensor *const in[OPERANDS], const ht_attention_options *options)
{
    ht_attention_call job = job_of(in, options);
    ht_tensor *lse, *y;
    ht_node *node;

    if (!ht__has_kernel(WHAT, in[QUERY], HT_KERNEL_ATTENTION_FORWARD))
        return NULL;
    y = run(&job, in, &lse);
    if (y == NULL)
        return NULL;
    node = ht_node_new(WHAT, attention_backward,
                       in[MASK] != NULL && !job.mask_is_bool ? OPERANDS : MASK, in);
    if (node == NULL)
        return y;
    *(ht_attention_call *)ht_node_context(node, sizeof job) = job;
    for (int i = QUERY; i <= MASK; i++)
        ht_node_save(node, in[i]);
    ht_node_save(node, y);
    ht_node_save(node, lse);
    return ht_node_set_output(node, y);
}

ht_tensor *ht_scaled_dot_product_attention_ext(ht_tensor *query, ht_tensor *key, ht_tensor *value,
                                               const ht_attention_options *options)
{
    static const char what[] = "ht_scaled_dot_product_attention_ext";
    const ht_attention_options defaults = ht_attention_options_default();
    ht_tensor *in[OPERANDS] = {query, key, value}, *y;

    if (options != NULL && query != NULL &&
        HT_CHECK_OPTIONS(query->body->comm, what, options, ht_attention_options) != HT_SUCCESS)
        return NULL;
    options = options != NULL ? options : &defaults;
    in[MASK] = options->attn_mask;
    if (!ht__attention_prepare(what, options, in))
        return NULL;
    HT_NAMED(what);
    y = attend(in, options);
    return y == NULL || y->body->dtype == query->body->dtype ? y : ht_astype(y, query->body->dtype);
}

ht_tensor *ht_scaled_dot_product_attention(ht_tensor *query, ht_tensor *key, ht_tensor *value)
{
    HT_NAMED(WHAT);

    return ht_scaled_dot_product_attention_ext(query, key, value, NULL);
}
