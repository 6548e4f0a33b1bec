/* SPDX-License-Identifier: MIT
 *
 * Template: max pooling of a dtype, as backends/cpu/nn/max_pool.inc.c. */

static __global__ void NAME(max_pool)(int64_t work, ht_pool_call p, pixels of, const T *x, T *y,
                                      int32_t *index)
{
    HT_CUDA_EACH(e, work)
    {
        const pixel out = find_pixel(of, e);
        const int64_t to = offset_of(p.y_stride, out);
        T best = STORE(-(C)INFINITY);
        int32_t where = -1;

        for (int64_t i = 0; i < p.kernel[0]; i++) {
            const int64_t h = out.h * p.stride[0] - p.padding[0] + i * p.dilation[0];

            for (int64_t j = 0; j < p.kernel[1] && h >= 0 && h < p.in[0]; j++) {
                const int64_t w = out.w * p.stride[1] - p.padding[1] + j * p.dilation[1];

                if (w < 0 || w >= p.in[1])
                    continue;
                const T stored = x[offset_of(p.x_stride, {out.n, out.c, h, w})];
                const C value = LOAD(stored), most = LOAD(best);

                if (where < 0 || value > most || (isnan(value) && !isnan(most))) {
                    best = stored;
                    where = (int32_t)(h * p.in[1] + w);
                }
            }
        }
        y[to] = best;
        index[to] = where;
    }
}

/* Later taps belong to earlier windows. */
static __global__ void NAME(max_pool_grad)(int64_t work, ht_pool_call p, pixels of, const T *dy,
                                           const int32_t *index, T *dx)
{
    HT_CUDA_EACH(e, work)
    {
        const pixel in = find_pixel(of, e);
        const int32_t mine = (int32_t)(in.h * p.in[1] + in.w);
        T sum = 0;

        for (int64_t i = p.kernel[0] - 1; i >= 0; i--) {
            const int64_t oh = window_with(p, of, 0, in.h, i);

            for (int64_t j = p.kernel[1] - 1; j >= 0 && oh >= 0; j--) {
                const int64_t ow = window_with(p, of, 1, in.w, j);
                const int64_t from = offset_of(p.y_stride, {in.n, in.c, oh, ow});

                if (ow >= 0 && index[from] == mine)
                    sum = STORE(LOAD(sum) + LOAD(dy[from]));
            }
        }
        dx[offset_of(p.x_stride, in)] = sum;
    }
}

template <bool forward> static int NAME(run_max_pool)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_pool_call *p = (const ht_pool_call *)call;
    const int64_t *size = forward ? p->out : p->in;
    const int64_t *stride = forward ? p->y_stride : p->x_stride;
    const int64_t work = p->n * p->c * size[0] * size[1];

    if (p->spatial != 2 || work >= INT64_C(1) << 31 || !is_small(p))
        return HT_KERNEL_REFUSED;
    if (work == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    if (forward)
        HT_CUDA_LAUNCH_EACH(device, NAME(max_pool), work, *p, make_pixels(p, size, stride),
                            static_cast<const T *>(p->x.data), static_cast<T *>(p->y.data),
                            static_cast<int32_t *>(p->index.data));
    else
        HT_CUDA_LAUNCH_EACH(device, NAME(max_pool_grad), work, *p, make_pixels(p, size, stride),
                            static_cast<const T *>(p->y.data),
                            static_cast<const int32_t *>(p->index.data),
                            static_cast<T *>(p->x.data));
    return ht_cuda_end(device, call);
}

static void NAME(add_max_pool)(ht_backend *backend)
{
    ht_cuda_add(backend, "MAX_POOL_FORWARD", ID, NAME(run_max_pool) < true >);
    ht_cuda_add(backend, "MAX_POOL_BACKWARD", ID, NAME(run_max_pool) < false >);
}
