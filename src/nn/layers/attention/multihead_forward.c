/* SPDX-License-Identifier: MIT
 *
 * MultiheadAttention, forward: projections, heads, attention, and the projection of the output. The
 * weights are stored only if they are the caller's. */
#include <math.h>

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/functional.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/statistics.h"
#include "nn/layers/attention/multihead.h"
#include "nn/module/init.h"

#define WHAT "ht_nn_multihead_attention"

/* One call. Tensors are (N, L, E) if batch_axis is 0, else (L, N, E). */
typedef struct call {
    const ht_multihead *layer;
    ht_multihead_inputs in;
    bool unbatched, self_attention, same_key_and_value;
    int batch_axis;
    ht_multihead_lengths n;
    ht_tensor *qkv[3];
    double dropout;
    uint64_t seed, draw;
} call;

static bool check_inputs(const call *c)
{
    ht_tensor *const given[3] = {c->in.query, c->in.key, c->in.value};
    static const char *const names[3] = {"query", "key", "value"};
    const int64_t features[3] = {c->layer->embed_dim, c->layer->kdim, c->layer->vdim};
    const ht_body *q = given[0]->body;
    char query[192] = "";

    for (int i = 0; i < 3; i++) {
        const ht_body *x = given[i]->body, *like = given[i == 2 ? 1 : 0]->body;
        bool fits = (q->ndim == 2 || q->ndim == 3) && x->ndim == q->ndim &&
                    x->shape[x->ndim - 1] == features[i];

        if (fits && q->ndim == 3)
            fits = x->shape[c->batch_axis] == like->shape[c->batch_axis];
        if (fits && i == 2)
            fits = x->shape[x->ndim - 2 - (q->ndim == 3 && c->batch_axis == 1)] ==
                   like->shape[x->ndim - 2 - (q->ndim == 3 && c->batch_axis == 1)];
        if (fits)
            continue;
        if (i > 0)
            snprintf(query, sizeof query, "query is %s, ", ht__shape_str(q->ndim, q->shape));
        HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: %s%s is %s, expected %s with %lld features", WHAT,
                query, names[i], ht__shape_str(x->ndim, x->shape),
                c->batch_axis == 0 ? "(N, L, E) or (L, E)" : "(L, N, E) or (L, E)",
                (long long)features[i]);
        return false;
    }
    if (!c->in.is_causal || c->in.attn_mask != NULL)
        return true;
    HT_FAIL(q->comm, HT_ERR_ARGUMENT, "%s: attn_mask is NULL, expected a mask with is_causal",
            WHAT);
    return false;
}

/* A single sample becomes a batch of one. */
static bool add_batch_axis(call *c)
{
    ht_multihead_inputs *in = &c->in;

    c->batch_axis = 0;
    in->query = ht_expand_dims(in->query, 0);
    in->key = ht_expand_dims(in->key, 0);
    in->value = ht_expand_dims(in->value, 0);
    if (in->key_padding_mask != NULL && in->key_padding_mask->body->ndim == 1)
        in->key_padding_mask = ht_expand_dims(in->key_padding_mask, 0);
    return in->query != NULL && in->key != NULL && in->value != NULL;
}

/* x W^T + b for rows first ... first + count of the packed weight, in units of embed_dim. */
static ht_tensor *project_part(const ht_multihead *m, ht_tensor *x, int first, int count)
{
    const int64_t e = m->embed_dim;
    ht_tensor *weight = m->in_proj_weight, *bias = m->in_proj_bias;

    if (count < 3)
        weight = ht_narrow(weight, 0, first * e, (first + count) * e);
    if (bias != NULL && count < 3)
        bias = ht_narrow(bias, 0, first * e, (first + count) * e);
    return weight != NULL ? ht_linear(x, weight, bias) : NULL;
}

static bool project_separately(call *c)
{
    const ht_multihead *m = c->layer;
    ht_tensor *const x[3] = {c->in.query, c->in.key, c->in.value};
    ht_tensor *const weight[3] = {m->q_weight, m->k_weight, m->v_weight};

    for (int i = 0; i < 3; i++) {
        ht_tensor *bias = m->in_proj_bias;

        if (bias != NULL)
            bias = ht_narrow(bias, 0, i * m->embed_dim, (i + 1) * m->embed_dim);
        c->qkv[i] = ht_linear(x[i], weight[i], bias);
        if (c->qkv[i] == NULL)
            return false;
    }
    return true;
}

/* Inputs that are the same tensor share a product. */
static bool project(call *c)
{
    const ht_multihead *m = c->layer;
    ht_tensor *const x[3] = {c->in.query, c->in.key, c->in.value};

    if (m->in_proj_weight == NULL)
        return project_separately(c);
    for (int i = 0; i < 3;) {
        const int count = c->self_attention && i == 0 ? 3 : c->same_key_and_value && i == 1 ? 2 : 1;
        ht_tensor *packed = project_part(m, x[i], i, count);

        if (packed == NULL)
            return false;
        if (count == 1)
            c->qkv[i] = packed;
        else if (ht_split(packed, count, -1, c->qkv + i) != HT_SUCCESS)
            return false;
        i += count;
    }
    return true;
}

/* Appends the row `bias` to the keys of each sample. */
static ht_tensor *with_bias(const call *c, ht_tensor *x, ht_tensor *bias)
{
    const int64_t e = c->layer->embed_dim;
    const int64_t shape[3] = {c->batch_axis == 0 ? c->n.batch : 1,
                              c->batch_axis == 0 ? 1 : c->n.batch, e};
    ht_tensor *parts[2] = {x, ht_broadcast_to(bias, 3, shape)};

    return ht_concatenate(2, parts, 1 - c->batch_axis);
}

