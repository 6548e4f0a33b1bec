/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Numbers that programs pass: int64 without a bit less, ends of intervals met, infinities, and what
 * an operation in place or a conversion cannot keep. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "complex_of.h"
#include "ht_test.h"
#include "tensor_check.h"

#define ODD (((int64_t)1 << 53) + 1) /* no double is this */

static void expect_integers(ht_tensor *x, const int64_t *expected)
{
    ht_tensor *all = ht_resplit(x, HT_NONE);
    const int64_t *data = ht_test_data(all);

    assert_int_equal(ht_tensor_dtype(x), HT_INT64);
    for (int64_t i = 0; i < ht_tensor_size(all); i++)
        assert_true(data[i] == expected[i]);
}

static ht_tensor *count(int64_t start, int64_t stop, int64_t step, int split)
{
    return ht_arange_ext(HT_NUM(start), HT_NUM(stop), HT_NUM(step), HT_INT64, split,
                         ht_get_device(), ht_get_comm());
}

static void integers_keep_all_their_bits(void **state)
{
    const int64_t three[] = {3};
    const int64_t up[] = {ODD, ODD + 2, ODD + 4}, ends[] = {INT64_MIN, INT64_MIN};
    const int64_t same[] = {ODD, ODD, ODD}, product[] = {3 * ODD, 3 * ODD, 3 * ODD};
    const int64_t top[] = {INT64_MAX - 2, INT64_MAX - 1};
    const int64_t down[] = {INT64_MAX, -1};

    (void)state;
    for (int split = -1; split < 1; split++) {
        int s = split < 0 ? HT_NONE : split;
        ht_tensor *x = ht_full_ext(1, three, HT_NUM(ODD), HT_INT64, s, ht_get_device(),
                                   ht_get_comm());
        ht_tensor *zeros = ht_zeros_like(x);

        expect_integers(x, same);
        expect_integers(ht_full_like_ext(zeros, HT_NUM(ODD), ht_tensor_dtype(zeros)), same);
        expect_integers(ht_add_scalar_ext(zeros, HT_NUM(ODD)), same);
        expect_integers(ht_sub_scalar_ext(zeros, HT_NUM(-ODD)), same);
        expect_integers(ht_mul_scalar_ext(x, HT_NUM(3)), product);
        assert_int_equal(ht_fill_ext_(zeros, HT_NUM(ODD)), HT_SUCCESS);
        expect_integers(zeros, same);
        assert_int_equal(ht_mul_scalar_ext_(zeros, HT_NUM(3)), HT_SUCCESS);
        expect_integers(zeros, product);
        expect_integers(count(ODD, ODD + 5, 2, s), up);
        expect_integers(ht_arange(0x1p53, 0x1p53 + 4, 1, HT_INT64, s),
                        (const int64_t[]){ODD - 1, ODD, ODD + 1, ODD + 2});
        expect_integers(count(INT64_MAX - 2, INT64_MAX, 1, s), top);
        expect_integers(count(INT64_MAX, INT64_MIN, INT64_MIN, s), down);
        expect_integers(ht_full(HT_SHAPE(2), -0x1p63, HT_INT64, s), ends);
        assert_true(ht_item_ext(ht_narrow(x, 0, 1, 2)).integer == ODD);
    }
    assert_true(ht_item_ext(ht_max(count(ODD - 9, ODD + 1, 3, 0), 0)).integer == ODD);
    HT_TEST_EXPECT_ERROR(count(0, 5, 0, 0), HT_ERR_ARGUMENT,
                         "ht_arange_ext: step is 0, expected another number");
}

static void expect_number(ht_number number, ht_number_kind kind, double real, double imaginary)
{
    assert_int_equal(number.kind, kind);
    assert_true(number.real == real && number.imaginary == imaginary);
}

