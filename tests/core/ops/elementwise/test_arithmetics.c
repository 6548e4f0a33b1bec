/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Functions of two operands of every kind of number against NumPy's, their gradients, and sums that
 * leave out NaN. */
#include <complex.h>
#include <math.h>

#include "golden/arithmetics.h"
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

typedef ht_tensor *binary_fn(ht_tensor *, ht_tensor *);

enum { INTEGERS = 9, FLOATS = 10 };

/* In the order of the golden tables. */
static binary_fn *const of_integers[] = {
    ht_add, ht_sub,         ht_mul,        ht_floordiv,    ht_remainder,  ht_fmod,       ht_gcd,
    ht_lcm, ht_bitwise_and, ht_bitwise_or, ht_bitwise_xor, ht_left_shift, ht_right_shift};
static binary_fn *const of_floats[] = {ht_floordiv, ht_remainder, ht_fmod,
                                       ht_pow,      ht_hypot,     ht_copysign,
                                       ht_atan2,    ht_logaddexp, ht_logaddexp2};

enum {
    OF_INTEGERS = sizeof of_integers / sizeof *of_integers,
    OF_FLOATS = sizeof of_floats / sizeof *of_floats
};

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

/* Every number of the list as the first operand, along the rows, with each as the second. */
static void check_integers(ht_dtype dtype, const int64_t numbers[],
                           const int64_t expected[][INTEGERS * INTEGERS])
{
    ht_tensor *x = ht_astype(ht_array(numbers, HT_SHAPE(INTEGERS), HT_INT64, HT_NONE), dtype);
    ht_tensor *column = ht_reshape(x, HT_SHAPE(INTEGERS, 1));

    for (int job = 0; job < 2 * OF_INTEGERS; job++) {
        const int f = job / 2;
        ht_tensor *y = of_integers[f](ht_resplit(column, split_of(job % 2 - 1)), x);
        ht_tensor *all = ht_array(expected[f], HT_SHAPE(INTEGERS, INTEGERS), HT_INT64, HT_NONE);

        assert_int_equal(ht_tensor_dtype(y), dtype);
        if (ht_item(ht_all(ht_eq(ht_astype(y, HT_INT64), all), HT_NONE)) != 1)
            fail_msg("function %d of %s is not NumPy's", f, ht_dtype_name(dtype));
    }
}

static void integers_are_those_of_numpy(void **state)
{
    (void)state;
    check_integers(HT_INT8, golden_int8, golden_int8_of);
    check_integers(HT_UINT8, golden_uint8, golden_uint8_of);
    check_integers(HT_INT64, golden_int64, golden_int64_of);
}

/* Signs of zeros, too; to a few units in the last place where the system's functions are. */
static void check_float(double found, double expected, double tolerance, int f, int i)
{
    const double bound = isfinite(expected) ? tolerance * fabs(expected) : 0;
    const bool near = found == expected || fabs(found - expected) <= bound;

    if (isnan(expected) ? !isnan(found) : !near || signbit(found) != signbit(expected))
        fail_msg("function %d of %g and %g is %.17g, expected %.17g", f, golden_float64[i / FLOATS],
                 golden_float64[i % FLOATS], found, expected);
}

static void floating_numbers_are_those_of_numpy(void **state)
{
    static const struct {
        ht_dtype dtype;
        double tolerance;
    } kinds[] = {{HT_FLOAT64, 1e-15}, {HT_FLOAT32, 5e-7}, {HT_FLOAT16, 1e-3}};

    (void)state;
    for (int job = 0; job < 6 * OF_FLOATS; job++) {
        ht_scope *scope = ht_scope_open();
        const int f = job / 6, kind = job % 3;
        ht_tensor *x = ht_astype(ht_array(golden_float64, HT_SHAPE(FLOATS), HT_FLOAT64, HT_NONE),
                                 kinds[kind].dtype);
        ht_tensor *column = ht_reshape(x, HT_SHAPE(FLOATS, 1));
        ht_tensor *y = of_floats[f](ht_resplit(column, split_of(job / 3 % 2 - 1)), x);
        ht_tensor *rounded = ht_astype(
            ht_array(golden_float64_of[f], HT_SHAPE(FLOATS * FLOATS), HT_FLOAT64, HT_NONE),
            kinds[kind].dtype);
        const double *found = ht_test_values(y), *expected = ht_test_values(rounded);

        assert_int_equal(ht_tensor_dtype(y), kinds[kind].dtype);
        for (int i = 0; i < FLOATS * FLOATS; i++)
            check_float(found[i], expected[i], kinds[kind].tolerance, f, i);
        ht_scope_close(scope);
    }
}

