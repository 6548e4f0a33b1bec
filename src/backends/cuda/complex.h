/* SPDX-License-Identifier: MIT
 *
 * Complex numbers of kernels, laid out as C's. Products and quotients are those of C (Annex G): where
 * both parts would be NaN, infinite operands still give infinities and 0 as they should. */
#ifndef HT_BACKENDS_CUDA_COMPLEX_H
#define HT_BACKENDS_CUDA_COMPLEX_H

#include <math.h>

#include "backends/cuda/launch.h"

#define HT_CUDA_DEVICE __forceinline__ __device__

template <class real> struct alignas(2 * sizeof(real)) ht_cuda_complex {
    real re, im;

    ht_cuda_complex() = default;
    HT_CUDA_DEVICE ht_cuda_complex(real a, real b = 0) : re(a), im(b)
    {
    }
    template <class other>
    HT_CUDA_DEVICE explicit ht_cuda_complex(const ht_cuda_complex<other> &z)
        : re((real)z.re), im((real)z.im)
    {
    }
    friend HT_CUDA_DEVICE ht_cuda_complex operator-(ht_cuda_complex a)
    {
        return {-a.re, -a.im};
    }
    friend HT_CUDA_DEVICE ht_cuda_complex operator+(ht_cuda_complex a, ht_cuda_complex b)
    {
        return {a.re + b.re, a.im + b.im};
    }
    friend HT_CUDA_DEVICE ht_cuda_complex operator-(ht_cuda_complex a, ht_cuda_complex b)
    {
        return {a.re - b.re, a.im - b.im};
    }
    friend HT_CUDA_DEVICE ht_cuda_complex operator-(real a, ht_cuda_complex b)
    {
        return {a - b.re, -b.im};
    }
    friend HT_CUDA_DEVICE ht_cuda_complex operator*(ht_cuda_complex a, real b)
    {
        return {a.re * b, a.im * b};
    }
    friend HT_CUDA_DEVICE ht_cuda_complex operator/(ht_cuda_complex a, real b)
    {
        return {a.re / b, a.im / b};
    }
    friend HT_CUDA_DEVICE ht_cuda_complex operator*(ht_cuda_complex a, ht_cuda_complex b)
    {
        return ht_cuda_product_of(a, b);
    }
    friend HT_CUDA_DEVICE ht_cuda_complex operator/(ht_cuda_complex a, ht_cuda_complex b)
    {
        return ht_cuda_quotient_of(a, b);
    }
    friend HT_CUDA_DEVICE bool operator==(ht_cuda_complex a, ht_cuda_complex b)
    {
        return a.re == b.re && a.im == b.im;
    }
    friend HT_CUDA_DEVICE bool operator!=(ht_cuda_complex a, ht_cuda_complex b)
    {
        return !(a == b);
    }
    HT_CUDA_DEVICE ht_cuda_complex &operator+=(ht_cuda_complex b)
    {
        return *this = *this + b;
    }
    HT_CUDA_DEVICE ht_cuda_complex &operator*=(ht_cuda_complex b)
    {
        return *this = *this * b;
    }
};

typedef ht_cuda_complex<float> ht_complex64;
typedef ht_cuda_complex<double> ht_complex128;

/* 1 or 0 for infinite parts or not, with their signs; 0 with the sign for NaN. */
template <class real> static HT_CUDA_DEVICE real ht_cuda_corner(real x)
{
    return copysign(isinf(x) ? (real)1 : (real)0, x);
}

template <class real> static HT_CUDA_DEVICE real ht_cuda_not_nan(real x)
{
    return isnan(x) ? copysign((real)0, x) : x;
}

template <class real>
static HT_CUDA_DEVICE ht_cuda_complex<real> ht_cuda_product_of(ht_cuda_complex<real> a,
                                                               ht_cuda_complex<real> b)
{
    const real ac = a.re * b.re, bd = a.im * b.im, ad = a.re * b.im, bc = a.im * b.re;
    const bool infinite = isinf(a.re) || isinf(a.im) || isinf(b.re) || isinf(b.im);

    if (!isnan(ac - bd) || !isnan(ad + bc))
        return {ac - bd, ad + bc};
    if (!infinite && !isinf(ac) && !isinf(bd) && !isinf(ad) && !isinf(bc))
        return {ac - bd, ad + bc};
    if (isinf(a.re) || isinf(a.im))
        a = {ht_cuda_corner(a.re), ht_cuda_corner(a.im)};
    if (isinf(b.re) || isinf(b.im))
        b = {ht_cuda_corner(b.re), ht_cuda_corner(b.im)};
    a = {ht_cuda_not_nan(a.re), ht_cuda_not_nan(a.im)};
    b = {ht_cuda_not_nan(b.re), ht_cuda_not_nan(b.im)};
    return {(real)INFINITY * (a.re * b.re - a.im * b.im),
            (real)INFINITY * (a.re * b.im + a.im * b.re)};
}

