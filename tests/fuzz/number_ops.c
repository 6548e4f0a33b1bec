/* SPDX-License-Identifier: MIT
 *
 * The operations on one element, with error bounds and derivatives. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/number.h"

/* A slope that is known up to `err`, however small it is itself, times a's derivatives. */
static void add_doubt(ht_dtype dtype, struct dual *to, double err, struct number a)
{
    for (int k = 0; err > 0 && a.d != NULL && k < MAX_DUALS; k++) {
        if (a.d[k].size > 0)
            to[k].size += err / (SLACK * eps_of(dtype)) * a.d[k].size;
    }
}

static struct number integer(ht_dtype dtype, struct number a, struct number b, uint64_t value)
{
    return a.err + b.err > 0 ? number_unknown() : number_int(dtype, (int64_t)value);
}

struct number number_add(ht_dtype dtype, struct number a, struct number b)
{
    struct number r = {.re = a.re + b.re, .im = a.im + b.im};

    if (dtype == HT_BOOL)
        return integer(dtype, a, b, a.i | b.i);
    if (kind_of(dtype) == KIND_INT)
        return integer(dtype, a, b, (uint64_t)a.i + (uint64_t)b.i);
    chain(&r, 1, a, 1, &b);
    return finish(dtype, r, a.err + b.err, 0);
}

struct number number_sub(ht_dtype dtype, struct number a, struct number b)
{
    struct number r = {.re = a.re - b.re, .im = a.im - b.im};

    if (kind_of(dtype) <= KIND_INT)
        return integer(dtype, a, b, (uint64_t)a.i - (uint64_t)b.i);
    chain(&r, 1, a, -1, &b);
    return finish(dtype, r, a.err + b.err, 0);
}

struct number number_mul(ht_dtype dtype, struct number a, struct number b)
{
    struct number r = {.re = a.re * b.re};
    double sa = number_abs(dtype, a), sb = number_abs(dtype, b), err = 0;

    if (dtype == HT_BOOL)
        return integer(dtype, a, b, a.i & b.i);
    if (kind_of(dtype) == KIND_INT)
        return integer(dtype, a, b, (uint64_t)a.i * (uint64_t)b.i);
    if (a.err + b.err > 0)
        err = sa * b.err + sb * a.err + a.err * b.err;
    if (kind_of(dtype) == KIND_COMPLEX) {
        r.re = a.re * b.re - a.im * b.im;
        r.im = a.re * b.im + a.im * b.re;
        err += 2 * ulp(dtype, sa * sb);
    }
    chain(&r, number_z(b), a, number_z(a), &b);
    add_doubt(dtype, r.d, b.err, a);
    add_doubt(dtype, r.d, a.err, b);
    return finish(dtype, r, err, 0);
}

struct number number_div(ht_dtype dtype, struct number a, struct number b)
{
    double complex q = kind_of(dtype) == KIND_COMPLEX ? number_z(a) / number_z(b) : a.re / b.re;
    struct number r = {.re = creal(q), .im = cimag(q)};
    double sb = number_abs(dtype, b), err = 0;

    if (a.err + b.err > 0)
        err = sb > b.err ? (a.err + cabs(q) * b.err) / (sb - b.err) : INFINITY;
    chain(&r, 1 / number_z(b), a, -q / number_z(b), &b);
    add_doubt(dtype, r.d, err / sb, b);
    add_doubt(dtype, r.d, sb > b.err ? b.err / (sb * (sb - b.err)) : INFINITY, a);
    return finish(dtype, r, err, kind_of(dtype) == KIND_COMPLEX ? 8 : 0);
}

/* --- Comparisons --- */

static bool in_doubt(ht_dtype dtype, struct number a, struct number b)
{
    if (a.err + b.err == 0)
        return false;
    return is_unknown(a) || is_unknown(b) || kind_of(dtype) <= KIND_INT ||
           cabs(number_z(a) - number_z(b)) <= a.err + b.err;
}

