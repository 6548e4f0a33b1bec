/* SPDX-License-Identifier: MIT
 *
 * Reductions, cumulative sums, products of matrices. */
#include <string.h>

#include "fuzz.h"

enum { SUM, SUM_KEEPDIM, MEAN, VAR, STD, MAX, MIN, ARGMAX, ARGMIN };

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

/* The elements of x that a place of the result is made of, in row-major order. */
struct group {
    const struct array *x;
    int axis; /* HT_NONE: all */
    int64_t outer[HT_MAX_NDIM];
    int64_t count;
};

static int64_t group_size(const struct array *x, int axis)
{
    return axis == HT_NONE ? array_size(x) : x->shape[axis];
}

static struct number group_at(struct group *group, int64_t index)
{
    if (group->axis == HT_NONE)
        return array_at(group->x, index);
    group->outer[group->axis] = index;
    return array_at_coords(group->x, group->x->ndim, group->outer);
}

static struct number sum_of(struct group *group, ht_dtype from, ht_dtype dtype)
{
    struct total total = total_new();

    for (int64_t i = 0; i < group->count; i++)
        total_add(&total, dtype, convert(group_at(group, i), from, dtype));
    return total_round(&total, dtype, accumulator_of(dtype));
}

/* What sums of distances and means are kept in: integers go through double. */
static ht_dtype wide_of(ht_dtype from)
{
    return kind_of(from) == KIND_COMPLEX ? HT_COMPLEX128 : HT_FLOAT64;
}

static double eps_of_sums(ht_dtype from, ht_dtype dtype)
{
    return eps_of(kind_of(from) <= KIND_INT ? HT_FLOAT64 : accumulator_of(dtype));
}

/* In long double, with twice the error that one pass in the accumulator's precision has. */
static struct number mean_of(struct group *group, ht_dtype from, ht_dtype dtype)
{
    ht_dtype wide = wide_of(from);
    double count = (double)group->count;
    struct total total = total_new();
    struct number sum, n = {.re = count}, r;

    for (int64_t i = 0; i < group->count; i++) {
        struct number a = group_at(group, i);

        total_add(&total, wide, kind_of(from) <= KIND_INT ? convert(a, from, wide) : a);
    }
    sum = total_round(&total, wide, wide);
    r = number_div(wide, sum, n);
    if (is_unknown(r) || (total.size > max_of(dtype) / 4 && isfinite(total.size)))
        return number_unknown();
    return finish(dtype, r, r.err + eps_of_sums(from, dtype) * total.size, 1);
}

static struct number var_of(struct group *group, ht_dtype from, ht_dtype dtype)
{
    ht_dtype wide = wide_of(from);
    struct number mean = mean_of(group, from, wide), n = {.re = (double)group->count}, r;
    struct total total = total_new();
    double size = 0, off;

    for (int64_t i = 0; i < group->count && !is_unknown(mean); i++) {
        struct number a = group_at(group, i), distance, conjugate;

        a = kind_of(from) <= KIND_INT ? convert(a, from, wide) : a;
        size = fmax(size, number_abs(wide, a));
        distance = conjugate = is_unknown(a) ? a : number_sub(wide, a, mean);
        conjugate.im = -conjugate.im;
        if (distance.d != NULL && kind_of(from) == KIND_COMPLEX) {
            conjugate.d = arena_duals();
            memcpy(conjugate.d, distance.d, sizeof *conjugate.d * MAX_DUALS);
            for (int k = 0; k < MAX_DUALS; k++)
                conjugate.d[k].im = -conjugate.d[k].im;
        }
        total_add_product(&total, wide, distance, conjugate);
    }
    if (is_unknown(mean) || total.unknown || (total.size > max_of(dtype) / 4))
        return number_unknown();
    r = number_div(wide, total_round(&total, wide, wide), n);
    off = eps_of_sums(from, dtype) * size * n.re; /* the mean, in two passes */
    return finish(dtype, r, is_unknown(r) ? INFINITY : r.err + 8 * off * (off + sqrt(r.re)), 8);
}

/* The extreme, where it first is, and how many share it; NaN is more extreme than any number. */
static struct number extreme_of(struct group *group, ht_dtype dtype, bool most, int64_t *position)
{
    struct number best = group_at(group, 0);
    bool integers = kind_of(dtype) <= KIND_INT, doubt = best.err > 0;
    int64_t ties = 1;
    struct number shared = {0};

    *position = 0;
    for (int64_t i = 1; i < group->count; i++) {
        struct number a = group_at(group, i);
        bool better = integers ? (most ? a.i > best.i : a.i < best.i)
                               : (most ? a.re > best.re : a.re < best.re) ||
                                     (isnan(a.re) && !isnan(best.re));
        bool equal = integers ? a.i == best.i : a.re == best.re;

        doubt = doubt || a.err > 0;
        if (better && !isnan(best.re)) {
            best = a;
            *position = i;
            ties = 1;
        } else if (equal) {
            ties++;
        }
    }
    if (doubt) {
        *position = -1;
        return number_unknown();
    }
    for (int64_t i = 0; !integers && best.re == 0 && i < group->count; i++) { /* -0 < 0 */
        struct number a = group_at(group, i);

        if (a.re == 0 && !signbit(a.re) == most)
            best.re = a.re;
    }
    for (int64_t i = 0; i < group->count; i++) {
        struct number a = group_at(group, i), before = shared;

        if (a.d != NULL && a.re == best.re)
            chain(&shared, 1, before, 1 / (double)ties, &a);
    }
    best.d = shared.d;
    return best;
}

