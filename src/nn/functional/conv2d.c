/* SPDX-License-Identifier: MIT
 *
 * 2-d convolution: x (N, C, H, W), weight (O, C / groups, kh, kw) to y (N, O, H', W'). x may have
 * either layout; y is channels-last where the backend prefers that, and stays so from layer to
 * layer. Kept for backward: x where the weight needs a gradient, the weight where x does. */
#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "ht/manipulations.h"

#include "nn/functional/functional.h"
#include "nn/functional/window.h"

enum { X, WEIGHT, BIAS, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x", "NCHW", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_IMAGE, HT_CAST_LOW, HT_REQUIRED},
    {"weight", "Oghw", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_REQUIRED},
    {"bias", "O", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_OPTIONAL},
};

ht_conv2d_options ht_conv2d_options_default(void)
{
    return (ht_conv2d_options){.size = sizeof(ht_conv2d_options),
                               .stride = {1, 1},
                               .padding = {0, 0},
                               .dilation = {1, 1},
                               .groups = 1};
}

/* Beside the rules: the channels of both come in as many groups. */
static bool check_groups(const ht_tensor *x, const ht_tensor *weight, int64_t groups)
{
    const ht_body *a = x->body, *w = weight->body;
    const char *xs = ht__shape_str(a->ndim, a->shape), *ws = ht__shape_str(w->ndim, w->shape);

    if (groups < 1 || a->shape[1] % groups != 0 || w->shape[0] % groups != 0) {
        HT_FAIL(a->comm, HT_ERR_SHAPE,
                "ht_conv2d: x is %s, weight is %s: %lld groups do not divide them", xs, ws,
                (long long)groups);
        return false;
    }
    if (a->shape[1] != w->shape[1] * groups) {
        HT_FAIL(a->comm, HT_ERR_SHAPE,
                "ht_conv2d: x is %s, weight is %s: channels %lld and %lld differ", xs, ws,
                (long long)a->shape[1], (long long)(w->shape[1] * groups));
        return false;
    }
    return true;
}

/* All of the job but y's strides. False when the kernel is larger than the padded image. */
static bool fill_job(ht_conv_call *job, const ht_tensor *x, const ht_tensor *weight,
                     const ht_conv2d_options *options)
{
    const ht_body *a = x->body, *w = weight->body;
    ht_window window;

    if (!ht__window_make("ht_conv2d", x, HT_WINDOW_CONVOLUTION, w->shape + 2, options->stride,
                         options->padding, options->dilation, &window))
        return false;
    *job = (ht_conv_call){.call.operands = 4,
                          .n = a->lshape[0],
                          .c = a->shape[1],
                          .o = w->shape[0],
                          .groups = options->groups};
    HT_SET_WINDOW(job, &window);
    ht__image_strides(a, job->x_stride);
    return true;
}

static ht_tensor *grad_x(ht_node *node, const ht_conv_call *job, const ht_tensor *dy,
                         const ht_tensor *weight)
{
    ht_tensor *dx = ht__input_grad("ht_conv2d", node, 0, dy);

    if (dx == NULL || dx->body->lsize == 0)
        return dx;

    ht_conv_call data = *job;
    ht__image_strides(dx->body, data.x_stride);
    data.x = ht__operand_of(dx->body, HT_WRITE);
    data.weight = ht__operand_of(weight->body, HT_READ);
    data.bias.data = NULL;
    data.y = ht__operand_of(dy->body, HT_READ);
    return HT_RUN(dx, HT_KERNEL_CONV_BACKWARD_DATA, &data, "ht_conv2d") == HT_SUCCESS ? dx : NULL;
}

/* Of a split dy, whose parts would lose digits: (N, O, H, W) to (O). */
static ht_tensor *grad_bias_of_split(ht_tensor *dy)
{
    const int64_t channels = dy->body->shape[1];

    return ht_reshape(ht__sum_to("ht_conv2d", dy, HT_SHAPE(channels, 1, 1)), 1, &channels);
}

