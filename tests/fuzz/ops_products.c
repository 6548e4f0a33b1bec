/* SPDX-License-Identifier: MIT
 *
 * Products of tensors. */
#include "fuzz.h"

enum { MOST = 4000 }; /* elements of a result */

/* --- ht_matmul --- */

static const struct array *left;

/* Of operands of one axis or more: what a product sums over, and its shape. */
struct product {
    int64_t m, k, n;
    int ndim; /* batches */
    int64_t batches[HT_MAX_NDIM];
};

static bool product_of(const struct array *a, const struct array *b, struct product *p)
{
    struct array x = *a, y = *b;

    if (a->ndim < 1 || b->ndim < 1)
        return false;
    p->k = a->shape[a->ndim - 1];
    p->m = a->ndim > 1 ? a->shape[a->ndim - 2] : 1;
    p->n = b->ndim > 1 ? b->shape[b->ndim - 1] : 1;
    x.ndim = a->ndim > 2 ? a->ndim - 2 : 0;
    y.ndim = b->ndim > 2 ? b->ndim - 2 : 0;
    return b->shape[b->ndim > 1 ? b->ndim - 2 : 0] == p->k &&
           broadcast_shape(&x, &y, &p->ndim, p->batches);
}

static bool has_axes(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.ndim > 0;
}

static bool multiplies(struct run *run, const struct variable *x)
{
    struct product p;

    (void)run;
    return product_of(left, &x->a, &p);
}

static bool generate_matmul(struct run *run, const struct op *op, struct statement *s)
{
    struct product p;

    (void)op;
    s->arg[0] = pick(run, has_axes);
    if (s->arg[0] < 0)
        return false;
    left = array_of(run, s, 0);
    s->arg[1] = pick(run, random_chance(&run->random, 3) ? NULL : multiplies);
    return s->arg[1] >= 0 && (!product_of(left, array_of(run, s, 1), &p) ||
                              shape_size(p.ndim, p.batches) * p.m * p.n < MOST);
}

static struct outcome call_matmul(struct run *run, const struct statement *s)
{
    return made(ht_matmul(tensor_of(run, s, 0), tensor_of(run, s, 1)));
}

/* Products of integers wrap around at every step, which is as if they did once. */
static struct number add_product(ht_dtype dtype, struct number sum, struct number x,
                                 struct number y)
{
    if (is_unknown(sum) || is_unknown(x) || is_unknown(y))
        return number_unknown();
    return number_add(dtype, sum, number_mul(dtype, x, y));
}

/* A sum of products of the elements that `pair` gives, as the library's products have it. */
typedef void pair_fn(const void *user, int64_t index, struct number *x, struct number *y);

static struct number sum_of_products(struct run *run, ht_dtype dtype, int64_t count, pair_fn *pair,
                                     const void *user)
{
    const bool exact = kind_of(dtype) <= KIND_INT;
    struct number c, whole = number_of(dtype, ht_number_integer(0));
    struct total total = total_new();

    for (int64_t i = 0; i < count; i++) {
        struct number x, y;

        pair(user, i, &x, &y);
        if (exact)
            whole = add_product(dtype, whole, x, y);
        else if (is_unknown(x) || is_unknown(y))
            total.unknown = true;
        else
            total_add_product(&total, dtype, x, y);
    }
    c = exact ? whole
              : total_round(&total, dtype,
                            kind_of(dtype) == KIND_COMPLEX || dtype == HT_FLOAT64 ? dtype
                                                                                  : HT_FLOAT32);
    if (kind_of(dtype) == KIND_FLOAT && !is_unknown(c) && c.err > 0 && dtype < HT_FLOAT32)
        c.err += eps_of(dtype) * total.size * run->size; /* parts of ranks, in the dtype */
    if (kind_of(dtype) == KIND_COMPLEX && !isfinite(total.size))
        c.err = INFINITY;
    if (!run->recording)
        c.d = NULL;
    return c;
}

/* Row and column whose products are summed, of the matrices of a batch. */
struct row_and_column {
    const struct array *a, *b;
    ht_dtype dtype;
    int64_t at[HT_MAX_NDIM]; /* of the product with rows and columns */
    int ndim;
};

static struct number element(const struct row_and_column *of, const struct array *x, int64_t row,
                             int64_t column)
{
    int64_t at[HT_MAX_NDIM];
    const int batches = x->ndim - 2 < of->ndim ? x->ndim - 2 : of->ndim;

    if (x->ndim == 1)
        return array_at_coords(x, 1, row < 0 ? &column : &row);
    for (int i = 0; i < batches; i++)
        at[i] = of->at[of->ndim - batches + i];
    at[x->ndim - 2] = row;
    at[x->ndim - 1] = column;
    return array_at_coords(x, x->ndim, at);
}

static void along_inner(const void *user, int64_t k, struct number *x, struct number *y)
{
    const struct row_and_column *of = user;

    *x = convert(element(of, of->a, of->a->ndim > 1 ? of->at[of->ndim] : -1, k), of->a->dtype,
                 of->dtype);
    *y = convert(element(of, of->b, k, of->at[of->ndim + 1]), of->b->dtype, of->dtype);
}

static int reference_matmul(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *a = array_of(run, s, 0), *b = array_of(run, s, 1);
    const ht_dtype dtype = promote(a->dtype, b->dtype);
    struct row_and_column of = {.a = a, .b = b, .dtype = dtype};
    struct product p;
    int64_t shape[HT_MAX_NDIM], whole[HT_MAX_NDIM];
    int ndim;

    if (!product_of(a, b, &p))
        return HT_ERR_SHAPE;
    of.ndim = ndim = p.ndim;
    for (int i = 0; i < ndim; i++)
        shape[i] = whole[i] = p.batches[i];
    whole[p.ndim] = p.m;
    whole[p.ndim + 1] = p.n;
    if (a->ndim > 1)
        shape[ndim++] = p.m;
    if (b->ndim > 1)
        shape[ndim++] = p.n;
    *out = array_new(dtype, ndim, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        unravel(i, p.ndim + 2, whole, of.at);
        array_set(out, i, sum_of_products(run, dtype, p.k, along_inner, &of));
    }
    return WANT_SUCCESS;
}

const struct op ops_products[] = {{.format = "ht_matmul(%t, %t)",
                                   .weight = 14,
                                   .generate = generate_matmul,
                                   .call = call_matmul,
                                   .reference = reference_matmul,
                                   .rules = RULE_SMOOTH | RULE_SAVES},
                                  {0}};
