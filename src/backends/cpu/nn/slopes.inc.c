/* SPDX-License-Identifier: MIT
 *
 * Template: y (n) = f(x (n)) and slope (n) = f'(x (n)), row by row, by the functions with
 * which elementwise/activations.inc.c gives each of the two alone. */

#if HT_KIND == HT_KIND_FLOAT
HT_INLINE int NAME(walk)(const ht_kernel_call *call, C (*f)(C x, C *slope))
{
    const ht_loop *loop = (const ht_loop *)call;
    const int64_t n = row_length(loop), ys = row_stride(loop, 0);
    const int64_t ss = row_stride(loop, 1), xs = row_stride(loop, 2);
    const size_t sizes[] = {sizeof(T), sizeof(T), sizeof(T)};
    row_walk walk;

    for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 3, sizes)) {
        T *y = (T *)walk.at[0], *slope = (T *)walk.at[1];
        const T *x = (const T *)walk.at[2];

        if (ys == 1 && ss == 1 && xs == 1) {
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = f(x[i], &slope[i]);
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i * ys] = f(x[i * xs], &slope[i * ss]);
        }
    }
    return 0;
}

HT_INLINE C NAME(gelu)(C x, C *slope)
{
    return HT_GELU(x, slope);
}

HT_INLINE C NAME(silu)(C x, C *slope)
{
    return HT_SILU(x, slope);
}

HT_INLINE C NAME(mish)(C x, C *slope)
{
    return HT_MISH(x, slope);
}

HT_KERNEL(GELU_SLOPE)
{
    (void)stream;
    return NAME(walk)(call, NAME(gelu));
}

HT_KERNEL(SILU_SLOPE)
{
    (void)stream;
    return NAME(walk)(call, NAME(silu));
}

HT_KERNEL(MISH_SLOPE)
{
    (void)stream;
    return NAME(walk)(call, NAME(mish));
}
#endif
