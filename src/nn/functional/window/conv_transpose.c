/* SPDX-License-Identifier: MIT
 *
 * Transposed convolutions. For images, forward is the data gradient of a convolution, and backward
 * is a convolution. For volumes, forward is a convolution by the flipped weight, of x with stride -
 * 1 zeros between its elements. */
#include "ht/arithmetics.h"
#include "ht/manipulations.h"
#include "nn/functional/window/conv.h"
#include "nn/functional/window/conv_run.h"

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
        shape[i] = x->body->shape[i];
    x = ht_pad(ht_expand_dims(x, axis + 1), 2 * (ndim - axis), widths, HT_NUM(0));
    if (x == NULL)
        return NULL;
    shape[axis] = length * stride; /* the padded tensor has as many elements */
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

/* The length of the result along axis i; 0 if there is none, or if 64 bits do not hold it. */
static int64_t result_length(const ht_conv_options *o, int i, int64_t x, int64_t kernel)
{
    int64_t reach, side, pad;

    if (x < 1 || kernel < 1 || __builtin_mul_overflow(x - 1, o->stride[i], &reach) ||
        __builtin_mul_overflow(kernel - 1, o->dilation[i], &side) ||
        __builtin_mul_overflow(o->padding[i], 2, &pad) ||
        __builtin_add_overflow(reach, side, &reach) ||
        __builtin_add_overflow(reach, o->output_padding[i], &reach) ||
        reach > INT64_MAX / (int64_t)sizeof(double))
        return 0;
    return reach - pad < 0 ? 0 : reach - pad + 1;
}

static bool check_lengths(const char *what, const ht_body *x, const ht_body *w,
                          const ht_conv_options *o)
{
    for (int i = 0; i < x->ndim - 2; i++) {
        if (result_length(o, i, x->shape[2 + i], w->shape[2 + i]) > 0)
            continue;
        HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: x is %s, weight is %s: axis %d would have no elements",
                what, ht__shape_str(x->ndim, x->shape), ht__shape_str(w->ndim, w->shape), 2 + i);
        return false;
    }
    return true;
}

/* Kept: what the node's name is, and the geometry of the convolution whose data gradient it is. */
struct kept {
    const char *what;
    ht_conv_call job;
};

static ht_tensor *grad_x(ht_node *node, struct kept kept, const ht_tensor *dy,
                         const ht_tensor *weight)
{
    ht_tensor *dx = ht__input_grad(kept.what, node, 0, dy);

    return ht__conv_run(kept.what, HT_KERNEL_CONV_FORWARD, &kept.job,
                        (ht_conv_operands){dy, weight, NULL, dx}) == HT_SUCCESS
               ? dx
               : NULL;
}

static void images_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const struct kept *kept = ht_node_context(node, sizeof *kept);
    ht_tensor *dy = ht__laid_out(g, HT_LAYOUT_IMAGE), *saved;

    if (dy != NULL && ht_node_needs(node, 0) && (saved = ht_node_saved(node, 1)) != NULL)
        gin[0] = grad_x(node, *kept, dy, saved);
    if (dy != NULL && ht_node_needs(node, 1) && (saved = ht_node_saved(node, 0)) != NULL)
        ht__conv_parameter_grads(kept->what, node, kept->job, dy, saved, gin);
}

/* The convolution that makes x of the result. */
static ht_conv_call job_of(const ht_body *x, const ht_body *w, const ht_conv_options *o)
{
    ht_conv_call job = {.call.operands = 4,
                        .spatial = 2,
                        .n = x->lshape[0],
                        .c = w->shape[1] * o->groups,
                        .o = x->shape[1],
                        .groups = o->groups};

    for (int i = 0; i < 2; i++) {
        job.out[i] = x->shape[2 + i];
        job.kernel[i] = w->shape[2 + i];
        job.stride[i] = o->stride[i];
        job.padding[i] = o->padding[i];
        job.dilation[i] = o->dilation[i];
        job.in[i] = result_length(o, i, job.out[i], job.kernel[i]);
    }
    return job;
}

