/* SPDX-License-Identifier: MIT
 *
 * Rounding, remainders, bits, truth, and functions of <math.h>, for one element. */
#include "fuzz/number_functions.h"

#include <stdlib.h>

static bool is_whole(ht_dtype dtype)
{
    return kind_of(dtype) <= KIND_INT;
}

/* y = f(a) of a real number, with its slope; `err`: what the operand's error makes of it. */
static struct number real_function(ht_dtype dtype, struct number a, double y, double slope,
                                   double err)
{
    struct number r = {.re = y};

    chain(&r, slope, a, 0, NULL);
    return finish(dtype, r, a.err > 0 ? err : 0, 4);
}

/* --- Jumps: known unless the error reaches one --- */

static struct number step(ht_dtype dtype, struct number a, double (*f)(double))
{
    struct number r = {.re = f(a.re)};

    if (is_whole(dtype))
        return a.err > 0 ? number_unknown() : number_int(dtype, a.i);
    if (a.err > 0 && f(a.re - a.err) != f(a.re + a.err))
        return number_unknown();
    chain(&r, 0, a, 0, NULL);
    return r;
}

struct number number_floor(ht_dtype dtype, struct number a)
{
    return step(dtype, a, floor);
}

struct number number_ceil(ht_dtype dtype, struct number a)
{
    return step(dtype, a, ceil);
}

struct number number_trunc(ht_dtype dtype, struct number a)
{
    return step(dtype, a, trunc);
}

struct number number_round(ht_dtype dtype, struct number a)
{
    return step(dtype, a, rint);
}

static double sign(double x)
{
    return isnan(x) ? NAN : (x > 0) - (x < 0);
}

struct number number_sign(ht_dtype dtype, struct number a)
{
    if (is_whole(dtype))
        return a.err > 0 ? number_unknown() : number_int(dtype, (a.i > 0) - (a.i < 0));
    return step(dtype, a, sign);
}

struct number number_abs_of(ht_dtype dtype, struct number a)
{
    struct number r = {.re = fabs(a.re), .err = a.err};

    if (is_whole(dtype))
        return a.err > 0 ? number_unknown()
                         : number_int(dtype, a.i < 0 ? (int64_t)(0 - (uint64_t)a.i) : a.i);
    chain(&r, a.err > 0 && fabs(a.re) <= a.err ? INFINITY : sign(a.re), a, 0, NULL);
    return r;
}

struct number number_square(ht_dtype dtype, struct number a)
{
    return number_mul(dtype, a, a);
}

/* --- Functions of <math.h> --- */

struct number number_sin(ht_dtype dtype, struct number a)
{
    return real_function(dtype, a, sin(a.re), cos(a.re), a.err);
}

struct number number_cos(ht_dtype dtype, struct number a)
{
    return real_function(dtype, a, cos(a.re), -sin(a.re), a.err);
}

struct number number_atan(ht_dtype dtype, struct number a)
{
    return real_function(dtype, a, atan(a.re), 1 / (1 + a.re * a.re), a.err);
}

struct number number_sinh(ht_dtype dtype, struct number a)
{
    return real_function(dtype, a, sinh(a.re), cosh(a.re), 2 * cosh(fabs(a.re) + a.err) * a.err);
}

struct number number_asinh(ht_dtype dtype, struct number a)
{
    return real_function(dtype, a, asinh(a.re), 1 / hypot(1, a.re), a.err);
}

struct number number_exp2(ht_dtype dtype, struct number a)
{
    const double y = exp2(a.re);

    return real_function(dtype, a, y, y * log(2), y * expm1(a.err));
}

/* 1 / a, with what a's error makes of it; of a logarithm to a base. */
static struct number logarithm(ht_dtype dtype, struct number a, double y, double base)
{
    const double size = fabs(a.re);

    return real_function(dtype, a, y, 1 / (a.re * log(base)),
                         size > a.err ? 2 * a.err / (size - a.err) : INFINITY);
}

struct number number_log2(ht_dtype dtype, struct number a)
{
    return logarithm(dtype, a, log2(a.re), 2);
}

struct number number_log10(ht_dtype dtype, struct number a)
{
    return logarithm(dtype, a, log10(a.re), 10);
}

struct number number_hypot(ht_dtype dtype, struct number a, struct number b)
{
    struct number r = {.re = hypot(a.re, b.re)};

    chain(&r, r.re > 0 ? a.re / r.re : INFINITY, a, r.re > 0 ? b.re / r.re : INFINITY, &b);
    return finish(dtype, r, a.err + b.err, 4);
}

/* Only for known numbers, because angles jump. */
struct number number_atan2(ht_dtype dtype, struct number a, struct number b)
{
    const double square = a.re * a.re + b.re * b.re;
    struct number r = {.re = atan2(a.re, b.re)};

