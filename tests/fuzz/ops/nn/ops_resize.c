/* SPDX-License-Identifier: MIT
 *
 * Upsampling, padding, shuffles of pixels and channels. */
#include <string.h>

#include "fuzz/ops/nn/windows.h"

/* --- Upsampling: n[0] mode, n[1] align_corners, n[2] scales in place of lengths --- */

enum { TAPS = 4 };
static const double scales[] = {0.5, 1, 2, 1.5, 2.25};

static bool generate_upsample(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_plane);
    s->n[0] = random_below(&run->random, 4);
    s->n[1] = s->n[0] >= HT_UPSAMPLE_LINEAR && random_chance(&run->random, 50);
    s->n[2] = random_chance(&run->random, 40);
    return s->arg[0] >= 0;
}

static int64_t resized(const struct statement *s, int axis, int64_t length)
{
    return s->n[2] ? (int64_t)floor((double)length * scales[choice(s, axis, 5)])
                   : 1 + choice(s, axis, 6);
}

static struct outcome call_upsample(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    ht_upsample_options options = ht_upsample_options_default();

    if (!is_plane(run, &run->vars[s->arg[0]]))
        return done(HT_SUCCESS);
    options.mode = (ht_upsample_mode)s->n[0];
    options.align_corners = s->n[1] != 0;
    for (int i = 0; i < x->ndim - 2; i++) {
        if (s->n[2])
            options.scale[i] = scales[choice(s, i, 5)];
        else
            options.length[i] = resized(s, i, x->shape[2 + i]);
    }
    return made(ht_upsample(tensor_of(run, s, 0), &options));
}

