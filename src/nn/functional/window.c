/* SPDX-License-Identifier: MIT
 *
 * The geometry of windows, checked once for convolution and pooling. */
#include "nn/functional/window.h"

/* How many windows begin at every `stride`-th of `in` elements; 0 where none fits, or 64 bits do
 * not hold how far it reaches. ceil: and one more that ends outside, unless it begins in the padding
 * behind the elements. */
static int64_t count(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                     bool ceil)
{
    int64_t reach, room, windows;

    if (kernel < 1 || __builtin_mul_overflow(kernel - 1, dilation, &reach) ||
        __builtin_mul_overflow(padding, 2, &room) || __builtin_add_overflow(room, in, &room) ||
        room <= (ceil ? reach - stride + 1 : reach))
        return 0;
    room = room - reach - 1;
    windows = room / stride + 1;
    if (ceil && room % stride > 0 && windows <= (in + padding - 1) / stride)
        windows++;
    return windows;
}

static bool at_least(const char *what, const ht_tensor *x, const char *name, const int64_t values[],
                     int64_t least)
{
    const int spatial = x->body->ndim - 2;

    for (int i = 0; i < spatial; i++) {
        if (values[i] >= least)
            continue;
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: %s is %s, expected at least %lld", what, name,
                ht__shape_str(spatial, values), (long long)least);
        return false;
    }
    return true;
}

static bool at_most_half(const char *what, const ht_tensor *x, const int64_t padding[],
                         const int64_t kernel[])
{
    const int spatial = x->body->ndim - 2;

    for (int i = 0; i < spatial; i++) {
        if (padding[i] <= kernel[i] / 2)
            continue;
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "%s: padding is %s, expected at most half the kernel %s", what,
                ht__shape_str(spatial, padding), ht__shape_str(spatial, kernel));
        return false;
    }
    return true;
}

bool ht__has_channels(const char *what, const ht_tensor *x)
{
    const ht_body *body = x->body;

    if (body->shape[1] > 0)
        return true;
    HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s, expected at least one channel", what,
            ht__shape_str(body->ndim, body->shape));
    return false;
}

bool ht__window_make(const char *what, const ht_tensor *x, ht_window_use use,
                     const int64_t kernel[], const int64_t stride[], const int64_t padding[],
                     const int64_t dilation[], ht_window *window)
{
    const ht_body *body = x->body;

    *window = (ht_window){.spatial = body->ndim - 2};
    if (use != HT_WINDOW_CONVOLUTION && !at_least(what, x, "kernel", kernel, 1))
        return false;
    if (!at_least(what, x, "stride", stride, 1) || !at_least(what, x, "padding", padding, 0) ||
        !at_least(what, x, "dilation", dilation, 1))
        return false;
    if ((use == HT_WINDOW_POOLING || use == HT_WINDOW_POOLING_CEIL) &&
        (!ht__has_channels(what, x) || !at_most_half(what, x, padding, kernel)))
        return false;
    for (int i = 0; i < window->spatial; i++) {
        window->in[i] = body->shape[2 + i];
        window->kernel[i] = kernel[i];
        window->stride[i] = stride[i];
        window->padding[i] = padding[i];
        window->dilation[i] = kernel[i] > 1 ? dilation[i] : 1;
        window->out[i] = count(window->in[i], kernel[i], stride[i], padding[i], dilation[i],
                               use == HT_WINDOW_POOLING_CEIL);
        if (window->out[i] > 0)
            continue;
        HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s: a window of %s does not fit", what,
                ht__shape_str(body->ndim, body->shape), ht__shape_str(window->spatial, kernel));
        return false;
    }
    return true;
}

ht_tensor *ht__window_pad(const char *what, ht_tensor *x, const int64_t kernel[],
                          const int64_t dilation[], int64_t padding[], bool same, ht_pad_mode mode)
{
    const int spatial = x->body->ndim - 2;
    int64_t widths[2 * HT_SPATIAL];
    bool even = true;

    for (int i = 0; i < spatial; i++) {
        const int64_t total = same ? dilation[i] * (kernel[i] - 1) : 2 * padding[i];

        widths[2 * i] = total / 2;
        widths[2 * i + 1] = total - total / 2;
        even = even && total % 2 == 0;
    }
    for (int i = 0; i < spatial; i++)
        padding[i] = even && mode == HT_PAD_CONSTANT ? widths[2 * i] : 0;
    if (even && mode == HT_PAD_CONSTANT)
        return x;
    HT_NAMED(what);
    return ht_pad_ext(x, 2 * spatial, widths, mode, HT_NUM(0));
}
