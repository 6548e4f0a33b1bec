/* SPDX-License-Identifier: MIT
 *
 * Convolutions over 1 to 3 axes and their transposes, with all options; windows as columns and back.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/ops/nn/windows.h"

/* n[0]: channels of the result for each group, n[1] groups, n[2] a bias, n[3] a padding mode. */
enum { WEIGHT, BIAS };

static bool generate_conv(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_plane);
    if (s->arg[0] < 0)
        return false;
    pick_scale(run, s);
    s->n[0] = 1 + random_below(&run->random, 2);
    s->n[1] = 1 + random_below(&run->random, 3);
    s->n[2] = random_below(&run->random, 2);
    s->n[3] = random_chance(&run->random, 40) ? random_below(&run->random, 4) : 0;
    return true;
}

static bool fits(struct run *run, const struct statement *s)
{
    return is_plane(run, &run->vars[s->arg[0]]) && has_good_scale(run, s);
}

static int64_t groups_of(const struct statement *s, const struct array *x)
{
    return x->shape[1] % s->n[1] == 0 ? s->n[1] : 1;
}

static ht_conv_options options_of(const struct statement *s, const struct array *x,
                                  const struct windows *w)
{
    ht_conv_options options = ht_conv_options_default();

    for (int i = 0; i < w->axes; i++) {
        options.stride[i] = w->stride[i];
        options.padding[i] = w->padding[i];
        options.dilation[i] = w->dilation[i];
    }
    options.groups = groups_of(s, x);
    options.padding_mode = (ht_pad_mode)s->n[3];
    return options;
}

static ht_tensor *bias_of(struct run *run, const struct statement *s, int64_t channels)
{
    return s->n[2] ? weights(run, s, BIAS, 1, &channels) : NULL;
}

typedef ht_tensor *convolution(ht_tensor *, ht_tensor *, ht_tensor *, const ht_conv_options *);

static struct outcome call_conv(struct run *run, const struct statement *s)
{
    static convolution *const by_axes[] = {ht_conv1d, ht_conv2d_ext, ht_conv3d};
    const struct array *x = array_of(run, s, 0);
    int64_t shape[2 + AXES];
    ht_conv_options options;
    struct windows w;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    w = windows_of(s, x, true);
    options = options_of(s, x, &w);
    shape[0] = s->n[0] * options.groups;
    shape[1] = x->shape[1] / options.groups;
    memcpy(shape + 2, w.kernel, sizeof w.kernel);
    return made(by_axes[w.axes - 1](tensor_of(run, s, 0), weights(run, s, WEIGHT, x->ndim, shape),
                                    bias_of(run, s, shape[0]), &options));
}

/* As window_place, where the padding is by another mode than zeros. */
static int64_t padded_place(const struct windows *w, int64_t j, int64_t k, ht_pad_mode mode)
{
    int64_t of[AXES], in[AXES], place = 0;

    unravel(j, w->axes, w->out, of);
    unravel(k, w->axes, w->kernel, in);
    for (int i = 0; i < w->axes; i++) {
        const int64_t n = w->in[i];
        int64_t at = of[i] * w->stride[i] - w->padding[i] + in[i] * w->dilation[i];

        if ((at < 0 || at >= n) && mode == HT_PAD_CONSTANT)
            return -1;
        if (mode == HT_PAD_CIRCULAR)
            at = (at + n) % n;
        else if (mode == HT_PAD_REPLICATE)
            at = at < 0 ? 0 : at >= n ? n - 1 : at;
        else if (at < 0 || at >= n)
            at = at < 0 ? -at : 2 * (n - 1) - at;
        place = place * n + at;
    }
    return place;
}

static bool can_pad(const struct windows *w, ht_pad_mode mode)
{
    for (int i = 0; i < w->axes; i++) {
        if ((mode == HT_PAD_REFLECT && w->padding[i] > w->in[i] - 1) ||
            (mode == HT_PAD_CIRCULAR && w->padding[i] > w->in[i]))
            return false;
    }
    return true;
}

