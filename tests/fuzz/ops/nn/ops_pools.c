/* SPDX-License-Identifier: MIT
 *
 * Pooling over 1 to 3 axes, and its inverse. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/ops/nn/windows.h"

/* n[0]: bits of the options. */
enum { CEIL = 1, NO_PAD = 2, DIVISOR = 4, INDICES = 8, CUBES = 16 };

static bool generate_pool(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_plane);
    s->n[0] = random_below(&run->random, 32);
    return s->arg[0] >= 0;
}

static bool fits(struct run *run, const struct statement *s)
{
    return is_plane(run, &run->vars[s->arg[0]]);
}

/* --- Means --- */

static const int64_t divisors[] = {3, -2};

static struct outcome call_avg(struct run *run, const struct statement *s)
{
    ht_pool_options options;
    struct windows w;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    w = windows_of(s, array_of(run, s, 0), false);
    pool_options_of(&w, &options);
    options.ceil_mode = s->n[0] & CEIL;
    options.count_include_pad = !(s->n[0] & NO_PAD);
    options.divisor_override = s->n[0] & DIVISOR ? divisors[choice(s, 50, 2)] : 0;
    return made(ht_avg_pool(tensor_of(run, s, 0), &options));
}

/* The elements of window j that count. */
static double divisor(const struct statement *s, const struct windows *w, int64_t j)
{
    double count = 1;
    int64_t of[AXES];

    if (s->n[0] & DIVISOR)
        return (double)divisors[choice(s, 50, 2)];
    unravel(j, w->axes, w->out, of);
    for (int i = 0; i < w->axes; i++) {
        const int64_t from = of[i] * w->stride[i] - w->padding[i], to = from + w->kernel[i];
        const double least = s->n[0] & NO_PAD ? 0 : -(double)w->padding[i];
        const double most = (double)w->in[i] - least;

        count *= fmin((double)to, most) - fmax((double)from, least);
    }
    return count;
}

static int reference_avg(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    struct windows w;

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    w = windows_of(s, x, false);
    if (!windows_fit(&w, s->n[0] & CEIL))
        return HT_ERR_SHAPE;
    *out = planes(x, x->dtype, w.out);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct total total = total_new();

        for (int64_t k = 0; k < w.size; k++) {
            const int64_t place = window_place(&w, i % w.places, k);

            if (place >= 0)
                total_add(&total, x->dtype, at_place(x, i / w.places, place));
        }
        array_set(out, i,
                  narrow(run, x->dtype,
                         soft_div(x->dtype, soft_total(x->dtype, &total),
                                  exactly(divisor(s, &w, i % w.places))),
                         8 * eps_of(x->dtype) * total.size, 1));
    }
    return WANT_SUCCESS;
}

/* --- Powers --- */

static struct outcome call_lp(struct run *run, const struct statement *s)
{
    ht_pool_options options;
    struct windows w;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    w = windows_of(s, array_of(run, s, 0), false);
    memset(w.padding, 0, sizeof w.padding);
    pool_options_of(&w, &options);
    return made(ht_lp_pool(tensor_of(run, s, 0), 1 + (double)choice(s, 51, 2), &options));
}

static int reference_lp(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    const bool squares = choice(s, 51, 2) == 1;
    struct windows w;

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    w = windows_of(s, x, false);
    memset(w.padding, 0, sizeof w.padding);
    windows_fit(&w, false);
    *out = planes(x, x->dtype, w.out);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct total total = total_new();
        struct number r;

        for (int64_t k = 0; k < w.size; k++) {
            const struct number a = at_place(x, i / w.places, window_place(&w, i % w.places, k));

            total_add_product(&total, x->dtype, a, squares ? a : exactly(1));
        }
        r = soft_total(x->dtype, &total);
        array_set(out, i, narrow(run, x->dtype, squares ? soft_sqrt(x->dtype, r) : r, 0, 2));
    }
    return WANT_SUCCESS;
}

/* --- Maxima, and where they are --- */

static struct outcome max_or_indices(ht_tensor *y, ht_tensor *indices, const struct statement *s)
{
    return made(y == NULL || !(s->n[0] & INDICES) ? y : indices);
}

static struct outcome call_max(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0), *indices = NULL, *y;
    ht_pool_options options;
    struct windows w;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    w = windows_of(s, array_of(run, s, 0), true);
    pool_options_of(&w, &options);
    options.ceil_mode = s->n[0] & CEIL;
    y = s->n[0] & INDICES ? ht_max_pool_ext(x, &options, &indices) : ht_max_pool(x, &options);
    return max_or_indices(y, indices, s);
}

static int reference_max(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t place[27];
    struct windows w;

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    w = windows_of(s, x, true);
    if (!windows_fit(&w, s->n[0] & CEIL))
        return HT_ERR_SHAPE;
    for (int64_t j = 0; s->n[0] & INDICES && j < w.places; j++) {
        bool any = false;

        for (int64_t k = 0; k < w.size; k++)
            any = any || window_place(&w, j, k) >= 0;
        if (!any)
            return HT_ERR_SHAPE;
    }
    *out = planes(x, s->n[0] & INDICES ? HT_INT64 : x->dtype, w.out);
    for (int64_t i = 0; i < array_size(out); i++) {
        for (int64_t k = 0; k < w.size; k++)
            place[k] = window_place(&w, i % w.places, k);
        put_largest(run, x, out, i, i / w.places, place, w.size);
    }
    return WANT_SUCCESS;
}

/* --- The inverse of pooling by windows of two without overlap --- */

static int64_t unpooled_place(const struct statement *s, int64_t i, int64_t plane)
{
    return choice(s, (int)(300 + i), plane);
}

static struct windows pairs_of(const struct array *x)
{
    struct windows w = {.axes = x->ndim - 2};

    for (int i = 0; i < w.axes; i++) {
        w.in[i] = 2 * x->shape[2 + i];
        w.kernel[i] = w.stride[i] = 2;
        w.dilation[i] = 1;
    }
    return w;
}

static struct outcome call_unpool(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    int64_t indices[130];
    ht_pool_options options;
    struct windows w;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    w = pairs_of(x);
    pool_options_of(&w, &options);
    for (int64_t i = 0; i < array_size(x); i++)
        indices[i] = unpooled_place(s, i, shape_size(w.axes, w.in));
    return made(ht_max_unpool(tensor_of(run, s, 0),
                              ht_array(indices, x->ndim, x->shape, HT_INT64, HT_NONE), &options,
                              s->n[0] & CEIL ? w.in : NULL));
}

static int reference_unpool(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t plane, count;
    struct windows w;

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    w = pairs_of(x);
    plane = shape_size(w.axes, w.in);
    count = shape_size(w.axes, x->shape + 2);
    *out = planes(x, x->dtype, w.in);
    for (int64_t i = 0; i < array_size(x); i++)
        array_set(out, i / count * plane + unpooled_place(s, i, plane),
                  narrow(run, x->dtype, array_at(x, i), 0, 0));
    return WANT_SUCCESS;
}

const struct op ops_pools[] = {{"ht_avg_pool(%t, flags %n, seed %x)", 8, generate_pool, call_avg,
                                reference_avg, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
                               {"ht_lp_pool(%t, flags %n, seed %x)", 6, generate_pool, call_lp,
                                reference_lp, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
                               {"ht_max_pool(%t, flags %n, seed %x)", 8, generate_pool, call_max,
                                reference_max, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
                               {"ht_max_unpool(%t, flags %n, seed %x)", 6, generate_pool,
                                call_unpool, reference_unpool,
                                .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
                               {0}};
