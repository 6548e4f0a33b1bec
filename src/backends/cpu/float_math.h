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

/* |x|, or limit if it is larger or NaN. The bits are compared, because the compiler would make two
 * branches of a condition of floats, and compute what follows in both. */
HT_INLINE float ht__bound_float(float x, float limit)
{
    const int32_t size = (int32_t)ht__float_to_bits(fabsf(x));
    const int32_t most = (int32_t)ht__float_to_bits(limit);

    return ht__bits_to_float((uint32_t)(size < most ? size : most));
}

/* 2^n for -126 <= n <= 127. */
HT_INLINE float ht__power_of_two(int32_t n)
{
    return ht__bits_to_float((uint32_t)(n + 127) << 23);
}

/* 2^n x for -252 <= n <= 254, in two steps, so that subnormal results are rounded once and large ones
 * become infinite. */
HT_INLINE float ht__scale_float(float x, int32_t n)
{
    const int32_t half = n >> 1;

    return x * ht__power_of_two(half) * ht__power_of_two(n - half);
}

/* e^r - 1 for |r| <= 0.35 by a polynomial (Cephes expf), in pairs of terms that do not wait for each
 * other. */
HT_INLINE float ht__exp_rest(float r)
{
    const float square = r * r;
    float p = 1.9875691500e-4f * r + 1.3981999507e-3f;

    p = p * square + (8.3334519073e-3f * r + 4.1665795894e-2f);
    p = p * square + (1.6666665459e-1f * r + 5.0000001201e-1f);
    return p * square + r;
}

/* x = n ln 2 + r for |x| <= 128: n, and e^r - 1. */
HT_INLINE float ht__exp_less_one(float x, int32_t *n)
{
    float shifted = x * 1.44269504088896341f + HT_ROUND_FLOAT;
    float whole = shifted - HT_ROUND_FLOAT;

    *n = (int32_t)(ht__float_to_bits(shifted) - ht__float_to_bits(HT_ROUND_FLOAT));
    return ht__exp_rest(x - whole * 0.693359375f - whole * -2.12194440e-4f);
}

/* x = n ln 2 + r for |x| <= 128: n, and e^r. */
HT_INLINE float ht__exp_parts(float x, int32_t *n)
{
    return ht__exp_less_one(x, n) + 1.0f;
}

HT_INLINE float ht__exp_float(float x)
{
    int32_t n;
    float p = ht__exp_parts(copysignf(ht__bound_float(x, 104), x), &n);

    return x != x ? x : ht__scale_float(p, n);
}

/* The same for x up to 43, in fewer steps; infinite above 44. A caller's x is at most 0, or little
 * more where it is recomputed with another rounding. */
HT_INLINE float ht__exp_below_float(float x)
{
    float clamped = x < -104.0f ? -104.0f : x;
    int32_t n;
    float p = ht__exp_parts(clamped, &n);

    p = p * ht__power_of_two(n + 64) * 0x1p-64f; /* in this order: the factors alone underflow */
    return x > 44.0f ? INFINITY : p;
}

/* e^x with float's digits and double's range: never subnormal, and infinite above 128. */
HT_INLINE double ht__exp_wide(float x)
{
    int32_t n;
    double p = (double)ht__exp_parts(copysignf(ht__bound_float(x, 128), x), &n);

    p *= ht__bits_to_double((uint64_t)(int64_t)(n + 1023) << 52);
    p = x > 128.0f ? (double)INFINITY : p;
    return x != x ? (double)x : p;
}

/* 2^n x for -226 <= n <= 0, as ht__scale_float has it, in fewer steps. */
HT_INLINE float ht__shrink_float(float x, int32_t n)
{
    return x * ht__power_of_two(n + 100) * 0x1p-100f;
}

/* number / (1 + e^-x) = 2^n quotient, where n is 0 unless x is negative. */
typedef struct ht_logistic_float {
    float quotient;
    int32_t n;
    float e, below; /* e^-|x|, and 1 + e */
    float rest;     /* e^x = 2^n (1 + rest); 0 if x is not negative */
} ht_logistic_float;

/* For size = |x|, 126 at most, and number = x or 1. The quotient is that of sums, corrected by the
 * bits that these lose: 1.457 - below / 2 is 1 / below within 0.05. The sign chooses by its bits:
 * of a condition the compiler would make two branches, and compute the quotient in both. */
HT_INLINE ht_logistic_float ht__logistic_parts(float number, float x, float size)
{
    const uint32_t negative = (uint32_t)((int32_t)ht__float_to_bits(x) >> 31);
    int32_t n;
    const float s = ht__exp_less_one(-size, &n);
    const float e = (1 + s) * ht__power_of_two(n < -126 ? -126 : n), below = 1 + e;
    const float rest = ht__bits_to_float(ht__float_to_bits(s) & negative), part = number * rest;
    const float above = number + part, lost = part - (above - number), lost_below = e - (below - 1);
    const float y = above / below, quotient = y - (y * lost_below - lost) * (1.457f - 0.5f * below);

    return (ht_logistic_float){quotient, n & (int32_t)negative, e, below, rest};
}

/* 1 / (1 + e^-x). */
HT_INLINE float ht__sigmoid_float(float x)
{
    const ht_logistic_float p = ht__logistic_parts(1, x, ht__bound_float(x, 126));

    return x != x ? x : ht__shrink_float(p.quotient, p.n);
}

/* x / (1 + e^-x), and its derivative to a float's digits of the larger term. NaN of minus infinity,
 * and a slope of NaN of both, as PyTorch has it. */
