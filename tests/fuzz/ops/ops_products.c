/* SPDX-License-Identifier: MIT
 *
 * Products of tensors. */
#include "fuzz/ops/reduce/reductions.h"

enum { MOST = 4000 }; /* elements of a result */

/* --- ht_matmul --- */

static const struct array *left;

/* For operands of one axis or more: the axes that a product sums over, and its shape. */
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

/* --- Sums of products of real numbers: n[0] the axis, n[1] whether it stays --- */

static bool is_real(struct run *run, const struct variable *x)
{
    (void)run;
    return kind_of(x->a.dtype) < KIND_COMPLEX && array_size(&x->a) < MOST / 4;
}

static bool meets_left(struct run *run, const struct variable *x)
{
    int64_t shape[HT_MAX_NDIM];
    int ndim;

    return is_real(run, x) && (left->ndim == 0) == (x->a.ndim == 0) && /* else it has no say */
           broadcast_shape(left, &x->a, &ndim, shape) && shape_size(ndim, shape) < MOST;
}

static bool generate_vecdot(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_real);
    if (s->arg[0] < 0)
        return false;
    left = array_of(run, s, 0);
    s->arg[1] = pick(run, meets_left);
    s->n[0] = left->ndim > 0 && random_chance(&run->random, 60) ? random_axis(run, left->ndim)
                                                                : HT_NONE;
    s->n[1] = random_chance(&run->random, 30);
    return s->arg[1] >= 0;
}

static struct outcome call_vecdot(struct run *run, const struct statement *s)
{
    return made(ht_vecdot(tensor_of(run, s, 0), tensor_of(run, s, 1), (int)s->n[0], s->n[1] != 0));
}

/* a b, each element rounded; integers and bool as int64. */
static struct array products(struct run *run, const struct array *a, const struct array *b,
                             int ndim, const int64_t shape[])
{
    const ht_dtype promoted = promote(a->dtype, b->dtype);
    const ht_dtype dtype = kind_of(promoted) <= KIND_INT ? HT_INT64 : promoted;
    struct array c = array_new(dtype, ndim, shape);

    for (int64_t i = 0; i < array_size(&c); i++) {
        int64_t at[HT_MAX_NDIM];
        struct number x;

        unravel(i, ndim, shape, at);
        x = number_mul(dtype, convert(array_at_coords(a, ndim, at), a->dtype, dtype),
                       convert(array_at_coords(b, ndim, at), b->dtype, dtype));
        if (!run->recording)
            x.d = NULL;
        array_set(&c, i, x);
    }
    return c;
}

static int reference_vecdot(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *a = array_of(run, s, 0), *b = array_of(run, s, 1);
    struct reduction r = {.what = SUM, .keepdims = s->n[1] != 0, .dtype = HT_DTYPE_COUNT};
    int64_t shape[HT_MAX_NDIM];
    int ndim, axis = s->n[0] == HT_NONE ? -1 : (int)s->n[0];
    struct array c;

    if (!broadcast_shape(a, b, &ndim, shape) || kind_of(a->dtype) == KIND_COMPLEX ||
        kind_of(b->dtype) == KIND_COMPLEX)
        return WANT_ANYTHING;
    if (!axis_of(&axis, ndim))
        return WANT_FAILURE;
    r.axes = 1u << axis;
    c = products(run, a, b, ndim, shape);
    return reduce_array(run, &c, &r, out);
}

static bool same_size_as_left(struct run *run, const struct variable *x)
{
    return is_real(run, x) && same_shape(left, &x->a);
}

static bool generate_vdot(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_real);
    if (s->arg[0] < 0)
        return false;
    left = array_of(run, s, 0);
    s->arg[1] = pick(run, same_size_as_left);
    return s->arg[1] >= 0;
}

static struct outcome call_vdot(struct run *run, const struct statement *s)
{
    return made(ht_vdot(tensor_of(run, s, 0), tensor_of(run, s, 1)));
}

static int reference_vdot(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *a = array_of(run, s, 0), *b = array_of(run, s, 1);
    struct reduction r = {.what = SUM, .axes = ALL_AXES, .dtype = HT_DTYPE_COUNT};
    struct array c;

    if (!same_shape(a, b) || kind_of(a->dtype) == KIND_COMPLEX || kind_of(b->dtype) == KIND_COMPLEX)
        return WANT_ANYTHING;
    c = products(run, a, b, a->ndim, a->shape);
    return reduce_array(run, &c, &r, out);
}

/* --- Outer products: n[0] the split --- */

static bool generate_outer(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, has_axes);
    s->arg[1] = pick(run, has_axes);
    s->n[0] = random_chance(&run->random, 40) ? HT_NONE : random_below(&run->random, 4) - 2;
    return s->arg[0] >= 0 && s->arg[1] >= 0 &&
           array_size(array_of(run, s, 0)) * array_size(array_of(run, s, 1)) < MOST / 4;
}

static struct outcome call_outer(struct run *run, const struct statement *s)
{
    return made(ht_outer(tensor_of(run, s, 0), tensor_of(run, s, 1), (int)s->n[0]));
}

static int reference_outer(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *a = array_of(run, s, 0), *b = array_of(run, s, 1);
    const ht_dtype dtype = promote(a->dtype, b->dtype);
    const int64_t shape[2] = {array_size(a), array_size(b)};

    if (a->ndim == 0 || b->ndim == 0)
        return HT_ERR_SHAPE;
    *out = array_new(dtype, 2, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number x = number_mul(dtype, convert(array_at(a, i / shape[1]), a->dtype, dtype),
                                     convert(array_at(b, i % shape[1]), b->dtype, dtype));

        if (!run->recording)
            x.d = NULL;
        array_set(out, i, x);
    }
    return WANT_SUCCESS;
}

