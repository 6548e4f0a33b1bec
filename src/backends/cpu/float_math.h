/* SPDX-License-Identifier: MIT
 *
 * Functions of float32 as plain arithmetic without branches, so that the compiler makes vector code
 * of a loop over them. Results do not depend on vectorisation, because every step is an IEEE
 * operation that no flag lets the compiler fuse or reorder. Within 2 ulp everywhere, subnormal
 * results included. */
#ifndef HT_BACKENDS_CPU_FLOAT_MATH_H
#define HT_BACKENDS_CPU_FLOAT_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/base/half.h"

/* Adding and subtracting it rounds a float below 2^22 to an integer. */
#define HT_ROUND_FLOAT 0x1.8p23f

HT_INLINE double ht__bits_to_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

HT_INLINE uint64_t ht__double_to_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2^n for -126 <= n <= 127. */
HT_INLINE float ht__power_of_two(int32_t n)
{
    return ht__bits_to_float((uint32_t)(n + 127) << 23);
}

/* x = n ln 2 + r for |x| <= 128: n, and e^r by a polynomial (Cephes expf). */
HT_INLINE float ht__exp_parts(float x, int32_t *n)
{
    float shifted = x * 1.44269504088896341f + HT_ROUND_FLOAT;
    float whole = shifted - HT_ROUND_FLOAT;
    float r = x - whole * 0.693359375f - whole * -2.12194440e-4f;
    float p = 1.9875691500e-4f;

    *n = (int32_t)(ht__float_to_bits(shifted) - ht__float_to_bits(HT_ROUND_FLOAT));
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return p * (r * r) + r + 1.0f;
}

/* 2^n in two steps so that subnormal results are rounded once and large ones become infinite. */
HT_INLINE float ht__exp_float(float x)
{
    float bound = x > 89.0f ? 89.0f : x;
    float clamped = bound < -104.0f ? -104.0f : bound;
    int32_t whole;
    float p = ht__exp_parts(clamped, &whole);
    int32_t half = whole >> 1;

    p = p * ht__power_of_two(half) * ht__power_of_two(whole - half);
    return x != x ? x : p;
}

/* e^x with float's digits and double's range: never subnormal, and infinite above 128. */
HT_INLINE double ht__exp_wide(float x)
{
    float bound = x > 128.0f ? 128.0f : x;
    float clamped = bound < -128.0f ? -128.0f : bound;
    int32_t n;
    double p = (double)ht__exp_parts(clamped, &n);

    p *= ht__bits_to_double((uint64_t)(int64_t)(n + 1023) << 52);
    p = x > 128.0f ? (double)INFINITY : p;
    return x != x ? (double)x : p;
}

/* log(2^-shift x) of a normal number x: x = 2^n m with m in [sqrt(1/2), sqrt(2)); log m by a
 * polynomial (Cephes logf). */
HT_INLINE float ht__log_normal_float(float x, float shift)
{
    uint32_t offset = ht__float_to_bits(x) - 0x3f3504f3; /* sqrt(1/2) */
    float n = (float)((int32_t)offset >> 23) - shift;
    float m = ht__bits_to_float((offset & 0x007fffff) + 0x3f3504f3) - 1.0f;
    float z = m * m;
    float p = 7.0376836292e-2f;

    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = m * z * p + n * -2.12194440e-4f - 0.5f * z;
    return m + p + n * 0.693359375f;
}

HT_INLINE float ht__log_float(float x)
{
    const int subnormal = x < 0x1p-126f;
    float y = ht__log_normal_float(subnormal ? x * 0x1p23f : x, subnormal ? 23.0f : 0.0f);

    y = x == 0 ? -INFINITY : y;
    y = x < 0 ? NAN : y;
    return x < INFINITY ? y : x; /* infinity and NaN */
}

HT_INLINE float ht__sqrt_float(float x)
{
    return sqrtf(x);
}

/* e^x - 1 for |x| < 700, far more accurately than a float: 2^n e^r - 1 = 2^n (e^r - 1) + (2^n - 1)
 * keeps small results so. */
HT_INLINE double ht__expm1_near(double x)
{
    double shifted = x * 1.4426950408889634 + 0x1.8p52;
    double r = x - (shifted - 0x1.8p52) * 0.69314718055994531;
    double scale = ht__bits_to_double((ht__double_to_bits(shifted) + 1023) << 52);
    double p = 1.0 / 362880;

    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * (r * r) + r;
    return scale * p + (scale - 1);
}

