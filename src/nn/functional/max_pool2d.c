/* SPDX-License-Identifier: MIT
 *
 * Maximum over windows: x (N, C, H, W) to y (N, C, H', W') in x's layout. Kept for backward: where
 * in its image each maximum stood, as int32, in y's layout. */
#include "nn/functional/functional.h"

static bool check(ht_tensor *x, const int64_t kernel[2], const int64_t stride[2],
                  const int64_t padding[2], const int64_t dilation[2])
{
    const ht_body *body = x->body;

    if (!ht__check_batch("ht_max_pool2d", "x", x, 4))
        return false;
    for (int i = 0; i < 2; i++) {
        if (kernel[i] < 1 || stride[i] < 1 || dilation[i] < 1 || padding[i] < 0 ||
            padding[i] > kernel[i] / 2) {
            HT_FAIL(
                body->comm, HT_ERR_ARGUMENT,
                "ht_max_pool2d: kernel %lld, stride %lld, dilation %lld, padding %lld: at least 1, "
                "and padding at most half the kernel",
                (long long)kernel[i], (long long)stride[i], (long long)dilation[i],
                (long long)padding[i]);
            return false;
        }
        if (ht__window_count(body->shape[2 + i], kernel[i], stride[i], padding[i], dilation[i]) ==
            0) {
            HT_FAIL(body->comm, HT_ERR_SHAPE,
                    "ht_max_pool2d: x is %s: a window of %lld does not fit",
                    ht__shape_str(4, body->shape), (long long)kernel[i]);
            return false;
        }
    }
    if (body->shape[3] > 0 && body->shape[2] > INT32_MAX / body->shape[3]) {
        HT_FAIL(body->comm, HT_ERR_SHAPE, "ht_max_pool2d: x is %s: images above 2^31 pixels",
                ht__shape_str(4, body->shape));
        return false;
    }
    return true;
}

static void max_pool2d_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    ht_pool job = *(ht_pool *)ht_node_context(node, sizeof job);
    ht_tensor *index = ht_node_saved(node, 0), *dy, *dx;

    if (index == NULL)
        return;
    /* The kernel walks dy beside the index: the same layout. */
    dy = ht__body_is_contiguous(index->body) ? ht_contiguous(grad) : ht_channels_last(grad);
    if (dy == NULL)
        return;
    dx = ht__input_grad("ht_max_pool2d", node, 0, dy);
    if (dx == NULL)
        return;
    ht__image_strides(dx->body, job.x_stride);
    ht__image_strides(index->body, job.y_stride);
    if (dx->body->lsize > 0 && ht__backend_of(dy)->kernels.max_pool_backward(
                                   ht__stream_of(dy), &job, ht__body_data(dy->body),
                                   ht__body_data(index->body), ht__body_data(dx->body)) != 0) {
        ht__kernel_failed(dy->body->comm, "ht_max_pool2d");
        return;
    }
    grad_inputs[0] = dx;
}

static ht_pool make_job(const ht_tensor *x, const int64_t kernel[2], const int64_t stride[2],
                        const int64_t padding[2], const int64_t dilation[2])
{
    const ht_body *body = x->body;
    ht_pool job = {.dtype = body->dtype, .n = body->lshape[0], .c = body->shape[1]};

    for (int i = 0; i < 2; i++) {
        int64_t in = body->shape[2 + i];

        job.in[i] = in;
        job.kernel[i] = kernel[i];
        job.stride[i] = stride[i];
        job.padding[i] = padding[i];
        job.dilation[i] = dilation[i];
        job.out[i] = ht__window_count(in, kernel[i], stride[i], padding[i], dilation[i]);
    }
    ht__image_strides(x->body, job.x_stride);
    return job;
}

static ht_tensor *result(const ht_tensor *x, ht_dtype dtype, const ht_pool *job)
{
    int64_t shape[4] = {x->body->shape[0], job->c, job->out[0], job->out[1]};

    /* An image of one pixel or one channel has both layouts: row-major then, as other results. */
    if (ht__body_is_contiguous(x->body))
        return ht__batch_result("ht_max_pool2d", x, dtype, 4, shape);
    return ht__batch_result_channels_last("ht_max_pool2d", x, dtype, shape);
}

ht_tensor *ht_max_pool2d_ext(ht_tensor *x, const int64_t kernel[2], const int64_t stride[2],
                             const int64_t padding[2], const int64_t dilation[2])
{
    ht_tensor *y, *index;
    ht_node *node;
    ht_pool job;

    if (HT_IS_NULL(x, "ht_max_pool2d", "x") || HT_IS_NULL(kernel, "ht_max_pool2d", "the kernel") ||
        HT_IS_NULL(stride, "ht_max_pool2d", "the stride") ||
        HT_IS_NULL(padding, "ht_max_pool2d", "the padding") ||
        HT_IS_NULL(dilation, "ht_max_pool2d", "the dilation") ||
        !check(x, kernel, stride, padding, dilation))
        return NULL;
    const ht_kernels *kernels = &ht__backend_of(x)->kernels;
    if (kernels->max_pool_forward == NULL || kernels->max_pool_backward == NULL) {
        ht__kernel_missing("ht_max_pool2d", x);
        return NULL;
    }
    if (!ht__body_is_channels_last(x->body))
        x = ht_contiguous(x);
    if (x == NULL)
        return NULL;

    job = make_job(x, kernel, stride, padding, dilation);
    y = result(x, job.dtype, &job);
    index = result(x, HT_INT32, &job);
    if (y == NULL || index == NULL)
        return NULL;
    ht__image_strides(y->body, job.y_stride);
    if (y->body->lsize > 0 &&
        kernels->max_pool_forward(ht__stream_of(x), &job, ht__body_data(x->body),
                                  ht__body_data(y->body), ht__body_data(index->body)) != 0) {
        ht__kernel_failed(x->body->comm, "ht_max_pool2d");
        return NULL;
    }

    node = ht_node_new("ht_max_pool2d", max_pool2d_backward, 1, (ht_tensor *[]){x});
    if (node == NULL)
        return y;
    *(ht_pool *)ht_node_context(node, sizeof job) = job;
    ht_node_save(node, index);
    return ht_node_set_output(node, y);
}

ht_tensor *ht_max_pool2d(ht_tensor *x, int64_t kernel)
{
    return ht_max_pool2d_ext(x, (int64_t[]){kernel, kernel}, (int64_t[]){kernel, kernel},
                             (int64_t[]){0, 0}, (int64_t[]){1, 1});
}
