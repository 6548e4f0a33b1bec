/* SPDX-License-Identifier: MIT
 *
 * Transposed convolutions: convolutions, by the weight in the other direction, of x with stride - 1
 * zeros between its elements. */
#include "ht/manipulations.h"
#include "nn/functional/window/conv.h"

/* Along an axis: (..., L, ...) to (..., (L - 1) stride + 1, ...). */
static ht_tensor *spread(ht_tensor *x, int axis, int64_t stride)
{
    int64_t shape[HT_MAX_NDIM], widths[2 * HT_MAX_NDIM] = {0, stride - 1}, length;
    int ndim;

    if (x == NULL || stride == 1)
        return x;
    ndim = x->body->ndim;
    length = x->body->shape[axis];
    for (int i = 0; i < ndim; i++)
        shape[i] = i == axis ? length * stride : x->body->shape[i];
    x = ht_pad(ht_expand_dims(x, axis + 1), 2 * (ndim - axis), widths, HT_NUM(0));
    return ht_narrow(ht_reshape(x, ndim, shape), axis, 0, (length - 1) * stride + 1);
}

/* (C, O / groups, k...) to (O, C / groups, k...), each kernel in the other direction. */
static ht_tensor *turn(ht_tensor *weight, int64_t groups)
{
    const int ndim = weight->body->ndim;
    const int64_t *s = weight->body->shape;
    int64_t parted[HT_MAX_NDIM] = {groups, s[0] / groups, s[1]};
    int64_t merged[HT_MAX_NDIM] = {groups * s[1], s[0] / groups};
    int axes[HT_MAX_NDIM];

    for (int i = 2; i < ndim; i++) {
        parted[i + 1] = merged[i] = s[i];
        axes[i - 2] = i;
    }
    weight = ht_transpose(ht_reshape(weight, ndim + 1, parted), 1, 2);
    return ht_flip(ht_reshape(weight, ndim, merged), ndim - 2, axes);
}

static bool check_lengths(const char *what, const ht_body *x, const ht_body *w,
                          const ht_conv_options *o)
{
    for (int i = 0; i < x->ndim - 2; i++) {
        const int64_t length = (x->shape[2 + i] - 1) * o->stride[i] - 2 * o->padding[i] +
                               o->dilation[i] * (w->shape[2 + i] - 1) + o->output_padding[i] + 1;

        if (length > 0 && x->shape[2 + i] > 0 && w->shape[2 + i] > 0)
            continue;
        HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: x is %s, weight is %s: axis %d would have no elements",
                what, ht__shape_str(x->ndim, x->shape), ht__shape_str(w->ndim, w->shape), 2 + i);
        return false;
    }
    return true;
}

static ht_tensor *conv_transpose(const char *what, int spatial, ht_tensor *x, ht_tensor *weight,
                                 ht_tensor *bias, const ht_conv_options *options)
{
    ht_conv_options o = options != NULL ? *options : ht_conv_options_default();
    ht_tensor *in[HT_CONV_OPERANDS] = {x, weight, bias};
    int64_t widths[6];

    if (!ht__conv_prepare(what, spatial, true, in, &o) ||
        !check_lengths(what, in[HT_CONV_X]->body, in[HT_CONV_WEIGHT]->body, &o))
        return NULL;
    for (int i = 0; i < spatial; i++) {
        const int64_t side = o.dilation[i] * (in[HT_CONV_WEIGHT]->body->shape[2 + i] - 1);

        in[HT_CONV_X] = spread(in[HT_CONV_X], 2 + i, o.stride[i]);
        widths[2 * i] = side - o.padding[i];
        widths[2 * i + 1] = side - o.padding[i] + o.output_padding[i];
        o.stride[i] = 1;
        o.padding[i] = 0;
    }
    if (in[HT_CONV_X] == NULL)
        return NULL;
    in[HT_CONV_X] = ht_pad_ext(in[HT_CONV_X], 2 * spatial, widths, HT_PAD_CONSTANT, HT_NUM(0));
    in[HT_CONV_WEIGHT] = turn(in[HT_CONV_WEIGHT], o.groups);
    return ht__convolve(what, in, &o);
}

ht_tensor *ht_conv_transpose1d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                               const ht_conv_options *options)
{
    return conv_transpose("ht_conv_transpose1d", 1, x, weight, bias, options);
}

ht_tensor *ht_conv_transpose2d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                               const ht_conv_options *options)
{
    return conv_transpose("ht_conv_transpose2d", 2, x, weight, bias, options);
}

ht_tensor *ht_conv_transpose3d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                               const ht_conv_options *options)
{
    return conv_transpose("ht_conv_transpose3d", 3, x, weight, bias, options);
}