/* --- Traces of the first two axes: n[0] the offset --- */

static bool generate_trace(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    s->n[0] = random_below(&run->random, 7) - 3;
    return s->arg[0] >= 0 && array_of(run, s, 0)->ndim >= 2;
}

static struct outcome call_trace(struct run *run, const struct statement *s)
{
    return made(ht_trace(tensor_of(run, s, 0), s->n[0], 0, 1));
}

static int reference_trace(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    struct array line = *x;
    struct reduction r = {.what = SUM, .axes = 1, .dtype = HT_DTYPE_COUNT};
    const int64_t row = s->n[0] < 0 ? -s->n[0] : 0, column = s->n[0] > 0 ? s->n[0] : 0;

    if (x->ndim < 2)
        return HT_ERR_ARGUMENT;
    line.ndim--;
    line.offset += row * x->stride[0] + column * x->stride[1];
    line.shape[0] = 0;
    while (row + line.shape[0] < x->shape[0] && column + line.shape[0] < x->shape[1])
        line.shape[0]++;
    line.stride[0] = x->stride[0] + x->stride[1];
    for (int i = 1; i < line.ndim; i++) {
        line.shape[i] = x->shape[i + 1];
        line.stride[i] = x->stride[i + 1];
    }
    return reduce_array(run, &line, &r, out);
}

/* --- Norms: v[0] the order, n[0] the axis --- */

static bool generate_norm(struct run *run, const struct op *op, struct statement *s)
{
    static const double orders[] = {2, 1, INFINITY, -INFINITY};

    (void)op;
    s->arg[0] = pick(run, is_floating);
    s->v[0] = orders[random_below(&run->random, 4)];
    if (s->arg[0] < 0 || kind_of(array_of(run, s, 0)->dtype) == KIND_COMPLEX)
        return false;
    s->n[0] = array_of(run, s, 0)->ndim == 0 || random_chance(&run->random, 30)
                  ? HT_NONE
                  : random_axis(run, array_of(run, s, 0)->ndim);
    return true;
}

static struct outcome call_norm(struct run *run, const struct statement *s)
{
    return made(ht_vector_norm(tensor_of(run, s, 0), s->v[0], (int)s->n[0], false));
}

/* In float64, of what |x| or x^2 is there. */
static int reference_norm(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    const bool powers = isfinite(s->v[0]);
    struct reduction r = {.what = powers        ? SUM
                                  : s->v[0] > 0 ? MAX
                                                : MIN,
                          .axes = ALL_AXES,
                          .dtype = HT_DTYPE_COUNT};
    const ht_dtype wide = powers ? HT_FLOAT64 : x->dtype;
    struct array parts = array_new(wide, x->ndim, x->shape), sum;
    int axis = (int)s->n[0], want;

    if (kind_of(x->dtype) != KIND_FLOAT)
        return WANT_ANYTHING;
    if (axis != HT_NONE && !axis_of(&axis, x->ndim))
        return HT_ERR_ARGUMENT;
    if (axis != HT_NONE)
        r.axes = 1u << axis;
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = convert(array_at(x, i), x->dtype, wide);

        a = s->v[0] == 2 ? number_mul(wide, a, a) : signbit(a.re) ? number_neg(wide, a) : a;
        if (!run->recording || a.re == 0) /* where |x| has slope 0 */
            a.d = NULL;
        array_set(&parts, i, a);
    }
    want = reduce_array(run, &parts, &r, &sum);
    if (want != WANT_SUCCESS)
        return want;
    *out = array_new(x->dtype, sum.ndim, sum.shape);
    for (int64_t i = 0; i < array_size(&sum); i++) {
        struct number a = array_at(&sum, i);

        a = convert(s->v[0] == 2 ? number_sqrt(wide, a) : a, wide, x->dtype);
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

const struct op ops_products[] = {{.format = "ht_matmul(%t, %t)",
                                   .weight = 14,
                                   .generate = generate_matmul,
                                   .call = call_matmul,
                                   .reference = reference_matmul,
                                   .rules = RULE_SMOOTH | RULE_SAVES},
                                  {.format = "ht_vecdot(%t, %t, %n, %n)",
                                   .weight = 5,
                                   .generate = generate_vecdot,
                                   .call = call_vecdot,
                                   .reference = reference_vecdot,
                                   .rules = RULE_SMOOTH | RULE_SAVES},
                                  {.format = "ht_vdot(%t, %t)",
                                   .weight = 4,
                                   .generate = generate_vdot,
                                   .call = call_vdot,
                                   .reference = reference_vdot,
                                   .rules = RULE_SMOOTH | RULE_SAVES},
                                  {.format = "ht_outer(%t, %t, %n)",
                                   .weight = 5,
                                   .generate = generate_outer,
                                   .call = call_outer,
                                   .reference = reference_outer,
                                   .rules = RULE_SMOOTH | RULE_SAVES},
                                  {.format = "ht_trace(%t, %n, 0, 1)",
                                   .weight = 5,
                                   .generate = generate_trace,
                                   .call = call_trace,
                                   .reference = reference_trace,
                                   .rules = RULE_SMOOTH},
                                  {.format = "ht_vector_norm(%t, %v, %n, false)",
                                   .weight = 6,
                                   .generate = generate_norm,
                                   .call = call_norm,
                                   .reference = reference_norm,
                                   .rules = RULE_SAVES},
                                  {0}};