/* One rank has the item of a split tensor, and all ranks receive it. */
static void an_item_is_of_its_kind(void **state)
{
    const int64_t one = 1;
    ht_number number;

    (void)state;
    for (int split = -1; split < 1; split++) {
        int s = split < 0 ? HT_NONE : split;

        expect_number(ht_item_ext(ht_full(1, &one, 7, HT_BOOL, s)), HT_NUMBER_INTEGER, 1, 0);
        expect_number(ht_item_ext(ht_full(1, &one, 7, HT_UINT8, s)), HT_NUMBER_INTEGER, 7, 0);
        expect_number(ht_item_ext(ht_full(1, &one, 1.5, HT_BFLOAT16, s)), HT_NUMBER_REAL, 1.5, 0);
        number = ht_item_ext(ht_full_ext(1, &one, HT_COMPLEX(1.5, -2), HT_COMPLEX64, s,
                                         ht_get_device(), ht_get_comm()));
        expect_number(number, HT_NUMBER_COMPLEX, 1.5, -2);
    }
    HT_TEST_EXPECT_ERROR(ht_item(ht_ones(0, NULL, HT_COMPLEX64, HT_NONE)), HT_ERR_DTYPE,
                         "ht_item: x is complex64, which a double cannot hold; use ht_item_ext");
    HT_TEST_EXPECT_ERROR(ht_tensor_item_ext(NULL, &number), HT_ERR_ARGUMENT,
                         "ht_tensor_item_ext: x is NULL");
    HT_TEST_EXPECT_ERROR(number = ht_item_ext(ht_ones(HT_SHAPE(2), HT_INT64, 0)), HT_ERR_SHAPE,
                         "ht_item_ext: x is (2,), expected one element");
    assert_true(number.kind == HT_NUMBER_REAL && isnan(number.real));
}

static ht_dtype dtype_with(ht_dtype dtype, ht_number number)
{
    ht_tensor *x = ht_ones(HT_SHAPE(2), dtype, 0);
    ht_tensor *y = ht_add_scalar_ext(x, number);

    assert_int_equal(ht_tensor_dtype(ht_mul_scalar_ext(x, number)), ht_tensor_dtype(y));
    return ht_tensor_dtype(y);
}

static void a_number_raises_the_kind_alone(void **state)
{
    (void)state;
    assert_int_equal(dtype_with(HT_BOOL, HT_NUM(2)), HT_INT64);
    assert_int_equal(dtype_with(HT_INT8, HT_NUM(2)), HT_INT8);
    assert_int_equal(dtype_with(HT_INT8, HT_NUM(2.0)), HT_FLOAT32); /* not as a double does: */
    assert_int_equal(ht_tensor_dtype(ht_add_scalar(ht_ones(0, NULL, HT_INT8, HT_NONE), 2.0)),
                     HT_INT8);
    assert_int_equal(dtype_with(HT_FLOAT16, HT_NUM(2)), HT_FLOAT16);
    assert_int_equal(dtype_with(HT_INT64, HT_COMPLEX(0, 1)), HT_COMPLEX64);
    assert_int_equal(dtype_with(HT_FLOAT32, HT_COMPLEX(0, 1)), HT_COMPLEX64);
    assert_int_equal(dtype_with(HT_FLOAT64, HT_COMPLEX(0, 1)), HT_COMPLEX128);
    assert_int_equal(dtype_with(HT_COMPLEX64, HT_COMPLEX(0, 1)), HT_COMPLEX64);
}

static void expect_complex(ht_tensor *x, double real, double imaginary)
{
    ht_tensor *all = ht_resplit(ht_astype(x, HT_COMPLEX128), HT_NONE);
    const double *data = ht_test_data(all);

    assert_true(ht_dtype_is_complex(ht_tensor_dtype(x)));
    for (int64_t i = 0; i < ht_tensor_size(all); i++)
        assert_true(data[2 * i] == real && data[2 * i + 1] == imaginary);
}

static void complex_numbers_go_where_others_do(void **state)
{
    const ht_number z = HT_COMPLEX(1, -2);
    ht_tensor *x = ht_full_ext(HT_SHAPE(5), z, HT_COMPLEX64, 0, ht_get_device(), ht_get_comm());
    ht_tensor *real = ht_ones(HT_SHAPE(5), HT_FLOAT32, 0);

    (void)state;
    expect_complex(x, 1, -2);
    expect_complex(ht_full_like_ext(real, z, HT_COMPLEX128), 1, -2);
    expect_complex(ht_add_scalar_ext(real, z), 2, -2);
    expect_complex(ht_sub_scalar_ext(real, z), 0, 2);
    expect_complex(ht_mul_scalar_ext(x, HT_COMPLEX(0, 1)), 2, 1);
    expect_complex(ht_div_scalar_ext(ht_mul_scalar(real, 5), z), 1, 2);
    assert_int_equal(ht_add_ext_(x, real, HT_COMPLEX(0, 2)), HT_SUCCESS);
    expect_complex(x, 1, 0);
    assert_int_equal(ht_mul_scalar_ext_(x, z), HT_SUCCESS);
    expect_complex(x, 1, -2);
    assert_int_equal(ht_fill_ext_(x, HT_COMPLEX(3, 4)), HT_SUCCESS);
    expect_complex(x, 3, 4);
    assert_int_equal(ht_fill_ext_(real, HT_COMPLEX(3, 4)), HT_SUCCESS); /* as ht_astype */
    assert_true(ht_item(ht_sum(real, HT_NONE)) == 15);
    HT_TEST_EXPECT_ERROR(ht_mul_scalar_ext_(real, z), HT_ERR_DTYPE, "ht_mul_scalar_ext_: ");
    HT_TEST_EXPECT_ERROR(ht_add_ext_(real, real, z), HT_ERR_DTYPE, "ht_add_ext_: ");
    HT_TEST_EXPECT_ERROR(
        ht_arange_ext(HT_NUM(0), z, HT_NUM(1), HT_COMPLEX64, 0, ht_get_device(), ht_get_comm()),
        HT_ERR_ARGUMENT, "ht_arange_ext: stop is complex, expected a real number");
}

