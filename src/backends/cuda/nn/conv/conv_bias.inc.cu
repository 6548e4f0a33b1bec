/* SPDX-License-Identifier: MIT
 *
 * Template: the gradient of the bias of a dtype. */

/* The sum of a channel of y. */
struct NAME(channel_sum) : ht_cuda_sum_fold<double>, ht_cuda_one_input<T> {
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &, const item &x,
                                                int64_t)
    {
        a += (double)LOAD(x);
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        static_cast<T *>(r.y)[o] = STORE((C)a);
    }
};

static int NAME(sum_channels)(const ht_cuda_device *device, const conv *v, const ht_conv_call *call)
{
    const int64_t reduced[2] = {v->n, v->pixels}, channels = v->o * v->groups;
    ht_cuda_reduction r = {};

    if (!ht_cuda_make_axes(&r.reduced, 2, reduced))
        return HT_KERNEL_REFUSED;
    r.outputs.ndim = 1;
    r.outputs.count = channels;
    r.x_stride[0] = v->last ? 1 : v->pixels;
    r.stride[0] = channels * v->pixels;
    r.stride[1] = v->last ? channels : 1;
    r.x = call->y.data;
    r.y = call->bias.data;
    return ht_cuda_launch_reduction(device, &r, ht_cuda_fold_kernels<NAME(channel_sum)>(),
                                    call->call.what);
}
