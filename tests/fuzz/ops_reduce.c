/* SPDX-License-Identifier: MIT
 *
 * Reductions, cumulative sums, histograms, products of matrices. */
#include "reductions.h"

static bool generate_axis(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;

    (void)op;
    s->arg[0] = pick_any(run);
    if (s->arg[0] < 0)
        return false;
    x = array_of(run, s, 0);
    s->n[0] = random_chance(&run->random, 35) ? HT_NONE : random_axis(run, x->ndim);
    return !(x->ndim == 0 && s->n[0] != HT_NONE);
}

static struct outcome call_axis(struct run *run, const struct statement *s)
{
    return made(s->op->row.reduction.call(tensor_of(run, s, 0), (int)s->n[0]));
}

static int reference_axis(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    struct reduction r = {
        .what = s->op->row.reduction.what, .axes = ALL_AXES, .dtype = HT_DTYPE_COUNT};
    int axis = (int)s->n[0];

    if (axis != HT_NONE && !axis_of(&axis, x->ndim))
        return WANT_FAILURE;
    if (axis != HT_NONE)
        r.axes = 1u << axis;
    return reduce_array(run, x, &r, out);
}

/* --- Cumulative sums --- */

static bool generate_cumsum(struct run *run, const struct op *op, struct statement *s)
{
    return generate_axis(run, op, s) && s->n[0] != HT_NONE;
}