/* (N, heads, L, E / heads) */
static ht_tensor *heads_of(const call *c, ht_tensor *x)
{
    const int64_t heads = c->n.heads;
    int64_t shape[4];

    if (x == NULL)
        return NULL;
    for (int i = 0; i < 2; i++)
        shape[i] = x->body->shape[i];
    shape[2] = heads;
    shape[3] = c->layer->embed_dim / heads;
    x = ht_reshape(x, 4, shape);
    return c->batch_axis == 0 ? ht_permute(x, HT_AXES(0, 2, 1, 3))
                              : ht_permute(x, HT_AXES(1, 2, 0, 3));
}

static ht_tensor *with_zeros(ht_tensor *x)
{
    ht_tensor *parts[2] = {x, NULL};

    if (x == NULL)
        return NULL;
    parts[1] = ht_full_ext(
        4, (int64_t[]){x->body->shape[0], x->body->shape[1], 1, x->body->shape[3]},
        ht_number_integer(0), x->body->dtype, HT_NONE, ht_tensor_device(x), ht_tensor_comm(x));
    return ht_concatenate(2, parts, 2);
}

static bool make_heads(call *c)
{
    const ht_multihead *m = c->layer;

    if (m->bias_k != NULL) {
        c->qkv[1] = with_bias(c, c->qkv[1], m->bias_k);
        c->qkv[2] = with_bias(c, c->qkv[2], m->bias_v);
    }
    for (int i = 0; i < 3; i++) {
        c->qkv[i] = heads_of(c, c->qkv[i]);
        if (i > 0 && m->add_zero_attn)
            c->qkv[i] = with_zeros(c->qkv[i]);
        if (c->qkv[i] == NULL)
            return false;
    }
    return true;
}

/* Attention that stores its weights. */
static ht_tensor *attend_with_weights(const call *c, ht_tensor *mask, ht_tensor **weights)
{
    const double scale = 1 / sqrt((double)(c->layer->embed_dim / c->n.heads));
    ht_tensor *scores = ht_matmul(ht_mul_scalar(c->qkv[0], scale), ht_transpose(c->qkv[1], -1, -2));

    if (scores != NULL && mask != NULL)
        scores = ht_add(scores, mask);
    scores = ht_dropout(ht_softmax(scores, -1), c->dropout, c->seed, c->draw);
    *weights = c->in.average_attn_weights ? ht_mean(scores, 1) : scores;
    if (c->unbatched)
        *weights = ht_squeeze(*weights, 0);
    return ht_matmul(scores, c->qkv[2]);
}

static ht_tensor *attend(const call *c, ht_tensor **weights)
{
    const ht_multihead_inputs *in = &c->in;
    const bool masked = in->key_padding_mask != NULL || in->attn_mask != NULL;
    const bool causal = in->is_causal && in->key_padding_mask == NULL && !in->need_weights;
    ht_attention_options options = ht_attention_options_default();

    if (masked && !causal) {
        options.attn_mask = ht__multihead_mask(in, &c->n, in->need_weights);
        if (options.attn_mask == NULL)
            return NULL;
    }
    if (in->need_weights)
        return attend_with_weights(c, options.attn_mask, weights);
    options.is_causal = causal;
    options.dropout_p = c->dropout;
    options.seed = c->seed;
    options.draw = c->draw;
    return ht_scaled_dot_product_attention_ext(c->qkv[0], c->qkv[1], c->qkv[2], &options);
}

/* From heads to the layer's output; after an error out_proj gets NULL. */
static ht_tensor *joined(const call *c, ht_tensor *y)
{
    const int64_t e = c->layer->embed_dim, n = c->n.batch, rows = c->n.rows;

    if (y != NULL)
        y = c->batch_axis == 0
                ? ht_reshape(ht_permute(y, HT_AXES(0, 2, 1, 3)), HT_SHAPE(n, rows, e))
                : ht_reshape(ht_permute(y, HT_AXES(2, 0, 1, 3)), HT_SHAPE(rows, n, e));
    y = ht_forward(c->layer->out_proj, y);
    return c->unbatched ? ht_squeeze(y, 0) : y;
}

/* The output of the heads, and c's lengths and dropout. */
static ht_tensor *heads(ht_module *self, call *c, ht_tensor **weights)
{
    ht_multihead *m = ht_module_data(self);

    if (!check_inputs(c) || (c->unbatched && !add_batch_axis(c)))
        return NULL;
    c->n = (ht_multihead_lengths){.batch = c->in.query->body->shape[c->batch_axis],
                                  .heads = m->num_heads,
                                  .rows = c->in.query->body->shape[1 - c->batch_axis],
                                  .keys = c->in.key->body->shape[1 - c->batch_axis],
                                  .extra = m->add_bias_kv + m->add_zero_attn};
    if (!ht__multihead_check_masks(&c->in, &c->n))
        return NULL;
    if (self->training && m->dropout > 0) {
        c->dropout = m->dropout;
        c->seed = ht__nn_draw_seed(self);
        c->draw = ht__replay_count(&m->count);
    }
    return project(c) && make_heads(c) ? attend(c, weights) : NULL;
}

ht_tensor *ht__multihead_forward(ht_module *self, const ht_multihead_inputs *in,
                                 ht_tensor **weights)
{
    const ht_multihead *m = ht_module_data(self);
    call c = {.layer = m,
              .in = *in,
              .unbatched = in->query->body->ndim == 2,
              .self_attention = in->query == in->key && in->key == in->value,
              .same_key_and_value = in->key == in->value,
              .batch_axis = m->batch_first ? 0 : 1};

    return joined(&c, heads(self, &c, weights));
}
