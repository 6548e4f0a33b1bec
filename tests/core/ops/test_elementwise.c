/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Every function of the table: values of split, transposed and empty tensors in each dtype,
 * gradients against the derivative and finite differences, and what it refuses. */
#include "elementwise.h"

#include <math.h>

#include "core/ops/ops.h"
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

static double one(double x)
{
    (void)x;
    return 1;
}

static double itself(double x)
{
    return x;
}

static double neg(double x)
{
    return -x;
}

static double neg_slope(double x)
{
    (void)x;
    return -1;
}

static double complex cneg(double complex z)
{
    return -z;
}

static double reciprocal(double x)
{
    return 1 / x;
}

static double sqrt_slope(double x)
{
    return 0.5 / sqrt(x);
}

static double tanh_slope(double x)
{
    return 1 / (cosh(x) * cosh(x));
}

static double relu(double x)
{
    return x <= 0 ? 0 : x;
}

static double relu_slope(double x)
{
    return x > 0;
}

static double log1p_slope(double x)
{
    return 1 / (1 + x);
}

/* clang-format off */
const ht_test_function ht_test_functions[] = {
    {"ht_neg", HT_KERNEL_NEG, ht_neg, neg, neg_slope, cneg, .low = -2, .high = 2, .keeps_dtype = true},
    {"ht_exp", HT_KERNEL_EXP, ht_exp, exp, exp, cexp, .low = -2, .high = 2},
    {"ht_log", HT_KERNEL_LOG, ht_log, log, reciprocal, clog, .low = 0.25, .high = 3},
    {"ht_sqrt", HT_KERNEL_SQRT, ht_sqrt, sqrt, sqrt_slope, csqrt, .low = 0.25, .high = 3},
    {"ht_tanh", HT_KERNEL_TANH, ht_tanh, tanh, tanh_slope, ctanh, .low = -2, .high = 2},
    {"ht_relu", HT_KERNEL_RELU, ht_relu, relu, relu_slope, NULL, .low = -2, .high = 2,
     .keeps_dtype = true, .in_place = ht_relu_},
    {"ht__conj", HT_KERNEL_CONJ, ht__conj, itself, one, conj, .low = -2, .high = 2,
     .keeps_dtype = true},
    {"ht_expm1", HT_KERNEL_EXPM1, ht_expm1, expm1, exp, NULL, .low = -2, .high = 2},
    {"ht_log1p", HT_KERNEL_LOG1P, ht_log1p, log1p, log1p_slope, NULL, .low = -0.75, .high = 3},
    {.name = NULL}};
/* clang-format on */

const ht_test_function *ht_test_function_of(ht_kernel kernel, const char *kernel_name)
{
    const ht_test_function *f = ht_test_functions;

    while (f->name != NULL && f->kernel != kernel)
        f++;
    if (f->name == NULL)
        fail_msg("kernel %s has no row in tests/core/ops/test_elementwise.c", kernel_name);
    return f;
}

enum { ROWS = 5, COLUMNS = 4, COUNT = ROWS * COLUMNS };

#define FOR_EACH(f) for (const ht_test_function *f = ht_test_functions; f->name != NULL; f++)

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

static bool is_exact(ht_dtype dtype)
{
    return dtype == HT_BOOL || ht_dtype_is_integer(dtype);
}

/* Relative to 1 + |value|. */
static double tolerance(ht_dtype dtype)
{
    return dtype == HT_BFLOAT16  ? 0x1p-8
           : dtype == HT_FLOAT16 ? 0x1p-11
           : dtype == HT_FLOAT64 ? 1e-15
                                 : 1e-6;
}

/* Evenly over the domain; 1, 2 and 3 of integers. */
static ht_tensor *operand(const ht_test_function *f, ht_dtype dtype, int split)
{
    double values[COUNT];

    for (int i = 0; i < COUNT; i++)
        values[i] = is_exact(dtype) ? 1 + i % 3 : f->low + (f->high - f->low) * i / (COUNT - 1);
    return ht_astype(ht_array(values, HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, split), dtype);
}

static void check_values(const ht_test_function *f, ht_dtype dtype)
{
    const ht_dtype result = is_exact(dtype) && !f->keeps_dtype ? HT_FLOAT32 : dtype;
    const double *values = ht_test_values(operand(f, dtype, HT_NONE));
    double expected[COUNT];

    for (int i = 0; i < COUNT; i++)
        expected[i] = f->value(values[i]);
    for (int split = -1; split < 2; split++) {
        ht_tensor *x = operand(f, dtype, split_of(split)), *y = f->call(x);

        ht_test_expect(result == HT_UINT8 ? ht_astype(y, HT_INT8) : y, expected, tolerance(result));
        assert_int_equal(ht_tensor_dtype(y), result);
        assert_int_equal(ht_tensor_split(y), split_of(split));
        ht_test_expect_same(f->call(ht_transpose(x, 0, 1)), ht_transpose(y, 0, 1), 0);
        if (f->in_place != NULL)
            ht_test_expect_same(f->in_place(ht_copy(x)), y, 0);
    }
    assert_int_equal(ht_tensor_size(f->call(ht_ones(HT_SHAPE(0, 3), dtype, 0))), 0);
}

