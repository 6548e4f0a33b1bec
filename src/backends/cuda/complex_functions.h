/* SPDX-License-Identifier: MIT
 *
 * Functions of complex numbers, by those of real ones. Both parts are right to a few units in the
 * last place: no step subtracts rounded numbers. The inverse functions follow Kahan, Branch Cuts
 * for Complex Elementary Functions (1987). Infinities and NaN give what C has (Annex G). complex64
 * is computed in complex128. */
#ifndef HT_BACKENDS_CUDA_COMPLEX_FUNCTIONS_H
#define HT_BACKENDS_CUDA_COMPLEX_FUNCTIONS_H

#include "backends/cuda/complex.h"

#define HT_CUDA_COMPLEX HT_CUDA_FUNCTION ht_complex128

/* factor e^x (a, b), where e^x may overflow alone, or be subnormal. */
HT_CUDA_COMPLEX ht_cuda_times_exp(double x, double factor, double a, double b)
{
    const double half = exp(x / 2);

    if (fabs(x) < 700)
        return {factor * exp(x) * a, factor * exp(x) * b};
    return {half * a * (factor * half), half * b * (factor * half)};
}

HT_CUDA_COMPLEX ht_cuda_exp_of(ht_complex128 z)
{
    if (z.im == 0)
        return {exp(z.re), z.im};
    if (isinf(z.re) && !isfinite(z.im))
        return z.re < 0 ? ht_complex128(0, copysign(0.0, z.im)) : ht_complex128(z.re, NAN);
    return ht_cuda_times_exp(z.re, 1, cos(z.im), sin(z.im));
}

/* a^2 + b^2 - 1, of a number near the unit circle. The squares' roundings are separate terms; two
 * rounds put the rounding of each addition in the place of a term, so that little is left to lose.
 */
static HT_CUDA_DEVICE double ht_cuda_beyond_circle(double a, double b)
{
    const double square = a * a, other = b * b;
    double term[5] = {fma(b, b, -other), fma(a, a, -square), other, square, -1};

    HT_CUDA_UNROLL
    for (int k = 0; k < 8; k++) {
        double &low = term[k % 4], &high = term[k % 4 + 1];
        const double sum = low + high, back = sum - low;

        low = (low - (sum - back)) + (high - back);
        high = sum;
    }
    return term[0] + term[1] + term[2] + term[3] + term[4];
}

/* log |z| */
static HT_CUDA_DEVICE double ht_cuda_log_modulus(ht_complex128 z)
{
    const double large = fmax(fabs(z.re), fabs(z.im)), small = fmin(fabs(z.re), fabs(z.im));
    const double modulus = hypot(z.re, z.im);

    if (isnan(modulus) || isinf(large) || large == 0)
        return log(modulus);
    if (modulus > 0.5 && modulus < 2)
        return log1p(ht_cuda_beyond_circle(large, small)) / 2;
    if (large > 0x1p1000)
        return log(hypot(large * 0x1p-100, small * 0x1p-100)) + 69.31471805599453094172321215;
    if (large < 0x1p-1000)
        return log(hypot(large * 0x1p100, small * 0x1p100)) - 69.31471805599453094172321215;
    return log(modulus);
}

HT_CUDA_COMPLEX ht_cuda_log_of(ht_complex128 z)
{
    return {ht_cuda_log_modulus(z), atan2(z.im, z.re)};
}

HT_CUDA_COMPLEX ht_cuda_sqrt_of(ht_complex128 z)
{
    const double large = fmax(fabs(z.re), fabs(z.im));
    const double up = large > 0x1p1020 ? 0x1p-2 : large < 0x1p-900 ? 0x1p108 : 1;
    const double down = large > 0x1p1020 ? 2 : large < 0x1p-900 ? 0x1p-54 : 1;

    if (z.re == 0 && z.im == 0)
        return {0, z.im};
    if (isinf(z.im))
        return {(double)INFINITY, z.im};
    if (isinf(z.re) && z.re > 0)
        return {z.re, isnan(z.im) ? z.im : copysign(0.0, z.im)};
    if (isinf(z.re))
        return {isnan(z.im) ? z.im : 0, copysign((double)INFINITY, z.im)};
    z = z * up;
    const double root = sqrt((fabs(z.re) + hypot(z.re, z.im)) / 2), part = fabs(z.im) / (2 * root);

    if (z.re >= 0)
        return {root * down, copysign(part * down, z.im)};
    return {part * down, copysign(root * down, z.im)};
}