static ht_tensor *integers(int64_t count, const int64_t values[], ht_dtype dtype)
{
    return ht_astype(ht_array(values, 1, &count, HT_INT64, 0), dtype);
}

/* a^b and what it is, of any b: NumPy has none for negative ones. */
static void powers_of_integers_wrap_and_are_rounded_towards_0(void **state)
{
    static const int64_t a[] = {2, 1, -1, -1, 0, 0, 7, 3, INT64_MIN, -2},
                         b[] = {-1, -5, -3, -4, -1, 0, 2, 40, 1, 63},
                         wide[] = {0,         1,        -1, 1, 0, 1, 49, -6289078614652622815,
                                   INT64_MIN, INT64_MIN};
    static const int64_t bytes[] = {2, 3, 200, 255}, by[] = {8, 5, 2, 255},
                         low[] = {0, 243, 64, 255};
    ht_tensor *y = ht_pow(integers(10, a, HT_INT64), integers(10, b, HT_INT64));

    (void)state;
    assert_int_equal(ht_item(ht_all(ht_eq(y, integers(10, wide, HT_INT64)), HT_NONE)), 1);
    y = ht_pow(integers(4, bytes, HT_UINT8), integers(4, by, HT_UINT8));
    assert_int_equal(ht_tensor_dtype(y), HT_UINT8);
    ht_test_expect_same(y, integers(4, low, HT_UINT8), 0);
    ht_test_expect(ht_pow(integers(3, (int64_t[]){-128, 11, -1}, HT_INT8), ht_scalar(2)),
                   (double[]){0, 121, 1}, 0);
}

static void pos_copies_its_operand(void **state)
{
    ht_tensor *x = ht_arange(0, 5, 1, HT_INT16, 0), *y = ht_pos(x);

    (void)state;
    ht_test_expect_same(x, y, 0);
    assert_int_equal(ht_tensor_dtype(y), HT_INT16);
    assert_int_equal(ht_fill_(y, 7), HT_SUCCESS);
    ht_test_expect(x, (double[]){0, 1, 2, 3, 4}, 0);
    HT_TEST_EXPECT_ERROR(ht_pos(NULL), HT_ERR_ARGUMENT, "ht_pos: x");
}

/* The least number of each dtype over -1 is itself, which has no remainder. */
static void the_least_number_has_no_opposite(void **state)
{
    static const ht_dtype dtypes[] = {HT_INT8, HT_INT16, HT_INT32, HT_INT64};

    (void)state;
    for (int i = 0; i < 4; i++) {
        const int64_t least = INT64_MIN >> (64 - 8 * (int)ht_dtype_size(dtypes[i]));
        ht_tensor *x = integers(1, &least, dtypes[i]), *one = ht_scalar(-1);

        assert_true(ht_item_ext(ht_floordiv(x, one)).integer == least);
        assert_true(ht_item_ext(ht_remainder(x, one)).integer == 0);
        assert_true(ht_item_ext(ht_fmod(x, one)).integer == 0);
        assert_true(ht_item_ext(ht_neg(x)).integer == least);
        assert_true(ht_item_ext(ht_pow(x, ht_scalar(1))).integer == least);
    }
}

/* The quotient of rounded numbers is not rounded up to the next integer. */
static void floors_are_those_of_exact_quotients(void **state)
{
    (void)state;
    ht_tensor *a = ht_array((double[]){1, -1, 6, 0x1p53}, HT_SHAPE(4), HT_FLOAT64, 0);
    ht_tensor *b = ht_array((double[]){0.1, 0.1, 0.1, 3}, HT_SHAPE(4), HT_FLOAT64, HT_NONE);

    ht_test_expect(ht_floordiv(a, b), (double[]){9, -10, 59, 3002399751580330}, 0);
    ht_test_expect(ht_remainder(ht_narrow(a, 0, 0, 1), ht_narrow(b, 0, 0, 1)),
                   (double[]){0.09999999999999995}, 0);
}

