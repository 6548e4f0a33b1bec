/* SPDX-License-Identifier: MIT
 *
 * Template: the kernels of a dtype. cuDNN has the first choice, then come products. */
static int NAME(conv_forward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const int answer = ht_cuda_convolve(device, (const ht_conv_call *)call, HT_CUDA_FORWARD);

    return answer == HT_KERNEL_REFUSED ? NAME(product_forward)(device, call) : answer;
}

static int NAME(conv_backward_data)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const int answer = ht_cuda_convolve(device, (const ht_conv_call *)call, HT_CUDA_BACKWARD_DATA);

    return answer == HT_KERNEL_REFUSED ? NAME(product_backward_data)(device, call) : answer;
}

static int NAME(conv_backward_weight)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_conv_call *job = (const ht_conv_call *)call;
    conv v;
    int answer = HT_KERNEL_REFUSED;

    if (job->weight.data != NULL && make_conv(job, &v))
        answer = ht_cuda_convolve(device, job, HT_CUDA_BACKWARD_WEIGHT);
    if (answer == 0 && job->bias.data != NULL) {
        answer = NAME(sum_channels)(device, &v, job);
        answer = answer == 0 ? ht_cuda_end(device, call) : answer;
    }
    return answer == HT_KERNEL_REFUSED ? NAME(product_backward_weight)(device, call) : answer;
}

static void NAME(add_conv)(ht_backend *backend)
{
    ht_cuda_add(backend, "CONV_FORWARD", ID, NAME(conv_forward));
    ht_cuda_add(backend, "CONV_BACKWARD_DATA", ID, NAME(conv_backward_data));
    ht_cuda_add(backend, "CONV_BACKWARD_WEIGHT", ID, NAME(conv_backward_weight));
}