static ht_tensor *transpose_images(const char *what, ht_tensor *x, ht_tensor *weight,
                                   const ht_conv_options *o)
{
    ht_tensor *in[] = {ht__laid_out(x, HT_LAYOUT_IMAGE), ht__laid_out(weight, HT_LAYOUT_ROWS)}, *y;
    ht_node *node;
    struct kept kept = {.what = what};

    if (in[0] == NULL || in[1] == NULL || !ht__has_kernel(what, x, HT_KERNEL_CONV_BACKWARD_DATA))
        return NULL;
    kept.job = job_of(in[0]->body, in[1]->body, o);
    y = ht__conv_result(what, in[0], kept.job.c, kept.job.in);
    if (y == NULL || ht__conv_run(what, HT_KERNEL_CONV_BACKWARD_DATA, &kept.job,
                                  (ht_conv_operands){y, in[1], NULL, in[0]}) != HT_SUCCESS)
        return NULL;
    node = ht_node_new(what, images_backward, 2, in);
    if (node == NULL)
        return y;
    *(struct kept *)ht_node_context(node, sizeof kept) = kept;
    ht_node_save(node, ht_node_needs(node, 1) ? in[0] : NULL);
    ht_node_save(node, ht_node_needs(node, 0) ? in[1] : NULL);
    return ht_node_set_output(node, y);
}

/* A line is an image of one row. */
static ht_tensor *transpose_lines(const char *what, ht_tensor *x, ht_tensor *weight,
                                  const ht_conv_options *o)
{
    ht_conv_options image = *o;

    image.stride[1] = o->stride[0];
    image.padding[1] = o->padding[0];
    image.dilation[1] = o->dilation[0];
    image.output_padding[1] = o->output_padding[0];
    image.stride[0] = image.dilation[0] = 1;
    image.padding[0] = image.output_padding[0] = 0;
    x = ht_expand_dims(x, 2);
    weight = ht_expand_dims(weight, 2);
    if (x == NULL || weight == NULL)
        return NULL;
    return ht_squeeze(transpose_images(what, x, weight, &image), 2);
}

static ht_tensor *transpose_volumes(const char *what, ht_tensor *in[HT_CONV_OPERANDS],
                                    const ht_conv_options *options)
{
    ht_conv_options o = *options;
    int64_t widths[6], added[6];

    for (int i = 0; i < 3; i++) {
        const int64_t side = o.dilation[i] * (in[HT_CONV_WEIGHT]->body->shape[2 + i] - 1);

        in[HT_CONV_X] = spread(in[HT_CONV_X], 2 + i, o.stride[i]);
        widths[2 * i] = side - o.padding[i];
        widths[2 * i + 1] = side - o.padding[i] + o.output_padding[i];
        o.stride[i] = 1;
        o.padding[i] = 0;
    }
    if (in[HT_CONV_X] == NULL)
        return NULL;
    for (int i = 0; i < 6; i++) { /* zeros first: more than x may be cut off */
        added[i] = widths[i] > 0 ? widths[i] : 0;
        widths[i] -= added[i];
    }
    in[HT_CONV_X] = ht_pad_ext(in[HT_CONV_X], 6, added, HT_PAD_CONSTANT, HT_NUM(0));
    if (in[HT_CONV_X] == NULL)
        return NULL;
    in[HT_CONV_X] = ht_pad_ext(in[HT_CONV_X], 6, widths, HT_PAD_CONSTANT, HT_NUM(0));
    in[HT_CONV_WEIGHT] = turn(in[HT_CONV_WEIGHT], o.groups);
    return ht__convolve(what, in, &o);
}

static ht_tensor *conv_transpose(const char *what, int spatial, ht_tensor *x, ht_tensor *weight,
                                 ht_tensor *bias, const ht_conv_options *options)
{
    const ht_conv_options o = options != NULL ? *options : ht_conv_options_default();
    ht_tensor *in[HT_CONV_OPERANDS] = {x, weight, bias}, *y;

    if (x != NULL && x->body->ndim == 1 + spatial) { /* one sample */
        x = ht__sample_batch(what, "x", x, weight);
        return ht__without_base(
            ht_squeeze(conv_transpose(what, spatial, x, weight, bias, options), 0));
    }
    if (!ht__conv_prepare(what, spatial, true, in, &o) ||
        !check_lengths(what, in[HT_CONV_X]->body, in[HT_CONV_WEIGHT]->body, &o))
        return NULL;
    bias = in[HT_CONV_BIAS];
    if (spatial == 3)
        return ht__without_base(transpose_volumes(what, in, &o));
    y = spatial == 1 ? transpose_lines(what, in[HT_CONV_X], in[HT_CONV_WEIGHT], &o)
                     : transpose_images(what, in[HT_CONV_X], in[HT_CONV_WEIGHT], &o);
    if (y == NULL || bias == NULL)
        return ht__without_base(y);
    return ht_add(y, ht_reshape(bias, 1 + spatial, (int64_t[]){bias->body->shape[0], 1, 1}));
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
