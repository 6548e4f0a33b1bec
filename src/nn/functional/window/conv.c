/* SPDX-License-Identifier: MIT
 *
 * Convolutions over 1 to 3 axes by the one of two. One axis is an image of one row. For three axes,
 * the windows along the first become channels, and each of them a group with the same weight. */
#include "nn/functional/window/conv.h"

#include "ht/arithmetics.h"
#include "ht/functional.h"
#include "ht/manipulations.h"
#include "nn/functional/window.h"

static ht_tensor *convolve_image(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                                 const ht_conv_options *o, int from, int64_t groups)
{
    ht_conv2d_options options = ht_conv2d_options_default();

    for (int i = from < 0 ? 1 : 0; i < 2; i++) {
        options.stride[i] = o->stride[from + i];
        options.padding[i] = o->padding[from + i];
        options.dilation[i] = o->dilation[from + i];
    }
    options.groups = groups;
    return ht_conv2d(x, weight, bias, &options);
}

/* x (N, C, D', kd, H, W) as (N, D' C kd, H, W), channels in groups by D'. */
static ht_tensor *depth_to_channels(ht_tensor *x)
{
    const int64_t *s;

    x = ht_permute(x, HT_AXES(0, 2, 1, 3, 4, 5));
    if (x == NULL)
        return NULL;
    s = x->body->shape;
    return ht_reshape(x, HT_SHAPE(s[0], s[1] * s[2] * s[3], s[4], s[5]));
}

/* The weight (O, C, kd, kh, kw) of an image (O, C kd, kh, kw), `times` behind one another. */
static ht_tensor *repeat_weight(ht_tensor *weight, int64_t times)
{
    const int64_t *s = weight->body->shape, c = s[1] * s[2];

    weight = ht_reshape(weight, HT_SHAPE(s[0], c, s[3], s[4]));
    weight = ht_broadcast_to(weight, HT_SHAPE(times, s[0], c, s[3], s[4]));
    return ht_reshape(weight, HT_SHAPE(times * s[0], c, s[3], s[4]));
}

static ht_tensor *convolve_volume(ht_tensor *const in[], const ht_conv_options *o, int64_t depth)
{
    ht_tensor *x = in[HT_CONV_X], *weight = in[HT_CONV_WEIGHT], *y;
    const ht_axis_windows windows = {depth, weight->body->shape[2], o->stride[0], o->padding[0],
                                     o->dilation[0]};
    const int64_t n = x->body->shape[0], out = weight->body->shape[0];

    y = convolve_image(depth_to_channels(ht__axis_windows(x, 2, &windows, 0)),
                       repeat_weight(weight, depth), NULL, o, 1, depth * o->groups);
    if (y == NULL)
        return NULL;
    y = ht_permute(ht_reshape(y, HT_SHAPE(n, depth, out, y->body->shape[2], y->body->shape[3])),
                   HT_AXES(0, 2, 1, 3, 4));
    if (in[HT_CONV_BIAS] == NULL)
        return y;
    return ht_add(y, ht_reshape(in[HT_CONV_BIAS], HT_SHAPE(out, 1, 1, 1)));
}

ht_tensor *ht__convolve(const char *what, ht_tensor *const in[HT_CONV_OPERANDS],
                        const ht_conv_options *o)
{
    ht_tensor *x = in[HT_CONV_X], *weight = in[HT_CONV_WEIGHT];
    ht_window window;

    if (x == NULL || weight == NULL ||
        !ht__window_make(what, x, HT_WINDOW_CONVOLUTION, weight->body->shape + 2, o->stride,
                         o->padding, o->dilation, &window))
        return NULL;
    if (window.spatial == 3)
        return convolve_volume(in, o, window.out[0]);
    if (window.spatial == 2)
        return convolve_image(x, weight, in[HT_CONV_BIAS], o, 0, o->groups);
    return ht_squeeze(convolve_image(ht_expand_dims(x, 2), ht_expand_dims(weight, 2),
                                     in[HT_CONV_BIAS], o, -1, o->groups),
                      2);
}

static ht_tensor *conv(const char *what, int spatial, ht_tensor *x, ht_tensor *weight,
                       ht_tensor *bias, const ht_conv_options *options)
{
    ht_conv_options o = options != NULL ? *options : ht_conv_options_default();
    ht_tensor *in[HT_CONV_OPERANDS] = {x, weight, bias};

    if (x != NULL && x->body->ndim == 1 + spatial) /* one sample */
        return ht__without_base(ht_squeeze(
            conv(what, spatial, ht__sample_batch(what, "x", x, weight), weight, bias, options), 0));
    if (!ht__conv_prepare(what, spatial, false, in, &o))
        return NULL;
    in[HT_CONV_X] = ht__window_pad(what, in[HT_CONV_X], in[HT_CONV_WEIGHT]->body->shape + 2,
                                   o.dilation, o.padding, o.same, o.padding_mode);
    return ht__without_base(ht__convolve(what, in, &o));
}

ht_tensor *ht_conv1d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                     const ht_conv_options *options)
{
    return conv("ht_conv1d", 1, x, weight, bias, options);
}

ht_tensor *ht_conv2d_ext(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                         const ht_conv_options *options)
{
    return conv("ht_conv2d_ext", 2, x, weight, bias, options);
}

ht_tensor *ht_conv3d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                     const ht_conv_options *options)
{
    return conv("ht_conv3d", 3, x, weight, bias, options);
}
