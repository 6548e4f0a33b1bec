/* SPDX-License-Identifier: MIT
 *
 * Normalisation by channel as the table has it: by floating dtype to the templates of norm.inc.c.
 */
#include "backends/cpu/level.h"

#define HT_TEMPLATE "backends/cpu/nn/norm.inc.c"
#include "backends/cpu/foreach_dtype.h"

typedef void moments_fn(const ht_norm *, const void *, double *, double *);
typedef void forward_fn(const ht_norm *, const void *, const double *, const double *,
                        const double *, void *);
typedef void sums_fn(const ht_norm *, const void *, const void *, const double *, double *,
                     double *);
typedef void backward_fn(const ht_norm *, const void *, const void *, const double *,
                         const double *, const double *, const double *, void *);

static int norm_moments(void *stream, const ht_norm *norm, const void *x, double *mean, double *m2)
{
    static moments_fn *const moments[HT_DTYPE_COUNT] = BY_FLOATING_DTYPE(norm_moments);

    (void)stream;
    if (moments[norm->dtype] == NULL)
        return ht__kernel_bad_dtype("batch_norm", norm->dtype);
    moments[norm->dtype](norm, x, mean, m2);
    return 0;
}

static int norm_forward(void *stream, const ht_norm *norm, const void *x, const double *mean,
                        const double *scale, const double *shift, void *y)
{
    static forward_fn *const forward[HT_DTYPE_COUNT] = BY_FLOATING_DTYPE(norm_forward);

    (void)stream;
    if (forward[norm->dtype] == NULL)
        return ht__kernel_bad_dtype("batch_norm", norm->dtype);
    forward[norm->dtype](norm, x, mean, scale, shift, y);
    return 0;
}

static int norm_sums(void *stream, const ht_norm *norm, const void *dy, const void *x,
                     const double *mean, double *s1, double *s2)
{
    static sums_fn *const sums[HT_DTYPE_COUNT] = BY_FLOATING_DTYPE(norm_sums);

    (void)stream;
    if (sums[norm->dtype] == NULL)
        return ht__kernel_bad_dtype("batch_norm", norm->dtype);
    sums[norm->dtype](norm, dy, x, mean, s1, s2);
    return 0;
}

static int norm_backward(void *stream, const ht_norm *norm, const void *dy, const void *x,
                         const double *mean, const double *scale, const double *c1,
                         const double *c2, void *dx)
{
    static backward_fn *const backward[HT_DTYPE_COUNT] = BY_FLOATING_DTYPE(norm_backward);

    (void)stream;
    if (backward[norm->dtype] == NULL)
        return ht__kernel_bad_dtype("batch_norm", norm->dtype);
    backward[norm->dtype](norm, dy, x, mean, scale, c1, c2, dx);
    return 0;
}

void HT_LEVEL_NAME(ht__fill_norm)(ht_kernels *k)
{
    k->norm_moments = norm_moments;
    k->norm_forward = norm_forward;
    k->norm_sums = norm_sums;
    k->norm_backward = norm_backward;
}
