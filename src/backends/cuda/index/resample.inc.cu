/* SPDX-License-Identifier: MIT
 *
 * Template: weighted sums of a dtype. 16-bit sums are rounded after each tap, as on the CPU. */

static __global__ void NAME(resample)(int64_t work, ht_resample_call r, resample_lengths lengths)
{
    const int64_t *at = static_cast<const int64_t *>(r.at.data);
    const double *weight = static_cast<const double *>(r.weight.data);
    const T *x = static_cast<const T *>(r.x.data);

    HT_CUDA_EACH(i, work)
    {
        int64_t j, k;
        const int64_t o = ht_cuda_divide(ht_cuda_divide(i, lengths.inner, &k), lengths.middle, &j);
        T sum = 0;

        for (int64_t t = 0; t < r.taps; t++) {
            const C product = (C)weight[t * r.out + j] *
                              LOAD(x[(o * r.in + at[t * r.out + j]) * r.inner + k]);

            sum = STORE(t == 0 ? product : LOAD(sum) + product);
        }
        static_cast<T *>(r.y.data)[i] = sum;
    }
}

/* places: of the taps whose numbers follow, sorted. */
static __global__ void NAME(resample_grad)(int64_t work, ht_resample_call r,
                                           resample_lengths lengths, const uint32_t *places,
                                           const uint32_t *numbers)
{
    const double *weight = static_cast<const double *>(r.weight.data);
    const int64_t taps = r.taps * r.out;
    const T *dy = static_cast<const T *>(r.y.data);

    HT_CUDA_EACH(i, work)
    {
        int64_t k, in;
        const int64_t o = ht_cuda_divide(ht_cuda_divide(i, lengths.inner, &k), lengths.middle, &in);
        T sum = 0;

        HT_CUDA_ROLLED
        for (int64_t at = find_place(places, taps, in); at < taps && places[at] == in; at++) {
            const int64_t tap = numbers[at];
            int64_t j;

            ht_cuda_divide(tap, lengths.out, &j);
            sum = STORE(LOAD(sum) + (C)weight[tap] * LOAD(dy[(o * r.out + j) * r.inner + k]));
        }
        static_cast<T *>(r.x.data)[i] = sum;
    }
}

static int NAME(resample_forward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_resample_call *r = (const ht_resample_call *)call;
    const int64_t work = r->outer * r->out * r->inner;

    if (work == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    HT_CUDA_LAUNCH_EACH(device, NAME(resample), work, *r, lengths_of(r, r->out));
    return ht_cuda_end(device, call);
}

static int NAME(resample_backward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_resample_call *r = (const ht_resample_call *)call;
    const int64_t work = r->outer * r->in * r->inner, taps = r->taps * r->out;

    if (work == 0)
        return 0;
    if (!ht_cuda_is_sortable(taps, r->in - 1))
        return HT_KERNEL_REFUSED;
    return ht_cuda_with_sorted(
        device, call, taps, r->in - 1,
        [=](uint32_t *places, uint32_t *numbers) {
            HT_CUDA_LAUNCH_EACH(device, number_taps, taps, static_cast<const int64_t *>(r->at.data),
                                places, numbers);
        },
        [=](const uint32_t *places, const uint32_t *numbers) {
            HT_CUDA_LAUNCH_EACH(device, NAME(resample_grad), work, *r, lengths_of(r, r->in), places,
                                numbers);
        });
}

static void NAME(add_resample)(ht_backend *backend)
{
    ht_cuda_add(backend, "RESAMPLE_FORWARD", ID, NAME(resample_forward));
    ht_cuda_add(backend, "RESAMPLE_BACKWARD", ID, NAME(resample_backward));
}
