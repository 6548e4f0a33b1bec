/* SPDX-License-Identifier: MIT
 *
 * float16 and bfloat16 to float32 and back: exact in one direction, to nearest even in the other;
 * NaN stays NaN. The functions have no branches, so that the compiler makes vector code of a loop
 * over them on every machine. */
#ifndef HT_CORE_BASE_HALF_H
#define HT_CORE_BASE_HALF_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Parts of kernels: always inlined, so that loops over it can become vector code. */
#ifndef HT_INLINE /* compilers for other devices have their own */
#define HT_INLINE static inline __attribute__((always_inline))
#endif
#define HT_NOINLINE static __attribute__((noinline))

HT_INLINE float ht__bits_to_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

HT_INLINE uint32_t ht__float_to_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Towards zero, with the last bit set where anything was lost: a later rounding to 16 bits is then
 * the only one. */
HT_INLINE float ht__double_to_odd_float(double value)
{
    float near = (float)value;
    uint32_t bits = ht__float_to_bits(near);

    bits -= fabs((double)near) > fabs(value);
    bits |= (double)near != value;
    return ht__bits_to_float(bits);
}

/* The same for an integer of more bits than a double has. The low ones become one bit that is set
 * if any of them is; that bit is far below the precision of 16 bits. */
HT_INLINE float ht__int64_to_odd_float(int64_t value)
{
    int64_t folded = (value & ~(int64_t)0xffff) | (int64_t)((value & 0xffff) != 0) << 15;
    bool is_long = value > (int64_t)1 << 53 || value < -((int64_t)1 << 53);

    return ht__double_to_odd_float((double)(is_long ? folded : value));
}

HT_INLINE float ht__bfloat16_to_float(uint16_t half)
{
    return ht__bits_to_float((uint32_t)half << 16);
}

HT_INLINE uint16_t ht__float_to_bfloat16(float value)
{
    uint32_t bits = ht__float_to_bits(value);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | 0x40;

    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* Normal numbers: the exponent is moved by 112, by a product so that infinity stays infinite.
 * Subnormal ones: the fraction becomes the low bits of a number near one half. */
HT_INLINE float ht__float16_to_float(uint16_t half)
{
    uint32_t wide = (uint32_t)half << 16, magnitude = wide + wide;
    float normal = ht__bits_to_float((magnitude >> 4) + (0xe0u << 23)) * 0x1p-112f;
    float subnormal = ht__bits_to_float(magnitude >> 17 | 126u << 23) - 0.5f;
    uint32_t bits = ht__float_to_bits(magnitude < 1u << 27 ? subnormal : normal);

    return ht__bits_to_float(bits | (wide & 0x80000000));
}

/* Adding a power of two 13 places above the last bit to be kept makes the addition round. The
 * product by 2^112 turns numbers that are too large into infinity first. */
HT_INLINE uint16_t ht__float_to_float16(float value)
{
    uint32_t bits = ht__float_to_bits(value), magnitude = bits + bits;
    float base = fabsf(value) * 0x1p+112f * 0x1p-110f;
    uint32_t bias = magnitude & 0xff000000;
    uint32_t sum, half;

    bias = bias < 0x71000000 ? 0x71000000 : bias;
    sum = ht__float_to_bits(ht__bits_to_float((bias >> 1) + 0x07800000) + base);
    half = (sum >> 13 & 0x7c00) + (sum & 0x0fff);
    half = magnitude > 0xff000000 ? 0x7e00 : half;
    return (uint16_t)((bits >> 16 & 0x8000) | half);
}

#endif
