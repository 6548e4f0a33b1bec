/* SPDX-License-Identifier: MIT
 *
 * Losses of pairs and triplets, by differentiable operations. */
#include <math.h>

#include "ht/activations.h"
#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/linalg.h"
#include "ht/relational.h"
#include "ht/rounding.h"
#include "ht/statistics.h"
#include "nn/functional/embedding/checks.h"
#include "nn/functional/losses/losses.h"

enum { FIRST, SECOND, THIRD, OPERANDS };

static const ht_operand_rule pair_rules[OPERANDS] = {
    {"x1", .dtype = HT_DTYPE_FLOATING, .cast = HT_CAST_HIGH},
    {"x2", .dtype = HT_DTYPE_FLOATING, .cast = HT_CAST_HIGH},
    {"target", .dtype = HT_DTYPE_REAL, .cast = HT_CAST_HIGH},
};
static const ht_operand_rule triplet_rules[OPERANDS] = {
    {"anchor", .dtype = HT_DTYPE_FLOATING, .cast = HT_CAST_HIGH},
    {"positive", .dtype = HT_DTYPE_FLOATING, .cast = HT_CAST_HIGH},
    {"negative", .dtype = HT_DTYPE_FLOATING, .cast = HT_CAST_HIGH},
};

/* Whether two operands broadcast. */
static bool check_pair(const char *what, const ht_operand_rule rules[], ht_tensor *const in[],
                       int first, int second)
{
    const ht_body *a = in[first]->body, *b = in[second]->body;
    bool fits = true;

    for (int i = 0; i < a->ndim && fits; i++)
        fits = a->shape[i] == b->shape[i] || a->shape[i] == 1 || b->shape[i] == 1;
    if (!fits)
        HT_FAIL(a->comm, HT_ERR_SHAPE, "%s: %s is %s, %s is %s: they do not broadcast", what,
                rules[first].name, ht__shape_str(a->ndim, a->shape), rules[second].name,
                ht__shape_str(b->ndim, b->shape));
    return fits;
}

static bool check_axes(const char *what, const ht_operand_rule rules[], ht_tensor *const in[])
{
    const ht_body *first = in[0]->body;

    for (int i = 1; i < OPERANDS; i++) {
        const ht_body *body = in[i]->body;

        if (body->ndim == first->ndim)
            continue;
        HT_FAIL(first->comm, HT_ERR_SHAPE,
                "%s: %s is %s, %s is %s, expected the same number of axes", what, rules[0].name,
                ht__shape_str(first->ndim, first->shape), rules[i].name,
                ht__shape_str(body->ndim, body->shape));
        return false;
    }
    return true;
}

ht_tensor *ht_margin_ranking_loss(ht_tensor *x1, ht_tensor *x2, ht_tensor *target, double margin,
                                  ht_reduction_mode reduction)
{
    const char *what = "ht_margin_ranking_loss";
    ht_tensor *in[] = {x1, x2, target}, *order;

    if (!HT_PREPARE(what, pair_rules, in) || !ht__check_reduction(what, in[0], reduction) ||
        !check_axes(what, pair_rules, in) || !check_pair(what, pair_rules, in, FIRST, SECOND) ||
        !check_pair(what, pair_rules, in, FIRST, THIRD) ||
        !check_pair(what, pair_rules, in, SECOND, THIRD))
        return NULL;
    order = ht_mul(in[THIRD], ht_sub(in[FIRST], in[SECOND]));
    return ht__reduce_losses(ht_relu(ht_sub(ht_scalar(margin), order)), reduction);
}

static ht_tensor *dot(ht_tensor *a, ht_tensor *b)
{
    return ht_sum(ht_mul(a, b), -1);
}

/* The cosine of the angle between rows, with 1e-12 added to their squared lengths. */
static ht_tensor *cosine(ht_tensor *a, ht_tensor *b)
{
    ht_tensor *lengths = ht_mul(ht_add_scalar(dot(a, a), 1e-12), ht_add_scalar(dot(b, b), 1e-12));

    return ht_div(dot(a, b), ht_sqrt(lengths));
}

/* x1 and x2 (N, D) and target (N), or (D) and (). */
static bool check_rows(const char *what, ht_tensor *const in[])
{
    const ht_body *a = in[FIRST]->body, *b = in[SECOND]->body, *t = in[THIRD]->body;

    if ((a->ndim == 1 || a->ndim == 2) && ht__body_same_shape(a, b) && t->ndim == a->ndim - 1 &&
        (t->ndim == 0 || t->shape[0] == a->shape[0]))
        return true;
    HT_FAIL(a->comm, HT_ERR_SHAPE,
            "%s: x1 is %s, x2 is %s, target is %s, expected (N, D), (N, D) and (N)", what,
            ht__shape_str(a->ndim, a->shape), ht__shape_str(b->ndim, b->shape),
            ht__shape_str(t->ndim, t->shape));
    return false;
}

