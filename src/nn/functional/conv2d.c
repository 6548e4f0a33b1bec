/* SPDX-License-Identifier: MIT
 *
 * 2-d convolution: x (N, C, H, W), weight (O, C / groups, kh, kw) to y (N, O, H', W'). x may have
 * either layout; y is channels-last where the backend prefers that, and stays so from layer to
 * layer. Kept for backward: x where the weight needs a gradient, the weight where x does. */
#include "ht/manipulations.h"

#include "nn/functional/functional.h"

ht_conv2d_options ht_conv2d_options_default(void)
{
    return (ht_conv2d_options){.size = sizeof(ht_conv2d_options),
                               .stride = {1, 1},
                               .padding = {0, 0},
                               .dilation = {1, 1},
                               .groups = 1};
}

static bool check_options(const ht_tensor *x, const ht_conv2d_options *options)
{
    if (HT_CHECK_OPTIONS(x->body->comm, "ht_conv2d", options, ht_conv2d_options) != HT_SUCCESS)
        return false;
    for (int i = 0; i < 2; i++) {
        if (options->stride[i] >= 1 && options->padding[i] >= 0 && options->dilation[i] >= 1)
            continue;
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "ht_conv2d: stride %lld, padding %lld, dilation %lld: at least 1, 0 and 1 needed",
                (long long)options->stride[i], (long long)options->padding[i],
                (long long)options->dilation[i]);
        return false;
    }
    return true;
}

static bool check_shapes(const ht_tensor *x, const ht_tensor *weight, const ht_tensor *bias,
                         int64_t groups)
{
    const ht_body *a = x->body, *w = weight->body;
    const char *xs = ht__shape_str(a->ndim, a->shape), *ws = ht__shape_str(w->ndim, w->shape);

    if (w->ndim != 4) {
        HT_FAIL(a->comm, HT_ERR_SHAPE, "ht_conv2d: weight is %s, (O, C / groups, kh, kw) is needed",
                ws);
        return false;
    }
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
    if (bias != NULL && (bias->body->ndim != 1 || bias->body->shape[0] != w->shape[0])) {
        HT_FAIL(a->comm, HT_ERR_SHAPE, "ht_conv2d: weight is %s, bias is %s: (O) needed", ws,
                ht__shape_str(bias->body->ndim, bias->body->shape));
        return false;
    }
    return true;
}

/* All of the job but y's strides. False when the kernel is larger than the padded image. */
static bool fill_job(ht_conv *job, const ht_tensor *x, const ht_tensor *weight,
                     const ht_conv2d_options *options)
{
    const ht_body *a = x->body, *w = weight->body;

    *job = (ht_conv){.dtype = a->dtype,
                     .n = a->lshape[0],
                     .c = a->shape[1],
                     .o = w->shape[0],
                     .groups = options->groups};
    for (int i = 0; i < 2; i++) {
        int64_t in = a->shape[2 + i], kernel = w->shape[2 + i];
        int64_t out = ht__window_count(in, kernel, options->stride[i], options->padding[i],
                                       options->dilation[i]);

        if (out == 0) {
            HT_FAIL(a->comm, HT_ERR_SHAPE,
                    "ht_conv2d: x is %s, weight is %s: the kernel does not fit",
                    ht__shape_str(a->ndim, a->shape), ht__shape_str(w->ndim, w->shape));
            return false;
        }
        job->in[i] = in;
        job->kernel[i] = kernel;
        job->stride[i] = options->stride[i];
        job->padding[i] = options->padding[i];
        job->dilation[i] = kernel > 1 ? options->dilation[i] : 1;
        job->out[i] = out;
    }
    ht__image_strides(a, job->x_stride);
    return true;
}

/* x in one of the two layouts that kernels take, copied only when it has neither. */
static ht_tensor *in_image_layout(ht_tensor *x)
{
    if (x == NULL || ht__body_is_contiguous(x->body) || ht__body_is_channels_last(x->body))
        return x;
    return ht__backend_of(x)->prefer_channels_last ? ht_channels_last(x) : ht_contiguous(x);
}

static ht_tensor *grad_x(ht_node *node, const ht_conv *job, const ht_tensor *dy,
                         const ht_tensor *weight)
{
    ht_tensor *dx = ht__input_grad("ht_conv2d", node, 0, dy);

    if (dx == NULL || dx->body->lsize == 0)
        return dx;

    ht_conv data = *job;
    ht__image_strides(dx->body, data.x_stride);
    if (ht__backend_of(dy)->kernels.conv_backward_data(
            ht__stream_of(dy), &data, ht__body_data(dy->body), ht__body_data(weight->body),
            ht__body_data(dx->body)) != 0) {
        ht__kernel_failed(dy->body->comm, "ht_conv2d");
        return NULL;
    }
    return dx;
}

/* Of a split dy, whose parts would lose digits: (N, O, H, W) to (O). */
static ht_tensor *grad_bias_of_split(ht_tensor *dy)
{
    const int64_t channels = dy->body->shape[1];

    return ht_reshape(ht__sum_to("ht_conv2d", dy, 3, (int64_t[]){channels, 1, 1}), 1, &channels);
}

