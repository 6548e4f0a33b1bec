/* SPDX-License-Identifier: MIT
 *
 * Template: sums of distances from the mean, in one pass over memory. Each output has the sums of x
 * - shift and of |x - shift|^2. The shift begins as the first element. It is moved if it lies
 * further from the mean than the elements do, so that subtracting the mean's share in the end loses
 * little. Shifts are coarse numbers; sums of integers about them are exact. It walks like
 * reduce/fold.inc.c. */

typedef struct NAME(spread) {
    int64_t m, width;    /* outputs; lanes of accumulators, lane j for output j modulo m */
    int64_t count, next; /* elements of each output so far; when the shift is looked at again */
    _Alignas(64) WIDE shift[HT_REDUCE_SHIFTED];
    _Alignas(64) WIDE sum[HT_REDUCE_SHIFTED];
    _Alignas(64) double squares[HT_REDUCE_SHIFTED];
} NAME(spread);

HT_INLINE double NAME(square_of)(WIDE d)
{
#if HT_IS_COMPLEX
    return creal(d) * creal(d) + cimag(d) * cimag(d);
#else
    return d * d;
#endif
}

HT_INLINE void NAME(spread_begin)(NAME(spread) * s, int64_t m, int64_t width, const T *x,
                                  int64_t between)
{
    s->m = m;
    s->width = width;
    s->count = 0;
    s->next = HT_REDUCE_LANES * (width / m);
    for (int64_t j = 0; j < m; j++) {
        const WIDE first = (WIDE)LOAD(x[j * between]);

        /* infinite distances are for infinite elements */
        s->shift[j] = NAME(square_of)(first * 0x1p-1022) < 1 ? first : 0;
    }
    for (int64_t k = m; k < width; k++)
        s->shift[k] = s->shift[k - m];
    for (int64_t k = 0; k < width; k++) {
        s->sum[k] = 0;
        s->squares[k] = 0;
    }
}

/* Brings each output's sums into its first lane. */
HT_NOINLINE void NAME(spread_merge)(NAME(spread) * s)
{
    for (int64_t rows = s->width / s->m, half; rows > 1; rows = half) {
        half = (rows + 1) / 2;
        HT_VECTORIZE
        for (int64_t k = 0; k < (rows - half) * s->m; k++) {
            s->sum[k] += s->sum[k + half * s->m];
            s->squares[k] += s->squares[k + half * s->m];
        }
    }
    for (int64_t k = s->m; k < s->width; k++) {
        s->sum[k] = 0;
        s->squares[k] = 0;
    }
}

/* The sum of |x - mean|^2 of n elements: infinite where the squares are too large, NaN where an
 * element is infinite or NaN. */
HT_INLINE double NAME(spread_about_mean)(WIDE sum, double squares, int64_t n)
{
    const double about = squares - NAME(square_of)(sum) / (double)n;

    if (isinf(squares) && isfinite(creal(sum)) && isfinite(cimag(sum)))
        return squares;
    return about < 0 ? 0 : about;
}

/* A number near the mean, of as few digits as the deviation allows. */
static double NAME(coarse)(double mean, double variance)
{
    int exponent;
    double scaled;

    if (!(variance > 0) || isinf(variance))
        return mean;
    frexp(variance, &exponent);
    exponent = exponent / 2 - 1;
    scaled = ldexp(mean, -exponent);
    return fabs(scaled) < 0x1p52 ? ldexp(rint(scaled), exponent) : mean;
}

/* Moves the shift of output j; the lanes are merged. */
static void NAME(spread_move)(NAME(spread) * s, int64_t j)
{
    const WIDE sum = s->sum[j];
    const double n = (double)s->count;
    const double variance = NAME(spread_about_mean)(sum, s->squares[j], s->count) / n;
    WIDE mean = s->shift[j] + sum / n, moved, by, twice;

#if HT_IS_COMPLEX
    moved = NAME(coarse)(creal(mean), variance);
    ((double *)&moved)[1] = NAME(coarse)(cimag(mean), variance);
#else
    moved = NAME(coarse)(mean, variance);
#endif
    by = s->shift[j] - moved;
    twice = 2 * sum + n * by;
    s->sum[j] = sum + n * by;
    s->squares[j] += creal(by) * creal(twice) + cimag(by) * cimag(twice);
    for (int64_t k = j; k < s->width; k += s->m)
        s->shift[k] = moved;
}

/* Now and then: whether the shifts are still near the means. */
HT_INLINE void NAME(spread_look)(NAME(spread) * s)
{
    if (s->count < s->next)
        return;
    s->next = 2 * s->count; /* later elements are within the bounds that the shifts fit */
    NAME(spread_merge)(s);
    for (int64_t j = 0; j < s->m; j++) {
        if (2 * NAME(square_of)(s->sum[j]) > (double)s->count * s->squares[j])
            NAME(spread_move)(s, j);
    }
}