static double cubic_weight(double distance)
{
    const double a = -0.75, d = fabs(distance);

    if (d <= 1)
        return (a + 2) * d * d * d - (a + 3) * d * d + 1;
    return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

/* Element j of an axis: places and weights in x; how many, or 0 where rounding decides. */
static int taps_of(const struct statement *s, int axis, int64_t in, int64_t out, int64_t j,
                   int64_t place[], double weight[])
{
    const double step = s->n[2] ? 1 / scales[choice(s, axis, 5)] : (double)in / (double)out;
    const double half = s->n[0] == HT_UPSAMPLE_NEAREST ? 0 : 0.5;
    double at = ((double)j + half) * step;
    int count = 0;

    if (s->n[0] <= HT_UPSAMPLE_NEAREST_EXACT) {
        if (fabs(at - rint(at)) < 1e-4 && (float)step != step)
            return 0;
        place[0] = (int64_t)floor(at) < in ? (int64_t)floor(at) : in - 1;
        weight[0] = 1;
        return 1;
    }
    at -= 0.5;
    if (s->n[1])
        at = out > 1 ? (double)j * (double)(in - 1) / (double)(out - 1) : 0;
    if (s->n[0] == HT_UPSAMPLE_LINEAR)
        at = fmin(fmax(at, 0), (double)(in - 1));
    for (int64_t k = (int64_t)floor(at) - 1; k <= (int64_t)floor(at) + 2; k++) {
        const double distance = fabs(at - (double)k);

        weight[count] = s->n[0] == HT_UPSAMPLE_CUBIC ? cubic_weight(distance)
                                                     : fmax(0, 1 - distance);
        place[count++] = k < 0 ? 0 : k < in ? k : in - 1;
    }
    return count;
}

static struct number upsample_at(const struct statement *s, const struct array *x,
                                 const int64_t at[])
{
    int64_t place[AXES][TAPS], from[2 + AXES] = {at[0], at[1]}, taps[AXES], all = 1;
    double weight[AXES][TAPS], size = 0;
    struct total total = total_new();
    struct number r;

    for (int i = 0; i < x->ndim - 2; i++) {
        taps[i] = taps_of(s, i, x->shape[2 + i], resized(s, i, x->shape[2 + i]), at[2 + i],
                          place[i], weight[i]);
        all *= taps[i];
    }
    if (all == 0)
        return number_unknown();
    for (int64_t k = 0; k < all; k++) {
        int64_t tap[AXES];
        double w = 1;

        unravel(k, x->ndim - 2, taps, tap);
        for (int i = 0; i < x->ndim - 2; i++) {
            from[2 + i] = place[i][tap[i]];
            w *= weight[i][tap[i]];
        }
        if (w != 0)
            total_add_product(&total, HT_FLOAT64, array_at_coords(x, x->ndim, from), exactly(w));
        size += fabs(array_at_coords(x, x->ndim, from).re);
    }
    r = total_round(&total, HT_FLOAT64, HT_FLOAT64);
    if (s->n[0] >= HT_UPSAMPLE_LINEAR && !is_unknown(r))
        r.err += 32 * eps_of(x->dtype) * size;
    return r;
}

static int reference_upsample(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t length[AXES];

    if (!is_plane(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    for (int i = 0; i < x->ndim - 2; i++) {
        length[i] = resized(s, i, x->shape[2 + i]);
        if (length[i] < 1)
            return HT_ERR_SHAPE;
    }
    *out = planes(x, x->dtype, length);
    for (int64_t i = 0; i < array_size(out); i++) {
        int64_t at[2 + AXES];

        unravel(i, out->ndim, out->shape, at);
        array_set(out, i, narrow(run, x->dtype, upsample_at(s, x, at), 0, 1));
    }
    return WANT_SUCCESS;
}

/* --- Padding: n[0] mode, n[1] axes --- */

static bool is_small(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.ndim >= 1 && x->a.ndim <= 5 && array_size(&x->a) <= 60 && array_size(&x->a) > 0;
}

static bool generate_pad(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_small);
    s->n[0] = random_below(&run->random, 4);
    s->n[1] = random_below(&run->random, 3);
    return s->arg[0] >= 0;
}

/* The padding before (side 0) and behind (side 1) an axis, counted from the last one. */
static int64_t width_of(const struct statement *s, int64_t length, int axis, int side)
{
    const int64_t drawn[2] = {choice(s, 2 * axis, 5) - 1, choice(s, 2 * axis + 1, 5) - 1};
    int64_t most = length, width = drawn[side];

    if (length <= 2)
        return width < 0 || s->n[0] != HT_PAD_REPLICATE ? 0 : width;
    if (s->n[0] == HT_PAD_REFLECT)
        most = length - 1;
    if (s->n[0] == HT_PAD_CIRCULAR)
        most = length - (drawn[!side] < 0);
    return s->n[0] >= HT_PAD_REFLECT && s->n[0] != HT_PAD_REPLICATE && width > most ? most : width;
}

static int padded_axes(const struct statement *s, const struct array *x)
{
    return s->n[1] < x->ndim ? (int)s->n[1] + 1 : x->ndim;
}

static struct outcome call_pad(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    const int axes = padded_axes(s, x);
    int64_t widths[2 * AXES];

    if (!is_small(run, &run->vars[s->arg[0]]))
        return done(HT_SUCCESS);
    for (int i = 0; i < axes; i++) {
        const int axis = x->ndim - axes + i;

        widths[2 * i] = width_of(s, x->shape[axis], x->ndim - axis, 0);
        widths[2 * i + 1] = width_of(s, x->shape[axis], x->ndim - axis, 1);
    }
    return made(
        ht_pad_ext(tensor_of(run, s, 0), 2 * axes, widths, (ht_pad_mode)s->n[0], HT_NUM(3)));
}

/* Place `at` of an axis of x that is padded; -1: the constant. */
static int64_t unpadded(const struct statement *s, int64_t at, int64_t n, int axis)
{
    const int64_t cut = width_of(s, n, axis, 0) < 0;
    const int64_t rest = n - cut - (width_of(s, n, axis, 1) < 0);

    if (s->n[0] == HT_PAD_CIRCULAR) /* of the part that is not cut off */
        return cut + (at - cut + rest) % rest;
    if (at >= 0 && at < n)
        return at;
    switch ((ht_pad_mode)s->n[0]) {
    case HT_PAD_REFLECT:
        return at < 0 ? -at : 2 * (n - 1) - at;
    case HT_PAD_REPLICATE:
        return at < 0 ? 0 : n - 1;
    default:
        return -1;
    }
}

static int reference_pad(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[HT_MAX_NDIM], at[HT_MAX_NDIM];

    if (!is_small(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    memcpy(shape, x->shape, sizeof shape);
    for (int i = x->ndim - padded_axes(s, x); i < x->ndim; i++)
        shape[i] += width_of(s, x->shape[i], x->ndim - i, 0) +
                    width_of(s, x->shape[i], x->ndim - i, 1);
    *out = array_new(x->dtype, x->ndim, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number a = kind_of(x->dtype) <= KIND_INT ? number_int(x->dtype, 3) : exactly(3);
        bool inside = true;

        if (x->dtype == HT_BOOL)
            a.i = 1;
        unravel(i, x->ndim, shape, at);
        for (int k = x->ndim - padded_axes(s, x); k < x->ndim; k++) {
            at[k] -= width_of(s, x->shape[k], x->ndim - k, 0);
            at[k] = unpadded(s, at[k], x->shape[k], x->ndim - k);
            inside = inside && at[k] >= 0;
        }
        if (inside)
            a = array_at_coords(x, x->ndim, at);
        if (!run->recording)
            a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

/* --- Shuffles: n[0] which one; by twos --- */

enum { SHUFFLE, UNSHUFFLE, CHANNELS };

static bool shuffles(const struct array *x, int64_t which)
{
    const int last = x->ndim - 1;

    if (x->ndim < 3 || x->ndim > 5)
        return false;
    if (which == CHANNELS)
        return x->shape[1] % 2 == 0;
    if (which == SHUFFLE)
        return x->shape[last - 2] % 4 == 0;
    return x->shape[last - 1] % 2 == 0 && x->shape[last] % 2 == 0;
}

static int64_t wanted;

static bool can_shuffle(struct run *run, const struct variable *x)
{
    (void)run;
    return shuffles(&x->a, wanted);
}

static bool generate_shuffle(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    wanted = s->n[0] = random_below(&run->random, 3);
    s->arg[0] = pick(run, can_shuffle);
    return s->arg[0] >= 0;
}

static struct outcome call_shuffle(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);

    if (!shuffles(array_of(run, s, 0), s->n[0]))
        return done(HT_SUCCESS);
    return made(ht_copy(s->n[0] == SHUFFLE     ? ht_pixel_shuffle(x, 2)
                        : s->n[0] == UNSHUFFLE ? ht_pixel_unshuffle(x, 2)
                                               : ht_channel_shuffle(x, 2))); /* it may be a view */
}

/* The coordinates in x of a place of the result. */
static void shuffled_from(const struct array *x, int64_t which, int64_t at[])
{
    int64_t *c = at + (which == CHANNELS ? 1 : x->ndim - 3), *h = c + 1, *w = c + 2;

    if (which == CHANNELS) {
        *c = *c % 2 * (x->shape[1] / 2) + *c / 2;
    } else if (which == SHUFFLE) {
        *c = *c * 4 + *h % 2 * 2 + *w % 2;
        *h /= 2;
        *w /= 2;
    } else {
        *h = *h * 2 + *c % 4 / 2;
        *w = *w * 2 + *c % 2;
        *c /= 4;
    }
}

static int reference_shuffle(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[HT_MAX_NDIM], at[HT_MAX_NDIM], *c;

    if (!shuffles(x, s->n[0]))
        return WANT_ANYTHING;
    memcpy(shape, x->shape, sizeof shape);
    c = shape + x->ndim - 3;
    if (s->n[0] != CHANNELS) {
        c[0] = s->n[0] == SHUFFLE ? c[0] / 4 : c[0] * 4;
        c[1] = s->n[0] == SHUFFLE ? c[1] * 2 : c[1] / 2;
        c[2] = s->n[0] == SHUFFLE ? c[2] * 2 : c[2] / 2;
    }
    *out = array_new(x->dtype, x->ndim, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number a;

        unravel(i, x->ndim, shape, at);
        shuffled_from(x, s->n[0], at);
        a = array_at_coords(x, x->ndim, at);
        if (!run->recording)
            a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

const struct op ops_resize[] = {{"ht_upsample(%t, mode %n, align %n, by scale %n, seed %x)", 8,
                                 generate_upsample, call_upsample, reference_upsample,
                                 .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
                                {"ht_pad_ext(%t, mode %n, axes %n, seed %x)", 8, generate_pad,
                                 call_pad, reference_pad, .rules = RULE_SMOOTH | RULE_LAYER},
                                {"shuffle(%t, which %n)", 5, generate_shuffle, call_shuffle,
                                 reference_shuffle, .rules = RULE_SMOOTH | RULE_LAYER},
                                {0}};