/* Result (N, channels, places) for windows, channel o of group g: a row of a conv. */
static struct number conv_at(struct run *run, const struct statement *s, const struct windows *w,
                             int64_t n, int64_t o, int64_t j)
{
    const struct array *x = array_of(run, s, 0);
    const int64_t groups = groups_of(s, x), c = x->shape[1] / groups, group = o / s->n[0];
    struct total total = total_new();

    for (int64_t i = 0; i < c * w->size; i++) {
        const int64_t place = padded_place(w, j, i % w->size, (ht_pad_mode)s->n[3]);

        if (place >= 0)
            total_add_product(&total, x->dtype,
                              at_place(x, n * x->shape[1] + group * c + i / w->size, place),
                              weight_at(run, s, WEIGHT, o * c * w->size + i));
    }
    if (s->n[2])
        total_add(&total, x->dtype, weight_at(run, s, BIAS, o));
    return narrow(run, x->dtype, soft_total(x->dtype, &total), 0, 1);
}

static int reference_conv(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[2 + AXES], channels;
    struct windows w;

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    w = windows_of(s, x, true);
    if (!can_pad(&w, (ht_pad_mode)s->n[3]))
        return WANT_FAILURE;
    if (!windows_fit(&w, false))
        return HT_ERR_SHAPE;
    channels = s->n[0] * groups_of(s, x);
    memcpy(shape, x->shape, sizeof shape);
    shape[1] = channels;
    memcpy(shape + 2, w.out, sizeof w.out);
    *out = array_new(x->dtype, x->ndim, shape);
    for (int64_t i = 0; i < array_size(out); i++)
        array_set(
            out, i,
            conv_at(run, s, &w, i / w.places / channels, i / w.places % channels, i % w.places));
    return WANT_SUCCESS;
}

/* --- Transposed: x has the places of windows over the result --- */

static struct windows transposed(const struct statement *s, const struct array *x)
{
    struct windows w = windows_of(s, x, true);

    memcpy(w.out, w.in, sizeof w.out);
    for (int i = 0; i < w.axes; i++) {
        const int64_t more = choice(s, 40 + i,
                                    w.stride[i] > w.dilation[i] ? w.stride[i] : w.dilation[i]);

        w.in[i] = (w.out[i] - 1) * w.stride[i] - 2 * w.padding[i] +
                  w.dilation[i] * (w.kernel[i] - 1) + more + 1;
    }
    w.places = shape_size(w.axes, w.out);
    w.size = shape_size(w.axes, w.kernel);
    return w;
}

static struct outcome call_transpose(struct run *run, const struct statement *s)
{
    static convolution *const by_axes[] = {ht_conv_transpose1d, ht_conv_transpose2d,
                                           ht_conv_transpose3d};
    const struct array *x = array_of(run, s, 0);
    int64_t shape[2 + AXES];
    ht_conv_options options;
    struct windows w;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    w = transposed(s, x);
    options = options_of(s, x, &w);
    options.padding_mode = HT_PAD_CONSTANT;
    for (int i = 0; i < w.axes; i++)
        options.output_padding[i] = choice(
            s, 40 + i, w.stride[i] > w.dilation[i] ? w.stride[i] : w.dilation[i]);
    shape[0] = x->shape[1];
    shape[1] = s->n[0];
    memcpy(shape + 2, w.kernel, sizeof w.kernel);
    return made(by_axes[w.axes - 1](tensor_of(run, s, 0), weights(run, s, WEIGHT, x->ndim, shape),
                                    bias_of(run, s, s->n[0] * options.groups), &options));
}