/* w = z x for a real x: dL/dx is the real part of that of w times the conjugate of z. */
static void a_real_operand_gets_a_real_gradient(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3), HT_FLOAT64, 0), *w;

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    w = ht_mul_scalar_ext(x, HT_COMPLEX(2, 3));
    assert_int_equal(
        ht_backward_ext(w, ht_full_like_ext(w, HT_COMPLEX(1, 1), HT_COMPLEX128), false),
        HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), (const double[]){5, 5, 5}, 0);
}

/* Each kind as it comes, from every type that C has for it. */
#if defined __GNUC__ && !defined __clang__
/* Types that a _Generic of C11 does not name. */
static void a_number_may_be_of_an_extended_type(void **state)
{
    __extension__ typedef _Float32 single;
    __extension__ typedef _Float64 real;
    __extension__ typedef _Float32x wide;
    __extension__ typedef _Float64 _Complex two_reals;
    __extension__ typedef __int128 large;
    const double _Complex z = complex_of(1, 2);

    (void)state;
    expect_number(HT_NUM((single)0.5), HT_NUMBER_REAL, 0.5, 0);
    expect_number(HT_NUM((real)0.5), HT_NUMBER_REAL, 0.5, 0);
    expect_number(HT_NUM((wide)0.5), HT_NUMBER_REAL, 0.5, 0);
    expect_number(HT_NUM((two_reals)z), HT_NUMBER_COMPLEX, 1, 2);
    expect_number(HT_NUM((large)-5), HT_NUMBER_INTEGER, -5, 0);
    expect_number(HT_NUM((large)1 << 70), HT_NUMBER_REAL, 0x1p70, 0);
#ifdef __FLT128_MAX__
    {
        __extension__ typedef _Float128 quad;

        expect_number(HT_NUM((quad)0.5), HT_NUMBER_REAL, 0.5, 0);
    }
#endif
#ifdef __FLT16_MAX__
    {
        __extension__ typedef _Float16 half;

        expect_number(HT_NUM((half)0.5), HT_NUMBER_REAL, 0.5, 0);
    }
#endif
}
#else
static void a_number_may_be_of_an_extended_type(void **state)
{
    (void)state;
    HT_TEST_SKIP("no extended types");
}
#endif

static void a_shape_without_axes_has_one_element(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(), HT_FLOAT32, HT_NONE);

    (void)state;
    assert_int_equal(ht_tensor_ndim(x), 0);
    assert_int_equal(ht_tensor_size(x), 1);
}

static void ht_num_keeps_the_kind_of_its_argument(void **state)
{
    const double _Complex z = 1;

    (void)state;
    expect_number(HT_NUM((char)3), HT_NUMBER_INTEGER, 3, 0);
    expect_number(HT_NUM(true), HT_NUMBER_INTEGER, 1, 0);
    expect_number(HT_NUM((size_t)3), HT_NUMBER_INTEGER, 3, 0);
    expect_number(HT_NUM(UINT64_MAX), HT_NUMBER_REAL, 0x1p64, 0);
    expect_number(HT_NUM(3.0f), HT_NUMBER_REAL, 3, 0);
    expect_number(HT_NUM(z), HT_NUMBER_COMPLEX, 1, 0);
    expect_number(HT_NUM(HT_COMPLEX(1, 2)), HT_NUMBER_COMPLEX, 1, 2);
    assert_true(HT_NUM(INT64_MAX).integer == INT64_MAX);
    HT_TEST_EXPECT_ERROR(ht_fill_ext_(ht_ones(0, NULL, HT_INT64, HT_NONE), (ht_number){.kind = 9}),
                         HT_ERR_ARGUMENT, "ht_fill_ext_: value is of kind 9, expected");
}

