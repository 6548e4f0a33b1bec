/* SPDX-License-Identifier: MIT
 *
 * Bilinear products: a linear map of x1 gives a row for each output, which meets x2. */
#include "ht/arithmetics.h"
#include "ht/embedding.h"
#include "ht/functional.h"
#include "ht/manipulations.h"
#include "nn/functional/functional.h"

enum { X1, X2, WEIGHT, BIAS, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x1", "*a", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_LOW, HT_REQUIRED},
    {"x2", "*b", HT_DTYPE_SAME, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_LOW, HT_REQUIRED},
    {"weight", "oab", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_LOW, HT_REQUIRED},
    {"bias", "o", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_LOW, HT_OPTIONAL},
};

static bool check_batches(const ht_body *a, const ht_body *b)
{
    if (ht__same_shape(a->ndim - 1, a->shape, b->ndim - 1, b->shape))
        return true;
    HT_FAIL(a->comm, HT_ERR_SHAPE, "ht_bilinear: x1 is %s, x2 is %s: their leading axes differ",
            ht__shape_str(a->ndim, a->shape), ht__shape_str(b->ndim, b->shape));
    return false;
}

ht_tensor *ht_bilinear(ht_tensor *x1, ht_tensor *x2, ht_tensor *weight, ht_tensor *bias)
{
    ht_tensor *in[OPERANDS] = {x1, x2, weight, bias}, *rows;
    int64_t shape[HT_MAX_NDIM], flat[2];
    const ht_body *w;
    int ndim;

    if (!HT_PREPARE("ht_bilinear", rules, in) || !check_batches(in[X1]->body, in[X2]->body))
        return NULL;
    w = in[WEIGHT]->body;
    ndim = in[X1]->body->ndim;
    if (ndim == HT_MAX_NDIM) {
        HT_FAIL(in[X1]->body->comm, HT_ERR_SHAPE,
                "ht_bilinear: x1 has %d axes, expected at most %d", ndim, HT_MAX_NDIM - 1);
        return NULL;
    }
    flat[0] = w->shape[0] * w->shape[2];
    flat[1] = w->shape[1];
    rows = ht_linear(in[X1], ht_reshape(ht_transpose(in[WEIGHT], 1, 2), 2, flat), NULL);
    for (int i = 0; i + 1 < ndim; i++)
        shape[i] = in[X1]->body->shape[i];
    shape[ndim - 1] = w->shape[0];
    shape[ndim] = w->shape[2];
    rows = ht_mul(ht_reshape(rows, ndim + 1, shape), ht_expand_dims(in[X2], -2));
    rows = ht_sum(rows, -1);
    return in[BIAS] != NULL ? ht_add(rows, in[BIAS]) : rows;
}