#define COMPARISON(name, op)                                                                \
    struct number number_##name(ht_dtype dtype, struct number a, struct number b)           \
    {                                                                                       \
        if (in_doubt(dtype, a, b))                                                          \
            return number_unknown();                                                        \
        return number_int(HT_BOOL, kind_of(dtype) <= KIND_INT ? a.i op b.i : a.re op b.re); \
    }
COMPARISON(lt, <)
COMPARISON(le, <=)
COMPARISON(gt, >)
COMPARISON(ge, >=)

struct number number_eq(ht_dtype dtype, struct number a, struct number b)
{
    if (in_doubt(dtype, a, b))
        return number_unknown();
    return number_int(HT_BOOL,
                      kind_of(dtype) <= KIND_INT ? a.i == b.i : a.re == b.re && a.im == b.im);
}

struct number number_ne(ht_dtype dtype, struct number a, struct number b)
{
    struct number r = number_eq(dtype, a, b);

    r.i = !r.i;
    return r;
}

/* Equal operands get half of the gradient each; NaN gets none. */
static struct number extreme(ht_dtype dtype, struct number a, struct number b, bool first)
{
    struct number r = first ? a : b;
    bool ints = kind_of(dtype) == KIND_INT, equal = ints ? a.i == b.i : a.re == b.re;

    if (in_doubt(dtype, a, b) && (ints || is_unknown(a) || is_unknown(b)))
        return number_unknown();
    r.err = fmax(a.err, b.err);
    if (isnan(a.re) || isnan(b.re))
        r.re = NAN;
    if (in_doubt(dtype, a, b)) { /* any share of the gradient */
        chain(&r, INFINITY, a, INFINITY, &b);
        return r;
    }
    if (isnan(r.re))
        chain(&r, 0, a, 0, &b);
    else
        chain(&r, equal ? 0.5 : first, a, equal ? 0.5 : !first, &b);
    return r;
}

struct number number_maximum(ht_dtype dtype, struct number a, struct number b)
{
    return extreme(dtype, a, b, kind_of(dtype) == KIND_INT ? a.i > b.i : a.re > b.re);
}

struct number number_minimum(ht_dtype dtype, struct number a, struct number b)
{
    return extreme(dtype, a, b, kind_of(dtype) == KIND_INT ? a.i < b.i : a.re < b.re);
}

/* --- One operand --- */

struct number number_neg(ht_dtype dtype, struct number a)
{
    struct number r = {.re = -a.re, .im = -a.im, .err = a.err};

    if (kind_of(dtype) <= KIND_INT)
        return integer(dtype, a, a, 0 - (uint64_t)a.i);
    chain(&r, -1, a, 0, NULL);
    return r;
}

struct number number_relu(ht_dtype dtype, struct number a)
{
    struct number r = a;

    if (kind_of(dtype) <= KIND_INT)
        return integer(dtype, a, a, a.i > 0 ? (uint64_t)a.i : 0);
    r.re = a.re <= 0 ? 0 : a.re;
    chain(&r, fabs(a.re) <= a.err && a.err > 0 ? INFINITY : a.re > 0, a, 0, NULL);
    return r;
}

static struct number clip_integer(ht_dtype dtype, int64_t a, ht_number low, ht_number high)
{
    int64_t most;

    if (low.kind == HT_NUMBER_INTEGER && a < low.integer)
        a = low.integer;
    if (high.kind == HT_NUMBER_INTEGER && a > high.integer)
        a = high.integer;
    if (number_int(dtype, a).i == a)
        return number_int(dtype, a);
    if (dtype == HT_UINT8)
        return number_int(dtype, a > 0 ? UINT8_MAX : 0);
    most = INT64_MAX >> (64 - 8 * ht_dtype_size(dtype));
    return number_int(dtype, a > 0 ? most : -most - 1);
}

/* Missing bounds are infinite ones. */
struct number number_clip(ht_dtype dtype, struct number a, ht_number low, ht_number high)
{
    struct number r = a;
    double least, most;
    bool in_doubt;