static void divmod_is_both(void **state)
{
    (void)state;
    ht_tensor *a = ht_test_randn(HT_SHAPE(5, 4), HT_FLOAT64, 0, 11), *q = a, *r = a;
    ht_tensor *b = ht_test_randn(HT_SHAPE(4), HT_FLOAT64, 0, 12);

    assert_int_equal(ht_divmod(a, b, &q, &r), HT_SUCCESS);
    ht_test_expect_same(q, ht_floordiv(a, b), 0);
    ht_test_expect_same(r, ht_remainder(a, b), 0);
    q = r = a;
    HT_TEST_EXPECT_ERROR(ht_divmod(a, ht_ones(HT_SHAPE(3), HT_FLOAT64, 0), &q, &r), HT_ERR_SHAPE,
                         "ht_divmod: a is (5, 4), b is (3,)");
    HT_TEST_EXPECT_ERROR(ht_divmod(a, b, NULL, &r), HT_ERR_ARGUMENT, "ht_divmod: quotient");
    HT_TEST_EXPECT_ERROR(ht_divmod(a, b, &q, NULL), HT_ERR_ARGUMENT, "ht_divmod: rest");
    HT_TEST_EXPECT_ERROR(ht_divmod(NULL, b, &q, &r), HT_ERR_ARGUMENT, "ht_divmod: a");
    assert_true(q == a && r == a);
}

static void dtypes_without_the_function_are_errors(void **state)
{
    ht_tensor *flag = ht_ones(HT_SHAPE(3), HT_BOOL, 0), *z = ht_ones(HT_SHAPE(3), HT_COMPLEX64, 0);
    ht_tensor *x = ht_ones(HT_SHAPE(3), HT_FLOAT32, 0), *n = ht_ones(HT_SHAPE(3), HT_INT32, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_pow(flag, flag), HT_ERR_DTYPE, "ht_pow: not defined for bool");
    HT_TEST_EXPECT_ERROR(ht_floordiv(flag, flag), HT_ERR_DTYPE, "ht_floordiv: not defined for");
    HT_TEST_EXPECT_ERROR(ht_remainder(z, z), HT_ERR_DTYPE, "ht_remainder: not defined for complex");
    HT_TEST_EXPECT_ERROR(ht_hypot(z, z), HT_ERR_DTYPE, "ht_hypot: not defined for complex64");
    HT_TEST_EXPECT_ERROR(ht_gcd(x, x), HT_ERR_DTYPE, "ht_gcd: not defined for float32");
    HT_TEST_EXPECT_ERROR(ht_bitwise_or(n, x), HT_ERR_DTYPE, "ht_bitwise_or: not defined for float");
    HT_TEST_EXPECT_ERROR(ht_left_shift(flag, flag), HT_ERR_DTYPE, "ht_left_shift: not defined for");
    assert_int_equal(ht_tensor_dtype(ht_bitwise_xor(flag, flag)), HT_BOOL);
    assert_int_equal(ht_tensor_dtype(ht_atan2(n, n)), HT_FLOAT32);
    assert_int_equal(ht_tensor_dtype(ht_copysign(flag, n)), HT_FLOAT32);
}

static void complex_powers(void **state)
{
    const double complex base[] = {0, 0, 1 + 2 * _Complex_I, -1}, exponent[] = {0, 2, 2, 0.5};
    ht_tensor *a = ht_array(base, HT_SHAPE(4), HT_COMPLEX128, 0);
    ht_tensor *y = ht_pow(a, ht_array(exponent, HT_SHAPE(4), HT_COMPLEX128, 0));

    (void)state;
    ht_test_expect(ht_real(y), (double[]){1, 0, -3, 0}, 1e-14);
    ht_test_expect(ht_imag(y), (double[]){0, 0, 4, 1}, 1e-14);
}