static int reference_transpose(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[2 + AXES], channels, plane;
    struct total *total;
    struct windows w;

    if (!fits(run, s))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    w = transposed(s, x);
    for (int i = 0; i < w.axes; i++) {
        if (w.in[i] < 1)
            return HT_ERR_SHAPE;
    }
    channels = s->n[0] * groups_of(s, x);
    plane = shape_size(w.axes, w.in);
    memcpy(shape, x->shape, sizeof shape);
    shape[1] = channels;
    memcpy(shape + 2, w.in, sizeof w.in);
    *out = array_new(x->dtype, x->ndim, shape);
    total = malloc(sizeof *total * (size_t)(array_size(out) + 1));
    for (int64_t i = 0; i < array_size(out); i++) {
        total[i] = total_new();
        if (s->n[2])
            total_add(&total[i], x->dtype, weight_at(run, s, BIAS, i / plane % channels));
    }
    for (int64_t i = 0; i < array_size(x) * s->n[0] * w.size; i++) {
        const int64_t k = i % w.size, o = i / w.size % s->n[0], from = i / w.size / s->n[0];
        const int64_t c = from / w.places % x->shape[1], n = from / w.places / x->shape[1];
        const int64_t group = c / (x->shape[1] / groups_of(s, x));
        const int64_t place = window_place(&w, from % w.places, k);

        if (place >= 0)
            total_add_product(&total[(n * channels + group * s->n[0] + o) * plane + place],
                              x->dtype, array_at(x, from),
                              weight_at(run, s, WEIGHT, (c * s->n[0] + o) * w.size + k));
    }
    for (int64_t i = 0; i < array_size(out); i++)
        array_set(out, i, narrow(run, x->dtype, soft_total(x->dtype, &total[i]), 0, 1));
    free(total);
    return WANT_SUCCESS;
}

/* --- Images as columns; columns as images: ht_fold of ht_unfold's result --- */

static bool is_image(struct run *run, const struct variable *x)
{
    return x->a.ndim == 4 && is_plane(run, x);
}

static bool generate_columns(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_image);
    s->n[0] = random_below(&run->random, 2);
    return s->arg[0] >= 0;
}

static struct outcome call_columns(struct run *run, const struct statement *s)
{
    ht_pool_options options;
    struct windows w;
    ht_tensor *y;

    if (!is_image(run, &run->vars[s->arg[0]]))
        return done(HT_SUCCESS);
    w = windows_of(s, array_of(run, s, 0), true);
    pool_options_of(&w, &options);
    y = ht_unfold(tensor_of(run, s, 0), &options);
    return made(s->n[0] && y != NULL ? ht_fold(y, w.in, &options) : ht_copy(y)); /* or a view */
}

static int reference_columns(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[3];
    struct windows w;

    if (!is_image(run, &run->vars[s->arg[0]]))
        return WANT_ANYTHING;
    if (may_refuse(run, s))
        return (int)run->status;
    w = windows_of(s, x, true);
    if (!windows_fit(&w, false))
        return HT_ERR_SHAPE;
    shape[0] = x->shape[0];
    shape[1] = x->shape[1] * w.size;
    shape[2] = w.places;
    *out = s->n[0] ? array_new(x->dtype, 4, x->shape) : array_new(x->dtype, 3, shape);
    for (int64_t i = 0; !s->n[0] && i < array_size(out); i++) {
        const int64_t row = i / w.places, place = window_place(&w, i % w.places, row % w.size);

        array_set(out, i,
                  place < 0 ? exactly(0)
                            : narrow(run, x->dtype, at_place(x, row / w.size, place), 0, 0));
    }
    for (int64_t i = 0; s->n[0] && i < array_size(out); i++) {
        struct total total = total_new();

        for (int64_t k = 0; k < w.places * w.size; k++) {
            if (window_place(&w, k / w.size, k % w.size) == i % (w.in[0] * w.in[1]))
                total_add(&total, x->dtype, array_at(x, i));
        }
        array_set(out, i, narrow(run, x->dtype, soft_total(x->dtype, &total), 0, 1));
    }
    return WANT_SUCCESS;
}

const struct op ops_convolutions[] = {
    {"ht_conv(%t, %t, channels %n, groups %n, bias %n, padding mode %n, seed %x)", 8, generate_conv,
     call_conv, reference_conv, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {"ht_conv_transpose(%t, %t, channels %n, groups %n, bias %n, seed %x)", 8, generate_conv,
     call_transpose, reference_transpose, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {"columns(%t, back %n, seed %x)", 6, generate_columns, call_columns, reference_columns,
     .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {0}};
