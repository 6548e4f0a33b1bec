/* SPDX-License-Identifier: MIT
 *
 * Maxima over windows of one size that begin at random steps. The places of all windows' elements
 * are listed, and x is taken there twice: for the largest of each window, and then for the result,
 * with a gradient. Source: Graham, Fractional Max-Pooling (2014). */
#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/kernels/random.h"
#include "ht/manipulations.h"
#include "ht/rounding.h"
#include "ht/statistics.h"
#include "nn/functional/constants.h"
#include "nn/functional/window/places.h"
#include "nn/functional/window/windows.h"

enum { SPATIAL = 3, X = 0, SAMPLES, OPERANDS };

static const char what[] = "ht_fractional_max_pool";

static const ht_operand_rule rules[OPERANDS] = {
    {"x", "NCL*", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_NONE, HT_REQUIRED},
    {"samples", "NCS", HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_NONE, HT_OPTIONAL},
};

/* The windows along each axis behind the channels. */
typedef struct windows {
    int spatial;
    int64_t in[SPATIAL], kernel[SPATIAL], out[SPATIAL];
} windows;

ht_fractional_options ht_fractional_options_default(void)
{
    return (ht_fractional_options){.size = sizeof(ht_fractional_options), .kernel = {1, 1, 1}};
}

static bool find_windows(const ht_body *x, const ht_fractional_options *o, windows *w)
{
    *w = (windows){.spatial = x->ndim - 2};
    if (HT_CHECK_OPTIONS(x->comm, what, o, ht_fractional_options) != HT_SUCCESS)
        return false;
    if (w->spatial > SPATIAL) {
        HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: x is %s, expected 3 to 5 axes", what,
                ht__shape_str(x->ndim, x->shape));
        return false;
    }
    for (int i = 0; i < w->spatial; i++) {
        const bool by_ratio = o->length[i] == 0 && o->ratio[i] > 0 && o->ratio[i] < 1;

        w->in[i] = x->shape[2 + i];
        w->kernel[i] = o->kernel[i];
        w->out[i] = by_ratio ? (int64_t)((double)w->in[i] * o->ratio[i]) : o->length[i];
        if (w->kernel[i] >= 1 && w->out[i] >= 1 && w->kernel[i] <= w->in[i] &&
            w->out[i] - 1 <= w->in[i] - w->kernel[i])
            continue;
        HT_FAIL(x->comm, HT_ERR_SHAPE,
                "%s: x is %s: %lld windows of %lld do not begin at different elements of axis %d",
                what, ht__shape_str(x->ndim, x->shape), (long long)w->out[i],
                (long long)w->kernel[i], 2 + i);
        return false;
    }
    return true;
}

/* Numbers in [0, 1), the same for each dtype and split of x. */
static ht_tensor *draw(const ht_tensor *x, const windows *w, const ht_fractional_options *o)
{
    const int64_t shape[3] = {x->body->shape[0], x->body->shape[1], w->spatial};
    ht_tensor *samples = ht__batch_result(what, x, HT_FLOAT32, 3, shape);

    return samples != NULL && ht__random_fill(what, samples, HT_KERNEL_RANDOM_UNIFORM, o->seed,
                                              o->draw, 0, 1) == HT_SUCCESS
               ? samples
               : NULL;
}

static ht_tensor *given(ht_tensor *samples, const ht_tensor *x, const windows *w)
{
    const ht_body *body = samples->body;

    if (body->shape[2] == w->spatial)
        return ht__match_slabs(what, samples, x->body);
    HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: samples is %s, expected %d number%s for each plane",
            what, ht__shape_str(3, body->shape), w->spatial, w->spatial > 1 ? "s" : "");
    return NULL;
}

/* The axis of the samples for axis i: PyTorch has the width of an image first. */
static int sample_of(int i, int spatial)
{
    return spatial == 2 ? 1 - i : i;
}

/* Where the windows along axis i begin, (N, C, out): floor((j + s) a) - floor(s a), where a is the
 * mean step and s a sample; the last one at in - kernel. */
