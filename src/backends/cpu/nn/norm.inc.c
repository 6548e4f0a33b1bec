/* SPDX-License-Identifier: MIT
 *
 * Template: normalisation by channel of x (outer, channels, inner). Sums are kept in double and
 * start from values less the channel's first (moments) or its mean (sums), so that a large mean
 * costs no digits. With inner == 1 a row holds one element of every channel: channels are the lanes
 * then. */

#if HT_IS_FLOAT

enum { NAME(NORM_LANES) = 16 };

/* *s += sum (x - shift), *q += sum (x - shift)^2 over n contiguous elements. */
static void NAME(norm_moments_run)(const T *x, int64_t n, double shift, double *s, double *q)
{
    double a[NAME(NORM_LANES)] = {0}, b[NAME(NORM_LANES)] = {0};

    for (int64_t i = 0; i < n; i += NAME(NORM_LANES)) {
        const int64_t m = n - i < NAME(NORM_LANES) ? n - i : NAME(NORM_LANES);

        HT_VECTORIZE
        for (int64_t j = 0; j < m; j++) {
            const double d = (double)LOAD(x[i + j]) - shift;

            a[j] += d;
            b[j] += d * d;
        }
    }
    for (int j = 0; j < NAME(NORM_LANES); j++) {
        *s += a[j];
        *q += b[j];
    }
}

/* *s += sum dy, *q += sum dy (x - mean) over n contiguous elements. */
static void NAME(norm_sums_run)(const T *dy, const T *x, int64_t n, double mean, double *s,
                                double *q)
{
    double a[NAME(NORM_LANES)] = {0}, b[NAME(NORM_LANES)] = {0};

    for (int64_t i = 0; i < n; i += NAME(NORM_LANES)) {
        const int64_t m = n - i < NAME(NORM_LANES) ? n - i : NAME(NORM_LANES);

        HT_VECTORIZE
        for (int64_t j = 0; j < m; j++) {
            const double g = (double)LOAD(dy[i + j]);

            a[j] += g;
            b[j] += g * ((double)LOAD(x[i + j]) - mean);
        }
    }
    for (int j = 0; j < NAME(NORM_LANES); j++) {
        *s += a[j];
        *q += b[j];
    }
}

static void NAME(norm_moments)(const ht_norm *r, const void *from, double *mean, double *m2)
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
        m2[c] = m2[c] < 0 ? 0 : m2[c];
        mean[c] = shift + mean[c] / count;
    }
}

static void NAME(norm_sums)(const ht_norm *r, const void *grad, const void *from,
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

static void NAME(norm_forward)(const ht_norm *r, const void *from, const double *mean,
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

static void NAME(norm_backward)(const ht_norm *r, const void *grad, const void *from,
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

#endif
