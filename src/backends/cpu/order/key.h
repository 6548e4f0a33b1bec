/* SPDX-License-Identifier: MIT
 *
 * The bits of numbers as unsigned integers that grow with the numbers. The bits of negative numbers
 * are inverted, and other numbers get their sign bit set. -0 counts as 0, and NaN is the
 * greatest. */
#ifndef HT_BACKENDS_CPU_ORDER_KEY_H
#define HT_BACKENDS_CPU_ORDER_KEY_H

#include <string.h>

#include "backends/cpu/dtypes.h"

/* The type of a key, or of the key of one part of a complex number. */
typedef uint32_t order_word_HT_BOOL, order_word_HT_UINT8, order_word_HT_INT8, order_word_HT_INT16,
    order_word_HT_INT32, order_word_HT_FLOAT16, order_word_HT_BFLOAT16, order_word_HT_FLOAT32,
    order_word_HT_COMPLEX64;
typedef uint64_t order_word_HT_INT64, order_word_HT_FLOAT64, order_word_HT_COMPLEX128;

#define order_real_HT_COMPLEX64  crealf
#define order_imag_HT_COMPLEX64  cimagf
#define order_real_HT_COMPLEX128 creal
#define order_imag_HT_COMPLEX128 cimag

/* A key as ht/kernels/order.h has it. */
typedef struct order_words {
    uint64_t high, low;
} order_words;

HT_INLINE bool order_words_less(order_words a, order_words b)
{
    return (a.high < b.high) | ((a.high == b.high) & (a.low < b.low));
}

HT_INLINE uint32_t order_key_16(uint16_t bits, uint16_t infinite)
{
    const uint16_t magnitude = bits & 0x7fff;
    const uint16_t turned = bits ^ (bits >> 15 != 0 ? 0xffff : 0x8000);

    return magnitude == 0 ? 0x8000 : magnitude > infinite ? 0xffff : turned;
}

HT_INLINE uint32_t order_key_32(float x)
{
    const uint32_t bits = ht__float_to_bits(x), magnitude = bits & 0x7fffffff;
    const uint32_t turned = bits ^ (bits >> 31 != 0 ? 0xffffffff : 0x80000000);

    return magnitude == 0 ? 0x80000000 : magnitude > 0x7f800000 ? 0xffffffff : turned;
}

HT_INLINE uint64_t order_key_64(double x)
{
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits, magnitude, turned;

    memcpy(&bits, &x, sizeof bits);
    magnitude = bits & ~sign;
    turned = bits ^ (bits >> 63 != 0 ? UINT64_MAX : sign);
    return magnitude == 0 ? sign : magnitude > 0x7ff0000000000000 ? UINT64_MAX : turned;
}

/* The numbers back: -0 is 0 now, and every NaN the same one. */
HT_INLINE uint16_t order_number_16(uint32_t key)
{
    return (uint16_t)(key ^ (key >> 15 != 0 ? 0x8000 : 0xffff));
}

HT_INLINE float order_number_32(uint32_t key)
{
    return ht__bits_to_float(key ^ (key >> 31 != 0 ? 0x80000000 : 0xffffffff));
}

HT_INLINE double order_number_64(uint64_t key)
{
    const uint64_t sign = (uint64_t)1 << 63, bits = key ^ (key >> 63 != 0 ? sign : UINT64_MAX);
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
