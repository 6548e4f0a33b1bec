/* SPDX-License-Identifier: MIT
 *
 * Template after norm.inc.c: normalisation of rows (channels, inner) of x. A row is read twice, and
 * is still in the cache the second time. Sums are kept in double, like those of norm.inc.c. */

#if HT_IS_FLOAT

/* n values of a parameter, of groups * channels; `absent` if it has none. */
static void NAME(row_norm_parameter)(const T *from, int64_t n, C absent, C *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from != NULL ? LOAD(from[i]) : absent;
}

/* The mean, and 1 / sqrt(variance + eps), of n values, from distances times `scale`. */
HT_NOINLINE void NAME(row_norm_moments_scaled)(const ht_row_norm_call *r, const T *x, int64_t n,
                                               double scale, double *mean, double *invstd)
{
    const double shift = r->root_mean_square ? 0 : (double)LOAD(x[0]);
    double sum = 0, squares = 0, variance;

    NAME(norm_moments_scaled)(x, n, shift, scale, &sum, &squares);
    sum = r->root_mean_square ? 0 : sum;
    variance = (squares - sum * sum / (double)n) / (double)n;
    *mean = shift + sum / (double)n / scale;
    *invstd = scale / sqrt((variance < 0 ? 0 : variance) + r->eps * scale * scale);
}

/* The mean, and 1 / sqrt(variance + eps), of n values. */
static void NAME(row_norm_moments)(const ht_row_norm_call *r, const T *x, int64_t n, double *mean,
                                   double *invstd)
{
    const double shift = r->root_mean_square ? 0 : (double)LOAD(x[0]);
    double sum = 0, squares = 0, variance;

    NAME(norm_moments_run)(x, n, shift, &sum, &squares);
    sum = r->root_mean_square ? 0 : sum;
    variance = (squares - sum * sum / (double)n) / (double)n;
    if (!isfinite(variance) || squares + r->eps < NORM_SMALL) {
        NAME(row_norm_moments_scaled)
        (r, x, n, isfinite(variance) ? NORM_UP : NORM_DOWN, mean, invstd);
        return;
    }
    *mean = shift + sum / (double)n;
    *invstd = 1 / sqrt((variance < 0 ? 0 : variance) + r->eps);
}

/* y = (x - mean) invstd weight + bias for a row. */
static void NAME(row_norm_row)(const ht_row_norm_call *r, const T *x, const C *weight,
                               const C *bias, C mean, C invstd, T *y)
{
    const int64_t channels = r->channels, inner = r->inner;

    if (inner == 1) {
        HT_VECTORIZE
        for (int64_t c = 0; c < channels; c++)
            y[c] = STORE((LOAD(x[c]) - mean) * invstd * weight[c] + bias[c]);
        return;
    }
    for (int64_t c = 0; c < channels; c++) {
        const C w = weight[c], b = bias[c];

        HT_VECTORIZE
        for (int64_t i = c * inner; i < (c + 1) * inner; i++)
            y[i] = STORE((LOAD(x[i]) - mean) * invstd * w + b);
    }
}

HT_KERNEL(row_norm_forward)
{
    const ht_row_norm_call *r = (const ht_row_norm_call *)call;
    const int64_t parameters = r->groups * r->channels, n = r->channels * r->inner;
    const int64_t rows = r->outer * r->groups;
    const T *x = r->x.data;
    T *y = r->y.data;
    double *mean = r->stats.data, *invstd = mean + rows;
    C *weight = ht__cpu_scratch(2 * (size_t)parameters * sizeof *weight), *bias;

    (void)stream;
    if (weight == NULL)
        return 1;
    bias = weight + parameters;
    NAME(row_norm_parameter)(r->weight.data, parameters, 1, weight);
    NAME(row_norm_parameter)(r->bias.data, parameters, 0, bias);
    for (int64_t row = 0; row < rows; row++, x += n, y += n) {
        const int64_t at = row % r->groups * r->channels;

        NAME(row_norm_moments)(r, x, n, &mean[row], &invstd[row]);
        NAME(row_norm_row)(r, x, weight + at, bias + at, (C)mean[row], (C)invstd[row], y);
    }
    return 0;
}

/* With d = (x - mean) invstd: a += dy weight, b += dy weight d, dweight += dy d, dbias += dy, for as
 * many lanes as there are elements. */