static void integers_are_printed_as_they_are(void **state)
{
    const int64_t ends[] = {INT64_MIN, INT64_MAX, ODD}, three = 3;
    char *text = ht_tensor_str(ht_array(ends, 1, &three, HT_INT64, 0));

    (void)state;
    assert_non_null(
        strstr(text, "[-9223372036854775808,  9223372036854775807,     9007199254740993]"));
    free(text);
}

static void a_linspace_meets_both_ends(void **state)
{
    (void)state;
    for (int a = -7; a < 8; a++)
        for (int b = -7; b < 8; b++)
            for (int64_t count = 2; count < 12; count += 3) {
                double start = a / 7.0, stop = b / 3.0, step = (stop - start) / (double)(count - 1);
                ht_tensor *x = ht_linspace(start, stop, count, HT_FLOAT64, count % 2 ? 0 : HT_NONE);
                const double *data = ht_test_values(x);

                for (int64_t i = 0; i + 1 < count; i++)
                    assert_true(data[i] == start + (double)i * step);
                assert_true(data[count - 1] == stop);
            }
    ht_test_expect(ht_linspace(-1.5e308, 1.5e308, 3, HT_FLOAT64, 0),
                   (const double[]){-1.5e308, 0, 1.5e308}, 0);
    assert_true(ht_test_values(ht_linspace(0, 5e-324, 3, HT_FLOAT64, 0))[2] == 5e-324);
}

static void infinities_make_integers_floating(void **state)
{
    const int64_t two = 2;
    ht_tensor *x = ht_ones(1, &two, HT_INT32, 0);

    (void)state;
    assert_int_equal(ht_tensor_dtype(ht_add_scalar(x, INFINITY)), HT_FLOAT32);
    ht_test_expect(ht_mul_scalar(x, -INFINITY), (const double[]){-INFINITY, -INFINITY}, 0);
    ht_test_expect(ht_sub_scalar(x, NAN), (const double[]){NAN, NAN}, 0);
    ht_test_expect(ht_add_scalar(x, 0x1p70), (const double[]){0x1p70, 0x1p70}, 0);
    HT_TEST_EXPECT_ERROR(ht_arange(0, INFINITY, 1, HT_INT64, 0), HT_ERR_ARGUMENT,
                         "ht_arange: start is");
    HT_TEST_EXPECT_ERROR(ht_arange(NAN, 1, 1, HT_INT64, 0), HT_ERR_ARGUMENT, "ht_arange: start is");
}

/* The nearest there is; NaN: 0. The same wherever a number stands, in a vector or behind it. */
static void integers_saturate_and_nan_becomes_0(void **state)
{
    static const ht_dtype to[] = {HT_UINT8, HT_INT8, HT_INT16, HT_INT32, HT_INT64};
    static const double low[] = {0, -128, -32768, -0x1p31, -0x1p63};
    static const double high[] = {255, 127, 32767, 0x1p31 - 1, 0x1p63};
    static const ht_dtype from[] = {HT_FLOAT64, HT_FLOAT32, HT_FLOAT16, HT_BFLOAT16, HT_COMPLEX128};
    enum { COUNT = 7 * 5 };

    (void)state;
    for (int f = 0; f < 5; f++)
        for (int t = 0; t < 5; t++) {
            bool half = from[f] == HT_FLOAT16;
            double far = half ? INFINITY : 1e30;
            double values[] = {NAN, INFINITY, -INFINITY, far, -far, -2.75, 100.5};
            double expected[] = {0, high[t], low[t], high[t], low[t], low[t] < 0 ? -2 : 0, 100};
            double all[COUNT], all_expected[COUNT];
            int64_t count = COUNT;

            for (int i = 0; i < COUNT; i++) {
                all[i] = values[i % 7];
                all_expected[i] = expected[i % 7];
            }
            ht_tensor *x = ht_astype(ht_array(all, 1, &count, HT_FLOAT64, HT_NONE), from[f]);
            if (from[f] == HT_BFLOAT16 || half) /* 100.5 is 100 or 101 there */
                all_expected[6] = all_expected[13] = all_expected[20] = all_expected[27] =
                    all_expected[34] = trunc(ht_item(ht_astype(ht_narrow(x, 0, 6, 7), HT_FLOAT64)));
            ht_test_expect(ht_astype(x, to[t]), all_expected, 0);
        }
}

