/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Every function of the table: values of split, transposed and empty tensors in each dtype,
 * gradients against the derivative and finite differences, and what it refuses. */
#include "elementwise.h"

#include <math.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { ROWS = 5, COLUMNS = 4, COUNT = ROWS * COLUMNS };

/* Those that are public functions. */
#define FOR_EACH(f)                                                           \
    for (const ht_test_function *f = ht_test_functions; f->name != NULL; f++) \
        if (f->call != NULL)

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

static ht_dtype result_dtype(const ht_test_function *f, ht_dtype dtype)
{
    if (f->result == HT_TEST_TRUTH)
        return HT_BOOL;
    return f->result == HT_TEST_FLOATING && is_exact(dtype) ? HT_FLOAT32 : dtype;
}

static bool takes(const ht_test_function *f, ht_dtype dtype)
{
    if (f->only_floats)
        return ht_dtype_is_floating(dtype);
    if (dtype == HT_BOOL)
        return f->result == HT_TEST_FLOATING || f->takes_bool;
    if (ht_dtype_is_complex(dtype))
        return f->complex_value != NULL;
    return !f->no_floats || is_exact(dtype);
}

static double value_of(const ht_test_function *f, ht_dtype dtype, double x)
{
    return dtype == HT_BOOL && f->bool_value != NULL ? f->bool_value(x) : f->value(x);
}

static ht_tensor *in_place(const ht_test_function *f, ht_tensor *x)
{
    assert_int_equal(f->in_place(x), HT_SUCCESS);
    return x;
}

static void check_values(const ht_test_function *f, ht_dtype dtype)
{
    const ht_dtype result = result_dtype(f, dtype);
    const double *values = ht_test_values(operand(f, dtype, HT_NONE));
    double expected[COUNT];

    for (int i = 0; i < COUNT; i++)
        expected[i] = value_of(f, dtype, values[i]);
    for (int split = -1; split < 2; split++) {
        ht_tensor *x = operand(f, dtype, split_of(split)), *y = f->call(x);

        ht_test_expect(result == HT_UINT8 ? ht_astype(y, HT_INT8) : y, expected, tolerance(result));
        assert_int_equal(ht_tensor_dtype(y), result);
        assert_int_equal(ht_tensor_split(y), split_of(split));
        ht_test_expect_same(f->call(ht_transpose(x, 0, 1)), ht_transpose(y, 0, 1), 0);
        if (f->in_place != NULL && result == dtype)
            ht_test_expect_same(in_place(f, ht_copy(x)), y, 0);
    }
    assert_int_equal(ht_tensor_size(f->call(ht_ones(HT_SHAPE(0, 3), dtype, 0))), 0);
}

static void values_depend_on_no_split(void **state)
{
    (void)state;
    FOR_EACH(f)
    for (int i = 0; i < HT_COMPLEX64; i++)
        if (takes(f, (ht_dtype)i)) {
            ht_scope *scope = ht_scope_open();

            check_values(f, (ht_dtype)i);
            ht_scope_close(scope);
        }
}

static void ends_of_the_range_and_nan(void **state)
{
    static const double ends[] = {NAN, INFINITY, -INFINITY, 0, -0.0, -1, 1e4, -1e4};
    enum { ENDS = sizeof ends / sizeof *ends };
    double expected[ENDS];

    (void)state;
    FOR_EACH(f)
    for (ht_dtype dtype = HT_FLOAT32; dtype <= HT_FLOAT64 && takes(f, HT_FLOAT32); dtype++) {
        ht_tensor *x = ht_astype(ht_array(ends, HT_SHAPE(ENDS), HT_FLOAT64, 0), dtype);

        for (int i = 0; i < ENDS; i++)
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

        ht_test_expect(ht_real(ht_mul(y, factor)), expected[part], 1e-14);
    }
}

static void complex_numbers_have_values(void **state)
{
    (void)state;
    FOR_EACH(f)
    for (int split = -1; split < 2 && f->complex_value != NULL; split++)
        check_complex(f, split_of(split));
}

static void other_dtypes_are_errors(void **state)
{
    static const ht_dtype dtypes[] = {HT_BOOL,    HT_INT32,     HT_FLOAT16,
                                      HT_FLOAT64, HT_COMPLEX64, HT_COMPLEX128};
    char message[64];

    (void)state;
    FOR_EACH(f)
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        snprintf(message, sizeof message, "%s: not defined for %s", f->name,
                 ht_dtype_name(dtypes[i]));
        if (!takes(f, dtypes[i]))
            HT_TEST_EXPECT_ERROR(f->call(ht_ones(HT_SHAPE(3), dtypes[i], 0)), HT_ERR_DTYPE,
                                 message);
    }
}