/* In PyTorch's convention, the gradient of Re(w a^b) has the conjugates of the derivatives. */
static void complex_powers_have_gradients(void **state)
{
    const double complex w = 0.5 - 2 * _Complex_I, base[] = {1 + 2 * _Complex_I, -0.5, 0},
                         exponent[] = {0.5 - _Complex_I, 2, 1};
    double expected[4][3];
    ht_tensor *a = ht_array(base, HT_SHAPE(3), HT_COMPLEX128, 0);
    ht_tensor *b = ht_array(exponent, HT_SHAPE(3), HT_COMPLEX128, HT_NONE), *y;

    (void)state;
    for (int i = 0; i < 3; i++) {
        const double complex of_a = base[i] == 0 ? w
                                                 : w * exponent[i] * cpow(base[i], exponent[i] - 1);
        const double complex of_b = base[i] == 0 ? 0
                                                 : w * cpow(base[i], exponent[i]) * clog(base[i]);

        expected[0][i] = creal(of_a), expected[1][i] = -cimag(of_a);
        expected[2][i] = creal(of_b), expected[3][i] = -cimag(of_b);
    }
    ht_tensor_set_requires_grad(a, true);
    ht_tensor_set_requires_grad(b, true);
    y = ht_mul(ht_pow(a, b), ht_scalar_ext(HT_NUM(w)));
    assert_int_equal(ht_backward(ht_sum(ht_real(y), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_real(ht_tensor_grad(a)), expected[0], 1e-14);
    ht_test_expect(ht_imag(ht_tensor_grad(a)), expected[1], 1e-14);
    ht_test_expect(ht_real(ht_tensor_grad(b)), expected[2], 1e-14);
    ht_test_expect(ht_imag(ht_tensor_grad(b)), expected[3], 1e-14);
}

/* That of b is minus the whole number of times that it was taken from a. */
static void slopes_are_those_of_exact_quotients(void **state)
{
    static binary_fn *const functions[] = {ht_remainder, ht_fmod};
    static const double expected[2][3] = {{-9, 10, -59}, {-9, 9, -59}};

    (void)state;
    for (int f = 0; f < 2; f++) {
        ht_tensor *a = ht_array((double[]){1, -1, 6}, HT_SHAPE(3), HT_FLOAT64, 0);
        ht_tensor *b = ht_full(HT_SHAPE(3), 0.1, HT_FLOAT64, HT_NONE);

        ht_tensor_set_requires_grad(b, true);
        assert_int_equal(ht_backward(ht_sum(functions[f](a, b), HT_NONE)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(b), expected[f], 0);
    }
}

static ht_tensor *of_both(ht_tensor *inputs[], void *user)
{
    return ((binary_fn **)user)[0](inputs[0], inputs[1]);
}

/* Operands where no function jumps: both signs of the first one where the function has a slope
 * there. */
static void gradients_are_those_of_differences(void **state)
{
    static const double a[] = {5.3, -4.1, 3.2, -0.7, 1.6, 2.9}, b[] = {2, -1.5, 0.9};
    static const struct {
        binary_fn *f;
        bool positive;
    } rows[] = {{ht_pow, true},        {ht_remainder, false}, {ht_fmod, false},
                {ht_hypot, false},     {ht_copysign, false},  {ht_atan2, false},
                {ht_logaddexp, false}, {ht_logaddexp2, false}};

    (void)state;
    for (int job = 0; job < 8 * 9; job++) {
        ht_scope *scope = ht_scope_open();
        binary_fn *f = rows[job / 9].f;
        ht_tensor *left = ht_array(a, HT_SHAPE(2, 3), HT_FLOAT64, split_of(job % 3 - 1));
        ht_tensor *right = ht_array(b, HT_SHAPE(3), HT_FLOAT64, job / 3 % 3 == 1 ? 0 : HT_NONE);
        ht_tensor *in[2];

        if (rows[job / 9].positive)
            left = ht_abs(left);
        in[0] = ht_detach(left);
        in[1] = job / 3 % 3 == 2
                    ? ht_resplit(ht_reshape(ht_narrow(right, 0, 0, 2), HT_SHAPE(2, 1)), 0)
                    : right;
        in[1] = ht_detach(ht_copy(in[1]));
        ht_tensor_set_requires_grad(in[0], true);
        ht_tensor_set_requires_grad(in[1], true);
        ht_test_gradcheck(of_both, 2, in, &f, 1e-7);
        ht_scope_close(scope);
    }
}

/* 0 where the factor of the derivative is 0, although the logarithm of 0 is infinite. */
static void powers_of_0_have_a_slope(void **state)
{
    ht_tensor *a = ht_array((double[]){0, 0, 2, -2}, HT_SHAPE(4), HT_FLOAT64, 0);
    ht_tensor *b = ht_array((double[]){0, 2, 0, 3}, HT_SHAPE(4), HT_FLOAT64, HT_NONE);

    (void)state;
    ht_tensor_set_requires_grad(a, true);
    ht_tensor_set_requires_grad(b, true);
    assert_int_equal(ht_backward(ht_sum(ht_pow(a, b), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(a), (double[]){0, 0, 0, 12}, 0);
    ht_test_expect(ht_tensor_grad(b), (double[]){0, 0, log(2), NAN}, 1e-15);
    a = ht_full(HT_SHAPE(4), 2, HT_FLOAT64, 0);
    ht_tensor_set_requires_grad(a, true);
    assert_int_equal(ht_backward(ht_sum(ht_pow(a, ht_arange(0, 4, 1, HT_UINT8, 0)), HT_NONE)),
                     HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(a), (double[]){0, 1, 4, 12}, 0);
}

static void sums_and_products_leave_out_nan(void **state)
{
    static const double numbers[] = {1, NAN, 3, NAN, NAN, 6, -2, 0.5, NAN};
    static const double sums[] = {1 - 2, 0.5, 9}, products[] = {-2, 0.5, 18};

    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_array(numbers, HT_SHAPE(3, 3), HT_FLOAT64, split_of(split));

        ht_tensor_set_requires_grad(x, true);
        ht_test_expect(ht_nansum(x, 0), sums, 0);
        ht_test_expect(ht_nanprod(x, -2), products, 0);
        assert_true(ht_item(ht_nansum(x, HT_NONE)) == 8.5);
        assert_true(ht_item(ht_nanprod(x, HT_NONE)) == -18);
        assert_int_equal(ht_backward(ht_add(ht_nansum(x, HT_NONE), ht_nanprod(x, HT_NONE))),
                         HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(x), (double[]){-17, 0, -5, 0, 0, -2, 10, -35, 0}, 1e-14);
        ht_scope_close(scope);
    }
}

static void nansum_and_nanprod_of_nan_alone_are_0_and_1(void **state)
{
    ht_tensor *x = ht_full(HT_SHAPE(4), NAN, HT_FLOAT32, 0), *n = ht_arange(1, 5, 1, HT_INT32, 0);

    (void)state;
    assert_true(ht_item(ht_nansum(x, 0)) == 0 && ht_item(ht_nanprod(x, 0)) == 1);
    assert_true(ht_item(ht_nansum(n, 0)) == 10 && ht_item(ht_nanprod(n, 0)) == 24);
    assert_int_equal(ht_tensor_dtype(ht_nansum(n, 0)), HT_INT64);
    HT_TEST_EXPECT_ERROR(ht_nansum(x, 1), HT_ERR_ARGUMENT, "ht_nansum: ");
    HT_TEST_EXPECT_ERROR(ht_nanprod(NULL, 0), HT_ERR_ARGUMENT, "ht_nanprod: x");
}

/* Integers combined with operands that have gradients: slopes use the numbers that the function was
 * computed with. Those do not wrap around, and have all digits of the result. */
static void slopes_with_integer_operands(void **state)
{
    static const struct row {
        ht_tensor *(*f)(ht_tensor *, ht_tensor *);
        ht_dtype dtype, of_integer;
        double x, integer, slope; /* by x */
        bool left;                /* x is the first operand */
    } rows[] = {
        {ht_atan2, HT_FLOAT32, HT_UINT8, 1, 16, 16.0 / 257, true},
        {ht_atan2, HT_FLOAT32, HT_INT32, 2, 100000, 1e5 / (1e10 + 4), true},
        {ht_atan2, HT_FLOAT64, HT_INT64, 1, 0x1p33, 0x1p-33, true},
        {ht_atan2, HT_FLOAT64, HT_INT16, 3, 300, -300.0 / 90009, false},
        {ht_pow, HT_FLOAT32, HT_INT8, 1.01, -128, -35.46114478127785, true},
        {ht_pow, HT_FLOAT64, HT_INT64, 0.1, 3, 1.2261866346609027, false},
        {ht_pow, HT_FLOAT64, HT_FLOAT16, 0.1, 3, 1.2261866346609027, false},
        {ht_hypot, HT_FLOAT32, HT_INT16, 3, 30000, 1e-4, true},
    };

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_full(HT_SHAPE(3), rows[r].x, rows[r].dtype, HT_NONE);
        ht_tensor *n = ht_full(HT_SHAPE(3), rows[r].integer, rows[r].of_integer, 0), *y;
        const double slope = rows[r].slope, tolerance = rows[r].dtype == HT_FLOAT64 ? 1e-14 : 3e-6;

        ht_tensor_set_requires_grad(x, true);
        y = rows[r].left ? rows[r].f(x, n) : rows[r].f(n, x);
        assert_int_equal(ht_backward_ext(y, ht_ones_like(y), false), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(x), (double[]){slope, slope, slope}, tolerance);
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_arithmetics, cmocka_unit_test(integers_are_those_of_numpy),
              cmocka_unit_test(floating_numbers_are_those_of_numpy),
              cmocka_unit_test(powers_of_integers_wrap_and_are_rounded_towards_0),
              cmocka_unit_test(pos_copies_its_operand),
              cmocka_unit_test(slopes_are_those_of_exact_quotients),
              cmocka_unit_test(the_least_number_has_no_opposite),
              cmocka_unit_test(floors_are_those_of_exact_quotients),
              cmocka_unit_test(divmod_is_both),
              cmocka_unit_test(dtypes_without_the_function_are_errors),
              cmocka_unit_test(complex_powers), cmocka_unit_test(complex_powers_have_gradients),
              cmocka_unit_test(gradients_are_those_of_differences),
              cmocka_unit_test(powers_of_0_have_a_slope),
              cmocka_unit_test(sums_and_products_leave_out_nan),
              cmocka_unit_test(nansum_and_nanprod_of_nan_alone_are_0_and_1),
              cmocka_unit_test(slopes_with_integer_operands));
