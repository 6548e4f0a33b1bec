/* SPDX-License-Identifier: MIT
 *
 * Elements: dtypes, rounding, conversion, memory. */
#include "complex_of.h"
#include "fuzz/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind kind_of(ht_dtype dtype)
{
    return dtype == HT_BOOL      ? KIND_BOOL
           : dtype <= HT_INT64   ? KIND_INT
           : dtype <= HT_FLOAT64 ? KIND_FLOAT
                                 : KIND_COMPLEX;
}

double eps_of(ht_dtype dtype)
{
    switch (dtype) {
    case HT_FLOAT16:
        return 0x1p-10;
    case HT_BFLOAT16:
        return 0x1p-7;
    case HT_FLOAT32:
    case HT_COMPLEX64:
        return 0x1p-23;
    default:
        return 0x1p-52;
    }
}

double max_of(ht_dtype dtype)
{
    switch (dtype) {
    case HT_FLOAT16:
        return 65504;
    case HT_BFLOAT16:
        return 0x1.fep127;
    case HT_FLOAT32:
    case HT_COMPLEX64:
        return 0x1.fffffep127;
    default:
        return 0x1.fffffffffffffp1023;
    }
}

static double least_of(ht_dtype dtype)
{
    switch (dtype) {
    case HT_FLOAT16:
        return 0x1p-24;
    case HT_BFLOAT16:
        return 0x1p-133;
    case HT_FLOAT32:
    case HT_COMPLEX64:
        return 0x1p-149;
    default:
        return 0x1p-1074;
    }
}

double round_to(ht_dtype dtype, double x)
{
    double unit, y;
    int exponent;

    if (dtype == HT_FLOAT64 || dtype == HT_COMPLEX128 || !isfinite(x) || x == 0)
        return x;
    if (dtype == HT_FLOAT32 || dtype == HT_COMPLEX64)
        return (double)(float)x;
    frexp(x, &exponent);
    unit = fmax(ldexp(eps_of(dtype), exponent - 1), least_of(dtype));
    y = rint(x / unit) * unit;
    return fabs(y) > max_of(dtype) ? copysign(INFINITY, x) : y;
}

double ulp(ht_dtype dtype, double x)
{
    return fmax(fabs(x) * eps_of(dtype), least_of(dtype));
}

int64_t wrap_to(ht_dtype dtype, int64_t i)
{
    switch (dtype) {
    case HT_BOOL:
        return i != 0;
    case HT_UINT8:
        return (uint8_t)i;
    case HT_INT8:
        return (int8_t)i;
    case HT_INT16:
        return (int16_t)i;
    case HT_INT32:
        return (int32_t)i;
    default:
        return i;
    }
}

ht_dtype promote(ht_dtype a, ht_dtype b)
{
    ht_dtype low = a < b ? a : b, high = a < b ? b : a;

    if (low == HT_UINT8 && high == HT_INT8)
        return HT_INT16;
    if (low == HT_FLOAT16 && high == HT_BFLOAT16)
        return HT_FLOAT32;
    if (low == HT_FLOAT64 && high == HT_COMPLEX64)
        return HT_COMPLEX128;
    return high;
}

/* --- Duals --- */

static struct dual *blocks[128]; /* 100 MB */
static int block_count, block_now, block_used;
enum { BLOCK = 1024 };

bool arena_singular, arena_zero, arena_full;

void arena_reset(void)
{
    arena_singular = arena_zero = arena_full = false;
    block_now = block_used = 0;
}

struct dual *arena_duals(void)
{
    struct dual *d;

    if (block_used == BLOCK) {
        block_now++;
        block_used = 0;
    }
    if (block_now == (int)(sizeof blocks / sizeof *blocks)) {
        arena_full = true;
        block_now = 0;
    }
    if (block_now == block_count) {
        blocks[block_count++] = malloc(sizeof *d * MAX_DUALS * BLOCK);
        if (blocks[block_now] == NULL)
            abort();
    }
    d = blocks[block_now] + (size_t)MAX_DUALS * (size_t)block_used++;
    memset(d, 0, sizeof *d * MAX_DUALS);
    return d;
}

void add_duals(struct dual *to, double complex factor, const struct dual *from)
{
    arena_singular = arena_singular || !isfinite(cabs(factor));
    arena_zero = arena_zero || factor == 0;
    for (int k = 0; k < MAX_DUALS; k++) {
        double complex term;

        if (from[k].size == 0) /* 0 times an infinite factor is 0 here */
            continue;
        term = cimag(factor) == 0
                   ? complex_of(creal(factor) * from[k].re, creal(factor) * from[k].im)
                   : factor * complex_of(from[k].re, from[k].im);
        to[k].re += creal(term);
        to[k].im += cimag(term);
        to[k].size += cabs(factor) * from[k].size;
    }
}

void chain(struct number *r, double complex fa, struct number a, double complex fb,
           const struct number *b)
{
    r->d = NULL;
    if (a.d == NULL && (b == NULL || b->d == NULL))
        return;
    r->d = arena_duals();
    if (a.d != NULL)
        add_duals(r->d, fa, a.d);
    if (b != NULL && b->d != NULL)
        add_duals(r->d, fb, b->d);
}

/* --- Making and looking --- */

struct number number_real(ht_dtype dtype, double x)
{
    struct number a = {.re = x};

    (void)dtype;
    return a;
}

struct number number_int(ht_dtype dtype, int64_t i)
{
    struct number a = {.i = wrap_to(dtype, i)};

    return a;
}

struct number number_unknown(void)
{
    struct number a = {.err = INFINITY};

    return a;
}

