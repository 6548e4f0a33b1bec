/* SPDX-License-Identifier: MIT
 *
 * Template inside reduce.inc.c: the sum of |x - centre|^2, a centre for each output. Walks as
 * reduce/fold.inc.c does, with a centre beside each accumulator. */

HT_INLINE double NAME(deviation)(T x, WIDE centre)
{
    const WIDE d = (WIDE)LOAD(x) - centre;

#if HT_IS_COMPLEX
    return creal(d) * creal(d) + cimag(d) * cimag(d);
#else
    return d * d;
#endif
}

/* acc (n) += |x (n) - centre (n)|^2 */
HT_INLINE void NAME(deviations_row)(double *acc, const T *x, const WIDE *centre, int64_t n,
                                    int64_t stride)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++)
        acc[j] += NAME(deviation)(x[j * stride], centre[j]);
}

/* One output: element j of a row goes to lane j modulo the number of lanes, which share a centre.
 */
HT_INLINE double NAME(deviations_one)(const ht_loop *inner, WIDE centre)
{
    const int64_t n = row_length(inner), stride = row_stride(inner, 0);
    const size_t sizes[] = {sizeof(T)};
    double lane[HT_REDUCE_LANES] = {0};
    WIDE centres[HT_REDUCE_LANES];
    row_walk walk;

    for (int j = 0; j < HT_REDUCE_LANES; j++)
        centres[j] = centre;
    for (bool more = row_walk_begin(&walk, inner); more; more = row_walk_next(&walk, 1, sizes))
        for (int64_t i = 0; i < n; i += HT_REDUCE_LANES) {
            const T *x = (const T *)walk.at[0] + i * stride;
            const int64_t m = n - i < HT_REDUCE_LANES ? n - i : HT_REDUCE_LANES;

            if (stride == 1)
                NAME(deviations_row)(lane, x, centres, m, 1);
            else
                NAME(deviations_row)(lane, x, centres, m, stride);
        }
    for (int width = HT_REDUCE_LANES / 2; width > 0; width /= 2)
        for (int j = 0; j < width; j++)
            lane[j] += lane[j + width];
    return lane[0];
}

HT_INLINE void NAME(deviations_block)(double *acc, int64_t m, int64_t between, const ht_loop *inner,
                                      const WIDE *centre)
{
    const int64_t n = row_length(inner), stride = row_stride(inner, 0);
    const size_t sizes[] = {sizeof(T)};
    row_walk walk;

    for (int64_t j = 0; j < m; j++)
        acc[j] = 0;
    for (bool more = row_walk_begin(&walk, inner); more; more = row_walk_next(&walk, 1, sizes))
        for (int64_t i = 0; i < n; i++) {
            const T *x = (const T *)walk.at[0] + i * stride;

            if (between == 1)
                NAME(deviations_row)(acc, x, centre, m, 1);
            else
                NAME(deviations_row)(acc, x, centre, m, between);
        }
}

static int NAME(deviations)(const ht_reduction *r)
{
    const int64_t n = row_length(&r->loop), xs = row_stride(&r->loop, 1);
    const int64_t block = reduce_by_blocks(r) ? HT_REDUCE_BLOCK : 1;
    const size_t sizes[] = {sizeof(double), sizeof(T), sizeof(WIDE)};
    ht_loop inner = reduce_inner(r);
    double acc[HT_REDUCE_BLOCK];
    WIDE centre[HT_REDUCE_BLOCK];
    row_walk walk;

    for (bool more = row_walk_begin(&walk, &r->loop); more; more = row_walk_next(&walk, 3, sizes)) {
        for (int64_t i = 0; i < n; i += block) {
            int64_t m = n - i < block ? n - i : block;

            inner.data[0] = walk.at[1] + i * xs * (int64_t)sizeof(T);
            for (int64_t j = 0; j < m; j++)
                centre[j] = ((WIDE *)walk.at[2])[(i + j) * row_stride(&r->loop, 2)];
            if (block == 1)
                acc[0] = NAME(deviations_one)(&inner, centre[0]);
            else
                NAME(deviations_block)(acc, m, xs, &inner, centre);
            for (int64_t j = 0; j < m; j++)
                ((double *)walk.at[0])[(i + j) * row_stride(&r->loop, 0)] = acc[j] / r->divisor;
        }
    }
    return 0;
}
