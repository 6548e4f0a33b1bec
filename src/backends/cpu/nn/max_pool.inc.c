/* SPDX-License-Identifier: MIT
 *
 * Template: the maximum over windows. NaN is greater than all numbers; of equal elements the first
 * one is chosen. A window of padding only gives -inf and the index -1. Channels-last images process
 * all channels of a pixel at once, which is vector code, because neighbouring channels have stride
 * 1. */
#if HT_IS_FLOAT

static inline bool NAME(pool_replaces)(C value, C best)
{
    return value > best || (value != value && best == best);
}

/* The windows of one output pixel for `count` channels: y, index (count) by stride ys, x by xs. */
HT_INLINE void NAME(pool_pixel)(const ht_pool_call *p, int64_t count, const T *x, int64_t xs, T *y,
                                int32_t *index, int64_t ys, int64_t oh, int64_t ow)
{
    HT_VECTORIZE
    for (int64_t c = 0; c < count; c++) {
        y[c * ys] = STORE(-(C)INFINITY);
        index[c * ys] = -1;
    }
    for (int64_t i = 0; i < p->kernel[0]; i++) {
        const int64_t h = oh * p->stride[0] - p->padding[0] + i * p->dilation[0];

        for (int64_t j = 0; j < p->kernel[1] && h >= 0 && h < p->in[0]; j++) {
            const int64_t w = ow * p->stride[1] - p->padding[1] + j * p->dilation[1];
            const T *at = x + h * p->x_stride[2] + w * p->x_stride[3];
            const int32_t position = (int32_t)(h * p->in[1] + w);

            if (w < 0 || w >= p->in[1])
                continue;
            HT_VECTORIZE
            for (int64_t c = 0; c < count; c++) {
                const C value = LOAD(at[c * xs]), best = LOAD(y[c * ys]);
                const bool taken = index[c * ys] < 0 || NAME(pool_replaces)(value, best);

                y[c * ys] = taken ? at[c * xs] : y[c * ys];
                index[c * ys] = taken ? position : index[c * ys];
            }
        }
    }
}

static void NAME(max_pool_forward)(const ht_pool_call *p, const T *x, T *y, int32_t *index)
{
    const int64_t *ys = p->y_stride, *xs = p->x_stride;
    const bool together = xs[1] == 1 && ys[1] == 1;
    const int64_t count = together ? p->c : 1;

    for (int64_t n = 0; n < p->n; n++)
        for (int64_t c = 0; c < p->c; c += count)
            for (int64_t oh = 0; oh < p->out[0]; oh++)
                for (int64_t ow = 0; ow < p->out[1]; ow++) {
                    const T *from = x + n * xs[0] + c * xs[1];
                    const int64_t to = n * ys[0] + c * ys[1] + oh * ys[2] + ow * ys[3];

                    if (together)
                        NAME(pool_pixel)(p, count, from, 1, y + to, index + to, 1, oh, ow);
                    else
                        NAME(pool_pixel)(p, 1, from, xs[1], y + to, index + to, ys[1], oh, ow);
                }
}

/* dx = 0, then dx[index] += dy. Pixels of an image have one stride in both layouts. */
static void NAME(max_pool_backward)(const ht_pool_call *p, const T *dy, const int32_t *index, T *dx)
{
    const int64_t *ys = p->y_stride, *xs = p->x_stride;

    memset(dx, 0, (size_t)(p->n * p->c * p->in[0] * p->in[1]) * sizeof *dx);
    for (int64_t n = 0; n < p->n; n++)
        for (int64_t oh = 0; oh < p->out[0]; oh++)
            for (int64_t ow = 0; ow < p->out[1]; ow++)
                for (int64_t c = 0; c < p->c; c++) {
                    const int64_t from = n * ys[0] + c * ys[1] + oh * ys[2] + ow * ys[3];
                    T *to = dx + n * xs[0] + c * xs[1];

                    if (index[from] < 0)
                        continue;
                    to += index[from] * xs[3];
                    *to = STORE(LOAD(*to) + LOAD(dy[from]));
                }
}

HT_KERNEL(pool_forward)
{
    const ht_pool_call *pool = (const ht_pool_call *)call;

    (void)stream;
    if (pool->spatial != 2)
        return HT_KERNEL_REFUSED;
    NAME(max_pool_forward)(pool, pool->x.data, pool->y.data, pool->index.data);
    return 0;
}

HT_KERNEL(pool_backward)
{
    const ht_pool_call *pool = (const ht_pool_call *)call;

    (void)stream;
    if (pool->spatial != 2)
        return HT_KERNEL_REFUSED;
    NAME(max_pool_backward)(pool, pool->y.data, pool->index.data, pool->x.data);
    return 0;
}

#endif