    if (a.err + b.err > 0)
        return number_unknown();
    chain(&r, square > 0 ? b.re / square : INFINITY, a, square > 0 ? -a.re / square : INFINITY, &b);
    return finish(dtype, r, 0, 4);
}

/* Where it cancels it is as good as its operands are large. */
struct number number_logaddexp(ht_dtype dtype, struct number a, struct number b)
{
    const double most = fmax(a.re, b.re), gap = fabs(a.re - b.re);
    struct number r = {.re = a.re == b.re ? a.re + log(2) : most + log1p(exp(-gap))};

    if (isnan(a.re) || isnan(b.re))
        r.re = NAN;
    chain(&r, isfinite(gap) ? exp(a.re - r.re) : INFINITY, a,
          isfinite(gap) ? exp(b.re - r.re) : INFINITY, &b);
    return finish(dtype, r, a.err + b.err + 4 * eps_of(dtype) * fabs(most), 4);
}

struct number number_copysign(ht_dtype dtype, struct number a, struct number b)
{
    struct number r = {.re = copysign(a.re, b.re), .err = a.err};
    double slope = signbit(a.re) == signbit(r.re) ? 1 : -1;

    if (!(fabs(b.re) > b.err)) /* signs of zeros and of NaN may be either */
        return number_unknown();
    if (fabs(a.re) <= a.err)
        slope = a.err > 0 ? INFINITY : 0;
    chain(&r, slope, a, 0, &b);
    return finish(dtype, r, a.err, 0);
}

/* --- Integer quotients, and remainders --- */

static int64_t floor_quotient(int64_t a, int64_t b)
{
    int64_t q = a / b;

    return q - (a % b != 0 && (a < 0) != (b < 0));
}

enum whole { QUOTIENT, REST, REST_OF_A };

static struct number divide_whole(ht_dtype dtype, struct number a, struct number b, enum whole what)
{
    if (b.i == 0)
        return number_int(dtype, 0);
    if (b.i == -1)
        return number_int(dtype, what == QUOTIENT ? (int64_t)(0 - (uint64_t)a.i) : 0);
    if (what == QUOTIENT)
        return number_int(dtype, floor_quotient(a.i, b.i));
    if (what == REST_OF_A)
        return number_int(dtype, a.i % b.i);
    return number_int(
        dtype, (int64_t)((uint64_t)a.i - (uint64_t)floor_quotient(a.i, b.i) * (uint64_t)b.i));
}

struct number number_floordiv(ht_dtype dtype, struct number a, struct number b)
{
    double rest = fmod(a.re, b.re);
    struct number r = {0};

    if (a.err + b.err > 0)
        return number_unknown();
    if (is_whole(dtype))
        return divide_whole(dtype, a, b, QUOTIENT);
    if (!isfinite(a.re) || !isfinite(b.re) || b.re == 0)
        return number_unknown();
    r.re = rint((a.re - rest) / b.re) - (rest != 0 && (rest < 0) != (b.re < 0));
    if (r.re == 0)
        r.re = copysign(0, a.re / b.re);
    return fabs(r.re) * eps_of(dtype) < 0.5 ? finish(dtype, r, 0, 0) : number_unknown();
}

struct number number_remainder(ht_dtype dtype, struct number a, struct number b)
{
    const double rest = fmod(a.re, b.re), quotient = (a.re - rest) / b.re;
    const bool other_sign = rest != 0 && (rest < 0) != (b.re < 0);
    struct number r = {.re = other_sign ? rest + b.re : rest};

    if (a.err + b.err > 0)
        return number_unknown();
    if (is_whole(dtype))
        return divide_whole(dtype, a, b, REST);
    if (!isfinite(a.re) || !isfinite(b.re) || b.re == 0)
        return number_unknown();
    if (rest == 0)
        r.re = copysign(0, b.re);
    chain(&r, 1, a, -(rint(quotient) - other_sign), &b);
    return finish(dtype, r, 0, other_sign ? 1 : 0);
}

struct number number_fmod(ht_dtype dtype, struct number a, struct number b)
{
    struct number r = {.re = fmod(a.re, b.re)};

    if (a.err + b.err > 0)
        return number_unknown();
    if (is_whole(dtype))
        return divide_whole(dtype, a, b, REST_OF_A);
    if (!isfinite(a.re) || !isfinite(b.re) || b.re == 0)
        return number_unknown();
    chain(&r, 1, a, -rint((a.re - r.re) / b.re), &b);
    return finish(dtype, r, 0, 0);
}

