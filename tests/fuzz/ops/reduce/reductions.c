/* SPDX-License-Identifier: MIT */
#include "fuzz/ops/reduce/reductions.h"

#include <stdlib.h>
#include <string.h>

/* The elements that a place of the result is made of, in row-major order. */
struct group {
    struct number *at;
    int64_t count;
    int64_t ddof;
    const ht_number *initial;
};

/* As it is, not rounded: it is added before the result is. */
static struct number initial_of(ht_dtype dtype, ht_number x)
{
    struct number a = number_of(dtype, x);

    if (kind_of(dtype) == KIND_FLOAT)
        a.re = x.kind == HT_NUMBER_INTEGER ? (double)x.integer : x.real;
    return a;
}

static struct number sum_of(const struct group *group, ht_dtype from, ht_dtype dtype)
{
    struct total total = total_new();

    for (int64_t i = 0; i < group->count; i++)
        total_add(&total, dtype, convert(group->at[i], from, dtype));
    if (group->initial != NULL)
        total_add(&total, dtype, initial_of(dtype, *group->initial));
    return total_round(&total, dtype, accumulator_of(dtype));
}

/* The dtype in which sums of distances and means are computed: integers go through double. */
static ht_dtype wide_of(ht_dtype from)
{
    return kind_of(from) == KIND_COMPLEX ? HT_COMPLEX128 : HT_FLOAT64;
}

static double eps_of_sums(ht_dtype from, ht_dtype dtype)
{
    return eps_of(kind_of(from) <= KIND_INT ? HT_FLOAT64 : accumulator_of(dtype));
}

static struct number prod_of(const struct group *group, ht_dtype from, ht_dtype dtype)
{
    const bool whole = kind_of(from) <= KIND_INT;
    const ht_dtype wide = whole ? HT_INT64 : wide_of(from);
    struct number r = number_of(wide, ht_number_integer(1));
    double large = 1, small = 1; /* of any part of the factors */
    bool exact = true, finite = true;

    for (int64_t i = group->initial != NULL ? -1 : 0; i < group->count; i++) {
        struct number a = i < 0 ? initial_of(wide, *group->initial) : group->at[i];
        double size;

        if (is_unknown(a))
            return a;
        a = whole && i >= 0 ? convert(a, from, wide) : a;
        r = number_mul(wide, r, a);
        size = whole ? 1 : number_abs(wide, a);
        finite = finite && isfinite(size);
        large *= isfinite(size) ? fmax(size, 1) : 1;
        small *= size > 0 ? fmin(size, 1) : 1;
        exact = exact && rint(a.re) == a.re && rint(a.im) == a.im;
    }
    if (whole)
        return convert(r, wide, dtype);
    if (large > max_of(dtype) / 4 || small < 0x1p-900 ||
        (!finite && (r.d != NULL || kind_of(wide) == KIND_COMPLEX)))
        return number_unknown();
    if (!(exact && large < 0x1p50))
        r.err += 4 * (double)(group->count + 1) * eps_of(wide) * number_abs(wide, r);
    return finish(dtype, r, r.err, 0);
}

/* In long double, with twice the error that one pass in the accumulator's precision has. */
static struct number mean_of(const struct group *group, ht_dtype from, ht_dtype dtype)
{
    ht_dtype wide = wide_of(from);
    double count = (double)group->count;
    struct total total = total_new();
    struct number sum, n = {.re = count}, r;

    for (int64_t i = 0; i < group->count; i++) {
        struct number a = group->at[i];

        total_add(&total, wide, kind_of(from) <= KIND_INT ? convert(a, from, wide) : a);
    }
    sum = total_round(&total, wide, wide);
    r = number_div(wide, sum, n);
    if (is_unknown(r) || (total.size > max_of(dtype) / 4 && isfinite(total.size)))
        return number_unknown();
    return finish(dtype, r, r.err + eps_of_sums(from, dtype) * total.size, 1);
}

static struct number var_of(const struct group *group, ht_dtype from, ht_dtype dtype)
{
    ht_dtype wide = wide_of(from);
    struct number mean = mean_of(group, from, wide), r;
    struct number n = {.re = fmax((double)(group->count - group->ddof), 0)};
    struct total total = total_new();
    double size = 0, off;

    for (int64_t i = 0; i < group->count && !is_unknown(mean); i++) {
        struct number a = group->at[i], distance, conjugate;

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
    off = eps_of_sums(from, dtype) * size * (double)group->count; /* the mean, in two passes */
    return finish(dtype, r, is_unknown(r) ? INFINITY : r.err + 8 * off * (off + sqrt(r.re)), 8);
}

/* The extreme, and where it first is; NaN is more extreme than any number. */
static struct number extreme_of(const struct group *group, ht_dtype dtype, bool most,
                                int64_t *position)
{
    struct number best = group->at[0];
    bool integers = kind_of(dtype) <= KIND_INT, doubt = best.err > 0;
    int64_t ties = 1;
    struct number shared = {0};

    *position = 0;
    for (int64_t i = 1; i < group->count; i++) {
        struct number a = group->at[i];
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
        struct number a = group->at[i];

        if (a.re == 0 && !signbit(a.re) == most)
            best.re = a.re;
    }
    for (int64_t i = 0; i < group->count; i++) {
        struct number a = group->at[i], before = shared;

        if (a.d != NULL && a.re == best.re)
            chain(&shared, 1, before, 1 / (double)ties, &a);
    }
    best.d = shared.d;
    return best;
}

/* As the larger or smaller of it and the initial value. */
static struct number extreme_with(const struct group *group, ht_dtype dtype, bool most)
{
    int64_t position;
    struct number best, initial;

