/* SPDX-License-Identifier: MIT
 *
 * Adaptive and fractional pooling, whose windows are ranges [from, to) along each axis. */
#include <string.h>

#include "fuzz/ops/nn/windows.h"

enum { MEANS, MAXIMA, INDICES }; /* n[0] */

static bool generate_ranges(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_plane);
    s->n[0] = random_below(&run->random, 3);
    return s->arg[0] >= 0;
}

static bool fits(struct run *run, const struct statement *s)
{
    return is_plane(run, &run->vars[s->arg[0]]);
}

struct ranges {
    int axes;
    int64_t in[AXES], out[AXES], kernel[AXES];
};

static struct ranges ranges_of(const struct statement *s, const struct array *x, bool adaptive)
{
    struct ranges r = {.axes = x->ndim - 2};

    for (int i = 0; i < r.axes; i++) {
        r.in[i] = x->shape[2 + i];
        r.kernel[i] = 1 + choice(s, i, r.in[i] < 3 ? r.in[i] : 3);
        r.out[i] = adaptive ? 1 + choice(s, 10 + i, 6)
                            : 1 + choice(s, 10 + i, r.in[i] - r.kernel[i] + 1);
    }
    return r;
}

/* All places with coordinates in [from, to); returns how many. */
static int64_t places_between(const struct ranges *r, const int64_t from[], const int64_t to[],
                              int64_t place[])
{
    const int64_t plane = shape_size(r->axes, r->in);
    int64_t count = 0, at[AXES];

    for (int64_t p = 0; p < plane; p++) {
        bool inside = true;

        unravel(p, r->axes, r->in, at);
        for (int i = 0; i < r->axes; i++)
            inside = inside && at[i] >= from[i] && at[i] < to[i];
        if (inside)
            place[count++] = p;
    }
    return count;
}

static int64_t adaptive_places(const struct ranges *r, int64_t j, int64_t place[])
{
    int64_t of[AXES], from[AXES], to[AXES];

    unravel(j, r->axes, r->out, of);
    for (int i = 0; i < r->axes; i++) {
        from[i] = of[i] * r->in[i] / r->out[i];
        to[i] = ((of[i] + 1) * r->in[i] + r->out[i] - 1) / r->out[i];
    }
    return places_between(r, from, to, place);
}

static struct outcome call_adaptive(struct run *run, const struct statement *s)
{
    struct ranges r;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    r = ranges_of(s, array_of(run, s, 0), true);
    return made(ht_copy((s->n[0] == MAXIMA ? ht_adaptive_max_pool : ht_adaptive_avg_pool)(
        tensor_of(run, s, 0), r.out))); /* which may be x itself */
}

static int reference_adaptive(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t place[130], plane;
    struct ranges r;

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    r = ranges_of(s, x, true);
    plane = shape_size(r.axes, r.out);
    *out = planes(x, x->dtype, r.out);
    for (int64_t i = 0; i < array_size(out); i++) {
        const int64_t count = adaptive_places(&r, i % plane, place);
        struct total total = total_new();

        if (s->n[0] == MAXIMA) {
            put_largest(run, x, out, i, i / plane, place, count);
            continue;
        }
        for (int64_t k = 0; k < count; k++)
            total_add(&total, x->dtype, at_place(x, i / plane, place[k]));
        array_set(out, i,
                  narrow(run, x->dtype,
                         soft_div(x->dtype, soft_total(x->dtype, &total), exactly((double)count)),
                         8 * eps_of(x->dtype) * total.size, 1));
    }
    return WANT_SUCCESS;
}

/* --- Fractional: n[1]: samples are given --- */

static ht_tensor *samples_of(const struct statement *s, const struct array *x)
{
    const int64_t shape[3] = {x->shape[0], x->shape[1], x->ndim - 2};
    ht_tensor *own = own_list(s, x->dtype, 0, 3, shape); /* from -2 to 2 */

    return ht_mul_scalar(ht_add_scalar(own, 2), 0.125);
}

static double sample_at(const struct statement *s, const struct array *x, int64_t plane, int axis)
{
    const int axes = x->ndim - 2, place = axes == 2 ? 1 - axis : axis;

    return (own_number(s, x->dtype, 0, plane * axes + place).re + 2) * 0.125;
}

static struct outcome call_fractional(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    ht_fractional_options options = ht_fractional_options_default();
    ht_tensor *indices = NULL, *y;
    struct ranges r;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    r = ranges_of(s, x, false);
    memcpy(options.kernel, r.kernel, sizeof r.kernel);
    memcpy(options.length, r.out, sizeof r.out);
    y = ht_fractional_max_pool(tensor_of(run, s, 0), samples_of(s, x), &options,
                               s->n[0] == INDICES ? &indices : NULL);
    return made(y != NULL && s->n[0] == INDICES ? indices : y);
}

/* The first place of window j along an axis. */
static int64_t first_place(const struct ranges *r, int i, int64_t j, double sample, ht_dtype dtype)
{
    const int64_t room = r->in[i] - r->kernel[i];

    if (j == r->out[i] - 1)
        return room;
    if (dtype == HT_FLOAT64) {
        const double step = (double)room / (double)(r->out[i] - 1);

        return (int64_t)(((double)j + sample) * step) - (int64_t)(sample * step);
    } else {
        const float step = (float)room / (float)(r->out[i] - 1), at = (float)sample;

        return (int64_t)(((float)j + at) * step) - (int64_t)(at * step);
    }
}

static int reference_fractional(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t place[130], plane;
    struct ranges r;

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    r = ranges_of(s, x, false);
    plane = shape_size(r.axes, r.out);
    *out = planes(x, s->n[0] == INDICES ? HT_INT64 : x->dtype, r.out);
    for (int64_t i = 0; i < array_size(out); i++) {
        int64_t of[AXES], from[AXES], to[AXES];

        unravel(i % plane, r.axes, r.out, of);
        for (int k = 0; k < r.axes; k++) {
            from[k] = first_place(&r, k, of[k], sample_at(s, x, i / plane, k), x->dtype);
            to[k] = from[k] + r.kernel[k];
        }
        put_largest(run, x, out, i, i / plane, place, places_between(&r, from, to, place));
    }
    return WANT_SUCCESS;
}

const struct op ops_ranges[] = {
    {"adaptive_pool(%t, part %n, seed %x)", 8, generate_ranges, call_adaptive, reference_adaptive,
     .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {"ht_fractional_max_pool(%t, part %n, seed %x)", 6, generate_ranges, call_fractional,
     reference_fractional, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {0}};
