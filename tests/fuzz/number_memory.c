/* SPDX-License-Identifier: MIT
 *
 * Elements in memory, compared with their expected values. */
#include <stdio.h>
#include <string.h>

#include "fuzz/number.h"

static double half_to_double(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double x;

    if (exponent == 31)
        x = fraction != 0 ? (double)NAN : (double)INFINITY;
    else
        x = exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25);
    return h & 0x8000 ? -x : x;
}

static uint16_t double_to_half(double x) /* of a value that is one */
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    int exponent;

    if (isnan(x))
        return 0x7e00;
    if (isinf(x))
        return (uint16_t)(sign | 0x7c00);
    x = fabs(x);
    if (x < 0x1p-14)
        return (uint16_t)(sign | (int)ldexp(x, 24));
    frexp(x, &exponent);
    return (uint16_t)(sign | ((exponent + 14) << 10) | ((int)ldexp(x, 11 - exponent) & 1023));
}

struct number load(ht_dtype dtype, const void *element)
{
    struct number a = {0};
    uint16_t half;
    uint32_t wide;
    float f[2] = {0, 0};
    double d[2] = {0, 0};

    switch (dtype) {
    case HT_BOOL:
    case HT_UINT8:
        a.i = *(const uint8_t *)element;
        return a;
    case HT_INT8:
        a.i = *(const int8_t *)element;
        return a;
    case HT_INT16:
        a.i = *(const int16_t *)element;
        return a;
    case HT_INT32:
        a.i = *(const int32_t *)element;
        return a;
    case HT_INT64:
        a.i = *(const int64_t *)element;
        return a;
    case HT_FLOAT16:
        a.re = half_to_double(*(const uint16_t *)element);
        return a;
    case HT_BFLOAT16:
        half = *(const uint16_t *)element;
        wide = (uint32_t)half << 16;
        memcpy(f, &wide, sizeof wide);
        a.re = f[0];
        return a;
    case HT_FLOAT32:
    case HT_COMPLEX64:
        memcpy(f, element, ht_dtype_size(dtype));
        a.re = f[0];
        a.im = f[1];
        return a;
    default:
        memcpy(d, element, ht_dtype_size(dtype));
        a.re = d[0];
        a.im = d[1];
        return a;
    }
}

void store(ht_dtype dtype, void *element, struct number a)
{
    float f[2] = {(float)a.re, (float)a.im};
    double d[2] = {a.re, a.im};
    uint32_t wide;
    uint16_t half;

    switch (dtype) {
    case HT_FLOAT16:
        half = double_to_half(a.re);
        memcpy(element, &half, sizeof half);
        return;
    case HT_BFLOAT16:
        memcpy(&wide, f, sizeof wide);
        half = (uint16_t)(wide >> 16);
        memcpy(element, &half, sizeof half);
        return;
    case HT_FLOAT32:
    case HT_COMPLEX64:
        memcpy(element, f, ht_dtype_size(dtype));
        return;
    case HT_FLOAT64:
    case HT_COMPLEX128:
        memcpy(element, d, ht_dtype_size(dtype));
        return;
    default: /* little endian, as every machine of ours is */
        memcpy(element, &a.i, ht_dtype_size(dtype));
    }
}

static bool same_real(double x, double y, double err)
{
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= err;
}

bool matches(ht_dtype dtype, const void *element, struct number a)
{
    struct number x = load(dtype, element);

    if (is_unknown(a))
        return true;
    if (kind_of(dtype) <= KIND_INT)
        return x.i == a.i;
    return same_real(x.re, a.re, a.err) && same_real(x.im, a.im, a.err);
}

void number_text(char *text, size_t size, ht_dtype dtype, struct number a)
{
    if (is_unknown(a))
        snprintf(text, size, "anything");
    else if (kind_of(dtype) <= KIND_INT)
        snprintf(text, size, "%lld", (long long)a.i);
    else if (kind_of(dtype) == KIND_FLOAT)
        snprintf(text, size, a.err > 0 ? "%.17g +- %.2g" : "%.17g", a.re, a.err);
    else
        snprintf(text, size, "%.17g%+.17gi +- %.2g", a.re, a.im, a.err);
}
