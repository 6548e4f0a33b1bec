/* SPDX-License-Identifier: MIT
 *
 * Reductions, cumulative sums, histograms. */
#include "fuzz/ops/reduce/reductions.h"

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

/* The product of each line up to an element, as ht_prod computes it. */
static int reference_cumprod(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    struct reduction r = {.what = PROD, .dtype = HT_DTYPE_COUNT};
    int axis = (int)s->n[0];
    int64_t inner;

    if (!axis_of(&axis, x->ndim))
        return WANT_FAILURE;
    r.axes = 1u << axis;
    inner = shape_size(x->ndim - axis - 1, x->shape + axis + 1);
    *out = array_new(reduction_dtype(PROD, x->dtype), x->ndim, x->shape);
    for (int64_t row = 0; row < x->shape[axis]; row++) {
        struct array part = *x, product;
        int want;

        part.shape[axis] = row + 1;
        want = reduce_array(run, &part, &r, &product);
        if (want != WANT_SUCCESS)
            return want;
        for (int64_t i = 0; i < array_size(&product); i++)
            array_set(out, (i / inner * x->shape[axis] + row) * inner + i % inner,
                      array_at(&product, i));
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
        if (low == high || !isfinite(high - low)) /* 0.5 is negligible compared with them */
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
                                {.format = "ht_cumprod(%t, %n)",
                                 .weight = 5,
                                 .generate = generate_cumsum,
                                 .call = call_axis,
                                 .reference = reference_cumprod,
                                 .row.reduction = {ht_cumprod, PROD},
                                 .rules = RULE_SAVES},
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
                                {0}};
