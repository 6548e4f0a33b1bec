/* SPDX-License-Identifier: MIT
 *
 * 2-d convolution: x (N, C, H, W), weight (O, C / groups, kh, kw) to y (N, O, H', W'). x may have
 * either layout; y is channels-last where the backend prefers that, and stays so from layer to
 * layer. Kept for backward: x where the weight needs a gradient, the weight where x does. */
#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "ht/manipulations.h"

#include "nn/functional/window.h"
#include "nn/functional/window/conv_run.h"

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

/* In addition to the rules: the channels of both divide into the groups. */
static bool check_groups(const ht_tensor *x, const ht_tensor *weight, int64_t groups)
{
    const ht_body *a = x->body, *w = weight->body;
    const char *xs = ht__shape_str(a->ndim, a->shape), *ws = ht__shape_str(w->ndim, w->shape);

    if (groups < 1 || groups > (w->shape[0] > 0 ? w->shape[0] : 1) || a->shape[1] % groups != 0 ||
        w->shape[0] % groups != 0) {
        HT_FAIL(a->comm, HT_ERR_SHAPE,
                "ht_conv2d: x is %s, weight is %s: %lld groups do not divide the channels", xs, ws,
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

/* Pads x, or sets the padding; a dilation below 1 is refused later. */
static bool keep_lengths(ht_tensor *in[], ht_conv2d_options *o)
{
    if (o->stride[0] != 1 || o->stride[1] != 1) {
        HT_FAIL(in[X]->body->comm, HT_ERR_ARGUMENT,
                "ht_conv2d: stride is not 1, expected 1 with options.same");
        return false;
    }
    if (o->dilation[0] >= 1 && o->dilation[1] >= 1)
        in[X] = ht__window_pad("ht_conv2d", in[X], in[WEIGHT]->body->shape + 2, o->dilation,
                               o->padding, true, HT_PAD_CONSTANT);
    return in[X] != NULL;
}

/* All of the job but operands and strides. False when the kernel is larger than the padded image. */
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
    return true;
}

static ht_tensor *grad_x(ht_node *node, ht_conv_call job, const ht_tensor *dy,
                         const ht_tensor *weight)
{
    ht_tensor *dx = ht__input_grad("ht_conv2d", node, 0, dy);

    return ht__conv_run("ht_conv2d", HT_KERNEL_CONV_BACKWARD_DATA, &job,
                        (ht_conv_operands){dx, weight, NULL, dy}) == HT_SUCCESS
               ? dx
               : NULL;
}

static void conv2d_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_conv_call job = *(ht_conv_call *)ht_node_context(node, sizeof job);
    ht_tensor *dy = ht__laid_out(g, HT_LAYOUT_IMAGE), *grads[3] = {NULL, NULL, NULL};
    ht_tensor *saved; /* NULL where it was overwritten: an error */

    if (dy == NULL)
        return;
    if (ht_node_needs(node, 0) && (saved = ht_node_saved(node, 1)) != NULL)
        gin[0] = grad_x(node, job, dy, saved);
    if (!ht_node_needs(node, 1) && !ht_node_needs(node, 2))
        return;
    saved = ht_node_saved(node, 0);
    if (saved == NULL && ht_node_needs(node, 1))
        return;
    ht__conv_parameter_grads("ht_conv2d", node, job, saved, dy, grads);
    gin[1] = grads[1];
    if (ht_node_needs(node, 2))
        gin[2] = grads[2];
}

static ht_tensor *run(ht_conv_call *job, const ht_tensor *x, const ht_tensor *weight,
                      const ht_tensor *bias)
{
    ht_tensor *y = ht__conv_result("ht_conv2d", x, job->o, job->out);

    return ht__conv_run("ht_conv2d", HT_KERNEL_CONV_FORWARD, job,
                        (ht_conv_operands){x, weight, bias, y}) == HT_SUCCESS
               ? y
               : NULL;
}

ht_tensor *ht_conv2d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                     const ht_conv2d_options *options)
{
    ht_conv2d_options o = options != NULL ? *options : ht_conv2d_options_default();
    ht_tensor *in[OPERANDS] = {x, weight, bias}, *y;
    ht_conv_call job;
    ht_node *node;

    if (x != NULL && x->body->ndim == 3) /* one sample */
        return ht_squeeze(
            ht_conv2d(ht__sample_batch("ht_conv2d", "x", x, weight), weight, bias, options), 0);
    if (!HT_PREPARE("ht_conv2d", rules, in) ||
        HT_CHECK_OPTIONS(in[X]->body->comm, "ht_conv2d", &o, ht_conv2d_options) != HT_SUCCESS ||
        !check_groups(in[X], in[WEIGHT], o.groups) ||
        !ht__has_kernel("ht_conv2d", in[X], HT_KERNEL_CONV_FORWARD) ||
        (o.same && !keep_lengths(in, &o)) || !fill_job(&job, in[X], in[WEIGHT], &o))
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