/* Above 89 it is beyond the largest float, below -18 it rounds to -1. */
HT_INLINE float ht__expm1_float(float x)
{
    float bound = x > 89.0f ? 89.0f : x;
    float clamped = bound < -104.0f ? -104.0f : bound;

    return x != x ? x : copysignf((float)ht__expm1_near((double)clamped), x);
}

/* 1 + x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), where f is x itself if n is 0, as 1 + x
 * has lost bits of a small one; log(1 + f) = 2 artanh s with s = f / (2 + f). */
HT_INLINE float ht__log1p_float(float x)
{
    double u = 1 + (double)x;
    uint64_t offset = ht__double_to_bits(u) - 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
    int32_t n = (int32_t)(uint32_t)(offset >> 32) >> 20;
    double m = ht__bits_to_double((offset & 0x000fffffffffffff) + 0x3fe6a09e667f3bcd);
    double f = n == 0 ? (double)x : m - 1;
    double s = f / (2 + f), z = s * s, p = 1.0 / 13;
    float y;

    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * (z * s) + s;
    y = copysignf((float)(2 * p + (double)n * 0.69314718055994531), x);
    y = x == -1 ? -INFINITY : y;
    y = x < -1 ? NAN : y;
    return x < INFINITY ? y : x; /* infinity and NaN */
}

/* t / (t + 2) with t = e^(2 |x|) - 1; above 10 it rounds to 1. */
HT_INLINE float ht__tanh_float(float x)
{
    double t = ht__expm1_near(2 * (double)(fabsf(x) < 10 ? fabsf(x) : 10));

    return x != x ? x : copysignf((float)(t / (t + 2)), x);
}

HT_INLINE double ht__density(double x)
{
    return exp(-0.5 * x * x);
}

HT_INLINE double ht__normal(double x, double density)
{
    (void)density;
    return 0.5 * erfc(-0.707106781186547524401 * x);
}

/* e^(-x^2 / 2) for |x| <= 15, else 0; to 15 digits. Above 15 it is nothing beside a float. */
HT_INLINE double ht__density_wide(float x)
{
    const double z = (double)x, y = -0.5 * (z * z), bound = y > -112.5 ? y : -112.5;
    const double shifted = bound * 1.4426950408889634 + 0x1.8p52, n = shifted - 0x1.8p52;
    const double r = (bound - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
    double p = 1.0 / 479001600;

    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1;
    p = p * r + 1;
    p = ht__bits_to_double(ht__double_to_bits(p) + (ht__double_to_bits(shifted) << 52));
    return y >= -112.5 ? p : 0;
}

/* The normal distribution of x, to 14 digits of its tails, with density = ht__density_wide(x). For
 * t = |x| / sqrt(2) the tail is density q / (2 (t + 3.75)); q is a polynomial (Chebyshev's, of degree
 * 16) of v = (t - 3.75) / (t + 3.75). */
HT_INLINE double ht__normal_wide(float x, double density)
{
    const double z = x > 0 ? (double)x : -(double)x;
    const double t = (z < 15 ? z : 15) * 0.70710678118654752;
    const double ratio = 1 / (t + 3.75), v = 1 - 7.5 * ratio;
    double q = 4.9457824841228423e-7, tail;

    q = q * v + 1.3396169918308108e-6;
    q = q * v - 3.8035928450146173e-6;
    q = q * v - 8.9374953486927333e-6;
    q = q * v + 3.7761706524017995e-5;
    q = q * v + 1.0701934326683255e-5;
    q = q * v - 3.4871613814919618e-4;
    q = q * v + 7.9478362930997532e-4;
    q = q * v + 9.8634585770206683e-4;
    q = q * v - 0.012535873702446251;
    q = q * v + 0.049118778230671224;
    q = q * v - 0.1319554016717379;
    q = q * v + 0.27906204904045643;
    q = q * v - 0.49047029119094468;
    q = q * v + 0.73631892522170035;
    q = q * v - 0.9587415766530743;
    q = q * v + 1.0919229095627895;
    tail = 0.5 * (density * (q * ratio));
    tail = x > 0 ? 1 - tail : tail;
    return x != x ? (double)x : tail;
}

#endif