    if (group->initial == NULL)
        return extreme_of(group, dtype, most, &position);
    initial = number_of(dtype, *group->initial);
    if (group->count == 0)
        return initial;
    best = extreme_of(group, dtype, most, &position);
    if (is_unknown(best))
        return best;
    return most ? number_maximum(dtype, best, initial) : number_minimum(dtype, best, initial);
}

static struct number reduce(const struct group *group, int what, ht_dtype from, ht_dtype dtype)
{
    int64_t position = 0;
    struct number r;

    switch (what) {
    case SUM:
        return sum_of(group, from, dtype);
    case PROD:
        return prod_of(group, from, dtype);
    case MEAN:
        return mean_of(group, from, dtype);
    case VAR:
        return var_of(group, from, dtype);
    case STD:
        r = var_of(group, from, dtype);
        return is_unknown(r) ? r : number_sqrt(dtype, r);
    case MAX:
    case MIN:
        return extreme_with(group, dtype, what == MAX);
    default:
        extreme_of(group, from, what == ARGMAX, &position);
        return position < 0 ? number_unknown() : number_int(HT_INT64, position);
    }
}

ht_dtype reduction_dtype(int what, ht_dtype dtype)
{
    if (kind_of(dtype) <= KIND_INT && (what == SUM || what == PROD))
        return HT_INT64;
    if (kind_of(dtype) <= KIND_INT && (what == MEAN || what == VAR || what == STD))
        return HT_FLOAT32;
    if (kind_of(dtype) == KIND_COMPLEX && (what == VAR || what == STD))
        return dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;
    return what == ARGMAX || what == ARGMIN ? HT_INT64 : dtype;
}

/* The shape without the axes, or with them as 1; at = the lengths with them as 1. */
static struct array result_for(const struct array *x, const struct reduction *r, ht_dtype dtype,
                               int64_t at[])
{
    int64_t shape[HT_MAX_NDIM];
    int ndim = 0;

    for (int i = 0; i < x->ndim; i++) {
        bool gone = r->axes >> i & 1;

        at[i] = gone ? 1 : x->shape[i];
        if (!gone || r->keepdims)
            shape[ndim++] = at[i];
    }
    return array_new(dtype, ndim, shape);
}

/* The elements of x that belong to a place of the result, as the dtype that is asked for. False: it
 * is not known which they are. */
static bool collect(struct group *group, const struct array *x, const struct reduction *r,
                    const int64_t place[])
{
    int64_t lengths[HT_MAX_NDIM], inside[HT_MAX_NDIM], at[HT_MAX_NDIM];

    for (int i = 0; i < x->ndim; i++)
        lengths[i] = r->axes >> i & 1 ? x->shape[i] : 1;
    group->count = 0;
    for (int64_t k = 0; k < shape_size(x->ndim, lengths); k++) {
        struct number a;

        unravel(k, x->ndim, lengths, inside);
        for (int i = 0; i < x->ndim; i++)
            at[i] = place[i] + inside[i];
        if (r->where != NULL) {
            const struct number mask = array_at_coords(r->where, x->ndim, at);

            if (is_unknown(mask))
                return false;
            if (mask.i == 0)
                continue;
        }
        a = array_at_coords(x, x->ndim, at);
        group->at[group->count++] = r->dtype != HT_DTYPE_COUNT ? convert(a, x->dtype, r->dtype) : a;
    }
    return true;
}

static int64_t elements_per_place(const struct array *x, const struct reduction *r)
{
    int64_t count = 1;

    for (int i = 0; i < x->ndim; i++)
        count *= r->axes >> i & 1 ? x->shape[i] : 1;
    return count;
}

int reduce_array(struct run *run, const struct array *x, const struct reduction *r,
                 struct array *out)
{
    const ht_dtype from = r->dtype != HT_DTYPE_COUNT ? r->dtype : x->dtype;
    const int64_t most = elements_per_place(x, r);
    ht_dtype dtype = reduction_dtype(r->what, from);
    struct group group = {.ddof = r->ddof, .initial = r->initial};
    int64_t lengths[HT_MAX_NDIM], place[HT_MAX_NDIM];

    if (r->what <= PROD && r->dtype != HT_DTYPE_COUNT)
        dtype = r->dtype;
    if (r->what >= MAX && kind_of(x->dtype) == KIND_COMPLEX)
        return WANT_FAILURE;
    if (r->what >= MAX && most == 0 && r->initial == NULL)
        return HT_ERR_SHAPE;
    *out = result_for(x, r, dtype, lengths);
    group.at = malloc((size_t)(most + 1) * sizeof *group.at);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number a;

        unravel(i, x->ndim, lengths, place);
        a = collect(&group, x, r, place) ? reduce(&group, r->what, from, dtype) : number_unknown();
        if (!run->recording || kind_of(dtype) <= KIND_INT)
            a.d = NULL;
        array_set(out, i, a);
    }
    free(group.at);
    return WANT_SUCCESS;
}