static struct number reduce(struct group *group, int what, ht_dtype from, ht_dtype dtype)
{
    int64_t position = 0;
    struct number r;

    switch (what) {
    case SUM:
    case SUM_KEEPDIM:
        return sum_of(group, from, dtype);
    case MEAN:
        return mean_of(group, from, dtype);
    case VAR:
        return var_of(group, from, dtype);
    case STD:
        r = var_of(group, from, dtype);
        return is_unknown(r) ? r : number_sqrt(dtype, r);
    case MAX:
    case MIN:
        return extreme_of(group, dtype, what == MAX, &position);
    default:
        extreme_of(group, from, what == ARGMAX, &position);
        return position < 0 ? number_unknown() : number_int(HT_INT64, position);
    }
}

static ht_dtype dtype_of(int what, ht_dtype dtype)
{
    if (kind_of(dtype) <= KIND_INT && (what == SUM || what == SUM_KEEPDIM))
        return HT_INT64;
    if (kind_of(dtype) <= KIND_INT && (what == MEAN || what == VAR || what == STD))
        return HT_FLOAT32;
    if (kind_of(dtype) == KIND_COMPLEX && (what == VAR || what == STD))
        return dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;
    return what == ARGMAX || what == ARGMIN ? HT_INT64 : dtype;
}

/* The shape with an axis gone, or all of them; kept as 1. */
static struct array result_for(const struct array *x, int axis, bool keep, ht_dtype dtype)
{
    int64_t shape[HT_MAX_NDIM];
    int ndim = 0;

    for (int i = 0; i < x->ndim; i++) {
        bool gone = axis == HT_NONE || axis == i;

        if (!gone || keep)
            shape[ndim++] = gone ? 1 : x->shape[i];
    }
    return array_new(dtype, ndim, shape);
}

static int reference_axis(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int axis = (int)s->n[0], what = s->op->row.reduction.what;
    bool complex_numbers = kind_of(x->dtype) == KIND_COMPLEX;
    ht_dtype dtype = dtype_of(what, x->dtype);
    struct group group = {.x = x};

    if (axis != HT_NONE && !axis_of(&axis, x->ndim))
        return WANT_FAILURE;
    group.axis = axis;
    group.count = group_size(x, axis);
    if (what >= MAX && complex_numbers)
        return WANT_FAILURE;
    if (what >= MAX && group.count == 0)
        return HT_ERR_SHAPE;
    *out = result_for(x, axis, what == SUM_KEEPDIM, dtype);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number a;

        if (axis != HT_NONE) {
            int64_t shape[HT_MAX_NDIM];

            memcpy(shape, x->shape, sizeof shape);
            shape[axis] = 1;
            unravel(i, x->ndim, shape, group.outer);
        }
        a = reduce(&group, what, x->dtype, dtype);
        if (!run->recording || kind_of(dtype) <= KIND_INT)
            a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
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
    ht_dtype dtype = dtype_of(SUM, x->dtype);
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

static int reference_matmul(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *a = array_of(run, s, 0), *b = array_of(run, s, 1);
    ht_dtype dtype = promote(a->dtype, b->dtype);
    int64_t shape[2];

    if (a->ndim != 2 || b->ndim != 2 || a->shape[1] != b->shape[0])
        return HT_ERR_SHAPE;
    dtype = kind_of(dtype) <= KIND_INT ? HT_FLOAT32 : dtype;
    shape[0] = a->shape[0];
    shape[1] = b->shape[1];
    *out = array_new(dtype, 2, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct total total = total_new();
        struct number c;

        for (int64_t k = 0; k < a->shape[1]; k++) {
            int64_t row[] = {i / shape[1], k}, column[] = {k, i % shape[1]};
            struct number x = convert(array_at_coords(a, 2, row), a->dtype, dtype);
            struct number y = convert(array_at_coords(b, 2, column), b->dtype, dtype);

            if (is_unknown(x) || is_unknown(y))
                total.unknown = true;
            else
                total_add_product(&total, dtype, x, y);
        }
        c = total_round(&total, dtype,
                        kind_of(dtype) == KIND_COMPLEX || dtype == HT_FLOAT64 ? dtype : HT_FLOAT32);
        if (!is_unknown(c) && c.err > 0 && dtype < HT_FLOAT32) /* parts of ranks, in the dtype */
            c.err += eps_of(dtype) * total.size * run->size;
        if (kind_of(dtype) == KIND_COMPLEX && !isfinite(total.size))
            c.err = INFINITY;
        if (!run->recording)
            c.d = NULL;
        array_set(out, i, c);
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
                                REDUCTION(sum_keepdim, SUM_KEEPDIM, 6, RULE_SMOOTH),
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
                                {.format = "ht_matmul(%t, %t)",
                                 .weight = 14,
                                 .generate = generate_matmul,
                                 .call = call_matmul,
                                 .reference = reference_matmul,
                                 .rules = RULE_SMOOTH | RULE_SAVES},
                                {0}};
