/* SPDX-License-Identifier: MIT
 *
 * Template: the kernels of a dtype, by cuDNN or by products: one of them first, and the other if that
 * refuses. */

/* With 16 bits, cuDNN rounds sums before it adds them to a bias. */
static int NAME(dnn_forward)(ht_cuda_device *device, const ht_kernel_call *call)
{
    const ht_conv_call *job = (const ht_conv_call *)call;

    return HT_IS_HALF && job->bias.data != NULL ? HT_KERNEL_REFUSED
                                                : ht_cuda_convolve(device, job, HT_CUDA_FORWARD);
}

static int NAME(dnn_backward_data)(ht_cuda_device *device, const ht_kernel_call *call)
{
    return ht_cuda_convolve(device, (const ht_conv_call *)call, HT_CUDA_BACKWARD_DATA);
}

static int NAME(dnn_backward_weight)(ht_cuda_device *device, const ht_kernel_call *call)
{
    const ht_conv_call *job = (const ht_conv_call *)call;
    conv v;
    int answer;

    if (job->weight.data == NULL || !make_conv(job, &v))
        return HT_KERNEL_REFUSED;
    answer = ht_cuda_convolve(device, job, HT_CUDA_BACKWARD_WEIGHT);
    if (answer != 0 || job->bias.data == NULL)
        return answer;
    answer = NAME(sum_channels)(device, &v, job);
    return answer != 0 ? answer : ht_cuda_end(device, call);
}

static int NAME(conv_forward)(void *stream, const ht_kernel_call *call)
{
    return run_either(stream, call, NAME(dnn_forward), NAME(product_forward));
}

static int NAME(conv_backward_data)(void *stream, const ht_kernel_call *call)
{
    return run_either(stream, call, NAME(dnn_backward_data), NAME(product_backward_data));
}

/* Measured on an H200: cuDNN's gradients of float32 weights that repeat their bits take 2 to 5 times as
 * long as windows and a product. */
static int NAME(conv_backward_weight)(void *stream, const ht_kernel_call *call)
{
    return HT_IS_HALF
               ? run_either(stream, call, NAME(dnn_backward_weight), NAME(product_backward_weight))
               : run_either(stream, call, NAME(product_backward_weight), NAME(dnn_backward_weight));
}

static void NAME(add_conv)(ht_backend *backend)
{
    ht_cuda_add(backend, "CONV_FORWARD", ID, NAME(conv_forward));
    ht_cuda_add(backend, "CONV_BACKWARD_DATA", ID, NAME(conv_backward_data));
    ht_cuda_add(backend, "CONV_BACKWARD_WEIGHT", ID, NAME(conv_backward_weight));
}