/* A little more than half way between two neighbours of 8 bits. A detour through float32, or for
 * the largest through float64, would first round it to half way, and then down to the even
 * neighbour. */
static void integers_are_rounded_to_16_bits_once(void **state)
{
    enum { COUNT = 9 * 6 };
    int64_t values[COUNT], count = COUNT;
    double expected[COUNT];

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        int64_t power = (int64_t)1 << (24 + i % 6 * 38 / 5), sign = i % 2 ? -1 : 1;

        values[i] = sign * (power + power / 256 + 1);
        expected[i] = (double)(sign * (power + power / 128));
    }
    ht_tensor *x = ht_array(values, 1, &count, HT_INT64, 0);

    ht_test_expect(ht_astype(x, HT_BFLOAT16), expected, 0);
    for (int i = 0; i < COUNT; i++)
        expected[i] = i % 2 ? -INFINITY : INFINITY;
    ht_test_expect(ht_astype(x, HT_FLOAT16), expected, 0);
    ht_test_expect(ht_full_ext(HT_SHAPE(1), HT_NUM(values[5]), HT_BFLOAT16, HT_NONE,
                               ht_get_device(), ht_get_comm()),
                   &(double){-0x1.02p62}, 0);
    ht_test_expect(ht_astype(ht_array((int32_t[]){0x1010001, -0x1010001, 257, -257}, HT_SHAPE(4),
                                      HT_INT32, HT_NONE),
                             HT_BFLOAT16),
                   (const double[]){0x1.02p24, -0x1.02p24, 256, -256}, 0);
}

static void results_of_a_higher_kind_are_not_written(void **state)
{
    const int64_t two = 2;
    ht_tensor *n = ht_ones(1, &two, HT_INT64, 0), *yes = ht_ones(1, &two, HT_BOOL, 0);
    ht_tensor *x = ht_ones(1, &two, HT_FLOAT64, 0), *z = ht_ones(1, &two, HT_COMPLEX64, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_add_(n, n, 0.7), HT_ERR_DTYPE,
                         "ht_add_: the result is float32, which a of int64 cannot hold");
    HT_TEST_EXPECT_ERROR(ht_add_(n, x, 1), HT_ERR_DTYPE, "ht_add_: the result is float64");
    HT_TEST_EXPECT_ERROR(ht_add_(x, z, 1), HT_ERR_DTYPE, "ht_add_: the result is complex128");
    HT_TEST_EXPECT_ERROR(ht_add_(yes, n, 1), HT_ERR_DTYPE, "ht_add_: the result is int64");
    HT_TEST_EXPECT_ERROR(ht_mul_scalar_(n, 0.5), HT_ERR_DTYPE, "ht_mul_scalar_: the result is");
    HT_TEST_EXPECT_ERROR(ht_mul_scalar_(yes, 2), HT_ERR_DTYPE, "ht_mul_scalar_: the result is");
    HT_TEST_EXPECT_ERROR(ht_add_(x, ht_ones(HT_SHAPE(3), HT_INT8, 0), 0.5), HT_ERR_SHAPE,
                         "ht_add_: a is (2,), b is (3,)");
    ht_test_expect(n, (const double[]){1, 1}, 0);
    assert_int_equal(ht_add_(n, n, 3), HT_SUCCESS);
    ht_test_expect(n, (const double[]){4, 4}, 0);
    assert_int_equal(ht_add_(x, n, 0.7), HT_SUCCESS); /* 0.7 in float64 */
    ht_test_expect(x, (const double[]){1 + 0.7 * 4, 1 + 0.7 * 4}, 0);
}

static void expect_dtype(ht_dtype tensor, ht_dtype number, ht_dtype expected)
{
    const int64_t two = 2;
    ht_tensor *x = ht_ones(1, &two, tensor, 0), *y = ht_ones(0, NULL, number, HT_NONE);

    assert_int_equal(ht_tensor_dtype(ht_add(x, y)), expected);
    assert_int_equal(ht_tensor_dtype(ht_mul(y, x)), expected);
}