/* Gradients of weight and bias come from one kernel; the one that is not needed stays NULL. */
static void grad_parameters(ht_node *node, ht_conv job, ht_tensor *dy, ht_tensor *x,
                            ht_tensor *grads[])
{
    const bool split = dy->body->split != HT_NONE;
    ht_tensor *dw = NULL, *db = NULL;

    job.dtype = split ? ht__product_dtype(job.dtype) : job.dtype;
    if (split && ht_node_needs(node, 2) && (grads[2] = grad_bias_of_split(dy)) == NULL)
        return;
    if (ht_node_needs(node, 1) &&
        (dw = ht__parameter_grad("ht_conv2d", node, 1, dy, job.dtype)) == NULL)
        return;
    if (!split && ht_node_needs(node, 2) &&
        (db = ht__parameter_grad("ht_conv2d", node, 2, dy, job.dtype)) == NULL)
        return;
    dy = ht_astype(dy, job.dtype);
    x = x != NULL ? ht_astype(x, job.dtype) : NULL;
    if (dy == NULL || (x == NULL && dw != NULL))
        return;

    if (dy->body->lsize == 0) {
        if ((dw != NULL && ht_fill_(dw, 0.0) != HT_SUCCESS) ||
            (db != NULL && ht_fill_(db, 0.0) != HT_SUCCESS))
            return;
    } else if ((dw != NULL || db != NULL) &&
               ht__backend_of(dy)->kernels.conv_backward_weight(
                   ht__stream_of(dy), &job, x != NULL ? ht__body_data(x->body) : NULL,
                   ht__body_data(dy->body), dw != NULL ? ht__body_data(dw->body) : NULL,
                   db != NULL ? ht__body_data(db->body) : NULL) != 0) {
        ht__kernel_failed(dy->body->comm, "ht_conv2d");
        return;
    }
    grads[1] = ht__parameter_grad_done("ht_conv2d", dw, dy);
    if (!split)
        grads[2] = db;
}

static void conv2d_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    ht_conv job = *(ht_conv *)ht_node_context(node, sizeof job);
    ht_tensor *dy = in_image_layout(grad), *grads[3] = {NULL, NULL, NULL};
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

static bool has_kernels(const ht_tensor *x)
{
    const ht_kernels *kernels = &ht__backend_of(x)->kernels;

    if (kernels->conv_forward != NULL && kernels->conv_backward_data != NULL &&
        kernels->conv_backward_weight != NULL)
        return true;
    ht__kernel_missing("ht_conv2d", x);
    return false;
}

static ht_tensor *run(ht_conv *job, const ht_tensor *x, const ht_tensor *weight,
                      const ht_tensor *bias)
{
    int64_t shape[4] = {x->body->shape[0], job->o, job->out[0], job->out[1]};
    ht_tensor *y = ht__backend_of(x)->prefer_channels_last
                       ? ht__batch_result_channels_last("ht_conv2d", x, job->dtype, shape)
                       : ht__batch_result("ht_conv2d", x, job->dtype, 4, shape);

    if (y == NULL || y->body->lsize == 0)
        return y;
    ht__image_strides(y->body, job->y_stride);
    if (ht__backend_of(x)->kernels.conv_forward(
            ht__stream_of(x), job, ht__body_data(x->body), ht__body_data(weight->body),
            bias != NULL ? ht__body_data(bias->body) : NULL, ht__body_data(y->body)) != 0) {
        ht__kernel_failed(x->body->comm, "ht_conv2d");
        return NULL;
    }
    return y;
}

ht_tensor *ht_conv2d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                     const ht_conv2d_options *options)
{
    ht_conv2d_options defaults = ht_conv2d_options_default();
    ht_conv job;
    ht_tensor *y;
    ht_node *node;

    if (HT_IS_NULL(x, "ht_conv2d", "x") || HT_IS_NULL(weight, "ht_conv2d", "weight"))
        return NULL;
    options = options != NULL ? options : &defaults;
    if (!ht__check_batch("ht_conv2d", "x", x, 4) || !check_options(x, options) ||
        !ht__check_parameter("ht_conv2d", "weight", weight, x) ||
        (bias != NULL && !ht__check_parameter("ht_conv2d", "bias", bias, x)) ||
        !check_shapes(x, weight, bias, options->groups) || !has_kernels(x))
        return NULL;

    x = in_image_layout(x);
    weight = ht_contiguous(weight);
    if (x == NULL || weight == NULL || !ht__dense_if_any(&bias) ||
        !fill_job(&job, x, weight, options))
        return NULL;
    y = run(&job, x, weight, bias);
    if (y == NULL)
        return NULL;

    node = ht_node_new("ht_conv2d", conv2d_backward, bias != NULL ? 3 : 2,
                       (ht_tensor *[]){x, weight, bias});
    if (node == NULL)
        return y;
    *(ht_conv *)ht_node_context(node, sizeof job) = job;
    ht_node_save(node, ht_node_needs(node, 1) ? x : NULL);
    ht_node_save(node, ht_node_needs(node, 0) ? weight : NULL);
    return ht_node_set_output(node, y);
}