HT_INLINE float ht__silu_float(float x, float *slope)
{
    const float size = ht__bound_float(x, 126), nan = 0 * x;
    const ht_logistic_float p = ht__logistic_parts(copysignf(size, x), x, size);
    const float sum = 1 + p.rest + p.quotient * (x > 0 ? p.e : 1);

    *slope = ht__shrink_float(1 / p.below * sum, p.n) + nan;
    return x > 126 ? x : ht__shrink_float(p.quotient, p.n) + nan;
}

HT_INLINE double ht__sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

HT_INLINE double ht__silu(double x, double *slope)
{
    const double s = ht__sigmoid(x);

    *slope = s * (1 + x * (1 - s));
    return x * s;
}

/* x tanh(log(1 + e^x)) by e = e^-|x|, which does not overflow; in double, because roundings on the
 * way are many. */
HT_INLINE float ht__mish_float(float x, float *slope)
{
    const double e = x < -128 ? 0 : ht__exp_wide(-fabsf(x));
    const double part = x > 0 ? 1 + 2 * e : e * (e + 2);
    const double gate = part / (part + (x > 0 ? 2 * e * e : 2));
    const double sigmoid = (x > 0 ? 1 : e) / (1 + e);

    *slope = (float)(gate + x * sigmoid * (1 - gate * gate));
    return (float)(x * gate);
}

HT_INLINE double ht__mish(double x, double *slope)
{
    const double gate = tanh(log1p(exp(x)));

    *slope = gate + x * ht__sigmoid(x) * (1 - gate * gate);
    return x * gate;
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

/* x = high + a rest below 2^-11 |x|. */
HT_INLINE float ht__high_bits(float x)
{
    return ht__bits_to_float(ht__float_to_bits(x) & 0xffffe000);
}

/* A number z from 0 to 15 whose high part, a multiple of 2^-8, has an exact square. */
typedef struct ht_split_float {
    float z, high, low;
} ht_split_float;

/* |x|, or 15 if it is larger. */
HT_INLINE ht_split_float ht__split_magnitude(float x)
{
    const float bound = ht__bound_float(x, 15);
    const float high = (bound + 0x1.8p15f) - 0x1.8p15f;

    const ht_split_float parts = {bound, high, bound - high};

    return parts;
}

/* e^(-z^2 / 2) = 2^n (1 + s): n, and s. */
HT_INLINE float ht__density_parts(ht_split_float x, int32_t *n)
{
    const float square = 0.5f * (x.high * x.high), rest = 0.5f * (x.low * (x.z + x.high));
    const float shifted = square * -1.44269504088896341f + HT_ROUND_FLOAT;
    const float whole = shifted - HT_ROUND_FLOAT;

    *n = (int32_t)(ht__float_to_bits(shifted) - ht__float_to_bits(HT_ROUND_FLOAT));
    return ht__exp_rest((-square - whole * 0.693359375f) - (whole * -2.12194440e-4f + rest));
}

/* (z + 2) times half of erfcx(z / sqrt(2)) for w = z / (z + 2), less HT_TAIL_FIRST, which has 3
 * bits: a polynomial (minimax), its even and odd terms separate. Its last digits keep gelu within 2
 * ulp. */
#define HT_TAIL_FIRST 0.625f

HT_INLINE float ht__tail_rest(float w)
{
    const float v = w - 0.572610855f, square = v * v;
    float even = -0.14306967f, odd = -0.267470092f;

    even = even * square - 0.0784223974f;
    even = even * square + 0.234287977f;
    even = even * square - 0.253519386f;
    even = even * square + 0.279382437f;
    odd = odd * square + 0.217740938f;
    odd = odd * square - 0.039144922f;
    odd = odd * square - 0.093751356f;
    odd = odd * square + 0.178068429f;
    return ((even * square + odd * v) - 0.641477466f) * v;
}

/* x Phi(x) = max(x, 0) - z Phi(-z) with z = |x|. The second term is 2^n (1 + s) w (first + q); sums
 * keep the bits that float would lose, so that the tail is within 2 ulp, too: the worst of all
 * floats is 1.995 ulp, at -12.0462494. The exact quotient is w + rest; the derivative of w (first +
 * q) is linear within 0.1. The derivative of the function, Phi(x) + x phi(x), is given to a float's
 * digits of the larger term. Infinity has a slope of NaN, as PyTorch has it. */
HT_INLINE float ht__gelu_float(float x, float *slope)
{
    const ht_split_float p = ht__split_magnitude(x);
    const float inverse = 1 / (p.z + 2), w = p.z * inverse, nan = 0 * x;
    const float high = ht__high_bits(w), low = w - high, divisor = p.high + 2;
    const float rest = (((p.z - high * divisor) - low * divisor) - w * p.low) * inverse;
    int32_t n;
    const float s = ht__density_parts(p, &n), first = HT_TAIL_FIRST, q = ht__tail_rest(w);
    float top, bottom, below;

    below = inverse * (first + q) - 0.398942280f * p.z; /* the slope at -z */
    below = ht__shrink_float(below + below * s, n);
    *slope = (x > 0 ? 1 - below : below) + nan;
    top = high * first;
    bottom = (low * first + rest * (0.9645f - 1.1652f * w)) + w * q;
    bottom += (top + bottom) * s;
    return (x > 0 ? x : nan) - ht__shrink_float(top + bottom, n);
}

HT_INLINE double ht__gelu(double x, double *slope)
{
    const double below = 0.5 * erfc(-0.707106781186547524401 * x);

    *slope = below + x * (0.398942280401432677940 * exp(-0.5 * x * x));
    return x * below;
}

#endif
