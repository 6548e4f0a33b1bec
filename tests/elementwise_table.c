/* SPDX-License-Identifier: MIT
 *
 * The table of elementwise functions of one operand. */
#define _GNU_SOURCE /* M_PI and its like */
#include "elementwise.h"

#include "activation_values.h"
#include "elementwise_values.h"

#include "ht_test.h"

/* clang-format off */
#define TRUTH .result = HT_TEST_TRUTH, .takes_bool = true
#define FLOATING .result = HT_TEST_FLOATING
#define SAME  .result = HT_TEST_SAME
const ht_test_function ht_test_functions[] = {
    {"ht_neg", HT_KERNEL_NEG, ht_neg, neg, neg_slope, cneg, -2, 2, SAME, .in_place = ht_neg_},
    {"ht_exp", HT_KERNEL_EXP, ht_exp, exp, exp, cexp, -2, 2, .in_place = ht_exp_},
    {"ht_exp2", HT_KERNEL_EXP2, ht_exp2, exp2, exp2_slope, cexp2, -2, 2, .in_place = ht_exp2_},
    {"ht_expm1", HT_KERNEL_EXPM1, ht_expm1, expm1, exp, NULL, -2, 2, .in_place = ht_expm1_},
    {"ht_log", HT_KERNEL_LOG, ht_log, log, reciprocal, clog, 0.25, 3, .in_place = ht_log_},
    {"ht_log2", HT_KERNEL_LOG2, ht_log2, log2, log2_slope, clog2, 0.25, 3, .in_place = ht_log2_},
    {"ht_log10", HT_KERNEL_LOG10, ht_log10, log10, log10_slope, clog10_, 0.25, 3, .in_place = ht_log10_},
    {"ht_log1p", HT_KERNEL_LOG1P, ht_log1p, log1p, log1p_slope, NULL, -0.75, 3, .in_place = ht_log1p_},
    {"ht_sqrt", HT_KERNEL_SQRT, ht_sqrt, sqrt, sqrt_slope, csqrt, 0.25, 3, .in_place = ht_sqrt_},
    {"ht_square", HT_KERNEL_MUL, ht_square, square, twice, csquare, -2, 2, SAME, .takes_bool = true,
     .in_place = ht_square_},
    {"ht_sin", HT_KERNEL_SIN, ht_sin, sin, cos, csin, -2, 2, .in_place = ht_sin_},
    {"ht_cos", HT_KERNEL_COS, ht_cos, cos, cos_slope, ccos, -2, 2, .in_place = ht_cos_},
    {"ht_tan", HT_KERNEL_TAN, ht_tan, tan, tan_slope, ctan, -1.25, 1.25, .in_place = ht_tan_},
    {"ht_asin", HT_KERNEL_ASIN, ht_asin, asin, asin_slope, casin, -0.75, 0.75, .in_place = ht_asin_},
    {"ht_acos", HT_KERNEL_ACOS, ht_acos, acos, acos_slope, cacos, -0.75, 0.75, .in_place = ht_acos_},
    {"ht_atan", HT_KERNEL_ATAN, ht_atan, atan, atan_slope, catan, -2, 2, .in_place = ht_atan_},
    {"ht_sinh", HT_KERNEL_SINH, ht_sinh, sinh, cosh, csinh, -2, 2, .in_place = ht_sinh_},
    {"ht_cosh", HT_KERNEL_COSH, ht_cosh, cosh, sinh, ccosh, -2, 2, .in_place = ht_cosh_},
    {"ht_tanh", HT_KERNEL_TANH, ht_tanh, tanh, tanh_slope, ctanh, -2, 2, .in_place = ht_tanh_,
     .layer = ht_nn_tanh},
    {"ht_asinh", HT_KERNEL_ASINH, ht_asinh, asinh, asinh_slope, casinh, -2, 2, .in_place = ht_asinh_},
    {"ht_acosh", HT_KERNEL_ACOSH, ht_acosh, acosh, acosh_slope, cacosh, 1.25, 3, .in_place = ht_acosh_},
    {"ht_atanh", HT_KERNEL_ATANH, ht_atanh, atanh, atanh_slope, catanh, -0.75, 0.75, .in_place = ht_atanh_},
    {"ht_deg2rad", HT_KERNEL_SCALE, ht_deg2rad, deg2rad, deg2rad_slope, NULL, -2, 2, FLOATING,
     .param = {M_PI / 180}},
    {"ht_rad2deg", HT_KERNEL_SCALE, ht_rad2deg, rad2deg, rad2deg_slope, NULL, -2, 2, FLOATING},
    {"ht_ceil", HT_KERNEL_CEIL, ht_ceil, ceil, zero, NULL, -1.9, 1.8, SAME, .in_place = ht_ceil_},
    {"ht_floor", HT_KERNEL_FLOOR, ht_floor, floor, zero, NULL, -1.9, 1.8, SAME, .in_place = ht_floor_},
    {"ht_trunc", HT_KERNEL_TRUNC, ht_trunc, trunc, zero, NULL, -1.9, 1.8, SAME, .in_place = ht_trunc_},
    {"ht_round", HT_KERNEL_ROUND, ht_round, rint, zero, NULL, -1.9, 1.8, SAME, .in_place = ht_round_},
    {"ht_round_ext", HT_KERNEL_ROUND_DECIMALS, NULL, quarters, NULL, NULL, 0, 0, SAME, .param = {4, 1}},
    {"ht_modf", HT_KERNEL_FRAC, call_frac, frac, one, NULL, -1.9, 1.8, FLOATING},
    {"ht_sign", HT_KERNEL_SIGN, ht_sign, sign, zero, csign, -2, 2, SAME, .in_place = ht_sign_},
    {"ht_abs", HT_KERNEL_ABS, ht_abs, fabs, sign, cabs_, -2, 2, SAME, .real = true, .in_place = ht_abs_},
    {"ht_fabs", HT_KERNEL_ABS, ht_fabs, fabs, sign, NULL, -2, 2, FLOATING},
    {"ht_nan_to_num_ext", HT_KERNEL_NAN_TO_NUM, call_nan_to_num, nan_to_num, one, NULL, -2, 2, SAME,
     .takes_bool = true, .param = {0.75, 100, -200}},
    {"ht_relu", HT_KERNEL_RELU, ht_relu, relu, relu_slope, NULL, -2, 2, SAME, .in_place = ht_relu_,
     .layer = ht_nn_relu},
    {"ht_leaky_relu", HT_KERNEL_LEAKY_RELU, call_leaky_relu, leaky_relu, leaky_relu_slope, NULL, -2, 2, SAME,
     .only_floats = true, .param = {0.75}, .grad = HT_KERNEL_LEAKY_RELU_GRAD, .layer = layer_leaky_relu},
    {"ht_gelu", HT_KERNEL_GELU, ht_gelu, gelu, gelu_slope, NULL, -2, 2, SAME, .only_floats = true,
     .grad = HT_KERNEL_GELU_GRAD, .layer = ht_nn_gelu},
    {"ht_silu", HT_KERNEL_SILU, ht_silu, silu, silu_slope, NULL, -2, 2, SAME, .only_floats = true,
     .grad = HT_KERNEL_SILU_GRAD, .layer = ht_nn_silu},
    {"ht_mish", HT_KERNEL_MISH, ht_mish, mish, mish_slope, NULL, -2, 2, SAME, .only_floats = true,
     .grad = HT_KERNEL_MISH_GRAD, .layer = ht_nn_mish},
    {"ht_sigmoid", HT_KERNEL_SIGMOID, ht_sigmoid, sigmoid, sigmoid_slope, NULL, -2, 2, SAME, .only_floats = true,
     .layer = ht_nn_sigmoid},
    {"ht_elu", HT_KERNEL_ELU, call_elu, elu, elu_slope, NULL, -2, 2, SAME, .only_floats = true, .param = {0.75, 1, 1},
     .grad = HT_KERNEL_ELU_GRAD},
    {"ht_softplus", HT_KERNEL_SOFTPLUS, call_softplus, softplus, softplus_slope, NULL, -2, 2, SAME,
     .only_floats = true, .param = {0.5, 20}, .grad = HT_KERNEL_SOFTPLUS_GRAD},
    {"ht_conj", HT_KERNEL_CONJ, ht_conj, itself, one, conj, -2, 2, SAME, .takes_bool = true},
    {"ht_real", HT_KERNEL_REAL, ht_real, itself, one, creal_, -2, 2, SAME, .real = true, .takes_bool = true},
    {"ht_imag", HT_KERNEL_IMAG, ht_imag, zero, NULL, cimag_, -2, 2, SAME, .real = true, .takes_bool = true},
    {"ht_angle", HT_KERNEL_ANGLE, ht_angle, angle, zero, carg_, -2, 2, .real = true},
    {"ht_bitwise_not", HT_KERNEL_BITWISE_NOT, ht_bitwise_not, bits_turned, NULL, NULL, -2, 2, SAME,
     .no_floats = true, .takes_bool = true, .bool_value = is_zero, .in_place = ht_bitwise_not_},
    {"ht_logical_not", HT_KERNEL_LOGICAL_NOT, ht_logical_not, is_zero, NULL, is_complex_zero, -2, 2, TRUTH},
    {"ht_isnan", HT_KERNEL_ISNAN, ht_isnan, is_nan, NULL, is_complex_nan, -2, 2, TRUTH},
    {"ht_isinf", HT_KERNEL_ISINF, ht_isinf, is_inf, NULL, is_complex_inf, -2, 2, TRUTH},
    {"ht_isfinite", HT_KERNEL_ISFINITE, ht_isfinite, is_finite, NULL, is_complex_finite, -2, 2, TRUTH},
    {"ht_isposinf", HT_KERNEL_ISPOSINF, ht_isposinf, is_posinf, NULL, NULL, -2, 2, TRUTH},
    {"ht_isneginf", HT_KERNEL_ISNEGINF, ht_isneginf, is_neginf, NULL, NULL, -2, 2, TRUTH},
    {"ht_signbit", HT_KERNEL_SIGNBIT, ht_signbit, has_sign, NULL, NULL, -2, 2, TRUTH},
    {.name = NULL}};
/* clang-format on */

const ht_test_function *ht_test_function_of_grad(ht_kernel kernel)
{
    for (const ht_test_function *f = ht_test_functions; f->name != NULL; f++) {
        if (f->grad == kernel)
            return f;
    }
    return NULL;
}

const ht_test_function *ht_test_function_of(ht_kernel kernel, const char *kernel_name)
{
    const ht_test_function *f = ht_test_functions;

    while (f->name != NULL && f->kernel != kernel)
        f++;
    if (f->name == NULL)
        fail_msg("kernel %s has no row in tests/elementwise_table.c", kernel_name);
    return f;
}
