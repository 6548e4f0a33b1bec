/* SPDX-License-Identifier: MIT
 *
 * Template: normalisation by channel of x (outer, channels, inner). Sums are kept in double.
 * Moments start from values minus the channel's first value, and sums from values minus its mean,
 * so that a large mean costs no digits. With inner == 1 a row has one element of every channel, and
 * channels are the lanes. */

#if HT_IS_FLOAT

enum { NAME(NORM_LANES) = 16 };

/* The sum of the lanes, pair by pair: the halves are added until one lane is left. */
HT_INLINE double NAME(norm_lanes_sum)(double *lane)
{
    HT_UNROLL
    for (int half = NAME(NORM_LANES) / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] += lane[j + half];
    return lane[0];
}

/* a += x - shift, b += (x - shift)^2 for as many lanes as there are elements. */
HT_INLINE void NAME(norm_moments_step)(const T *x, int64_t lanes, double shift, double *a,
                                       double *b)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < lanes; j++) {
        const double d = (double)LOAD(x[j]) - shift;

        a[j] += d;
        b[j] += d * d;
    }
}

/* *s += sum (x - shift), *q += sum (x - shift)^2 over n contiguous elements. */
static void NAME(norm_moments_run)(const T *x, int64_t n, double shift, double *s, double *q)
{
    double a[NAME(NORM_LANES)] = {0}, b[NAME(NORM_LANES)] = {0};
    int64_t i = 0;

    for (; i + NAME(NORM_LANES) <= n; i += NAME(NORM_LANES))
        NAME(norm_moments_step)(x + i, NAME(NORM_LANES), shift, a, b);
    NAME(norm_moments_step)(x + i, n - i, shift, a, b);
    *s += NAME(norm_lanes_sum)(a);
    *q += NAME(norm_lanes_sum)(b);
}

/* Like norm_moments_run, of (x - shift) scale instead: for squares that leave the range of double. */
static void NAME(norm_moments_scaled)(const T *x, int64_t n, double shift, double scale, double *s,
                                      double *q)
{
    for (int64_t i = 0; i < n; i++) {
        const double d = ((double)LOAD(x[i]) - shift) * scale;

        *s += d;
        *q += d * d;
    }
}

HT_INLINE void NAME(norm_sums_step)(const T *dy, const T *x, int64_t lanes, double mean, double *a,
                                    double *b)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < lanes; j++) {
        const double g = (double)LOAD(dy[j]);

        a[j] += g;
        b[j] += g * ((double)LOAD(x[j]) - mean);
    }
}

/* *s += sum dy, *q += sum dy (x - mean) over n contiguous elements. */
static void NAME(norm_sums_run)(const T *dy, const T *x, int64_t n, double mean, double *s,
                                double *q)
{
    double a[NAME(NORM_LANES)] = {0}, b[NAME(NORM_LANES)] = {0};
    int64_t i = 0;

    for (; i + NAME(NORM_LANES) <= n; i += NAME(NORM_LANES))
        NAME(norm_sums_step)(dy + i, x + i, NAME(NORM_LANES), mean, a, b);
    NAME(norm_sums_step)(dy + i, x + i, n - i, mean, a, b);
    *s += NAME(norm_lanes_sum)(a);
    *q += NAME(norm_lanes_sum)(b);
}

/* Mean and M2 of channel c, whose sums overflowed. M2 is infinite if it is too large for double. */
static void NAME(norm_moments_far)(const ht_norm_call *r, const T *x, int64_t c, double *mean,
                                   double *m2)
{
    const int64_t channels = r->channels, inner = r->inner;
    const double count = (double)r->outer * (double)inner, shift = (double)LOAD(x[c * inner]);
    double sum = 0, squares = 0;

    for (int64_t o = 0; o < r->outer; o++) {
        const T *run = x + (o * channels + c) * inner;

        NAME(norm_moments_scaled)(run, inner, shift, NORM_DOWN, &sum, &squares);
    }
    squares -= sum * sum / count;
    *mean = shift + sum / count / NORM_DOWN;
    *m2 = squares < 0 ? 0 : squares / NORM_DOWN / NORM_DOWN;
}

static void NAME(norm_moments)(const ht_norm_call *r, const void *from, double *mean, double *m2)
{
    const int64_t channels = r->channels, inner = r->inner;
    const double count = (double)r->outer * (double)inner;
    const T *x = from;

    memset(mean, 0, (size_t)channels * sizeof *mean);
    memset(m2, 0, (size_t)channels * sizeof *m2);
    if (count == 0)
        return;
    for (int64_t o = 0; inner == 1 && o < r->outer; o++) {
        const T *row = x + o * channels;

        HT_VECTORIZE
        for (int64_t c = 0; c < channels; c++) {
            const double d = (double)LOAD(row[c]) - (double)LOAD(x[c]);

            mean[c] += d;
            m2[c] += d * d;
        }
    }
    for (int64_t c = 0; c < channels; c++) {
        const double shift = (double)LOAD(x[c * inner]);

        for (int64_t o = 0; inner > 1 && o < r->outer; o++)
            NAME(norm_moments_run)(x + (o * channels + c) * inner, inner, shift, &mean[c], &m2[c]);
        m2[c] -= mean[c] * mean[c] / count;
        if (!isfinite(m2[c])) {
            NAME(norm_moments_far)(r, x, c, &mean[c], &m2[c]);
            continue;
        }
        m2[c] = m2[c] < 0 ? 0 : m2[c];
        mean[c] = shift + mean[c] / count;
    }
}