static void values_depend_on_no_split(void **state)
{
    (void)state;
    FOR_EACH(f)
    for (int i = 0; i < HT_COMPLEX64; i++)
        if (i != HT_BOOL || !f->keeps_dtype) {
            ht_scope *scope = ht_scope_open();

            check_values(f, (ht_dtype)i);
            ht_scope_close(scope);
        }
}

static void ends_of_the_range_and_nan(void **state)
{
    static const double ends[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e4, -1e4};
    double expected[7];

    (void)state;
    FOR_EACH(f)
    for (ht_dtype dtype = HT_FLOAT32; dtype <= HT_FLOAT64; dtype++) {
        ht_tensor *x = ht_astype(ht_array(ends, HT_SHAPE(7), HT_FLOAT64, 0), dtype);

        for (int i = 0; i < 7; i++)
            expected[i] = f->value(ends[i]);
        ht_test_expect(f->call(x), expected, tolerance(dtype));
    }
}

/* z: (ROWS, COLUMNS), the operand of real numbers and half of it as imaginary part. */
static void check_complex(const ht_test_function *f, int split)
{
    const double *values = ht_test_values(operand(f, HT_FLOAT64, HT_NONE));
    const double parts[][2] = {{1, 0}, {0, -1}};
    double complex z[COUNT];
    double expected[2][COUNT];
    ht_tensor *y;

    for (int i = 0; i < COUNT; i++) {
        z[i] = values[i] + 0.5 * values[i] * _Complex_I;
        expected[0][i] = creal(f->complex_value(z[i]));
        expected[1][i] = cimag(f->complex_value(z[i]));
    }
    y = f->call(ht_array(z, HT_SHAPE(ROWS, COLUMNS), HT_COMPLEX128, split));
    for (int part = 0; part < 2; part++) {
        ht_tensor *factor = ht_array(parts[part], 0, NULL, HT_COMPLEX128, HT_NONE);

        ht_test_expect(ht_astype(ht_mul(y, factor), HT_FLOAT64), expected[part], 1e-14);
    }
}

static void complex_numbers_have_values_or_an_error(void **state)
{
    (void)state;
    FOR_EACH(f)
    {
        if (f->complex_value == NULL)
            HT_TEST_EXPECT_ERROR(f->call(ht_ones(HT_SHAPE(3), HT_COMPLEX64, 0)), HT_ERR_DTYPE,
                                 ": not defined for complex64");
        for (int split = -1; split < 2 && f->complex_value != NULL; split++)
            check_complex(f, split_of(split));
    }
}

static void none_of_bool_is_an_error(void **state)
{
    (void)state;
    FOR_EACH(f)
    if (f->keeps_dtype && f->kernel != HT_KERNEL_CONJ)
        HT_TEST_EXPECT_ERROR(f->call(ht_ones(HT_SHAPE(3), HT_BOOL, 0)), HT_ERR_DTYPE,
                             ": not defined for bool");
}

static ht_tensor *leaf(const ht_test_function *f, ht_dtype dtype, int split)
{
    ht_tensor *x = operand(f, dtype, split);

    assert_int_equal(ht_tensor_set_requires_grad(x, true), HT_SUCCESS);
    return x;
}

static ht_tensor *call_in_place(ht_tensor *x, const ht_test_function *f)
{
    return f->in_place(ht_add_scalar(x, 0));
}

static void check_slope(const ht_test_function *f, ht_dtype dtype, int split, bool in_place)
{
    ht_tensor *x = leaf(f, dtype, split);
    ht_tensor *y = in_place ? call_in_place(x, f) : f->call(x);
    const double *values = ht_test_values(x);
    double expected[COUNT];

    for (int i = 0; i < COUNT; i++)
        expected[i] = 3 * f->slope(values[i]);
    assert_int_equal(ht_backward(ht_sum(ht_mul_scalar(y, 3), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), expected, 8 * tolerance(dtype));
    assert_int_equal(ht_tensor_dtype(ht_tensor_grad(x)), dtype);
}

static ht_tensor *of_first(ht_tensor *in[], void *user)
{
    return ((const ht_test_function *)user)->call(in[0]);
}

static void gradients_are_the_derivative(void **state)
{
    (void)state;
    FOR_EACH(f)
    for (int split = -1; split < 2; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = leaf(f, HT_FLOAT64, split_of(split));

        check_slope(f, HT_FLOAT32, split_of(split), false);
        check_slope(f, HT_FLOAT64, split_of(split), false);
        if (f->in_place != NULL)
            check_slope(f, HT_FLOAT64, split_of(split), true);
        if (split == 0)
            ht_gradcheck(of_first, 1, &x, (void *)(uintptr_t)f, 1e-7);
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_elementwise, cmocka_unit_test(values_depend_on_no_split),
              cmocka_unit_test(ends_of_the_range_and_nan),
              cmocka_unit_test(complex_numbers_have_values_or_an_error),
              cmocka_unit_test(none_of_bool_is_an_error),
              cmocka_unit_test(gradients_are_the_derivative));
