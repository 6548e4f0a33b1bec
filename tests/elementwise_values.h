/* SPDX-License-Identifier: MIT
 *
 * Values and derivatives in double, for the table of elementwise functions alone. */
#ifndef HT_TESTS_ELEMENTWISE_VALUES_H
#define HT_TESTS_ELEMENTWISE_VALUES_H

#include <complex.h>
#include <math.h>

#include "ht.h"

static double zero(double x)
{
    (void)x;
    return 0;
}

static double one(double x)
{
    (void)x;
    return 1;
}

static double itself(double x)
{
    return x;
}

static double neg(double x)
{
    return -x;
}

static double neg_slope(double x)
{
    (void)x;
    return -1;
}

static double complex cneg(double complex z)
{
    return -z;
}

static double reciprocal(double x)
{
    return 1 / x;
}

static double sqrt_slope(double x)
{
    return 0.5 / sqrt(x);
}

static double exp2_slope(double x)
{
    return M_LN2 * exp2(x);
}

static double complex cexp2(double complex z)
{
    return cexp(M_LN2 * z);
}

static double log2_slope(double x)
{
    return 1 / (M_LN2 * x);
}

static double complex clog2(double complex z)
{
    return clog(z) / M_LN2;
}

static double log10_slope(double x)
{
    return 1 / (M_LN10 * x);
}

static double complex clog10_(double complex z)
{
    return clog(z) / M_LN10;
}

static double log1p_slope(double x)
{
    return 1 / (1 + x);
}

static double square(double x)
{
    return x * x;
}

static double twice(double x)
{
    return 2 * x;
}

static double complex csquare(double complex z)
{
    return z * z;
}

static double cos_slope(double x)
{
    return -sin(x);
}

static double tan_slope(double x)
{
    return 1 / (cos(x) * cos(x));
}

static double asin_slope(double x)
{
    return 1 / sqrt(1 - x * x);
}

static double acos_slope(double x)
{
    return -1 / sqrt(1 - x * x);
}

static double atan_slope(double x)
{
    return 1 / (1 + x * x);
}

static double tanh_slope(double x)
{
    return 1 / (cosh(x) * cosh(x));
}

static double asinh_slope(double x)
{
    return 1 / sqrt(x * x + 1);
}

static double acosh_slope(double x)
{
    return 1 / sqrt(x * x - 1);
}

static double atanh_slope(double x)
{
    return 1 / (1 - x * x);
}

static double deg2rad(double x)
{
    return x * M_PI / 180;
}

static double deg2rad_slope(double x)
{
    (void)x;
    return M_PI / 180;
}

static double rad2deg(double x)
{
    return x * 180 / M_PI;
}

static double rad2deg_slope(double x)
{
    (void)x;
    return 180 / M_PI;
}

static double sign(double x)
{
    return isnan(x) ? x : (x > 0) - (x < 0);
}

static double complex csign(double complex z)
{
    return z == 0 ? 0 : z / cabs(z);
}

static double complex cabs_(double complex z)
{
    return cabs(z);
}

static double complex creal_(double complex z)
{
    return creal(z);
}

static double complex cimag_(double complex z)
{
    return cimag(z);
}

static double complex carg_(double complex z)
{
    return carg(z);
}

static double angle(double x)
{
    return isnan(x) ? x : x < 0 ? M_PI : 0;
}

static double frac(double x)
{
    return isinf(x) ? 0 : x - trunc(x);
}

static ht_tensor *call_frac(ht_tensor *x)
{
    ht_tensor *fraction = NULL, *whole;

    ht_modf(x, &fraction, &whole);
    return fraction;
}

static double quarters(double x)
{
    return isinf(x) ? x : rint(4 * x) / 4;
}

static double nan_to_num(double x)
{
    return isnan(x) ? 0.75 : isinf(x) ? (x > 0 ? 100 : -200) : x;
}

static ht_tensor *call_nan_to_num(ht_tensor *x)
{
    return ht_nan_to_num_ext(x, 0.75, 100, -200);
}

static double bits_turned(double x)
{
    return -x - 1;
}

static double is_zero(double x)
{
    return x == 0;
}

static double complex is_complex_zero(double complex z)
{
    return z == 0;
}

static double is_nan(double x)
{
    return isnan(x);
}

static double complex is_complex_nan(double complex z)
{
    return isnan(creal(z)) || isnan(cimag(z));
}

static double is_inf(double x)
{
    return isinf(x) != 0;
}

static double complex is_complex_inf(double complex z)
{
    return isinf(creal(z)) || isinf(cimag(z));
}

static double is_finite(double x)
{
    return isfinite(x);
}

static double complex is_complex_finite(double complex z)
{
    return isfinite(creal(z)) && isfinite(cimag(z));
}

static double is_posinf(double x)
{
    return x == INFINITY;
}

static double is_neginf(double x)
{
    return x == -INFINITY;
}

static double has_sign(double x)
{
    return signbit(x) != 0;
}

#endif
