/* SPDX-License-Identifier: MIT
 *
 * Which data of a product travel. There are three schedules, for (m, k) (k, n) on P ranks:
 *     schedule         operands split by    comes to each rank        split of the product
 *     a stays          rows of a            (P - 1) / P of b          rows
 *     b stays          columns of b         (P - 1) / P of a          columns
 *     sum of partials  the inner axis       (P - 1) / P of a b        rows
 * An operand with another split is moved first, and a product with another split at the end: (P -
 * 1) / P^2 of it for each rank. A replicated tensor never travels. The cheapest schedule is chosen
 * (cost), from shapes and splits alone, so that all ranks choose the same. Split batches stay, like
 * rows. A rank stores its parts of all three tensors, twice if they are moved, and the panels of
 * product_ring.c and product_sum.c. It never stores all of a split operand. */
#include "core/algorithms/product/product.h"

#include "core/autograd/autograd.h"

#include "ht/manipulations.h"

static const char what[] = "ht_matmul";

typedef struct plan {
    ht_tensor *a, *b;
    ht_body c; /* metadata of the product: shape, split and bounds (those of an operand) */
    int rows, columns;
} plan;

static int split_of(const plan *p, const ht_tensor *x)
{
    return ht__product_axis(x, x->body->split, p->c.ndim);
}

/* x in the slabs of an axis of the product's (canonical, if `bounds` is NULL); NULL stays NULL. */
static ht_tensor *along(const plan *p, ht_tensor *x, int axis, ht_bounds *bounds)
{
    ht_body like;

    if (x == NULL)
        return NULL;
    like = (ht_body){.split = axis - (p->c.ndim - x->body->ndim),
                     .ndim = x->body->ndim,
                     .comm = x->body->comm,
                     .bounds = bounds};
    for (int i = 0; i < x->body->ndim; i++)
        like.shape[i] = x->body->shape[i];
    return ht__match_slabs(what, x, &like);
}

/* The slabs that x has along an axis, if it is split along it. */
static ht_bounds *bounds_along(const plan *p, const ht_tensor *x, int axis)
{
    return split_of(p, x) == axis ? x->body->bounds : NULL;
}

/* ---- the choice ---------------------------------------------------------------------------- */

typedef enum schedule { A_STAYS, B_STAYS, SUM_OF_PARTIALS } schedule;

/* The cost of moving one element, in multiplications with addition: the number that a core does
 * while memory or a network brings it 4 bytes. */
static const double MOVE = 32;

static double all_but_own(const plan *p, double elements)
{
    const double size = p->c.comm->size;

    return elements * (size - 1) / size;
}

/* Elements that come to a rank when `elements` go from one split to another. */
static double moved(const plan *p, double elements, int from, int to)
{
    return from == HT_NONE || from == to ? 0 : all_but_own(p, elements) / p->c.comm->size;
}

static double sent_round(const plan *p, const ht_tensor *x)
{
    return x->body->split == HT_NONE ? 0 : all_but_own(p, (double)ht_tensor_size(x));
}

static double longest_slab(const plan *p, int64_t length)
{
    return (double)((length + p->c.comm->size - 1) / p->c.comm->size);
}

static double cost(const plan *p, schedule which)
{
    const double a = (double)ht_tensor_size(p->a), b = (double)ht_tensor_size(p->b);
    const int64_t m = p->c.shape[p->rows], n = p->c.shape[p->columns];
    const int64_t k = p->b->body->shape[p->b->body->ndim - 2];
    const int sa = split_of(p, p->a), sb = split_of(p, p->b);
    double c = 1, batches, travels, computed;

    for (int i = 0; i < p->c.ndim; i++)
        c *= (double)p->c.shape[i];
    batches = m > 0 && n > 0 ? c / (double)m / (double)n : 0;
    if (which == A_STAYS) {
        travels = moved(p, a, sa, p->rows) + sent_round(p, p->b) + moved(p, c, p->rows, p->c.split);
        computed = longest_slab(p, m) * (double)n * (double)k;
    } else if (which == B_STAYS) {
        travels = moved(p, b, sb, p->columns) + sent_round(p, p->a) +
                  moved(p, c, p->columns, p->c.split);
        computed = longest_slab(p, n) * (double)m * (double)k;
    } else {
        travels = moved(p, a, sa, p->columns) + moved(p, b, sb, p->rows) + all_but_own(p, c) +
                  moved(p, c, p->rows, p->c.split);
        computed = longest_slab(p, k) * (double)m * (double)n;
    }
    return MOVE * travels + batches * computed;
}

static schedule choose(const plan *p)
{
    schedule best = A_STAYS;

    for (schedule next = B_STAYS; next <= SUM_OF_PARTIALS; next++) {
        if (cost(p, next) < cost(p, best))
            best = next;
    }
    return best;
}

/* ---- the schedules ------------------------------------------------------------------------- */

/* Memory for the product. A sum over slabs or ranks is rounded to 16 bits once, at the end. */
static ht_tensor *new_product(const plan *p, int split, ht_bounds *bounds, bool adds)
{
    const ht_body *a = p->a->body;
    const ht_dtype dtype = adds && a->comm->size > 1 ? ht__product_dtype(a->dtype) : a->dtype;

    return ht__tensor_new(ht__body_new(what, p->c.comm, a->storage->device, dtype, p->c.ndim,
                                       p->c.shape, split, bounds));
}