ht_tensor *ht_cosine_embedding_loss(ht_tensor *x1, ht_tensor *x2, ht_tensor *target, double margin,
                                    ht_reduction_mode reduction)
{
    const char *what = "ht_cosine_embedding_loss";
    ht_tensor *in[] = {x1, x2, target}, *cos, *near, *far;
    ht_dtype dtype;

    if (!HT_PREPARE(what, pair_rules, in) || !ht__check_reduction(what, in[0], reduction) ||
        !check_rows(what, in))
        return NULL;
    dtype = ht_promote_types(in[FIRST]->body->dtype, in[SECOND]->body->dtype);
    cos = cosine(ht__wide(in[FIRST]), ht__wide(in[SECOND]));
    near = ht_where(ht_eq(in[THIRD], ht_scalar(1)), ht_sub(ht_scalar(1), cos), ht_scalar(0));
    far = ht_where(ht_eq(in[THIRD], ht_scalar(-1)), ht_relu(ht_sub_scalar(cos, margin)),
                   ht_scalar(0));
    return ht__reduce_losses(ht_astype(ht_add(near, far), dtype), reduction);
}

ht_triplet_margin_options ht_triplet_margin_options_default(void)
{
    return (ht_triplet_margin_options){.size = sizeof(ht_triplet_margin_options),
                                       .margin = 1,
                                       .p = 2,
                                       .eps = 1e-6,
                                       .reduction = HT_MEAN};
}

static ht_tensor *norm_distance(ht_tensor *a, ht_tensor *b, void *user)
{
    const ht_triplet_margin_options *o = user;

    return ht_vector_norm(ht_add_scalar(ht_sub(a, b), o->eps), o->p, -1, false);
}

/* A NULL that the program's function reported no error for becomes one. */
static ht_tensor *measured(const char *what, ht_tensor *distances)
{
    return HT_IS_NULL(distances, what, "the result of distance") ? NULL : distances;
}

/* The options of the norm of differences, which reduces their last axis. */
static bool check_norm(const char *what, ht_tensor *const in[], const ht_triplet_margin_options *o)
{
    if (in[FIRST]->body->ndim == 0) {
        HT_FAIL(in[FIRST]->body->comm, HT_ERR_SHAPE, "%s: anchor is (), expected at least one axis",
                what);
        return false;
    }
    return check_pair(what, triplet_rules, in, FIRST, SECOND) &&
           check_pair(what, triplet_rules, in, FIRST, THIRD) &&
           (!o->swap || check_pair(what, triplet_rules, in, SECOND, THIRD)) &&
           ht__distance_check_order(what, in[FIRST], o->p);
}

static ht_tensor *triplet(const char *what, ht_tensor *in[], ht_distance_fn *distance, void *user,
                          const ht_triplet_margin_options *o)
{
    ht_tensor *near, *far, *other = NULL, *loss;

    if (!HT_PREPARE(what, triplet_rules, in) || !ht__check_reduction(what, in[0], o->reduction) ||
        !check_axes(what, triplet_rules, in) ||
        !ht__check_parameter(what, in[0], o->margin > 0, "margin", o->margin, "a value above 0"))
        return NULL;
    if (distance == NULL) {
        HT_FAIL(in[0]->body->comm, HT_ERR_ARGUMENT, "%s: distance is NULL", what);
        return NULL;
    }
    if (distance == norm_distance && !check_norm(what, in, o))
        return NULL;
    near = measured(what, distance(in[FIRST], in[SECOND], user));
    far = measured(what, distance(in[FIRST], in[THIRD], user));
    if (o->swap)
        other = measured(what, distance(in[SECOND], in[THIRD], user));
    HT_NAMED(what);
    if (o->swap)
        far = ht_minimum(far, other);
    loss = ht__reduce_losses(ht_relu(ht_add_scalar(ht_sub(near, far), o->margin)), o->reduction);
    return loss;
}

ht_tensor *ht_triplet_margin_loss(ht_tensor *anchor, ht_tensor *positive, ht_tensor *negative,
                                  const ht_triplet_margin_options *options)
{
    ht_triplet_margin_options o = options != NULL ? *options : ht_triplet_margin_options_default();

    if (HT_CHECK_OPTIONS(NULL, "ht_triplet_margin_loss", &o, ht_triplet_margin_options) !=
        HT_SUCCESS)
        return NULL;
    return triplet("ht_triplet_margin_loss", (ht_tensor *[]){anchor, positive, negative},
                   norm_distance, &o, &o);
}

ht_tensor *ht_triplet_margin_with_distance_loss(ht_tensor *anchor, ht_tensor *positive,
                                                ht_tensor *negative, ht_distance_fn *distance,
                                                void *user, double margin, bool swap,
                                                ht_reduction_mode reduction)
{
    const ht_triplet_margin_options o = {.margin = margin, .swap = swap, .reduction = reduction};

    return triplet("ht_triplet_margin_with_distance_loss",
                   (ht_tensor *[]){anchor, positive, negative}, distance, user, &o);
}