static ht_tensor *starts(ht_tensor *samples, const windows *w, int i)
{
    const int64_t room = w->in[i] - w->kernel[i], out = w->out[i], shape[3] = {1, 1, out};
    const double step = out > 1 ? (double)room / (double)(out - 1) : 0;
    const int at = sample_of(i, w->spatial);
    double *numbers = ht__alloc((size_t)(2 * out) * sizeof *numbers), *least = numbers + out;
    ht_tensor *s = ht_narrow(samples, 2, at, at + 1), *j, *y;

    for (int64_t k = 0; k < out; k++)
        numbers[k] = (double)k;
    least[out - 1] = (double)room;
    j = ht__constant_numbers(samples, 3, shape, numbers);
    y = ht_sub(ht_floor(ht_mul_scalar(ht_add(j, s), step)), ht_floor(ht_mul_scalar(s, step)));
    y = ht_maximum(y, ht__constant_numbers(samples, 3, shape, least));
    ht__free(numbers);
    return ht_clip(ht_astype(y, HT_INT64), 0, (double)room); /* samples may be anything */
}

/* The places along axis i of the elements of each window: (N, C, ...) with the windows at axis
 * 2 + i, and the elements of a window behind the windows of all axes. */
static ht_tensor *places_along(ht_tensor *samples, const windows *w, int i)
{
    const int ndim = 2 + 2 * w->spatial;
    int64_t shape[2 + 2 * SPATIAL], *numbers;
    ht_tensor *first = starts(samples, w, i), *next;

    if (first == NULL)
        return NULL;
    for (int k = 0; k < ndim; k++)
        shape[k] = k < 2 ? samples->body->shape[k] : k == 2 + i ? w->out[i] : 1;
    first = ht_reshape(first, ndim, shape);
    for (int k = 0; k < ndim; k++)
        shape[k] = k == 2 + w->spatial + i ? w->kernel[i] : 1;
    numbers = ht__alloc((size_t)w->kernel[i] * sizeof *numbers);
    for (int64_t k = 0; k < w->kernel[i]; k++)
        numbers[k] = k;
    next = ht__constant_indices(samples, ndim, shape, numbers);
    ht__free(numbers);
    return ht_add(first, next);
}

/* The places in a plane: (N, C, windows..., kernel...). */
static ht_tensor *all_places(ht_tensor *samples, const windows *w)
{
    ht_tensor *places = places_along(samples, w, 0);

    for (int i = 1; i < w->spatial; i++)
        places = ht_add(ht_mul_scalar(places, (double)w->in[i]), places_along(samples, w, i));
    return places;
}

/* The place of the first largest element of each window: (N, C, windows...). */
static ht_tensor *largest(ht_tensor *x, ht_tensor *samples, const windows *w)
{
    const int64_t n = x->body->shape[0], c = x->body->shape[1];
    ht_tensor *places = all_places(samples, w), *values;
    int64_t shape[2 + SPATIAL] = {n, c}, count = 1, elements = 1;

    for (int i = 0; i < w->spatial; i++) {
        shape[2 + i] = w->out[i];
        count *= w->out[i];
        elements *= w->kernel[i];
    }
    values = ht__take_places(what, x, places);
    values = ht_reshape(values, HT_SHAPE(n, c * count, elements));
    places = ht_reshape(places, HT_SHAPE(n, c * count, elements));
    values = values != NULL ? ht_expand_dims(ht_argmax(values, 2), 2) : NULL;
    places = ht_reshape(ht__take_places(what, places, values), 2 + w->spatial, shape);
    return ht__without_base(places);
}

ht_tensor *ht_fractional_max_pool(ht_tensor *x, ht_tensor *samples,
                                  const ht_fractional_options *options, ht_tensor **indices)
{
    const ht_fractional_options o = options != NULL ? *options : ht_fractional_options_default();
    ht_tensor *in[OPERANDS] = {x, samples}, *places = NULL, *y;
    windows w;
    bool was;

    if (!HT_PREPARE(what, rules, in) || !find_windows(in[X]->body, &o, &w))
        return NULL;
    was = ht_set_grad_enabled(false);
    samples = in[SAMPLES] != NULL ? given(in[SAMPLES], in[X], &w) : draw(in[X], &w, &o);
    samples = ht_astype(samples, in[X]->body->dtype == HT_FLOAT64 ? HT_FLOAT64 : HT_FLOAT32);
    if (samples != NULL)
        places = largest(in[X], samples, &w);
    ht_set_grad_enabled(was);
    y = ht__take_places(what, in[X], places);
    if (y != NULL && indices != NULL)
        *indices = places;
    return y;
}
