/* SPDX-License-Identifier: MIT
 *
 * Template: weighted sums of a dtype. 16-bit sums are rounded after each tap, as on the CPU. */

static __global__ void NAME(resample)(int64_t work, ht_resample_call r)
{
    const int64_t *at = static_cast<const int64_t *>(r.at.data);
    const double *weight = static_cast<const double *>(r.weight.data);
    const T *x = static_cast<const T *>(r.x.data);

    HT_CUDA_EACH(i, work)
    {
        const int64_t k = i % r.inner, j = i / r.inner % r.out, o = i / r.inner / r.out;
        T sum = 0;

        for (int64_t t = 0; t < r.taps; t++) {
            const C product = (C)weight[t * r.out + j] *
                              LOAD(x[(o * r.in + at[t * r.out + j]) * r.inner + k]);

            sum = STORE(t == 0 ? product : LOAD(sum) + product);
        }
        static_cast<T *>(r.y.data)[i] = sum;
    }
}

static __global__ void NAME(resample_grad)(int64_t work, ht_resample_call r)
{
    const int64_t *at = static_cast<const int64_t *>(r.at.data), taps = r.taps * r.out;
    const double *weight = static_cast<const double *>(r.weight.data);
    const T *dy = static_cast<const T *>(r.y.data);

    HT_CUDA_EACH(i, work)
    {
        const int64_t k = i % r.inner, in = i / r.inner % r.in, o = i / r.inner / r.in;
        T sum = 0;

        for (int64_t tap = 0; tap < taps; tap++)
            if (at[tap] == in)
                sum = STORE(LOAD(sum) +
                            (C)weight[tap] * LOAD(dy[(o * r.out + tap % r.out) * r.inner + k]));
        static_cast<T *>(r.x.data)[i] = sum;
    }
}

template <bool forward> static int NAME(run_resample)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_resample_call *r = (const ht_resample_call *)call;
    const int64_t work = r->outer * (forward ? r->out : r->in) * r->inner;

    if (work == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    if (forward)
        HT_CUDA_LAUNCH_EACH(device, NAME(resample), work, *r);
    else
        HT_CUDA_LAUNCH_EACH(device, NAME(resample_grad), work, *r);
    return ht_cuda_end(device, call);
}

static void NAME(add_resample)(ht_backend *backend)
{
    ht_cuda_add(backend, "RESAMPLE_FORWARD", ID, NAME(run_resample) < true >);
    ht_cuda_add(backend, "RESAMPLE_BACKWARD", ID, NAME(run_resample) < false >);
}