    if (kind_of(dtype) <= KIND_INT)
        return a.err > 0 ? number_unknown() : clip_integer(dtype, a.i, low, high);
    least = number_of(dtype, low).re;
    most = number_of(dtype, high).re;
    r.d = NULL;
    r.re = isnan(a.re) || isnan(least) || isnan(most) ? NAN : fmin(fmax(a.re, least), most);
    in_doubt = a.err > 0 && (fabs(a.re - least) <= a.err || fabs(a.re - most) <= a.err);
    if (!in_doubt && !(a.re >= least && a.re <= most))
        r.err = 0;
    chain(&r, in_doubt ? INFINITY : a.re >= least && a.re <= most, a, 0, NULL);
    return r;
}

struct number number_leaky_relu(ht_dtype dtype, struct number a)
{
    struct number r = {.re = a.re > 0 ? a.re : 0.01 * a.re};

    chain(&r, fabs(a.re) <= a.err && a.err > 0 ? INFINITY : a.re > 0 ? 1 : 0.01, a, 0, NULL);
    return finish(dtype, r, a.err, 2);
}

/* y = f(a), with slope f' there, and `err` what the operand's error makes of it. */
static struct number function(ht_dtype dtype, struct number a, double complex y,
                              double complex slope, double err)
{
    struct number r = {.re = creal(y), .im = cimag(y)};

    chain(&r, slope, a, 0, NULL);
    return finish(dtype, r, a.err > 0 ? err : 0, kind_of(dtype) == KIND_COMPLEX ? 16 : 4);
}

struct number number_exp(ht_dtype dtype, struct number a)
{
    double complex z = number_z(a), y = kind_of(dtype) == KIND_COMPLEX ? cexp(z) : exp(a.re);

    return function(dtype, a, y, y, cabs(y) * expm1(a.err));
}

struct number number_log(ht_dtype dtype, struct number a)
{
    double complex z = number_z(a), y = kind_of(dtype) == KIND_COMPLEX ? clog(z) : log(a.re);
    double size = cabs(z), err = size > a.err ? a.err / (size - a.err) : INFINITY;
    struct number r = function(dtype, a, y, 1 / z, err);

    /* near 1 the result is small compared with its terms; on the cut either side is right */
    if (kind_of(dtype) == KIND_COMPLEX)
        r.err = fabs(a.im) <= a.err && a.re <= 0 ? INFINITY : r.err + 16 * eps_of(dtype);
    return r;
}

struct number number_sqrt(ht_dtype dtype, struct number a)
{
    double complex z = number_z(a), y = kind_of(dtype) == KIND_COMPLEX ? csqrt(z) : sqrt(a.re);
    double size = cabs(z), err = size > a.err ? a.err / sqrt(size - a.err) : INFINITY;
    struct number r = function(dtype, a, y, 0.5 / y, err);

    if (kind_of(dtype) == KIND_COMPLEX && fabs(a.im) <= a.err && a.re <= 0)
        r.err = INFINITY;
    else if (kind_of(dtype) == KIND_FLOAT && a.err == 0)
        r.err = 0; /* correctly rounded */
    return r;
}

struct number number_tanh(ht_dtype dtype, struct number a)
{
    double complex z = number_z(a), y = kind_of(dtype) == KIND_COMPLEX ? ctanh(z) : tanh(a.re);
    struct number r = function(dtype, a, y, 1 - y * y, a.err);

    for (int k = 0; r.d != NULL && k < MAX_DUALS; k++) /* 1 - y^2 cancels */
        r.d[k].size = a.d[k].size * (1 + cabs(y * y));
    if (kind_of(dtype) == KIND_COMPLEX) /* steep near its poles */
        r.err = fabs(a.im) > 1 ? INFINITY : r.err + 16 * eps_of(dtype) + 4 * a.err;
    return r;
}

struct number number_expm1(ht_dtype dtype, struct number a)
{
    return function(dtype, a, expm1(a.re), exp(a.re), exp(a.re) * expm1(a.err));
}

struct number number_log1p(ht_dtype dtype, struct number a)
{
    double slope = 1 / (1 + a.re), room = 1 + a.re - a.err;

    return function(dtype, a, log1p(a.re), slope, room > 0 ? a.err / room : INFINITY);
}

/* --- Sums --- */

struct total total_new(void)
{
    struct total total = {.exact = true, .whole = true};

    return total;
}

