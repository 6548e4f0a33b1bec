/* SPDX-License-Identifier: MIT
 *
 * Template: normalisation of a dtype, as backends/cpu/nn/norm.inc.c. */
#include "backends/cpu/nn/norm_channel.inc.c"

struct NAME(channel_moments) : ht_cuda_moments_fold, ht_cuda_one_input<T> {
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &r, int64_t, int64_t at)
    {
        return ht_cuda_moments_start(r.reduced.count > 0 ? (double)LOAD(get(r, at)) : 0);
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &, const item &x,
                                                int64_t)
    {
        ht_cuda_moments_step(a, (double)LOAD(x));
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        ht_cuda_put_two(r, o, ht_cuda_moments_mean(a), a.squares);
    }
};

/* x is dy, and `also` is x. */
struct NAME(channel_sums) : ht_cuda_sum_fold<sums_about>, ht_cuda_two_inputs<T> {
    static __forceinline__ __device__ acc start(const ht_cuda_reduction &r, int64_t o, int64_t)
    {
        return {{0, 0}, r.mean[o]};
    }
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &, const item &x,
                                                int64_t)
    {
        const double dy = (double)LOAD(x.x);

        a.first += dy;
        a.second += dy * ((double)LOAD(x.also) - a.mean);
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        ht_cuda_put_two(r, o, a.first, a.second);
    }
};

static int NAME(norm_moments)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_norm_call *norm = (const ht_norm_call *)call;
    ht_cuda_reduction r;

    if (!over_channels(norm, norm->x.data, NULL, norm->moments.data, &r))
        return HT_KERNEL_REFUSED;
    if (norm->channels == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0 ||
        ht_cuda_launch_reduction(device, &r, ht_cuda_fold_kernels<NAME(channel_moments)>(),
                                 call->what) != 0)
        return 1;
    return ht_cuda_end(device, call);
}

static int NAME(norm_sums)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_norm_call *norm = (const ht_norm_call *)call;
    ht_cuda_reduction r;

    if (!over_channels(norm, norm->y.data, norm->x.data, norm->sums.data, &r))
        return HT_KERNEL_REFUSED;
    if (norm->channels == 0)
        return 0;
    r.mean = static_cast<const double *>(norm->channel.data);
    if (ht_cuda_begin(device, call) != 0 ||
        ht_cuda_launch_reduction(device, &r, ht_cuda_fold_kernels<NAME(channel_sums)>(),
                                 call->what) != 0)
        return 1;
    return ht_cuda_end(device, call);
}

static __global__ void NAME(prepare)(int64_t work, ht_norm_channels_call n)
{
    HT_CUDA_EACH(c, work)
    {
        NAME(norm_prepare)(&n, c);
    }
}

static int NAME(norm_prepare_all)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_norm_channels_call *n = (const ht_norm_channels_call *)call;

    if (n->channels == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    HT_CUDA_LAUNCH_EACH(device, NAME(prepare), n->channels, *n);
    return ht_cuda_end(device, call);
}

static __global__ void NAME(normalise)(int64_t work, int64_t channels, channel_of of, const T *x,
                                       const double *channel, T *y)
{
    HT_CUDA_EACH(i, work)
    {
        const double *c = channel + find_channel(of, i);

        y[i] = STORE((LOAD(x[i]) - (C)c[0]) * (C)c[2 * channels] + (C)c[3 * channels]);
    }
}

static int NAME(norm_forward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_norm_call *norm = (const ht_norm_call *)call;
    const int64_t work = norm->outer * norm->channels * norm->inner;

    if (work == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    HT_CUDA_LAUNCH_EACH(device, NAME(normalise), work, norm->channels, make_channel_of(norm),
                        static_cast<const T *>(norm->x.data),
                        static_cast<const double *>(norm->channel.data),
                        static_cast<T *>(norm->y.data));
    return ht_cuda_end(device, call);
}

/* k (channels): what BACKWARD subtracts, in the dtype of arithmetic. */
struct NAME(coefficients) {
    C mean, scale, k1, k2;
};

static __global__ void NAME(coefficients_of)(int64_t channels, double count, const double *channel,
                                             const double *sums, NAME(coefficients) * k)
{
    HT_CUDA_EACH(c, channels)
    {
        const double invstd = channel[channels + c];

        k[c].mean = (C)channel[c];
        k[c].scale = (C)channel[2 * channels + c];
        k[c].k1 = (C)(count > 0 ? sums[c] / count : 0);
        k[c].k2 = (C)(count > 0 ? sums[channels + c] * (invstd * invstd / count) : 0);
    }
}

static __global__ void NAME(norm_grad)(int64_t work, channel_of of, const T *dy, const T *x,
                                       const NAME(coefficients) * channel, T *dx)
{
    HT_CUDA_EACH(i, work)
    {
        const NAME(coefficients) k = channel[find_channel(of, i)];

        dx[i] = STORE(k.scale * (LOAD(dy[i]) - k.k1 - (LOAD(x[i]) - k.mean) * k.k2));
    }
}

static int NAME(norm_backward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_norm_call *norm = (const ht_norm_call *)call;
    const int64_t work = norm->outer * norm->channels * norm->inner;

    if (work == 0)
        return 0;
    typedef NAME(coefficients) coefficients;
    return ht_cuda_with_scratch<coefficients>(
        device, call, (size_t)norm->channels, [=](coefficients *k) {
            HT_CUDA_LAUNCH_EACH(device, NAME(coefficients_of), norm->channels, norm->count,
                                static_cast<const double *>(norm->channel.data),
                                static_cast<const double *>(norm->sums.data), k);
            HT_CUDA_LAUNCH_EACH(
                device, NAME(norm_grad), work, make_channel_of(norm),
                static_cast<const T *>(norm->y.data), static_cast<const T *>(norm->x.data),
                static_cast<const coefficients *>(k), static_cast<T *>(norm->dx.data));
            return 0;
        });
}

static void NAME(add_norm)(ht_backend *backend)
{
    ht_cuda_add(backend, "NORM_MOMENTS", ID, NAME(norm_moments));
    ht_cuda_add(backend, "NORM_PREPARE", ID, NAME(norm_prepare_all));
    ht_cuda_add(backend, "NORM_FORWARD", ID, NAME(norm_forward));
    ht_cuda_add(backend, "NORM_SUMS", ID, NAME(norm_sums));
    ht_cuda_add(backend, "NORM_BACKWARD", ID, NAME(norm_backward));
}
