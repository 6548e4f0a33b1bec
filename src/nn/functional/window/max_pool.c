/* SPDX-License-Identifier: MIT
 *
 * Maxima over windows, by the kernel of two axes, and where they stand. Three axes are two passes:
 * over each image, and over the maxima of the images. */
#include <math.h>

#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "nn/functional/max_pool2d.h"
#include "nn/functional/window/places.h"
#include "nn/functional/window/windows.h"

static const ht_axis_windows one_each = {1, 1, 1, 0, 1};

/* The elements behind x and its padding that the last window reaches. */
static int64_t missing(const ht_axis_windows *w, int64_t length)
{
    const int64_t reach = (w->count - 1) * w->stride + (w->kernel - 1) * w->dilation + 1;
    const int64_t behind = reach - length - 2 * w->padding;

    return behind > 0 ? behind : 0;
}

/* Places in rows of `columns`, from those in rows that have `more` elements behind them. */
static ht_tensor *without_columns(ht_tensor *places, int64_t columns, int64_t more)
{
    ht_tensor *rows;

    if (more == 0 || places == NULL)
        return places;
    rows = ht_floordiv(places, ht_scalar((double)(columns + more)));
    return ht_sub(places, ht_mul_scalar(rows, (double)more));
}

/* Maxima along two axes of x (N, C, H, W). places: NULL, or receives where they stand. */
static ht_tensor *maximum(ht_tensor *x, const ht_axis_windows *h, const ht_axis_windows *w,
                          ht_tensor **places)
{
    const ht_axis_windows *both[2] = {h, w};
    int64_t widths[4] = {0}, kernel[2], stride[2], padding[2], dilation[2], columns;
    ht_tensor *y;

    if (x == NULL)
        return NULL;
    columns = x->body->shape[3];
    for (int i = 0; i < 2; i++) {
        const ht_axis_windows *a = both[i];

        kernel[i] = a->kernel;
        stride[i] = a->stride;
        padding[i] = a->padding;
        dilation[i] = a->dilation;
        widths[2 * i + 1] = missing(a, x->body->shape[2 + i]);
    }
    if (widths[1] > 0 || widths[3] > 0)
        x = ht_pad(x, 4, widths, HT_NUM(-INFINITY));
    y = x != NULL ? ht__max_pool2d("ht_max_pool", x, kernel, stride, padding, dilation, places)
                  : NULL;
    if (y != NULL && places != NULL)
        *places = without_columns(ht_astype(*places, HT_INT64), columns, widths[3]);
    return places == NULL || *places != NULL ? y : NULL;
}

static ht_tensor *of_line(ht_tensor *x, const ht_axis_windows w[], ht_tensor **places)
{
    ht_tensor *y = ht__without_base(
        ht_squeeze(maximum(ht_expand_dims(x, 2), &one_each, &w[0], places), 2));

    if (y != NULL && places != NULL)
        *places = ht__without_base(ht_squeeze(*places, 2));
    return places == NULL || *places != NULL ? y : NULL;
}

/* The places of maxima in volumes: `inner` are those in the images, and `outer` those among the
 * maxima (D, count) of the images. */
static ht_tensor *join_places(ht_tensor *inner, ht_tensor *outer, int64_t count, int64_t pixels)
{
    ht_tensor *image = ht_floordiv(outer, ht_scalar((double)count));

    return ht_add(ht__take_places("ht_max_pool", inner, outer),
                  ht_mul_scalar(image, (double)pixels));
}

static ht_tensor *of_volume(ht_tensor *x, const ht_axis_windows w[], ht_tensor **places)
{
    const int64_t n = x->body->shape[0], c = x->body->shape[1], d = x->body->shape[2];
    const int64_t rows = x->body->shape[3], columns = x->body->shape[4];
    const int64_t count = w[1].count * w[2].count;
    const ht_axis_windows each = {count, 1, 1, 0, 1};
    ht_tensor *inner = NULL, *outer = NULL;

    x = maximum(ht_reshape(x, HT_SHAPE(n, c * d, rows, columns)), &w[1], &w[2],
                places != NULL ? &inner : NULL);
    x = maximum(ht_reshape(x, HT_SHAPE(n, c, d, count)), &w[0], &each,
                places != NULL ? &outer : NULL);
    if (x == NULL)
        return NULL;
    if (places != NULL) {
        inner = ht_reshape(inner, HT_SHAPE(n, c, d, count));
        *places = ht__without_base(ht_reshape(join_places(inner, outer, count, rows * columns),
                                              HT_SHAPE(n, c, w[0].count, w[1].count, w[2].count)));
        if (*places == NULL)
            return NULL;
    }
    return ht__without_base(ht_reshape(x, HT_SHAPE(n, c, w[0].count, w[1].count, w[2].count)));
}

static ht_tensor *max_pool(ht_tensor *x, const ht_axis_windows w[], ht_tensor **places)
{
    if (x->body->ndim == 3)
        return of_line(x, w, places);
    return x->body->ndim == 4 ? maximum(x, &w[0], &w[1], places) : of_volume(x, w, places);
}

ht_tensor *ht_max_pool(ht_tensor *x, const ht_pool_options *options)
{
    const ht_pool_options o = options != NULL ? *options : ht_pool_options_default();
    ht_axis_windows w[3];

    return ht__pool_windows("ht_max_pool", &x, &o, 0, w) ? max_pool(x, w, NULL) : NULL;
}

/* Whether window j has an element of an axis of this length. */
static bool has_element(const ht_axis_windows *w, int64_t j, int64_t length)
{
    for (int64_t t = 0; t < w->kernel; t++) {
        const int64_t at = j * w->stride - w->padding + t * w->dilation;

        if (at >= 0 && at < length)
            return true;
    }
    return false;
}

/* A window of padding alone has a maximum, and no place for it. */
static bool check_elements(const char *what, const ht_tensor *x, const ht_axis_windows windows[])
{
    const ht_body *body = x->body;

    for (int i = 2; i < body->ndim; i++) {
        for (int64_t j = 0; j < windows[i - 2].count; j++) {
            if (has_element(&windows[i - 2], j, body->shape[i]))
                continue;
            HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s: window %lld of axis %d is padding only",
                    what, ht__shape_str(body->ndim, body->shape), (long long)j, i);
            return false;
        }
    }
    return true;
}

ht_tensor *ht_max_pool_ext(ht_tensor *x, const ht_pool_options *options, ht_tensor **indices)
{
    static const char what[] = "ht_max_pool_ext";
    const ht_pool_options o = options != NULL ? *options : ht_pool_options_default();
    ht_tensor *places = NULL, *y;
    ht_axis_windows w[3];

    if (!ht__pool_windows(what, &x, &o, 0, w))
        return NULL;
    if (indices == NULL)
        return max_pool(x, w, NULL);
    y = check_elements(what, x, w) ? max_pool(x, w, &places) : NULL;
    if (y != NULL)
        *indices = places;
    return y;
}
