/* SPDX-License-Identifier: MIT
 *
 * Rectifiers with slopes that are tensors: learned ones (PReLU) and drawn ones (RReLU). */
#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/random.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "nn/functional/functional.h"

enum { X, WEIGHT, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
    {"weight", "C", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
};

/* x where x > 0, else slope x. The slope's gradient is 0 where x is infinite. */
static ht_tensor *rectify(ht_tensor *x, ht_tensor *slope)
{
    ht_tensor *above = ht_gt(x, ht_scalar(0));

    return ht_where(above, x, ht_mul(ht_where(above, ht_scalar(0), x), slope));
}

/* weight (C) as (C, 1, ...), which broadcasts along x's axis 1. */
static ht_tensor *by_channel(const ht_body *x, ht_tensor *weight)
{
    int64_t shape[HT_MAX_NDIM];

    shape[0] = weight->body->shape[0];
    for (int i = 1; i < x->ndim - 1; i++)
        shape[i] = 1;
    return ht_reshape(weight, x->ndim - 1, shape);
}

ht_tensor *ht_prelu(ht_tensor *x, ht_tensor *weight)
{
    ht_tensor *in[OPERANDS] = {x, weight};
    const ht_body *body;
    int64_t channels;

    if (weight != NULL && weight->body->ndim == 0)
        in[WEIGHT] = ht_reshape(weight, HT_SHAPE(1));
    if (!HT_PREPARE("ht_prelu", rules, in))
        return NULL;
    body = in[X]->body;
    channels = body->ndim > 1 ? body->shape[1] : 1;
    if (in[WEIGHT]->body->shape[0] == 1)
        return body->ndim > 0 ? rectify(in[X], in[WEIGHT])
                              : rectify(in[X], ht_reshape(in[WEIGHT], 0, NULL));
    if (in[WEIGHT]->body->shape[0] == channels)
        return rectify(in[X], by_channel(body, in[WEIGHT]));
    HT_FAIL(body->comm, HT_ERR_SHAPE,
            "ht_prelu: weight has %lld elements, expected 1 or %lld, the channels of x %s",
            (long long)in[WEIGHT]->body->shape[0], (long long)channels,
            ht__shape_str(body->ndim, body->shape));
    return NULL;
}

ht_tensor *ht_rrelu(ht_tensor *x, double lower, double upper, bool training, uint64_t seed,
                    uint64_t draw)
{
    ht_tensor *slopes;

    if (!ht__prepare("ht_rrelu", rules, 1, &x) ||
        !ht__check_parameter("ht_rrelu", x, lower <= upper, "lower", lower, "at most upper"))
        return NULL;
    if (!training)
        return ht_leaky_relu(x, (lower + upper) / 2);
    slopes = ht__empty("ht_rrelu", x->body, HT_FLOAT32); /* the same draws for each dtype of x */
    if (slopes == NULL ||
        ht__random_check_range("ht_rrelu", slopes->body, lower, upper) != HT_SUCCESS ||
        ht__random_fill("ht_rrelu", slopes, HT_KERNEL_RANDOM_UNIFORM, seed, draw, lower, upper) !=
            HT_SUCCESS)
        return NULL;
    return rectify(x, ht_astype(slopes, x->body->dtype));
}
