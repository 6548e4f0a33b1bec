/* SPDX-License-Identifier: MIT
 *
 * Cosine similarity and distance of vectors, by differentiable operations. */
#include "nn/functional/embedding/checks.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/embedding.h"
#include "ht/factories.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/statistics.h"
#include "nn/functional/functional.h"

enum { X1, X2, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x1", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
    {"x2", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
};

static bool check_shapes(const char *what, const ht_body *a, const ht_body *b)
{
    for (int i = 1; i <= a->ndim && i <= b->ndim; i++) {
        const int64_t m = a->shape[a->ndim - i], n = b->shape[b->ndim - i];

        if (m == n || m == 1 || n == 1)
            continue;
        HT_FAIL(a->comm, HT_ERR_SHAPE, "%s: x1 is %s, x2 is %s: they do not broadcast", what,
                ht__shape_str(a->ndim, a->shape), ht__shape_str(b->ndim, b->shape));
        return false;
    }
    return true;
}

/* Both operands in one shape. */
static bool prepare(const char *what, ht_tensor *in[OPERANDS])
{
    ht_tensor *checked[OPERANDS] = {in[X1], in[X2]};

    if (!HT_PREPARE(what, rules, checked) ||
        !check_shapes(what, checked[X1]->body, checked[X2]->body))
        return false;
    return ht_broadcast_arrays(OPERANDS, checked, in) == HT_SUCCESS;
}

ht_tensor *ht_cosine_similarity(ht_tensor *x1, ht_tensor *x2, int axis, double eps)
{
    ht_tensor *in[OPERANDS] = {x1, x2};
    ht_dtype dtype;

    if (!prepare("ht_cosine_similarity", in))
        return NULL;
    if (in[X1]->body->ndim == 0)
        return ht_cosine_similarity(ht_expand_dims(in[X1], 0), ht_expand_dims(in[X2], 0), axis,
                                    eps);
    if (!ht__check_axis_of("ht_cosine_similarity", "axis", "x1", in[X1], &axis))
        return NULL;
    dtype = ht_promote_types(in[X1]->body->dtype, in[X2]->body->dtype);
    for (int i = 0; i < OPERANDS; i++) {
        in[i] = ht__wide(in[i]);
        in[i] = ht_div(in[i], ht_maximum(ht_vector_norm(in[i], 2, axis, true), ht_scalar(eps)));
    }
    return ht_astype(ht_sum(ht_mul(in[X1], in[X2]), axis), dtype);
}

bool ht__distance_check_order(const char *what, const ht_tensor *x, double p)
{
    return ht__check_parameter(what, x, !isnan(p) && p != HT_NORM_FRO, "p", p,
                               "an order of ht_vector_norm");
}

ht_tensor *ht_pairwise_distance(ht_tensor *x1, ht_tensor *x2, double p, double eps, bool keepdims)
{
    static const char what[] = "ht_pairwise_distance";
    ht_tensor *in[OPERANDS] = {x1, x2};

    if (!prepare(what, in) || !ht__distance_check_order(what, in[X1], p))
        return NULL;
    if (in[X1]->body->ndim == 0) {
        HT_FAIL(in[X1]->body->comm, HT_ERR_SHAPE, "%s: x1 is (), expected at least one axis", what);
        return NULL;
    }
    HT_NAMED(what);
    return ht_vector_norm(ht_add_scalar(ht_sub(in[X1], in[X2]), eps), p, -1, keepdims);
}