/* Gradients of weight and bias come from one kernel; the one that is not needed stays NULL. */
static void grad_parameters(ht_node *node, ht_conv_call job, ht_tensor *dy, ht_tensor *x,
                            ht_tensor *grads[])
{
    const bool split = dy->body->split != HT_NONE;
    const ht_dtype dtype = split ? ht__product_dtype(dy->body->dtype) : dy->body->dtype;
    ht_tensor *dw = NULL, *db = NULL;

    if (split && ht_node_needs(node, 2) && (grads[2] = grad_bias_of_split(dy)) == NULL)
        return;
    if (ht_node_needs(node, 1) &&
        (dw = ht__parameter_grad("ht_conv2d", node, 1, dy, dtype)) == NULL)
        return;
    if (!split && ht_node_needs(node, 2) &&
        (db = ht__parameter_grad("ht_conv2d", node, 2, dy, dtype)) == NULL)
        return;
    dy = ht_astype(dy, dtype);
    x = x != NULL ? ht_astype(x, dtype) : NULL;
    if (dy == NULL || (x == NULL && dw != NULL))
        return;

    if (dy->body->lsize == 0) {
        if ((dw != NULL && ht_fill_(dw, 0.0) != HT_SUCCESS) ||
            (db != NULL && ht_fill_(db, 0.0) != HT_SUCCESS))
            return;
    } else if (dw != NULL || db != NULL) {
        job.x = ht__operand_if_any(x, HT_READ);
        job.weight = ht__operand_if_any(dw, HT_WRITE);
        job.bias = ht__operand_if_any(db, HT_WRITE);
        job.y = ht__operand_if_any(dy, HT_READ);
        if (HT_RUN(dy, HT_KERNEL_CONV_BACKWARD_WEIGHT, &job, "ht_conv2d") != HT_SUCCESS)
            return;
    }
    grads[1] = ht__parameter_grad_done("ht_conv2d", dw, dy);
    if (!split)
        grads[2] = db;
}

static void conv2d_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    ht_conv_call job = *(ht_conv_call *)ht_node_context(node, sizeof job);
    ht_tensor *dy = ht__laid_out(grad, HT_LAYOUT_IMAGE), *grads[3] = {NULL, NULL, NULL};
    ht_tensor *saved; /* NULL where it was overwritten: an error */

    if (dy == NULL)
        return;
    ht__image_strides(dy->body, job.y_stride);
    if (ht_node_needs(node, 0) && (saved = ht_node_saved(node, 1)) != NULL)
        grad_inputs[0] = grad_x(node, &job, dy, saved);
    if (!ht_node_needs(node, 1) && !ht_node_needs(node, 2))
        return;
    saved = ht_node_saved(node, 0);
    if (saved == NULL && ht_node_needs(node, 1))
        return;
    grad_parameters(node, job, dy, saved, grads);
    grad_inputs[1] = grads[1];
    if (ht_node_needs(node, 2))
        grad_inputs[2] = grads[2];
}

static ht_tensor *run(ht_conv_call *job, const ht_tensor *x, const ht_tensor *weight,
                      const ht_tensor *bias)
{
    int64_t shape[4] = {x->body->shape[0], job->o, job->out[0], job->out[1]};
    ht_tensor *y = ht__backend_of(x)->prefer_channels_last
                       ? ht__batch_result_channels_last("ht_conv2d", x, x->body->dtype, shape)
                       : ht__batch_result("ht_conv2d", x, x->body->dtype, 4, shape);

    if (y == NULL || y->body->lsize == 0)
        return y;
    ht__image_strides(y->body, job->y_stride);
    job->x = ht__operand_of(x->body, HT_READ);
    job->weight = ht__operand_of(weight->body, HT_READ);
    job->bias = ht__operand_if_any(bias, HT_READ);
    job->y = ht__operand_of(y->body, HT_WRITE);
    return HT_RUN(x, HT_KERNEL_CONV_FORWARD, job, "ht_conv2d") == HT_SUCCESS ? y : NULL;
}

ht_tensor *ht_conv2d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                     const ht_conv2d_options *options)
{
    ht_conv2d_options defaults = ht_conv2d_options_default();
    ht_tensor *in[OPERANDS] = {x, weight, bias}, *y;
    ht_conv_call job;
    ht_node *node;

    options = options != NULL ? options : &defaults;
    if (!HT_PREPARE("ht_conv2d", rules, in) ||
        HT_CHECK_OPTIONS(in[X]->body->comm, "ht_conv2d", options, ht_conv2d_options) !=
            HT_SUCCESS ||
        !check_groups(in[X], in[WEIGHT], options->groups) ||
        !ht__has_kernel("ht_conv2d", in[X], HT_KERNEL_CONV_FORWARD) ||
        !fill_job(&job, in[X], in[WEIGHT], options))
        return NULL;
    y = run(&job, in[X], in[WEIGHT], in[BIAS]);
    if (y == NULL)
        return NULL;

    node = ht_node_new("ht_conv2d", conv2d_backward, in[BIAS] != NULL ? 3 : 2, in);
    if (node == NULL)
        return y;
    *(ht_conv_call *)ht_node_context(node, sizeof job) = job;
    ht_node_save(node, ht_node_needs(node, 1) ? in[X] : NULL);
    ht_node_save(node, ht_node_needs(node, 0) ? in[WEIGHT] : NULL);
    return ht_node_set_output(node, y);
}