static void a_tensor_without_axes_raises_the_kind_only(void **state)
{
    (void)state;
    expect_dtype(HT_FLOAT32, HT_FLOAT64, HT_FLOAT32);
    expect_dtype(HT_FLOAT16, HT_BFLOAT16, HT_FLOAT16);
    expect_dtype(HT_INT8, HT_INT64, HT_INT8);
    expect_dtype(HT_INT8, HT_FLOAT64, HT_FLOAT64);
    expect_dtype(HT_BOOL, HT_INT16, HT_INT16);
    expect_dtype(HT_FLOAT32, HT_COMPLEX128, HT_COMPLEX64);
    expect_dtype(HT_FLOAT64, HT_COMPLEX64, HT_COMPLEX128);
    expect_dtype(HT_INT32, HT_COMPLEX64, HT_COMPLEX64);
    expect_dtype(HT_FLOAT64, HT_FLOAT32, HT_FLOAT64);
    assert_int_equal(ht_tensor_dtype(ht_add(ht_ones(0, NULL, HT_FLOAT32, HT_NONE),
                                            ht_ones(0, NULL, HT_FLOAT64, HT_NONE))),
                     HT_FLOAT64);
}

static ht_tensor *bytes(int64_t value)
{
    return ht_full_ext(HT_SHAPE(2), HT_NUM(value), HT_UINT8, 0, ht_get_device(), ht_get_comm());
}

/* As NumPy's OverflowError; they wrapped around. On ranks without elements, too. */
static void integers_out_of_range_are_refused(void **state)
{
    const char *what = "expected 0 to 255 for uint8";
    ht_tensor *x = bytes(255);

    (void)state;
    HT_TEST_EXPECT_ERROR(bytes(256), HT_ERR_ARGUMENT, "ht_full_ext: the number is 256, expected 0");
    HT_TEST_EXPECT_ERROR(ht_full_like_ext(x, HT_NUM(-129), HT_INT8), HT_ERR_ARGUMENT,
                         "ht_full_like_ext: the number is -129, expected -128 to 127 for int8");
    HT_TEST_EXPECT_ERROR(ht_fill_ext_(x, HT_NUM(-1)), HT_ERR_ARGUMENT,
                         "ht_fill_ext_: value is -1, expected 0 to 255 for uint8");
    HT_TEST_EXPECT_ERROR(ht_add_scalar(x, 300), HT_ERR_ARGUMENT,
                         "ht_add_scalar: the number is 300");
    HT_TEST_EXPECT_ERROR(ht_sub_scalar_ext(x, HT_NUM(-1)), HT_ERR_ARGUMENT, what);
    HT_TEST_EXPECT_ERROR(ht_mul_scalar_(x, 1e4), HT_ERR_ARGUMENT, "ht_mul_scalar_: ");
    HT_TEST_EXPECT_ERROR(ht_add_(x, x, -1), HT_ERR_ARGUMENT, "ht_add_: ");
    HT_TEST_EXPECT_ERROR(ht_arange(250, 257, 1, HT_UINT8, 0), HT_ERR_ARGUMENT,
                         "ht_arange: the last number is 256");
    HT_TEST_EXPECT_ERROR(ht_arange(-1, 3, 1, HT_UINT8, 0), HT_ERR_ARGUMENT, "start is -1");
    assert_true(ht_item(ht_sum(x, HT_NONE)) == 510); /* nothing was written */
    assert_true(ht_item(ht_sum(ht_arange(253, 256, 1, HT_UINT8, 0), HT_NONE)) == 762);
    assert_true(ht_item(ht_sum(ht_full(HT_SHAPE(2), 256, HT_BOOL, 0), HT_NONE)) == 2);
    assert_true(ht_item(ht_narrow(ht_div_scalar(x, 510), 0, 0, 1)) == 0.5); /* in float32 */
}

HT_TEST_SUITE(test_numbers, cmocka_unit_test(integers_out_of_range_are_refused),
              cmocka_unit_test(integers_keep_all_their_bits),
              cmocka_unit_test(an_item_is_of_its_kind),
              cmocka_unit_test(a_number_raises_the_kind_alone),
              cmocka_unit_test(complex_numbers_go_where_others_do),
              cmocka_unit_test(a_real_operand_gets_a_real_gradient),
              cmocka_unit_test(ht_num_keeps_the_kind_of_its_argument),
              cmocka_unit_test(a_number_may_be_of_an_extended_type),
              cmocka_unit_test(a_shape_without_axes_has_one_element),
              cmocka_unit_test(integers_are_printed_as_they_are),
              cmocka_unit_test(a_linspace_meets_both_ends),
              cmocka_unit_test(infinities_make_integers_floating),
              cmocka_unit_test(integers_saturate_and_nan_becomes_0),
              cmocka_unit_test(integers_are_rounded_to_16_bits_once),
              cmocka_unit_test(results_of_a_higher_kind_are_not_written),
              cmocka_unit_test(a_tensor_without_axes_raises_the_kind_only));