/* n lanes take x (n). */
HT_INLINE void NAME(spread_row)(NAME(spread) * s, const T *x, int64_t n, int64_t stride)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++) {
        const WIDE d = (WIDE)LOAD(x[j * stride]) - s->shift[j];

        s->sum[j] += d;
        s->squares[j] += NAME(square_of)(d);
    }
}

/* One output, or several side by side whose rows are end to end: `width` elements at a time. */
HT_NOINLINE void NAME(spread_lanes)(NAME(spread) * s, int64_t m, int64_t width,
                                    const ht_loop *inner)
{
    const int64_t n = row_length(inner) * m, stride = m > 1 ? 1 : row_stride(inner, 0);
    const size_t sizes[] = {sizeof(T)};
    row_walk walk;

    NAME(spread_begin)(s, m, width, inner->operand[0].data, 1);
    for (bool more = row_walk_begin(&walk, inner); more; more = row_walk_next(&walk, 1, sizes))
        for (int64_t i = 0; i < n; i += width) {
            const T *x = (const T *)walk.at[0] + i * stride;
            const int64_t some = n - i < width ? n - i : width;

            if (stride == 1 && some == HT_REDUCE_WIDE)
                NAME(spread_row)(s, x, HT_REDUCE_WIDE, 1);
            else if (stride == 1 && some == HT_REDUCE_SHORT)
                NAME(spread_row)(s, x, HT_REDUCE_SHORT, 1);
            else if (stride == 1)
                NAME(spread_row)(s, x, some, 1);
            else
                NAME(spread_row)(s, x, some, stride);
            s->count += some / m;
            NAME(spread_look)(s);
        }
}

/* A block of m outputs, their inputs `between` apart, one reduced element after the other. */
HT_INLINE void NAME(spread_block)(NAME(spread) * s, int64_t m, int64_t between,
                                  const ht_loop *inner)
{
    const int64_t n = row_length(inner), stride = row_stride(inner, 0);
    const size_t sizes[] = {sizeof(T)};
    row_walk walk;

    NAME(spread_begin)(s, m, m, inner->operand[0].data, between);
    for (bool more = row_walk_begin(&walk, inner); more; more = row_walk_next(&walk, 1, sizes))
        for (int64_t i = 0; i < n; i++) {
            const T *x = (const T *)walk.at[0] + i * stride;

            if (between == 1)
                NAME(spread_row)(s, x, m, 1);
            else
                NAME(spread_row)(s, x, m, between);
            s->count++;
            NAME(spread_look)(s);
        }
}

/* Stores in y the spread over the divisor, or a record (count, shift, sum, squares). */
HT_INLINE void NAME(spread_put)(const NAME(spread) * s, int64_t j, bool record, double divisor,
                                double *y)
{
    if (!record) {
        *y = NAME(spread_about_mean)(s->sum[j], s->squares[j], s->count) / divisor;
        return;
    }
    *y++ = (double)s->count;
    memcpy(y, &s->shift[j], sizeof(WIDE));
    y += sizeof(WIDE) / sizeof(double);
    memcpy(y, &s->sum[j], sizeof(WIDE));
    y[sizeof(WIDE) / sizeof(double)] = s->squares[j];
}

static int NAME(moments)(const ht_reduction *r, bool record)
{
    const int64_t n = row_length(&r->loop), xs = row_stride(&r->loop, 1);
    const int64_t narrow = reduce_narrow(r), asked = reduce_block(r);
    const int64_t block = asked < HT_REDUCE_SHIFTED ? asked : HT_REDUCE_SHIFTED;
    const int64_t lanes = reduce_count(r) < 1024 ? HT_REDUCE_SHORT : HT_REDUCE_WIDE;
    const size_t sizes[] = {sizeof(double), sizeof(T)};
    ht_loop inner = reduce_inner(r);
    NAME(spread) s;
    row_walk walk;

    for (bool more = row_walk_begin(&walk, &r->loop); more; more = row_walk_next(&walk, 2, sizes))
        for (int64_t i = 0; i < n; i += block) {
            double *y = (double *)walk.at[0] + i * row_stride(&r->loop, 0);
            int64_t m = n - i < block ? n - i : block;

            inner.operand[0].data = walk.at[1] + i * xs * (int64_t)sizeof(T);
            if (narrow > 0)
                NAME(spread_lanes)(&s, m, HT_REDUCE_WIDE / m * m, &inner);
            else if (block == 1)
                NAME(spread_lanes)(&s, 1, lanes, &inner);
            else
                NAME(spread_block)(&s, m, xs, &inner);
            NAME(spread_merge)(&s);
            for (int64_t j = 0; j < m; j++)
                NAME(spread_put)(&s, j, record, r->divisor, y + j * row_stride(&r->loop, 0));
        }
    return 0;
}

HT_KERNEL(reduce_SPREAD)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(moments)(r, false);
}

HT_KERNEL(reduce_MOMENTS)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(moments)(r, true);
}

static void NAME(fill_moments)(ht_kernel_table *k)
{
    k->at[HT_KERNEL_SPREAD][ID] = NAME(reduce_SPREAD);
    k->at[HT_KERNEL_MOMENTS][ID] = NAME(reduce_MOMENTS);
}
