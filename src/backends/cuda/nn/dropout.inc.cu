/* SPDX-License-Identifier: MIT
 *
 * Template: dropout of a dtype. A dropped element is 0 even if x is not finite there. */

static __global__ void NAME(apply_mask)(int64_t work, double p, const T *x, const uint8_t *mask,
                                        T *y)
{
    const C scale = (C)(1 / (1 - p));

    HT_CUDA_EACH(i, work)
    {
        y[i] = STORE(mask[i] != 0 ? LOAD(x[i]) * scale : 0);
    }
}

/* Forward, the mask is drawn first. */
template <bool forward> static int NAME(dropout)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_dropout_call *job = (const ht_dropout_call *)call;
    const ht_cuda_draw<1> d = ht_cuda_make_draw<1>(&job->draw);
    const int64_t work = d.draw.outer * d.draw.inner;

    if (work == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    if (forward)
        HT_CUDA_LAUNCH_EACH(device, draw_mask, d.draw.outer * d.blocks.by, d,
                            static_cast<uint8_t *>(job->mask.data));
    HT_CUDA_LAUNCH_EACH(
        device, NAME(apply_mask), work, d.draw.a, static_cast<const T *>(job->x.data),
        static_cast<const uint8_t *>(job->mask.data), static_cast<T *>(job->y.data));
    return ht_cuda_end(device, call);
}

static void NAME(add_dropout)(ht_backend *backend)
{
    ht_cuda_add(backend, "DROPOUT_FORWARD", ID, NAME(dropout) < true >);
    ht_cuda_add(backend, "DROPOUT_BACKWARD", ID, NAME(dropout) < false >);
}