/* Results that integers cannot represent, or complex ones, are not written over real numbers. */
static void in_place_refuses_a_dtype_that_cannot_hold_the_result(void **state)
{
    (void)state;
    FOR_EACH(f)
    {
        if (f->in_place != NULL && f->result == HT_TEST_FLOATING)
            HT_TEST_EXPECT_ERROR(f->in_place(ht_ones(HT_SHAPE(3), HT_INT32, 0)), HT_ERR_DTYPE,
                                 "which x of int32 cannot hold");
    }
}

static ht_tensor *leaf(const ht_test_function *f, ht_dtype dtype, int split)
{
    ht_tensor *x = operand(f, dtype, split);

    assert_int_equal(ht_tensor_set_requires_grad(x, true), HT_SUCCESS);
    return x;
}

static ht_tensor *call_in_place(ht_tensor *x, const ht_test_function *f)
{
    return in_place(f, ht_add_scalar(x, 0));
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
    for (int split = -1; split < 2 && f->slope != NULL; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = leaf(f, HT_FLOAT64, split_of(split));

        check_slope(f, HT_FLOAT32, split_of(split), false);
        check_slope(f, HT_FLOAT64, split_of(split), false);
        if (f->in_place != NULL)
            check_slope(f, HT_FLOAT64, split_of(split), true);
        if (split == 0)
            ht_test_gradcheck(of_first, 1, &x, (void *)(uintptr_t)f, 1e-7);
        ht_scope_close(scope);
    }
}

/* Re(w f(z)) of one element. */
static double loss_of(const ht_test_function *f, double complex w, double complex z)
{
    return creal(w * f->complex_value(z));
}

/* PyTorch's convention: dL/d(Re z) + i dL/d(Im z), by differences along both axes. */
static void check_complex_slope(const ht_test_function *f, int split)
{
    const double *values = ht_test_values(operand(f, HT_FLOAT64, HT_NONE)), h = 1e-6;
    const double complex w = 0.5 - 2 * _Complex_I;
    double complex z[COUNT];
    double expected[2][COUNT];
    ht_tensor *x, *y;

    for (int i = 0; i < COUNT; i++) {
        z[i] = values[i] + 0.5 * values[i] * _Complex_I;
        expected[0][i] = (loss_of(f, w, z[i] + h) - loss_of(f, w, z[i] - h)) / (2 * h);
        expected[1][i] = (loss_of(f, w, z[i] + h * _Complex_I) -
                          loss_of(f, w, z[i] - h * _Complex_I)) /
                         (2 * h);
    }
    x = ht_array(z, HT_SHAPE(ROWS, COLUMNS), HT_COMPLEX128, split);
    ht_tensor_set_requires_grad(x, true);
    y = ht_mul(f->call(x), ht_scalar_ext(HT_NUM(w)));
    assert_int_equal(ht_backward(ht_sum(ht_real(y), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_real(ht_tensor_grad(x)), expected[0], 1e-8);
    ht_test_expect(ht_imag(ht_tensor_grad(x)), expected[1], 1e-8);
}

static void complex_gradients_are_the_derivative(void **state)
{
    (void)state;
    FOR_EACH(f)
    for (int split = -1; split < 1 && f->complex_value != NULL; split++) {
        ht_scope *scope = ht_scope_open();

        if (f->result != HT_TEST_TRUTH)
            check_complex_slope(f, split_of(split));
        ht_scope_close(scope);
    }
}

/* Where the result rounds to -1, the slope cannot be computed from it. */
static void the_slope_of_expm1_is_kept_far_below_0(void **state)
{
    const float at = -24;
    ht_tensor *x = ht_array(&at, 1, (int64_t[]){1}, HT_FLOAT32, HT_NONE);

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    assert_int_equal(ht_backward(ht_sum(ht_expm1(x), HT_NONE)), HT_SUCCESS);
    assert_true(fabs(ht_item(ht_tensor_grad(x)) / exp(-24) - 1) < 1e-6);
}

HT_TEST_SUITE(test_elementwise, cmocka_unit_test(values_depend_on_no_split),
              cmocka_unit_test(ends_of_the_range_and_nan),
              cmocka_unit_test(complex_numbers_have_values),
              cmocka_unit_test(other_dtypes_are_errors),
              cmocka_unit_test(in_place_refuses_a_dtype_that_cannot_hold_the_result),
              cmocka_unit_test(gradients_are_the_derivative),
              cmocka_unit_test(complex_gradients_are_the_derivative),
              cmocka_unit_test(the_slope_of_expm1_is_kept_far_below_0));
