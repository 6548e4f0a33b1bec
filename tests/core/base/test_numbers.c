/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Numbers that programs pass: int64 without a bit less, ends of intervals met, infinities, and what
 * an operation in place or a conversion cannot keep. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ht_test.h"
#include "tensor_check.h"

#define ODD (((int64_t)1 << 53) + 1) /* no double is this */

static void expect_integers(ht_tensor *x, const int64_t *expected)
{
    ht_tensor *all = ht_resplit(x, HT_NONE);
    const int64_t *data = ht_tensor_data(all);

    assert_int_equal(ht_tensor_dtype(x), HT_INT64);
    for (int64_t i = 0; i < ht_tensor_size(all); i++)
        assert_true(data[i] == expected[i]);
}

static void integers_keep_all_their_bits(void **state)
{
    const int64_t three[] = {3};
    const int64_t up[] = {ODD, ODD + 2, ODD + 4}, ends[] = {INT64_MIN, INT64_MIN};
    const int64_t same[] = {ODD, ODD, ODD}, product[] = {3 * ODD, 3 * ODD, 3 * ODD};
    const int64_t top[] = {INT64_MAX - 2, INT64_MAX - 1};
    const int64_t down[] = {INT64_MAX, -1};
    int64_t one = 0;

    (void)state;
    for (int split = -1; split < 1; split++) {
        int s = split < 0 ? HT_NONE : split;
        ht_tensor *x = ht_full_i64(1, three, ODD, HT_INT64, s), *zeros = ht_zeros_like(x);

        expect_integers(x, same);
        expect_integers(ht_full_like_i64(zeros, ODD), same);
        expect_integers(ht_add_scalar_i64(zeros, ODD), same);
        expect_integers(ht_sub_scalar_i64(zeros, -ODD), same);
        expect_integers(ht_mul_scalar_i64(x, 3), product);
        assert_int_equal(ht_fill_i64_(zeros, ODD), HT_SUCCESS);
        expect_integers(zeros, same);
        assert_int_equal(ht_mul_scalar_i64_(zeros, 3), HT_SUCCESS);
        expect_integers(zeros, product);
        expect_integers(ht_arange_i64(ODD, ODD + 5, 2, HT_INT64, s), up);
        expect_integers(ht_arange(0x1p53, 0x1p53 + 4, 1, HT_INT64, s),
                        (const int64_t[]){ODD - 1, ODD, ODD + 1, ODD + 2});
        expect_integers(ht_arange_i64(INT64_MAX - 2, INT64_MAX, 1, HT_INT64, s), top);
        expect_integers(ht_arange_i64(INT64_MAX, INT64_MIN, INT64_MIN, HT_INT64, s), down);
        expect_integers(ht_full(1, (const int64_t[]){2}, -0x1p63, HT_INT64, s), ends);
        assert_true(ht_item_i64(ht_narrow(x, 0, 1, 2)) == ODD);
    }
    assert_true(ht_item_i64(ht_max(ht_arange_i64(ODD - 9, ODD + 1, 3, HT_INT64, 0), 0)) == ODD);
    assert_int_equal(ht_tensor_item_i64(ht_ones(0, NULL, HT_BOOL, HT_NONE), &one), HT_SUCCESS);
    assert_true(one == 1);
    HT_TEST_EXPECT_ERROR(ht_item_i64(ht_ones(0, NULL, HT_FLOAT32, HT_NONE)), HT_ERR_DTYPE,
                         "ht_item_i64: x is float32, an integer dtype is needed");
    HT_TEST_EXPECT_ERROR(ht_arange_i64(0, 5, 0, HT_INT64, 0), HT_ERR_ARGUMENT,
                         "ht_arange_i64: no sequence from 0 to 5 by 0");
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

static void infinities_beside_integers_are_floating(void **state)
{
    const int64_t two = 2;
    ht_tensor *x = ht_ones(1, &two, HT_INT32, 0);

    (void)state;
    assert_int_equal(ht_tensor_dtype(ht_add_scalar(x, INFINITY)), HT_FLOAT32);
    ht_test_expect(ht_mul_scalar(x, -INFINITY), (const double[]){-INFINITY, -INFINITY}, 0);
    ht_test_expect(ht_sub_scalar(x, NAN), (const double[]){NAN, NAN}, 0);
    ht_test_expect(ht_add_scalar(x, 0x1p70), (const double[]){0x1p70, 0x1p70}, 0);
    HT_TEST_EXPECT_ERROR(ht_arange(0, INFINITY, 1, HT_INT64, 0), HT_ERR_ARGUMENT, "ht_arange: no");
    HT_TEST_EXPECT_ERROR(ht_arange(NAN, 1, 1, HT_INT64, 0), HT_ERR_ARGUMENT, "ht_arange: no");
}

/* The nearest there is; NaN: 0. The same wherever a number stands, in a vector or behind it. */
static void integers_take_the_nearest_of_what_they_cannot_hold(void **state)
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

/* A little more than half way between two neighbours of 8 bits: through float32, or for the largest
 * through float64, each would become half way first, and then the lower, even one. */
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
    ht_test_expect(ht_full_i64(1, &(int64_t){1}, values[5], HT_BFLOAT16, HT_NONE),
                   &(double){-0x1.02p62}, 0);
    ht_test_expect(ht_astype(ht_array((int32_t[]){0x1010001, -0x1010001, 257, -257}, 1,
                                      &(int64_t){4}, HT_INT32, HT_NONE),
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
                         "ht_add_: the result is float32, which x of int64 cannot hold");
    HT_TEST_EXPECT_ERROR(ht_add_(n, x, 1), HT_ERR_DTYPE, "ht_add_: the result is float64");
    HT_TEST_EXPECT_ERROR(ht_add_(x, z, 1), HT_ERR_DTYPE, "ht_add_: the result is complex128");
    HT_TEST_EXPECT_ERROR(ht_add_(yes, n, 1), HT_ERR_DTYPE, "ht_add_: the result is int64");
    HT_TEST_EXPECT_ERROR(ht_mul_scalar_(n, 0.5), HT_ERR_DTYPE, "ht_mul_scalar_: the result is");
    HT_TEST_EXPECT_ERROR(ht_mul_scalar_(yes, 2), HT_ERR_DTYPE, "ht_mul_scalar_: the result is");
    HT_TEST_EXPECT_ERROR(ht_add_(x, ht_ones(1, (const int64_t[]){3}, HT_INT8, 0), 0.5),
                         HT_ERR_SHAPE, "ht_add_: a is (2,), b is (3,)");
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

HT_TEST_SUITE(test_numbers, cmocka_unit_test(integers_keep_all_their_bits),
              cmocka_unit_test(integers_are_printed_as_they_are),
              cmocka_unit_test(a_linspace_meets_both_ends),
              cmocka_unit_test(infinities_beside_integers_are_floating),
              cmocka_unit_test(integers_take_the_nearest_of_what_they_cannot_hold),
              cmocka_unit_test(integers_are_rounded_to_16_bits_once),
              cmocka_unit_test(results_of_a_higher_kind_are_not_written),
              cmocka_unit_test(a_tensor_without_axes_raises_the_kind_only));