bool is_unknown(struct number a)
{
    return !(a.err < INFINITY);
}

double complex number_z(struct number a)
{
    return complex_of(a.re, a.im);
}

double number_abs(ht_dtype dtype, struct number a)
{
    return kind_of(dtype) <= KIND_INT ? fabs((double)a.i) : cabs(number_z(a));
}

bool is_true(ht_dtype dtype, struct number a)
{
    return kind_of(dtype) <= KIND_INT ? a.i != 0 : a.re != 0 || a.im != 0;
}

struct number finish(ht_dtype dtype, struct number r, double err, double ulps)
{
    bool complex_numbers = kind_of(dtype) == KIND_COMPLEX;
    double size;

    r.re = round_to(dtype, r.re);
    r.im = complex_numbers ? round_to(dtype, r.im) : 0;
    size = cabs(number_z(r));
    if (err == 0 && ulps == 0 && !(complex_numbers && !isfinite(size))) {
        r.err = 0;
        return r;
    }
    r.err = err + (ulps + (err > 0)) * ulp(dtype, size);
    if (err == 0 && !complex_numbers && !isfinite(r.re))
        r.err = 0; /* a function of exact operands: infinity is infinity */
    else if (!(r.err < INFINITY) || !isfinite(size) || size + r.err >= max_of(dtype))
        r.err = INFINITY;
    return r;
}

/* An integer as a dtype, rounded once; rounding twice by way of float32 is allowed where it occurs.
 */
static struct number from_integer(int64_t i, ht_dtype to)
{
    struct number r = {.re = to == HT_FLOAT64 || to == HT_COMPLEX128 ? (double)i : (float)i};
    bool whole = to >= HT_FLOAT32 && to != HT_BFLOAT16;

    if (whole || llabs(i / 2) < 1 << 22)
        return finish(to, r, 0, 0);
    return finish(to, r, 0, 1);
}

static int64_t most_of(ht_dtype dtype)
{
    return dtype == HT_UINT8   ? UINT8_MAX
           : dtype == HT_INT8  ? INT8_MAX
           : dtype == HT_INT16 ? INT16_MAX
           : dtype == HT_INT32 ? INT32_MAX
                               : INT64_MAX;
}

/* Cut at the point; the nearest that the dtype holds; NaN is 0. */
static int64_t cut(double x, ht_dtype to)
{
    int64_t most = most_of(to), least = to == HT_UINT8 ? 0 : -most - 1;

    if (isnan(x))
        return 0;
    if (x >= (double)most)
        return most;
    return x <= (double)least ? least : (int64_t)x;
}

static struct number to_integer(struct number a, ht_dtype to)
{
    if (a.err > 0 && cut(a.re - a.err, to) != cut(a.re + a.err, to))
        return number_unknown();
    return number_int(to, cut(a.re, to));
}

struct number convert(struct number a, ht_dtype from, ht_dtype to)
{
    struct number r;

    if (from == to || is_unknown(a)) {
        a.i = from == to ? a.i : 0;
        return a;
    }
    if (to == HT_BOOL) {
        if (a.err > 0 && kind_of(from) > KIND_INT && number_abs(from, a) <= a.err)
            return number_unknown();
        return number_int(to, is_true(from, a));
    }
    if (kind_of(from) <= KIND_INT)
        return kind_of(to) <= KIND_INT ? number_int(to, a.i) : from_integer(a.i, to);
    if (kind_of(to) == KIND_INT)
        return to_integer(a, to);
    r = a;
    if (kind_of(to) == KIND_FLOAT)
        r.im = 0;
    chain(&r, 1, a, 0, NULL);
    if (kind_of(to) == KIND_FLOAT && r.d != NULL) {
        for (int k = 0; k < MAX_DUALS; k++)
            r.d[k].im = 0;
    }
    /* by way of float32 */
    return finish(to, r, a.err, eps_of(to) > eps_of(HT_FLOAT32) && from == HT_FLOAT64 ? 1 : 0);
}

struct number number_of(ht_dtype dtype, ht_number x)
{
    struct number z = {.re = x.real, .im = x.imaginary};

    if (x.kind == HT_NUMBER_INTEGER)
        return convert(number_int(HT_INT64, x.integer), HT_INT64, dtype);
    return convert(z, x.kind == HT_NUMBER_REAL ? HT_FLOAT64 : HT_COMPLEX128, dtype);
}

ht_dtype number_meets(ht_dtype dtype, ht_number x)
{
    if (x.kind == HT_NUMBER_COMPLEX && kind_of(dtype) < KIND_COMPLEX)
        return dtype == HT_FLOAT64 ? HT_COMPLEX128 : HT_COMPLEX64;
    if (kind_of(dtype) >= KIND_FLOAT)
        return dtype;
    if (x.kind == HT_NUMBER_REAL)
        return HT_FLOAT32;
    return dtype == HT_BOOL ? HT_INT64 : dtype;
}

ht_number number_of_double(ht_dtype dtype, double x)
{
    bool whole = rint(x) == x && fabs(x) < 0x1p63;

    return whole && kind_of(dtype) <= KIND_INT ? ht_number_integer((int64_t)x) : ht_number_real(x);
}

bool number_fits(ht_dtype dtype, ht_number x)
{
    const int bits = 8 * (int)ht_dtype_size(dtype) - (dtype != HT_UINT8);

    if (x.kind != HT_NUMBER_INTEGER || kind_of(dtype) != KIND_INT || dtype == HT_INT64)
        return true;
    return x.integer >> bits == 0 || (dtype != HT_UINT8 && x.integer >> bits == -1);
}