static void NAME(norm_sums)(const ht_norm_call *r, const void *grad, const void *from,
                            const double *mean, double *s1, double *s2)
{
    const int64_t channels = r->channels, inner = r->inner;
    const T *dy = grad, *x = from;

    memset(s1, 0, (size_t)channels * sizeof *s1);
    memset(s2, 0, (size_t)channels * sizeof *s2);
    for (int64_t o = 0; o < r->outer; o++, dy += channels * inner, x += channels * inner) {
        if (inner == 1) {
            HT_VECTORIZE
            for (int64_t c = 0; c < channels; c++) {
                s1[c] += (double)LOAD(dy[c]);
                s2[c] += (double)LOAD(dy[c]) * ((double)LOAD(x[c]) - mean[c]);
            }
            continue;
        }
        for (int64_t c = 0; c < channels; c++)
            NAME(norm_sums_run)(dy + c * inner, x + c * inner, inner, mean[c], &s1[c], &s2[c]);
    }
}

static void NAME(norm_forward)(const ht_norm_call *r, const void *from, const double *mean,
                               const double *scale, const double *shift, void *to)
{
    const int64_t channels = r->channels, inner = r->inner;
    const T *x = from;
    T *y = to;

    for (int64_t o = 0; o < r->outer; o++, x += channels * inner, y += channels * inner) {
        if (inner == 1) {
            HT_VECTORIZE
            for (int64_t c = 0; c < channels; c++)
                y[c] = STORE((LOAD(x[c]) - (C)mean[c]) * (C)scale[c] + (C)shift[c]);
            continue;
        }
        for (int64_t c = 0; c < channels; c++) {
            const C m = (C)mean[c], a = (C)scale[c], b = (C)shift[c];

            HT_VECTORIZE
            for (int64_t i = c * inner; i < (c + 1) * inner; i++)
                y[i] = STORE((LOAD(x[i]) - m) * a + b);
        }
    }
}

static void NAME(norm_backward)(const ht_norm_call *r, const void *grad, const void *from,
                                const double *mean, const double *scale, const double *c1,
                                const double *c2, void *to)
{
    const int64_t channels = r->channels, inner = r->inner;
    const T *dy = grad, *x = from;
    T *dx = to;

    for (int64_t o = 0; o < r->outer; o++) {
        const int64_t start = o * channels * inner;

        if (inner == 1) {
            HT_VECTORIZE
            for (int64_t c = 0; c < channels; c++)
                dx[start + c] = STORE((C)scale[c] * (LOAD(dy[start + c]) - (C)c1[c] -
                                                     (LOAD(x[start + c]) - (C)mean[c]) * (C)c2[c]));
            continue;
        }
        for (int64_t c = 0; c < channels; c++) {
            const C m = (C)mean[c], a = (C)scale[c], k1 = (C)c1[c], k2 = (C)c2[c];

            HT_VECTORIZE
            for (int64_t i = start + c * inner; i < start + (c + 1) * inner; i++)
                dx[i] = STORE(a * (LOAD(dy[i]) - k1 - (LOAD(x[i]) - m) * k2));
        }
    }
}

HT_KERNEL(norm_kernel_moments)
{
    const ht_norm_call *norm = (const ht_norm_call *)call;
    double *moments = norm->moments.data;

    (void)stream;
    NAME(norm_moments)(norm, norm->x.data, moments, moments + norm->channels);
    return 0;
}

HT_KERNEL(norm_kernel_forward)
{
    const ht_norm_call *norm = (const ht_norm_call *)call;
    const double *mean = norm->channel.data;

    (void)stream;
    NAME(norm_forward)
    (norm, norm->x.data, mean, mean + 2 * norm->channels, mean + 3 * norm->channels, norm->y.data);
    return 0;
}

HT_KERNEL(norm_kernel_sums)
{
    const ht_norm_call *norm = (const ht_norm_call *)call;
    double *sums = norm->sums.data;

    (void)stream;
    NAME(norm_sums)
    (norm, norm->y.data, norm->x.data, norm->channel.data, sums, sums + norm->channels);
    return 0;
}

HT_KERNEL(norm_kernel_backward)
{
    const ht_norm_call *norm = (const ht_norm_call *)call;
    const int64_t channels = norm->channels;
    const double *mean = norm->channel.data, *invstd = mean + channels, *scale = invstd + channels;
    const double *sums = norm->sums.data;
    double *c1 = ht__cpu_scratch(2 * (size_t)channels * sizeof *c1), *c2 = c1 + channels;

    (void)stream;
    if (c1 == NULL)
        return 1;
    memset(c1, 0, 2 * (size_t)channels * sizeof *c1);
    for (int64_t c = 0; norm->count > 0 && c < channels; c++) {
        c1[c] = sums[c] / norm->count;
        c2[c] = sums[channels + c] * invstd[c] * (invstd[c] / norm->count);
    }
    NAME(norm_backward)(norm, norm->y.data, norm->x.data, mean, scale, c1, c2, norm->dx.data);
    return 0;
}

#include "backends/cpu/nn/norm_channel.inc.c"

HT_KERNEL(norm_kernel_prepare)
{
    const ht_norm_channels_call *n = (const ht_norm_channels_call *)call;

    (void)stream;
    for (int64_t c = 0; c < n->channels; c++)
        NAME(norm_prepare)(n, c);
    return 0;
}

#endif
