/* SPDX-License-Identifier: MIT
 *
 * Functions of one and two elements beyond those of number.h. */
#ifndef HT_FUZZ_NUMBER_FUNCTIONS_H
#define HT_FUZZ_NUMBER_FUNCTIONS_H

#include "fuzz/number.h"

unary_number number_abs_of, number_sign, number_square, number_floor, number_ceil, number_trunc,
    number_round, number_sin, number_cos, number_atan, number_sinh, number_asinh, number_exp2,
    number_log2, number_log10;
unary_number number_gelu, number_silu, number_mish, number_sigmoid; /* number_activations.c */
unary_number number_isnan, number_isinf, number_isfinite, number_logical_not, number_bitwise_not;
binary_number number_pow, number_floordiv, number_remainder, number_fmod, number_hypot,
    number_copysign, number_atan2, number_logaddexp, number_gcd, number_lcm;
binary_number number_bitwise_and, number_bitwise_or, number_bitwise_xor, number_left_shift,
    number_right_shift, number_logical_and, number_logical_or, number_logical_xor;

#endif
