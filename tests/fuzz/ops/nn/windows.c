/* SPDX-License-Identifier: MIT */
#include "fuzz/ops/nn/windows.h"

#include <string.h>

bool is_plane(struct run *run, const struct variable *x)
{
    if (x->a.ndim < 3 || x->a.ndim > 2 + AXES || !is_tame(run, x, 64) || array_size(&x->a) > 130 ||
        x->a.shape[1] == 0)
        return false;
    return shape_size(x->a.ndim - 2, x->a.shape + 2) > 0;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct windows windows_of(const struct statement *s, const struct array *x, bool dilated)
{
    struct windows w = {.axes = x->ndim - 2};

    for (int i = 0; i < w.axes; i++) {
        const int64_t length = x->shape[2 + i];

        w.in[i] = length;
        w.kernel[i] = 1 + choice(s, i, smaller(length, 3));
        w.stride[i] = 1 + choice(s, 10 + i, 3);
        w.padding[i] = choice(s, 20 + i, w.kernel[i] / 2 + 1);
        w.dilation[i] = 1;
        if (dilated && 2 * (w.kernel[i] - 1) < length + 2 * w.padding[i])
            w.dilation[i] += choice(s, 30 + i, 2);
    }
    return w;
}

bool windows_fit(struct windows *w, bool ceil_mode)
{
    w->places = w->size = 1;
    for (int i = 0; i < w->axes; i++) {
        const int64_t room = w->in[i] + 2 * w->padding[i] - w->dilation[i] * (w->kernel[i] - 1) - 1;

        if (room < 0)
            return false;
        w->out[i] = (room + (ceil_mode ? w->stride[i] - 1 : 0)) / w->stride[i] + 1;
        if (ceil_mode && (w->out[i] - 1) * w->stride[i] >= w->in[i] + w->padding[i])
            w->out[i]--;
        w->places *= w->out[i];
        w->size *= w->kernel[i];
    }
    return true;
}

int64_t window_place(const struct windows *w, int64_t j, int64_t k)
{
    int64_t of[AXES], in[AXES], place = 0;

    unravel(j, w->axes, w->out, of);
    unravel(k, w->axes, w->kernel, in);
    for (int i = 0; i < w->axes; i++) {
        const int64_t at = of[i] * w->stride[i] - w->padding[i] + in[i] * w->dilation[i];

        if (at < 0 || at >= w->in[i])
            return -1;
        place = place * w->in[i] + at;
    }
    return place;
}

void pool_options_of(const struct windows *w, ht_pool_options *options)
{
    *options = ht_pool_options_default();
    for (int i = 0; i < w->axes; i++) {
        options->kernel[i] = w->kernel[i];
        options->stride[i] = w->stride[i];
        options->padding[i] = w->padding[i];
        options->dilation[i] = w->dilation[i];
    }
}

struct array planes(const struct array *x, ht_dtype dtype, const int64_t length[])
{
    int64_t shape[2 + AXES];

    memcpy(shape, x->shape, 2 * sizeof *shape);
    memcpy(shape + 2, length, (size_t)(x->ndim - 2) * sizeof *shape);
    return array_new(dtype, x->ndim, shape);
}

struct number at_place(const struct array *x, int64_t plane, int64_t place)
{
    return array_at(x, plane * shape_size(x->ndim - 2, x->shape + 2) + place);
}

/* The first of the largest elements at `count` places of a plane, -1 being no place; -2: it is in
 * doubt. */
static int64_t largest(const struct array *x, int64_t plane, const int64_t place[], int64_t count)
{
    int64_t best = -1;

    for (int64_t k = 0; k < count; k++) {
        struct number a, b;

        if (place[k] < 0)
            continue;
        if (best < 0) {
            best = place[k];
            continue;
        }
        a = at_place(x, plane, place[k]);
        b = at_place(x, plane, best);
        if (a.err + b.err > 0 && fabs(a.re - b.re) <= a.err + b.err)
            return -2;
        best = a.re > b.re ? place[k] : best;
    }
    return best;
}

void put_largest(struct run *run, const struct array *x, struct array *out, int64_t i,
                 int64_t plane, const int64_t place[], int64_t count)
{
    const int64_t best = largest(x, plane, place, count);

    if (best == -2)
        array_set(out, i, number_unknown());
    else if (out->dtype == HT_INT64)
        array_set(out, i, number_int(HT_INT64, best));
    else
        array_set(out, i,
                  best < 0 ? exactly(-INFINITY)
                           : narrow(run, x->dtype, at_place(x, plane, best), 0, 0));
}
