/* SPDX-License-Identifier: MIT
 *
 * float16 and bfloat16 to float32 and back, by their bits: to nearest, ties to even. For places
 * where a few elements are converted; kernels have vector instructions for it. */
#ifndef HT_HALF_H
#define HT_HALF_H

#include <stdint.h>
#include <string.h>

static inline float ht__bits_to_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t ht__float_to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float ht__bfloat16_to_float(uint16_t half)
{
    return ht__bits_to_float((uint32_t)half << 16);
}

static inline uint16_t ht__float_to_bfloat16(float value)
{
    uint32_t bits = ht__float_to_bits(value);

    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(bits >> 16 | 0x40); /* a NaN stays one */
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float ht__float16_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = half & 0x7fff;

    if (rest >= 0x7c00)
        return ht__bits_to_float(sign | 0x7f800000u | (rest & 0x3ff) << 13);
    if (rest >= 0x400)
        return ht__bits_to_float(sign | ((rest << 13) + (112u << 23)));

    float small = (float)rest * 0x1p-24f; /* subnormal or zero: exact */

    return ht__bits_to_float(sign | ht__float_to_bits(small));
}

static inline uint16_t ht__float_to_float16(float value)
{
    uint32_t bits = ht__float_to_bits(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffffu;

    if (rest > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x1ff));
    if (rest >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00);
    if (rest >= 0x38800000u)
        return (uint16_t)(sign | ((rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13));

    /* Below the smallest normal number: adding 0.5 lets the unit round at 2^-24. */
    float small = ht__bits_to_float(rest) + 0.5f;

    return (uint16_t)(sign | (ht__float_to_bits(small) - 0x3f000000u));
}

#endif