HT_CUDA_COMPLEX ht_cuda_sinh_of(ht_complex128 z)
{
    if (z.im == 0)
        return {sinh(z.re), z.im};
    if (z.re == 0)
        return {isfinite(z.im) ? z.re * cos(z.im) : z.re, sin(z.im)};
    if (isinf(z.re) && !isfinite(z.im))
        return {fabs(z.re), NAN};
    if (fabs(z.re) < 700)
        return {sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im)};
    return ht_cuda_times_exp(fabs(z.re), 0.5, copysign(1.0, z.re) * cos(z.im), sin(z.im));
}

HT_CUDA_COMPLEX ht_cuda_cosh_of(ht_complex128 z)
{
    if (z.im == 0)
        return {cosh(z.re), copysign(0.0, z.re) * copysign(1.0, z.im)};
    if (z.re == 0)
        return {cos(z.im), isfinite(z.im) ? z.re * sin(z.im) : z.re};
    if (isinf(z.re) && !isfinite(z.im))
        return {fabs(z.re), NAN};
    if (fabs(z.re) < 700)
        return {cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im)};
    return ht_cuda_times_exp(fabs(z.re), 0.5, cos(z.im), copysign(1.0, z.re) * sin(z.im));
}

HT_CUDA_COMPLEX ht_cuda_tanh_of(ht_complex128 z)
{
    if (isinf(z.re))
        return {copysign(1.0, z.re), copysign(0.0, isfinite(z.im) ? sin(2 * z.im) : z.im)};
    if (z.im == 0)
        return {tanh(z.re), z.im};
    if (!isfinite(z.im))
        return {z.re == 0 ? z.re : NAN, NAN};
    if (fabs(z.re) > 22)
        return {copysign(1.0, z.re), 4 * sin(z.im) * cos(z.im) * exp(-2 * fabs(z.re))};
    const double t = tan(z.im), s = sinh(z.re), beta = 1 + t * t, root = sqrt(1 + s * s);

    return {beta * root * s / (1 + beta * s * s), t / (1 + beta * s * s)};
}

/* i z and -i z */
static HT_CUDA_DEVICE ht_complex128 ht_cuda_turn(ht_complex128 z)
{
    return {-z.im, z.re};
}

static HT_CUDA_DEVICE ht_complex128 ht_cuda_turn_back(ht_complex128 z)
{
    return {z.im, -z.re};
}

HT_CUDA_COMPLEX ht_cuda_sin_of(ht_complex128 z)
{
    if (isinf(z.im) && !isfinite(z.re))
        return {NAN, (double)INFINITY};
    return ht_cuda_turn_back(ht_cuda_sinh_of(ht_cuda_turn(z)));
}

HT_CUDA_COMPLEX ht_cuda_cos_of(ht_complex128 z)
{
    return ht_cuda_cosh_of(ht_cuda_turn(z));
}

HT_CUDA_COMPLEX ht_cuda_tan_of(ht_complex128 z)
{
    return ht_cuda_turn_back(ht_cuda_tanh_of(ht_cuda_turn(z)));
}

/* asin and acos of large numbers are an angle, which is that to the imaginary axis for asin, and
 * log |2 z|. */
static HT_CUDA_DEVICE bool ht_cuda_is_far(ht_complex128 z)
{
    return fmax(fabs(z.re), fabs(z.im)) > 0x1p1000;
}

static HT_CUDA_DEVICE double ht_cuda_log_of_twice(ht_complex128 z)
{
    return ht_cuda_log_modulus(z) + 0.693147180559945309417;
}

HT_CUDA_COMPLEX ht_cuda_asin_of(ht_complex128 z)
{
    if (ht_cuda_is_far(z))
        return {atan2(z.re, fabs(z.im)), copysign(ht_cuda_log_of_twice(z), z.im)};
    if (z.re == 0 && isnan(z.im))
        return z;
    const ht_complex128 below = ht_cuda_sqrt_of({1 - z.re, -z.im});
    const ht_complex128 above = ht_cuda_sqrt_of({1 + z.re, z.im});

    return {atan2(z.re, below.re * above.re - below.im * above.im),
            copysign(asinh(below.re * above.im - below.im * above.re), z.im)};
}

HT_CUDA_COMPLEX ht_cuda_acos_of(ht_complex128 z)
{
    if (ht_cuda_is_far(z))
        return {atan2(fabs(z.im), z.re), copysign(ht_cuda_log_of_twice(z), -z.im)};
    if (z.re == 0 && isnan(z.im))
        return {1.57079632679489661923, z.im};
    const ht_complex128 below = ht_cuda_sqrt_of({1 - z.re, -z.im});
    const ht_complex128 above = ht_cuda_sqrt_of({1 + z.re, z.im});

    return {2 * atan2(below.re, above.re),
            copysign(asinh(above.re * below.im - above.im * below.re), -z.im)};
}