static int reference_cumsum(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int axis = (int)s->n[0];
    ht_dtype dtype = reduction_dtype(SUM, x->dtype);
    int64_t inner;

    if (!axis_of(&axis, x->ndim))
        return WANT_FAILURE;
    *out = array_new(dtype, x->ndim, x->shape);
    inner = shape_size(x->ndim - axis - 1, x->shape + axis + 1);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct total total = total_new();
        int64_t row = i / inner % x->shape[axis];
        struct number a;

        for (int64_t k = row; k >= 0; k--)
            total_add(&total, dtype, convert(array_at(x, i - k * inner), x->dtype, dtype));
        a = total_round(&total, dtype, accumulator_of(dtype));
        if (a.err > 0) /* the running sum is rounded where it is stored */
            a.err += ulp(dtype, total.size) * (double)total.count;
        if (!run->recording)
            a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

/* --- Products --- */

static const struct array *left;

static bool multiplies(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.ndim == 2 && x->a.shape[0] == left->shape[1];
}

static bool is_matrix(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.ndim == 2;
}

static bool generate_matmul(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_matrix);
    if (s->arg[0] < 0)
        return false;
    left = array_of(run, s, 0);
    s->arg[1] = pick(run, random_chance(&run->random, 3) ? NULL : multiplies);
    return s->arg[1] >= 0;
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

static int reference_matmul(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *a = array_of(run, s, 0), *b = array_of(run, s, 1);
    ht_dtype dtype = promote(a->dtype, b->dtype);
    int64_t shape[2];

    if (a->ndim != 2 || b->ndim != 2 || a->shape[1] != b->shape[0])
        return HT_ERR_SHAPE;
    if (dtype == HT_BOOL)
        return HT_ERR_DTYPE;
    shape[0] = a->shape[0];
    shape[1] = b->shape[1];
    *out = array_new(dtype, 2, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct total total = total_new();
        struct number c, whole = number_of(dtype, ht_number_integer(0));

        for (int64_t k = 0; k < a->shape[1]; k++) {
            int64_t row[] = {i / shape[1], k}, column[] = {k, i % shape[1]};
            struct number x = convert(array_at_coords(a, 2, row), a->dtype, dtype);
            struct number y = convert(array_at_coords(b, 2, column), b->dtype, dtype);

            if (kind_of(dtype) <= KIND_INT)
                whole = add_product(dtype, whole, x, y);
            else if (is_unknown(x) || is_unknown(y))
                total.unknown = true;
            else
                total_add_product(&total, dtype, x, y);
        }
        c = kind_of(dtype) <= KIND_INT
                ? whole
                : total_round(&total, dtype,
                              kind_of(dtype) == KIND_COMPLEX || dtype == HT_FLOAT64 ? dtype
                                                                                    : HT_FLOAT32);
        if (kind_of(dtype) == KIND_FLOAT && !is_unknown(c) && c.err > 0 &&
            dtype < HT_FLOAT32) /* parts of ranks, in the dtype */
            c.err += eps_of(dtype) * total.size * run->size;
        if (kind_of(dtype) == KIND_COMPLEX && !isfinite(total.size))
            c.err = INFINITY;
        if (!run->recording)
            c.d = NULL;
        array_set(out, i, c);
    }
    return WANT_SUCCESS;
}

/* --- Histograms: n[0] bins, from v[0] to v[1], 0 and 0 for the range of the elements --- */

static bool generate_histogram(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    s->n[0] = 1 + random_below(&run->random, 9);
    s->v[0] = (double)random_below(&run->random, 9) / 2 - 3;
    s->v[1] = s->v[0] + 1 + (double)random_below(&run->random, 9) / 2;
    if (random_chance(&run->random, 40))
        s->v[0] = s->v[1] = 0;
    return s->arg[0] >= 0;
}

static struct outcome call_histogram(struct run *run, const struct statement *s)
{
    ht_tensor *counts = NULL;

    ht_histogram(tensor_of(run, s, 0), s->n[0], s->v[0], s->v[1], &counts, NULL);
    return made(counts);
}

/* The range of the elements; false where it is not one of finite numbers. */
static bool range_of(const struct array *x, double *low, double *high)
{
    for (int64_t i = 0; i < array_size(x); i++) {
        double a = convert(array_at(x, i), x->dtype, HT_FLOAT64).re;

        if (!isfinite(a))
            return false;
        *low = i == 0 ? a : fmin(*low, a);
        *high = i == 0 ? a : fmax(*high, a);
    }
    if (*low == *high) {
        *low -= 0.5;
        *high += 0.5;
    }
    return true;
}

static int reference_histogram(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    double low = s->v[0], high = s->v[1];

    if (kind_of(x->dtype) == KIND_COMPLEX)
        return HT_ERR_DTYPE;
    for (int64_t i = 0; i < array_size(x); i++) {
        if (array_at(x, i).err > 0)
            return WANT_ANYTHING;
    }
    if (low == high) {
        if (!range_of(x, &low, &high))
            return HT_ERR_ARGUMENT;
        if (low == high || !isfinite(high - low)) /* 0.5 is nothing beside them */
            return HT_ERR_ARGUMENT;
    }
    *out = array_new(HT_INT64, 1, s->n);
    for (int64_t b = 0; b < s->n[0]; b++) {
        const double width = (high - low) / (double)s->n[0], above = low + (double)(b + 1) * width;
        int64_t count = 0;

        for (int64_t i = 0; i < array_size(x); i++) {
            double a = convert(array_at(x, i), x->dtype, HT_FLOAT64).re;

            count += a >= low + (double)b * width && (b + 1 < s->n[0] ? a < above : a <= high);
        }
        array_set(out, b, number_int(HT_INT64, count));
    }
    return WANT_SUCCESS;
}

#define REDUCTION(name, which, often, flags)                                                 \
    {                                                                                        \
        .format = "ht_" #name "(%t, %n)", .weight = (often), .generate = generate_axis,      \
        .call = call_axis, .reference = reference_axis, .row.reduction = {ht_##name, which}, \
        .rules = (flags)                                                                     \
    }

const struct op ops_reduce[] = {REDUCTION(sum, SUM, 14, RULE_SMOOTH),
                                REDUCTION(prod, PROD, 10, RULE_SMOOTH | RULE_SAVES),
                                REDUCTION(mean, MEAN, 8, RULE_SMOOTH),
                                REDUCTION(var, VAR, 5, RULE_SMOOTH | RULE_SAVES),
                                REDUCTION(std, STD, 3, RULE_SAVES),
                                REDUCTION(max, MAX, 8, RULE_SMOOTH | RULE_SAVES),
                                REDUCTION(min, MIN, 8, RULE_SMOOTH | RULE_SAVES),
                                REDUCTION(argmax, ARGMAX, 6, 0),
                                REDUCTION(argmin, ARGMIN, 6, 0),
                                {.format = "ht_cumsum(%t, %n)",
                                 .weight = 8,
                                 .generate = generate_cumsum,
                                 .call = call_axis,
                                 .reference = reference_cumsum,
                                 .row.reduction = {ht_cumsum, SUM},
                                 .rules = RULE_SMOOTH},
                                {.format = "ht_histogram(%t, %n, %v, %v)",
                                 .weight = 6,
                                 .generate = generate_histogram,
                                 .call = call_histogram,
                                 .reference = reference_histogram},
                                {.format = "ht_matmul(%t, %t)",
                                 .weight = 14,
                                 .generate = generate_matmul,
                                 .call = call_matmul,
                                 .reference = reference_matmul,
                                 .rules = RULE_SMOOTH | RULE_SAVES},
                                {0}};
