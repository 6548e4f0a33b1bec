/* SPDX-License-Identifier: MIT
 *
 * Maximum over windows: x (N, C, H, W) to y (N, C, H', W') in x's layout. Kept for backward: where
 * in its image each maximum stood, as int32, in y's layout. */
#include "nn/functional/max_pool2d.h"

#include "nn/functional/functional.h"
#include "nn/functional/window.h"

static const ht_operand_rule rules[] = {
    {"x", "NCHW", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_DENSE, HT_CAST_NONE, HT_REQUIRED},
};

/* The index of a pixel is an int32. */
static bool check_pixels(const char *what, const ht_tensor *x)
{
    const ht_body *body = x->body;

    if (body->shape[3] == 0 || body->shape[2] <= INT32_MAX / body->shape[3])
        return true;
    HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s, expected images of at most 2^31 - 1 pixels",
            what, ht__shape_str(4, body->shape));
    return false;
}

static void max_pool2d_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_pool_call job = *(ht_pool_call *)ht_node_context(node, sizeof job);
    ht_tensor *index = ht_node_saved(node, 0), *dy, *dx;

    if (index == NULL)
        return;
    /* The kernel walks dy and the index together: the same layout. */
    dy = ht__body_is_contiguous(index->body) ? ht_contiguous(g) : ht_channels_last(g);
    if (dy == NULL)
        return;
    dx = ht__input_grad("ht_max_pool2d", node, 0, dy);
    if (dx == NULL)
        return;
    ht__image_strides(dx->body, job.x_stride);
    ht__image_strides(index->body, job.y_stride);
    job.x = ht__operand_of(dx->body, HT_WRITE);
    job.y = ht__operand_of(dy->body, HT_READ);
    job.index = ht__operand_of(index->body, HT_READ);
    if (dx->body->lsize > 0 &&
        HT_RUN(dx, HT_KERNEL_MAX_POOL_BACKWARD, &job, "ht_max_pool2d") != HT_SUCCESS)
        return;
    gin[0] = dx;
}

static ht_pool_call make_job(const ht_tensor *x, const ht_window *window)
{
    ht_pool_call job = {.call.operands = 3, .n = x->body->lshape[0], .c = x->body->shape[1]};

    HT_SET_WINDOW(&job, window);
    ht__image_strides(x->body, job.x_stride);
    return job;
}

static ht_tensor *result(const char *what, const ht_tensor *x, ht_dtype dtype,
                         const ht_pool_call *job)
{
    int64_t shape[4] = {x->body->shape[0], job->c, job->out[0], job->out[1]};

    /* An image of one pixel or one channel has both layouts: row-major then, as other results. */
    if (ht__body_is_contiguous(x->body))
        return ht__batch_result(what, x, dtype, 4, shape);
    return ht__batch_result_channels_last(what, x, dtype, shape);
}

ht_tensor *ht__max_pool2d(const char *what, ht_tensor *x, const int64_t kernel[2],
                          const int64_t stride[2], const int64_t padding[2],
                          const int64_t dilation[2], ht_tensor **places)
{
    ht_tensor *y, *index;
    ht_node *node;
    ht_pool_call job;
    ht_window window;

    if (HT_IS_NULL(kernel, what, "kernel") || HT_IS_NULL(stride, what, "stride") ||
        HT_IS_NULL(padding, what, "padding") || HT_IS_NULL(dilation, what, "dilation") ||
        !HT_PREPARE(what, rules, &x) ||
        !ht__window_make(what, x, HT_WINDOW_POOLING, kernel, stride, padding, dilation, &window) ||
        !check_pixels(what, x) || !ht__has_kernel(what, x, HT_KERNEL_MAX_POOL_FORWARD))
        return NULL;

    job = make_job(x, &window);
    y = result(what, x, x->body->dtype, &job);
    index = result(what, x, HT_INT32, &job);
    if (y == NULL || index == NULL)
        return NULL;
    ht__image_strides(y->body, job.y_stride);
    job.x = ht__operand_of(x->body, HT_READ);
    job.y = ht__operand_of(y->body, HT_WRITE);
    job.index = ht__operand_of(index->body, HT_WRITE);
    if (y->body->lsize > 0 && HT_RUN(x, HT_KERNEL_MAX_POOL_FORWARD, &job, what) != HT_SUCCESS)
        return NULL;

    if (places != NULL)
        *places = index;
    node = ht_node_new(what, max_pool2d_backward, HT_LIST(ht_tensor *, x));
    if (node == NULL)
        return y;
    *(ht_pool_call *)ht_node_context(node, sizeof job) = job;
    ht_node_save(node, index);
    return ht_node_set_output(node, y);
}

ht_tensor *ht_max_pool2d_ext(ht_tensor *x, const int64_t kernel[2], const int64_t stride[2],
                             const int64_t padding[2], const int64_t dilation[2])
{
    return ht__max_pool2d("ht_max_pool2d_ext", x, kernel, stride, padding, dilation, NULL);
}

ht_tensor *ht_max_pool2d(ht_tensor *x, int64_t kernel)
{
    return ht__max_pool2d("ht_max_pool2d", x, (int64_t[]){kernel, kernel},
                          (int64_t[]){kernel, kernel}, (int64_t[]){0, 0}, (int64_t[]){1, 1}, NULL);
}