HT_INLINE void NAME(row_norm_step)(const T *dy, const T *x, const C *weight, int64_t lanes,
                                   double mean, double invstd, double *a, double *b,
                                   double *dweight, double *dbias)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < lanes; j++) {
        const double g = (double)LOAD(dy[j]), d = ((double)LOAD(x[j]) - mean) * invstd;
        const double weighted = g * (double)weight[j];

        a[j] += weighted;
        b[j] += weighted * d;
        dweight[j] += g * d;
        dbias[j] += g;
    }
}

/* The sums of a row: *s += sum dy weight, *q += sum dy weight d, and those of the parameters. */
static void NAME(row_norm_sums)(const ht_row_norm_call *r, const T *dy, const T *x, const C *weight,
                                double mean, double invstd, double *s, double *q, double *dweight,
                                double *dbias)
{
    enum { LANES = NAME(NORM_LANES) };
    const int64_t channels = r->channels, inner = r->inner;
    double a[LANES] = {0}, b[LANES] = {0};

    for (int64_t c = 0; inner > 1 && c < channels; c++) {
        double g = 0, gd = 0;

        NAME(norm_sums_run)(dy + c * inner, x + c * inner, inner, mean, &g, &gd);
        gd *= invstd;
        *s += g * (double)weight[c];
        *q += gd * (double)weight[c];
        dweight[c] += gd;
        dbias[c] += g;
    }
    if (inner > 1)
        return;
    for (int64_t c = 0; c < channels; c += LANES)
        if (c + LANES <= channels)
            NAME(row_norm_step)
    (dy + c, x + c, weight + c, LANES, mean, invstd, a, b, dweight + c, dbias + c);
    else NAME(row_norm_step)(dy + c, x + c, weight + c, channels - c, mean, invstd, a, b,
                             dweight + c, dbias + c);
    *s += NAME(norm_lanes_sum)(a);
    *q += NAME(norm_lanes_sum)(b);
}

/* dx = invstd (dy weight - mean(dy weight) - d mean(dy weight d)) for a row. */
static void NAME(row_norm_dx)(const ht_row_norm_call *r, const T *dy, const T *x, const C *weight,
                              C mean, C invstd, C first, C second, T *dx)
{
    const int64_t channels = r->channels, inner = r->inner;

    if (inner == 1) {
        HT_VECTORIZE
        for (int64_t c = 0; c < channels; c++)
            dx[c] = STORE(invstd *
                          (LOAD(dy[c]) * weight[c] - first - (LOAD(x[c]) - mean) * second));
        return;
    }
    for (int64_t c = 0; c < channels; c++) {
        const C w = weight[c];

        HT_VECTORIZE
        for (int64_t i = c * inner; i < (c + 1) * inner; i++)
            dx[i] = STORE(invstd * (LOAD(dy[i]) * w - first - (LOAD(x[i]) - mean) * second));
    }
}

HT_KERNEL(row_norm_backward)
{
    const ht_row_norm_call *r = (const ht_row_norm_call *)call;
    const int64_t parameters = r->groups * r->channels, n = r->channels * r->inner;
    const int64_t rows = r->outer * r->groups;
    const size_t bytes = (size_t)parameters * sizeof(double);
    const T *x = r->x.data, *dy = r->y.data;
    const double *mean = r->stats.data, *invstd = mean + rows;
    double *dweight = ht__cpu_scratch(3 * bytes), *dbias = dweight + parameters;
    C *weight = (C *)(dbias + parameters);

    (void)stream;
    if (dweight == NULL)
        return 1;
    memset(dweight, 0, 2 * bytes);
    NAME(row_norm_parameter)(r->weight.data, parameters, 1, weight);
    for (int64_t row = 0; row < rows; row++, x += n, dy += n) {
        const int64_t at = row % r->groups * r->channels;
        double s = 0, q = 0;

        NAME(row_norm_sums)
        (r, dy, x, weight + at, mean[row], invstd[row], &s, &q, dweight + at, dbias + at);
        s = r->root_mean_square ? 0 : s / (double)n;
        q *= invstd[row] / (double)n;
        if (r->dx.data != NULL)
            NAME(row_norm_dx)
        (r, dy, x, weight + at, (C)mean[row], (C)invstd[row], (C)s, (C)q,
         (T *)r->dx.data + row * n);
    }
    if (r->dweight.data != NULL)
        memcpy(r->dweight.data, dweight, bytes);
    if (r->dbias.data != NULL)
        memcpy(r->dbias.data, dbias, bytes);
    return 0;
}

#endif