/* Corrects a / b if both parts of q, its value by arithmetic, are NaN. */
template <class real>
HT_CUDA_FUNCTION ht_cuda_complex<real> ht_cuda_limit_of(ht_cuda_complex<real> a,
                                                        ht_cuda_complex<real> b,
                                                        ht_cuda_complex<real> q)
{
    const bool a_finite = isfinite(a.re) && isfinite(a.im);
    const bool b_finite = isfinite(b.re) && isfinite(b.im);
    const bool a_infinite = isinf(a.re) || isinf(a.im), b_infinite = isinf(b.re) || isinf(b.im);

    if (b.re == 0 && b.im == 0 && (!isnan(a.re) || !isnan(a.im)))
        return {copysign((real)INFINITY, b.re) * a.re, copysign((real)INFINITY, b.re) * a.im};
    if (a_infinite && b_finite) {
        a = {ht_cuda_corner(a.re), ht_cuda_corner(a.im)};
        return {(real)INFINITY * (a.re * b.re + a.im * b.im),
                (real)INFINITY * (a.im * b.re - a.re * b.im)};
    }
    if (b_infinite && a_finite) {
        b = {ht_cuda_corner(b.re), ht_cuda_corner(b.im)};
        return {0 * (a.re * b.re + a.im * b.im), 0 * (a.im * b.re - a.re * b.im)};
    }
    return q;
}

/* float32 in float64, in which nothing overflows. */
static HT_CUDA_DEVICE ht_complex64 ht_cuda_plain_quotient(ht_complex64 a, ht_complex64 b)
{
    const double c = b.re, d = b.im, denominator = c * c + d * d;

    return {(float)((a.re * c + a.im * d) / denominator),
            (float)((a.im * c - a.re * d) / denominator)};
}

/* Smith's way, of operands that are scaled where a product would overflow, or lose digits as a
 * subnormal number (Baudin and Smith 2012). A large numerator over a small b is scaled afterwards. */
static HT_CUDA_DEVICE ht_complex128 ht_cuda_plain_quotient(ht_complex128 a, ht_complex128 b)
{
    const bool turned = fabs(b.re) < fabs(b.im);
    const double big = turned ? fabs(b.im) : fabs(b.re), re = fabs(a.re), im = fabs(a.im);
    const double after = big < 0x1p-969 && fmax(re, im) >= 0x1p970 ? 0x1p53 : 1;
    double up = 1;

    if (big >= 0x1p1023)
        up = 0.5;
    else if (big < 0x1p-969 || (big < 0x1p+970 && ((re < 0x1p-1022 && im < 0x1p+970) ||
                                                   (im < 0x1p-1022 && re < 0x1p+970))))
        up = 0x1p53;
    a = a * (up / after);
    b = b * up;
    const double c = turned ? b.im : b.re, d = turned ? b.re : b.im;
    const double x = turned ? a.im : a.re, y = turned ? a.re : a.im;
    const double ratio = d / c, denominator = c + d * ratio;
    const double direct = d == 0 || fabs(ratio) > 0x1p-1022 ? y * ratio : d * (y / c);
    const double across = d == 0 || fabs(ratio) > 0x1p-1022 ? x * ratio : d * (x / c);

    return {(x + direct) / denominator * after,
            (turned ? across - y : y - across) / denominator * after};
}

template <class real>
static HT_CUDA_DEVICE ht_cuda_complex<real> ht_cuda_quotient_of(ht_cuda_complex<real> a,
                                                                ht_cuda_complex<real> b)
{
    const ht_cuda_complex<real> q = ht_cuda_plain_quotient(a, b);

    return isnan(q.re) && isnan(q.im) ? ht_cuda_limit_of(a, b, q) : q;
}

#endif
