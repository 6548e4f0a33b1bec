/* SPDX-License-Identifier: MIT
 *
 * Template: convolution of a dtype of 16 bits, on copies of its operands in float32. */

static __global__ void NAME(widen)(int64_t work, const T *from, C *to)
{
    HT_CUDA_EACH(i, work)
    {
        to[i] = LOAD(from[i]);
    }
}

static __global__ void NAME(narrow)(int64_t work, const C *from, T *to)
{
    HT_CUDA_EACH(i, work)
    {
        to[i] = STORE(from[i]);
    }
}

/* x and y have no gaps, for any order of their axes. */
template <int puts>
static int NAME(conv_wide)(ht_cuda_device *device, const ht_kernel_call *call, ht_kernel_fn *run)
{
    ht_conv_call half = *(const ht_conv_call *)call, wide = half;
    ht_kernel_operand *from[OPERANDS], *to[OPERANDS];
    int64_t count[OPERANDS], total = 0;

    operands_of(&half, from, count);
    operands_of(&wide, to, count);
    for (int k = 0; k < OPERANDS; k++)
        total += room_of(count[k]);
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    C *memory = static_cast<C *>(ht_cuda_scratch(device, (size_t)total * sizeof(C), call->what));
    C *at = memory;

    if (memory == NULL)
        return 1;
    for (int k = 0; k < OPERANDS; at += room_of(count[k]), k++) {
        if (from[k]->data == NULL || count[k] == 0)
            continue;
        to[k]->data = at;
        if ((puts >> k & 1) == 0)
            HT_CUDA_LAUNCH_EACH(device, NAME(widen), count[k],
                                static_cast<const T *>(from[k]->data), at);
    }
    wide.call.dtype = HT_FLOAT32;
    const int failed = run(device, &wide.call);

    for (int k = 0; k < OPERANDS && failed == 0; k++)
        if ((puts >> k & 1) != 0 && from[k]->data != NULL && count[k] > 0)
            HT_CUDA_LAUNCH_EACH(device, NAME(narrow), count[k], static_cast<const C *>(to[k]->data),
                                static_cast<T *>(from[k]->data));
    ht_cuda_scratch_free(device, memory);
    return failed != 0 ? failed : ht_cuda_end(device, call);
}

static int NAME(product_forward)(ht_cuda_device *device, const ht_kernel_call *call)
{
    return NAME(conv_wide)<PUTS_Y>(device, call, conv_forward_HT_FLOAT32);
}

static int NAME(product_backward_data)(ht_cuda_device *device, const ht_kernel_call *call)
{
    return NAME(conv_wide)<PUTS_X>(device, call, conv_backward_data_HT_FLOAT32);
}

static int NAME(product_backward_weight)(ht_cuda_device *device, const ht_kernel_call *call)
{
    return NAME(conv_wide)<PUTS_WEIGHT | PUTS_BIAS>(device, call, conv_backward_weight_HT_FLOAT32);
}
