/* SPDX-License-Identifier: MIT
 *
 * Orthonormal columns, for PowerSGD. */
#include <math.h>

#include "core/base/base.h"
#include "nn/parallel/data/hooks/orthonormal.h"

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* v (n) less its parts along the first `count` columns; twice, for once leaves rounding behind. */
static void remove_columns(double *v, const double *columns, int64_t n, int count)
{
    for (int c = 0; c < 2 * count; c++) {
        const double *q = columns + (c % count) * n;
        double part = dot(q, v, n);

        for (int64_t i = 0; i < n; i++)
            v[i] -= part * q[i];
    }
}

/* Any unit vector orthogonal to the columns. One of the n unit vectors keeps at least 1 / n of its
 * square, because there are fewer columns than rows. */
static double make_up(double *v, const double *columns, int64_t n, int count)
{
    double norm = 0;

    for (int64_t k = 0; k < n && norm * norm * 2 * (double)n < 1; k++) {
        for (int64_t i = 0; i < n; i++)
            v[i] = i == (k + count) % n;
        remove_columns(v, columns, n, count);
        norm = sqrt(dot(v, v, n));
    }
    return norm;
}

static double element(ht_dtype dtype, const void *q, int64_t i)
{
    return dtype == HT_FLOAT64 ? ((const double *)q)[i] : (double)((const float *)q)[i];
}

void ht__orthonormalize(ht_dtype dtype, void *q, int64_t n, int r)
{
    /* A column in the span of the others leaves only rounding, relative to the column's own size.
     */
    const double noise = dtype == HT_FLOAT64 ? 1e-13 : 1e-6;
    double *columns = ht__alloc((size_t)(n * r) * sizeof *columns);

    for (int c = 0; c < r; c++) {
        double *v = columns + c * n, before, norm;

        for (int64_t i = 0; i < n; i++)
            v[i] = element(dtype, q, i * r + c);
        before = sqrt(dot(v, v, n));
        remove_columns(v, columns, n, c);
        norm = sqrt(dot(v, v, n));
        if (norm <= noise * before)
            norm = make_up(v, columns, n, c);
        for (int64_t i = 0; i < n; i++)
            v[i] /= norm;
    }
    for (int64_t i = 0; i < n * r; i++) {
        double value = columns[i % r * n + i / r];

        if (dtype == HT_FLOAT64)
            ((double *)q)[i] = value;
        else
            ((float *)q)[i] = (float)value;
    }
    ht__free(columns);
}