/* stays: the place of a or b in the plan, which may be one tensor. */
static ht_tensor *stay(plan *p, ht_tensor **stays, int axis)
{
    const bool left = stays == &p->a;
    const ht_tensor *come = left ? p->b : p->a;
    const int inner = left ? p->rows : p->columns;
    ht_tensor *c;

    *stays = along(p, *stays, axis, bounds_along(p, *stays, axis));
    if (*stays == NULL)
        return NULL;
    c = new_product(p, axis, (*stays)->body->bounds, split_of(p, come) == inner);
    return c != NULL && ht__product_ring(c, p->a, p->b, left) == HT_SUCCESS ? c : NULL;
}

static ht_tensor *sum_partials(plan *p)
{
    ht_bounds *bounds = bounds_along(p, p->a, p->columns);
    ht_tensor *c = new_product(p, p->rows, NULL, true);

    if (split_of(p, p->a) != p->columns)
        bounds = bounds_along(p, p->b, p->rows);
    p->a = along(p, p->a, p->columns, bounds);
    p->b = along(p, p->b, p->rows, bounds);
    return c != NULL && ht__product_sum(c, p->a, p->b) == HT_SUCCESS ? c : NULL;
}

/* Batches are split: the operand that is split so stays. The other one is moved to the same split
 * where it has these batches, or its parts visit each rank. */
static ht_tensor *product_of_batches(plan *p)
{
    const int axis = p->c.split;
    ht_tensor **stays = split_of(p, p->a) == axis ? &p->a : &p->b;
    ht_tensor **other = stays == &p->a ? &p->b : &p->a, *c;

    if (!ht__product_has(*other, axis, &p->c))
        return stay(p, stays, axis);
    *other = along(p, *other, axis, (*stays)->body->bounds);
    c = *other != NULL ? new_product(p, axis, (*stays)->body->bounds, false) : NULL;
    if (c == NULL || ht__product_local(ht_tensor_local(c), ht_tensor_local(p->a),
                                       ht_tensor_local(p->b), 0) != HT_SUCCESS)
        return NULL;
    return c;
}

static ht_tensor *product_on_each_rank(plan *p)
{
    ht_tensor *c = new_product(p, HT_NONE, NULL, false);

    if (c == NULL || ht__product_local(ht_tensor_local(c), ht_tensor_local(p->a),
                                       ht_tensor_local(p->b), 0) != HT_SUCCESS)
        return NULL;
    return c;
}

/* ---- the plan ------------------------------------------------------------------------------ */

/* The split of the product, and whose slabs it has. */
static void settle_split(plan *p)
{
    const int sa = split_of(p, p->a), sb = split_of(p, p->b);

    if (sa == HT_NONE && sb == HT_NONE) {
        p->c.split = HT_NONE;
    } else if (sa != HT_NONE && sa < p->rows) {
        p->c.split = sa;
        p->c.bounds = p->a->body->bounds;
    } else if ((sb != HT_NONE && sb < p->rows) || (sb == p->columns && sa != p->rows)) {
        p->c.split = sb;
        p->c.bounds = p->b->body->bounds;
    } else {
        p->c.split = p->rows;
        p->c.bounds = bounds_along(p, p->a, p->rows);
    }
}

static void settle_shape(plan *p)
{
    const ht_body *a = p->a->body, *b = p->b->body;

    p->c.ndim = a->ndim > b->ndim ? a->ndim : b->ndim;
    p->c.comm = a->comm;
    p->rows = p->c.ndim - 2;
    p->columns = p->c.ndim - 1;
    for (int i = 0; i < p->rows; i++) {
        const int ia = i - (p->c.ndim - a->ndim), ib = i - (p->c.ndim - b->ndim);
        const int64_t la = ia < 0 ? 1 : a->shape[ia], lb = ib < 0 ? 1 : b->shape[ib];

        p->c.shape[i] = la == 1 ? lb : la;
    }
    p->c.shape[p->rows] = a->shape[a->ndim - 2];
    p->c.shape[p->columns] = b->shape[b->ndim - 1];
}

/* A batch axis of length 1 that is split and broadcasts: one rank has all that the others need. */
static ht_tensor *without_split_of_one(const plan *p, ht_tensor *x, int instead)
{
    const int axis = split_of(p, x);

    if (axis == HT_NONE || axis >= p->rows || ht__product_has(x, axis, &p->c))
        return x;
    return along(p, x, instead, NULL);
}

ht_tensor *ht__product(ht_tensor *a, ht_tensor *b)
{
    plan p = {.a = a, .b = b};
    ht_dtype dtype;
    ht_tensor *c;
    schedule which;

    if (a == NULL || b == NULL)
        return NULL;
    dtype = a->body->dtype;
    settle_shape(&p);
    p.a = without_split_of_one(&p, a, p.rows);
    p.b = without_split_of_one(&p, b, p.columns);
    if (p.a == NULL || p.b == NULL)
        return NULL;
    settle_split(&p);
    if (p.c.split == HT_NONE)
        return product_on_each_rank(&p);
    if (p.c.split < p.rows)
        return ht_astype(product_of_batches(&p), dtype);
    which = choose(&p);
    c = which == A_STAYS   ? stay(&p, &p.a, p.rows)
        : which == B_STAYS ? stay(&p, &p.b, p.columns)
                           : sum_partials(&p);
    return ht__match_slabs(what, ht_astype(c, dtype), &p.c);
}