static void add_terms(struct total *total, struct number term)
{
    if (is_unknown(term)) {
        total->unknown = true;
        return;
    }
    total->re += term.re;
    total->im += term.im;
    total->size += fabs(term.re) + fabs(term.im);
    if (isfinite(fabs(term.re) + fabs(term.im)))
        total->finite += fabs(term.re) + fabs(term.im);
    total->err += term.err;
    total->whole = total->whole && rint(term.re * 256) == term.re * 256 &&
                   rint(term.im * 256) == term.im * 256;
    total->count++;
    if (term.d == NULL)
        return;
    if (total->d == NULL)
        total->d = arena_duals();
    add_duals(total->d, 1, term.d);
}

void total_add(struct total *total, ht_dtype dtype, struct number a)
{
    if (kind_of(dtype) <= KIND_INT) {
        total->i = (int64_t)((uint64_t)total->i + (uint64_t)a.i);
        total->unknown = total->unknown || is_unknown(a);
        total->count++;
        return;
    }
    add_terms(total, a);
}

/* Whether a complex product and its terms are multiples of 1/256 that the dtype holds: otherwise
 * the sum of two of them is rounded in different ways. */
static bool is_exact_product(ht_dtype dtype, struct number a, struct number b)
{
    const double parts[] = {a.re, a.im, b.re, b.im};

    for (int i = 0; i < 4; i++) {
        if (rint(parts[i] * 16) != parts[i] * 16)
            return false;
    }
    return number_abs(dtype, a) * number_abs(dtype, b) * 256 * eps_of(dtype) < 0.5;
}

void total_add_product(struct total *total, ht_dtype dtype, struct number a, struct number b)
{
    struct number r = {0};
    double complex z = number_z(a) * number_z(b);
    double sa = number_abs(dtype, a), sb = number_abs(dtype, b);

    r.re = kind_of(dtype) == KIND_COMPLEX ? creal(z) : a.re * b.re;
    r.im = kind_of(dtype) == KIND_COMPLEX ? cimag(z) : 0;
    r.err = a.err + b.err > 0 ? sa * b.err + sb * a.err + a.err * b.err : 0;
    if (kind_of(dtype) == KIND_COMPLEX && isfinite(sa * sb) && !is_exact_product(dtype, a, b))
        r.err += 2 * ulp(dtype, sa * sb);
    if (isfinite(sa) && isfinite(sb) && sa * sb > max_of(dtype) / 2)
        total->unknown = true;
    add_terms(total, r);
    if (kind_of(dtype) == KIND_FLOAT && isfinite(r.re) && fma(a.re, b.re, -r.re) != 0)
        total->whole = false; /* a product that is rounded to an integer does not count */
    total->count += kind_of(dtype) == KIND_COMPLEX; /* of two products each */
    if (a.d == NULL && b.d == NULL)
        return;
    if (total->d == NULL)
        total->d = arena_duals();
    if (a.d != NULL)
        add_duals(total->d, number_z(b), a.d);
    if (b.d != NULL)
        add_duals(total->d, number_z(a), b.d);
    add_doubt(dtype, total->d, b.err, a);
    add_doubt(dtype, total->d, a.err, b);
}

ht_dtype accumulator_of(ht_dtype dtype)
{
    return dtype == HT_FLOAT16 || dtype == HT_BFLOAT16 ? HT_FLOAT32
           : dtype == HT_FLOAT32                       ? HT_FLOAT64
                                                       : dtype;
}

struct number total_round(const struct total *total, ht_dtype dtype, ht_dtype accumulator)
{
    struct number r = {.re = (double)total->re, .im = (double)total->im, .d = total->d};
    double eps = eps_of(accumulator), err = total->err;

    if (total->unknown)
        return number_unknown();
    if (kind_of(dtype) <= KIND_INT)
        return number_int(dtype, total->i);
    if (total->finite > max_of(accumulator) / 2)
        return number_unknown();
    if (!(total->whole && total->size * 256 * eps < 0.5) && total->count > 1 &&
        isfinite(total->size))
        err += (double)total->count * eps * total->size;
    return finish(dtype, r, err, 0);
}