HT_CUDA_COMPLEX ht_cuda_asinh_of(ht_complex128 z)
{
    return ht_cuda_turn(ht_cuda_asin_of(ht_cuda_turn_back(z)));
}

HT_CUDA_COMPLEX ht_cuda_acosh_of(ht_complex128 z)
{
    const ht_complex128 w = ht_cuda_acos_of(z);

    return {fabs(w.im), copysign(w.re, z.im)};
}

/* The real part of atanh of a number with x >= 0: log(|1 + z| / |1 - z|) / 2. */
static HT_CUDA_DEVICE double ht_cuda_atanh_part(double x, double y)
{
    const double quarter = hypot(x / 4, y / 4), to_one = (1 - x) * (1 - x) + y * y;

    if (quarter > 0x1p500)
        return x / 4 / quarter / quarter / 4;
    if (x == 1 && fabs(y) < 0x1p-500)
        return (0.693147180559945309417 - log(fabs(y))) / 2;
    return log1p(4 * x / to_one) / 4;
}

HT_CUDA_COMPLEX ht_cuda_atanh_of(ht_complex128 z)
{
    const double x = fabs(z.re), quarter = copysign(1.57079632679489661923, z.im);

    if (isinf(z.re) || isinf(z.im))
        return {copysign(0.0, z.re), isnan(z.im) ? z.im : quarter};
    if (z.re == 0 && isnan(z.im))
        return z;
    const double real = copysign(ht_cuda_atanh_part(x, z.im), z.re);

    if (hypot(x, z.im) > 0x1p500)
        return {real, quarter};
    return {real, atan2(2 * z.im, (1 - x) * (1 + x) - z.im * z.im) / 2};
}

HT_CUDA_COMPLEX ht_cuda_atan_of(ht_complex128 z)
{
    return ht_cuda_turn_back(ht_cuda_atanh_of(ht_cuda_turn(z)));
}

/* As C's, overloaded for complex numbers of both widths. */
#define HT_CUDA_COMPLEX_FUNCTION(fn)                                                              \
    template <class real> static HT_CUDA_DEVICE ht_cuda_complex<real> fn(ht_cuda_complex<real> z) \
    {                                                                                             \
        return ht_cuda_complex<real>(ht_cuda_##fn##_of(ht_complex128(z)));                        \
    }
HT_CUDA_COMPLEX_FUNCTION(exp)
HT_CUDA_COMPLEX_FUNCTION(log)
HT_CUDA_COMPLEX_FUNCTION(sqrt)
HT_CUDA_COMPLEX_FUNCTION(sin)
HT_CUDA_COMPLEX_FUNCTION(cos)
HT_CUDA_COMPLEX_FUNCTION(tan)
HT_CUDA_COMPLEX_FUNCTION(sinh)
HT_CUDA_COMPLEX_FUNCTION(cosh)
HT_CUDA_COMPLEX_FUNCTION(tanh)
HT_CUDA_COMPLEX_FUNCTION(asin)
HT_CUDA_COMPLEX_FUNCTION(acos)
HT_CUDA_COMPLEX_FUNCTION(atan)
HT_CUDA_COMPLEX_FUNCTION(asinh)
HT_CUDA_COMPLEX_FUNCTION(acosh)
HT_CUDA_COMPLEX_FUNCTION(atanh)
#undef HT_CUDA_COMPLEX_FUNCTION

static HT_CUDA_DEVICE ht_complex128 cexp(ht_complex128 z)
{
    return ht_cuda_exp_of(z);
}

template <class real> static HT_CUDA_DEVICE double creal(ht_cuda_complex<real> z)
{
    return z.re;
}

template <class real> static HT_CUDA_DEVICE double cimag(ht_cuda_complex<real> z)
{
    return z.im;
}

template <class real>
static HT_CUDA_DEVICE ht_cuda_complex<real> ht_cuda_conj(ht_cuda_complex<real> z)
{
    return {z.re, -z.im};
}

template <class real> static HT_CUDA_DEVICE real ht_cuda_modulus(ht_cuda_complex<real> z)
{
    return hypot(z.re, z.im);
}

template <class real>
static HT_CUDA_DEVICE ht_cuda_complex<real> ht_cuda_power(ht_cuda_complex<real> a,
                                                          ht_cuda_complex<real> b)
{
    return ht_cuda_complex<real>(
        ht_cuda_exp_of(ht_complex128(b) * ht_cuda_log_of(ht_complex128(a))));
}

#endif
