/* SPDX-License-Identifier: MIT
 *
 * Windows along one axis, taken by index from x and its padding. */
#include "nn/functional/window/windows.h"

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "nn/functional/window.h"

enum { SPATIAL = 3 };

static const ht_operand_rule rules[] = {
    {"x", "NCL*", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
};

ht_pool_options ht_pool_options_default(void)
{
    return (ht_pool_options){.size = sizeof(ht_pool_options),
                             .kernel = {1, 1, 1},
                             .dilation = {1, 1, 1},
                             .count_include_pad = true};
}

/* Windows that lie side by side, and are all of x: no element is moved. */
static bool tile(const ht_body *x, int axis, const ht_axis_windows *w)
{
    return w->padding == 0 && w->dilation == 1 && w->stride == w->kernel &&
           w->count * w->kernel == x->shape[axis] && x->ndim < HT_MAX_NDIM;
}

static ht_tensor *split_axis(ht_tensor *x, int axis, const ht_axis_windows *w)
{
    const int ndim = x->body->ndim;
    int64_t shape[HT_MAX_NDIM];

    for (int i = 0; i < ndim; i++)
        shape[i < axis ? i : i + 1] = x->body->shape[i];
    shape[axis] = w->count;
    shape[axis + 1] = w->kernel;
    return ht_reshape(x, ndim + 1, shape);
}

/* 0, step, ..., (count - 1) step, like x. */
static ht_tensor *multiples(const ht_tensor *x, int64_t count, int64_t step)
{
    return ht_arange_ext(HT_NUM(0), HT_NUM((count - 1) * step + 1), HT_NUM(step), HT_INT64, HT_NONE,
                         x->body->storage->device, x->body->comm);
}

ht_tensor *ht__window_indices(const ht_tensor *x, const ht_axis_windows *w)
{
    ht_tensor *begins = ht_reshape(multiples(x, w->count, w->stride), HT_SHAPE(w->count, 1));

    return ht_add(begins, multiples(x, w->kernel, w->dilation));
}

ht_tensor *ht__axis_windows(ht_tensor *x, int axis, const ht_axis_windows *w, double fill)
{
    const int64_t shape[2] = {w->count, w->kernel};
    const int64_t reach = (w->count - 1) * w->stride + (w->kernel - 1) * w->dilation + 1;
    int64_t widths[2 * HT_MAX_NDIM] = {0}, behind;
    int whole = HT_NONE;

    if (x == NULL)
        return NULL;
    if (tile(x->body, axis, w))
        return split_axis(x, axis, w);
    behind = reach - w->padding - x->body->shape[axis];
    widths[0] = w->padding;
    widths[1] = behind > 0 ? behind : 0;
    if (widths[0] > 0 || widths[1] > 0)
        x = ht_pad(x, 2 * (x->body->ndim - axis), widths, HT_NUM(fill));
    if (x == NULL || !ht__check_shape("ht_take", x->body->comm, 2, shape, &whole))
        return NULL;
    return ht_take(x, ht__window_indices(x, w), axis);
}

bool ht__pool_windows(const char *what, ht_tensor **x, const ht_pool_options *options,
                      int64_t usual, ht_axis_windows windows[3])
{
    const ht_window_use use = usual != 0           ? HT_WINDOW_COLUMNS
                              : options->ceil_mode ? HT_WINDOW_POOLING_CEIL
                                                   : HT_WINDOW_POOLING;
    ht_window window;
    int64_t stride[SPATIAL];

    if (!HT_PREPARE(what, rules, x) ||
        HT_CHECK_OPTIONS((*x)->body->comm, what, options, ht_pool_options) != HT_SUCCESS)
        return false;
    if ((*x)->body->ndim > 2 + SPATIAL) {
        HT_FAIL((*x)->body->comm, HT_ERR_SHAPE, "%s: x is %s, expected 3 to 5 axes", what,
                ht__shape_str((*x)->body->ndim, (*x)->body->shape));
        return false;
    }
    for (int i = 0; i < SPATIAL; i++)
        stride[i] = options->stride[i] != 0 ? options->stride[i]
                    : usual != 0            ? usual
                                            : options->kernel[i];
    if (!ht__window_make(what, *x, use, options->kernel, stride, options->padding,
                         options->dilation, &window))
        return false;
    for (int i = 0; i < window.spatial; i++)
        windows[i] = (ht_axis_windows){window.out[i], window.kernel[i], window.stride[i],
                                       window.padding[i], window.dilation[i]};
    return true;
}
