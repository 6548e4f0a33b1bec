/* SPDX-License-Identifier: MIT
 *
 * Template: distances between each row of x and each row of y. A block of y's rows is transposed,
 * so that the inner loops go over rows of y. */

#if HT_IS_FLOAT && !HT_IS_HALF
/* block[l][j] = y[j][l] for `count` rows; 0 beyond. */
static void NAME(turn)(const T *y, int64_t count, int64_t k, T *block)
{
    for (int64_t l = 0; l < k; l++) {
        for (int64_t j = 0; j < BLOCK; j++)
            block[l * BLOCK + j] = j < count ? y[j * k + l] : 0;
    }
}

HT_INLINE void NAME(sums)(const T *x, const T *block, int64_t k, C *sum, bool squares)
{
    for (int64_t j = 0; j < BLOCK; j++)
        sum[j] = 0;
    for (int64_t l = 0; l < k; l++) {
        const C a = x[l];

        HT_VECTORIZE
        for (int64_t j = 0; j < BLOCK; j++) {
            const C d = a - block[l * BLOCK + j];

            sum[j] += squares ? d * d : (C)fabs(d);
        }
    }
}

/* Makes distances of sums of squares, or of |d|; `of` is a kernel, and known where this is
 * inlined. */
HT_INLINE void NAME(finish)(C *sum, int64_t count, int of, C factor)
{
    if (of == HT_KERNEL_EUCLIDEAN) {
        HT_VECTORIZE
        for (int64_t j = 0; j < count; j++)
            sum[j] = HT_MATH(sqrt, sum[j]);
    }
    if (of == HT_KERNEL_GAUSSIAN) {
        HT_VECTORIZE
        for (int64_t j = 0; j < count; j++)
            sum[j] = HT_MATH(exp, factor * sum[j]);
    }
}

HT_INLINE int NAME(distances)(const ht_distance_call *d, int of)
{
    T *block = ht__cpu_scratch((size_t)(d->k > 0 ? d->k : 1) * BLOCK * sizeof *block);

    if (block == NULL)
        return 1;
    for (int64_t start = 0; start < d->n; start += BLOCK) {
        const int64_t count = d->n - start < BLOCK ? d->n - start : BLOCK;

        NAME(turn)((const T *)d->y.data + start * d->k, count, d->k, block);
        for (int64_t i = 0; i < d->m; i++) {
            _Alignas(64) C sum[BLOCK];

            NAME(sums)
            ((const T *)d->x.data + i * d->k, block, d->k, sum, of != HT_KERNEL_MANHATTAN);
            NAME(finish)(sum, BLOCK, of, (C)d->factor);
            memcpy((T *)d->out.data + i * d->leading + start, sum, (size_t)count * sizeof(T));
        }
    }
    return 0;
}

HT_INLINE int NAME(expanded)(const ht_distance_call *d, int of)
{
    const T *y = d->y.data;

    for (int64_t i = 0; i < d->m; i++) {
        T *out = (T *)d->out.data + i * d->leading;
        const C x = ((const T *)d->x.data)[i];

        for (int64_t start = 0; start < d->n; start += BLOCK) {
            const int64_t count = d->n - start < BLOCK ? d->n - start : BLOCK;
            _Alignas(64) C sum[BLOCK] = {0};

            HT_VECTORIZE
            for (int64_t j = 0; j < count; j++) {
                const C square = x + y[start + j] + out[start + j];

                sum[j] = square < 0 ? 0 : square;
            }
            NAME(finish)(sum, BLOCK, of, (C)d->factor);
            memcpy(out + start, sum, (size_t)count * sizeof(T));
        }
    }
    return 0;
}

HT_KERNEL(distance_EUCLIDEAN)
{
    (void)stream;
    return NAME(distances)((const ht_distance_call *)call, HT_KERNEL_EUCLIDEAN);
}

HT_KERNEL(distance_MANHATTAN)
{
    (void)stream;
    return NAME(distances)((const ht_distance_call *)call, HT_KERNEL_MANHATTAN);
}

HT_KERNEL(distance_GAUSSIAN)
{
    (void)stream;
    return NAME(distances)((const ht_distance_call *)call, HT_KERNEL_GAUSSIAN);
}

HT_KERNEL(distance_EXPANDED_EUCLIDEAN)
{
    (void)stream;
    return NAME(expanded)((const ht_distance_call *)call, HT_KERNEL_EUCLIDEAN);
}

HT_KERNEL(distance_EXPANDED_GAUSSIAN)
{
    (void)stream;
    return NAME(expanded)((const ht_distance_call *)call, HT_KERNEL_GAUSSIAN);
}
#endif