/* Factor by factor: 2^bits is what they are counted modulo. */
static struct number whole_power(ht_dtype dtype, int64_t a, int64_t b)
{
    uint64_t power = 1;

    if (b < 0)
        return number_int(dtype, a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0);
    for (uint64_t square = (uint64_t)a; b > 0; b /= 2, square *= square)
        power *= b % 2 == 1 ? square : 1;
    return number_int(dtype, (int64_t)power);
}

struct number number_pow(ht_dtype dtype, struct number a, struct number b)
{
    const double y = pow(a.re, b.re);
    struct number r = {.re = y};

    if (a.err + b.err > 0)
        return number_unknown();
    if (is_whole(dtype))
        return whole_power(dtype, a.i, b.i);
    chain(&r, b.re == 0 ? 0 : b.re * pow(a.re, b.re - 1), a, a.re > 0 ? y * log(a.re) : INFINITY,
          &b);
    return finish(dtype, r, 0, 4);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static uint64_t size_of(int64_t i)
{
    return i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
}

struct number number_gcd(ht_dtype dtype, struct number a, struct number b)
{
    if (a.err + b.err > 0)
        return number_unknown();
    return number_int(dtype, (int64_t)common_divisor(size_of(a.i), size_of(b.i)));
}

/* Results that do not fit the dtype are not checked. */
struct number number_lcm(ht_dtype dtype, struct number a, struct number b)
{
    const uint64_t x = size_of(a.i), y = size_of(b.i), common = common_divisor(x, y);
    uint64_t multiple;

    if (a.err + b.err > 0)
        return number_unknown();
    if (common == 0)
        return number_int(dtype, 0);
    if (__builtin_mul_overflow(x / common, y, &multiple) || multiple > INT64_MAX ||
        wrap_to(dtype, (int64_t)multiple) != (int64_t)multiple)
        return number_unknown();
    return number_int(dtype, (int64_t)multiple);
}

/* --- Bits --- */

#define BITS(name, expression)                                                    \
    struct number number_##name(ht_dtype dtype, struct number a, struct number b) \
    {                                                                             \
        if (a.err + b.err > 0)                                                    \
            return number_unknown();                                              \
        return number_int(dtype, expression);                                     \
    }
BITS(bitwise_and, a.i &b.i)
BITS(bitwise_or, a.i | b.i)
BITS(bitwise_xor, a.i ^ b.i)

static int64_t shift_left(ht_dtype dtype, int64_t a, int64_t b)
{
    if (b < 0 || b >= 8 * (int64_t)ht_dtype_size(dtype))
        return 0;
    return (int64_t)((uint64_t)a << b);
}

static int64_t shift_right(ht_dtype dtype, int64_t a, int64_t b)
{
    if (b < 0 || b >= 8 * (int64_t)ht_dtype_size(dtype))
        return a < 0 ? -1 : 0;
    return a >> b;
}
BITS(left_shift, shift_left(dtype, a.i, b.i))
BITS(right_shift, shift_right(dtype, a.i, b.i))

struct number number_bitwise_not(ht_dtype dtype, struct number a)
{
    if (a.err > 0)
        return number_unknown();
    return number_int(dtype, dtype == HT_BOOL ? !a.i : ~a.i);
}

/* --- Truth --- */

static bool truth_in_doubt(ht_dtype dtype, struct number a)
{
    return is_unknown(a) || (a.err > 0 && number_abs(dtype, a) <= a.err);
}

struct number number_logical_not(ht_dtype dtype, struct number a)
{
    return truth_in_doubt(dtype, a) ? number_unknown() : number_int(HT_BOOL, !is_true(dtype, a));
}

#define CONNECTION(name, op)                                                      \
    struct number number_##name(ht_dtype dtype, struct number a, struct number b) \
    {                                                                             \
        if (truth_in_doubt(dtype, a) || truth_in_doubt(dtype, b))                 \
            return number_unknown();                                              \
        return number_int(HT_BOOL, is_true(dtype, a) op is_true(dtype, b));       \
    }
CONNECTION(logical_and, &&)
CONNECTION(logical_or, ||)
CONNECTION(logical_xor, !=)

/* A number that is not known exactly is not known to be finite in its dtype either. */
#define TEST(name, expression)                                   \
    struct number number_##name(ht_dtype dtype, struct number a) \
    {                                                            \
        if (a.err > 0)                                           \
            return number_unknown();                             \
        return number_int(HT_BOOL, expression);                  \
    }
TEST(isnan, !is_whole(dtype) && (isnan(a.re) || isnan(a.im)))
TEST(isinf, !is_whole(dtype) && (isinf(a.re) || isinf(a.im)))
TEST(isfinite, is_whole(dtype) || (isfinite(a.re) && isfinite(a.im)))
