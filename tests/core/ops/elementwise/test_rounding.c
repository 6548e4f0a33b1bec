/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "ht_test.h"
#include "tensor_check.h"

static const int64_t shape[2] = {5, 4};

static void clip_gives_the_same_for_every_split(void **state)
{
    (void)state;
    ht_tensor *x = ht_test_randn(2, shape, HT_FLOAT64, HT_NONE, 1);
    const double *values = ht_test_values(x);
    double expected[20];

    for (int i = 0; i < 20; i++)
        expected[i] = fmin(fmax(values[i], -0.5), 0.25);
    for (int split = -1; split < 2; split++) {
        ht_tensor *part = ht_resplit(x, split < 0 ? HT_NONE : split);
        ht_tensor *y = ht_clip(part, -0.5, 0.25);

        ht_test_expect(y, expected, 0);
        assert_int_equal(ht_tensor_split(y), ht_tensor_split(part));
        ht_test_expect_same(ht_clip(ht_transpose(part, 0, 1), -0.5, 0.25), ht_transpose(y, 0, 1),
                            0);
    }
    assert_int_equal(ht_tensor_shape(ht_clip(ht_ones(HT_SHAPE(0, 3), HT_FLOAT32, 0), 0, 1))[0], 0);
}

static void clip_bounds_may_be_missing_or_crossed(void **state)
{
    (void)state;
    ht_tensor *x = ht_array((double[]){-INFINITY, -2, NAN, 3, INFINITY}, HT_SHAPE(5), HT_FLOAT64,
                            0);

    ht_test_expect(ht_clip(x, -1, INFINITY), (double[]){-1, -1, NAN, 3, INFINITY}, 0);
    ht_test_expect(ht_clip(x, -INFINITY, 1), (double[]){-INFINITY, -2, NAN, 1, 1}, 0);
    ht_test_expect(ht_clip(x, 2, 1), (double[]){1, 1, NAN, 1, 1}, 0);
    ht_test_expect(ht_clip(x, NAN, 1), (double[]){NAN, NAN, NAN, NAN, NAN}, 0);
}

static void clip_promotes_as_with_a_number(void **state)
{
    (void)state;
    for (int i = 0; i < HT_COMPLEX64; i++) {
        const ht_dtype dtype = (ht_dtype)i;
        const bool exact = dtype == HT_BOOL || ht_dtype_is_integer(dtype);
        ht_tensor *x = ht_full(HT_SHAPE(3), 1, dtype, 0);

        assert_int_equal(ht_tensor_dtype(ht_clip(x, -INFINITY, INFINITY)), dtype);
        assert_int_equal(ht_tensor_dtype(ht_clip(x, 0, INFINITY)),
                         dtype == HT_BOOL ? HT_INT64 : dtype);
        assert_int_equal(ht_tensor_dtype(ht_clip(x, -INFINITY, 0.5)), exact ? HT_FLOAT32 : dtype);
        ht_test_expect(ht_clip(x, -INFINITY, 0.5), (double[]){0.5, 0.5, 0.5}, 0);
        ht_test_expect(ht_clip(x, 0, INFINITY), (double[]){1, 1, 1}, 0);
    }
}

static void integers_are_clipped_exactly(void **state)
{
    const int64_t odd = (INT64_C(1) << 53) + 1;
    ht_tensor *x = ht_full_ext(HT_SHAPE(3), HT_NUM(odd + 2), HT_INT64, 0, ht_get_device(),
                               ht_get_comm());
    ht_tensor *bytes = ht_arange(0, 3, 1, HT_UINT8, 0);

    (void)state;
    assert_true(ht_item_ext(ht_max(ht_clip_ext(x, HT_NUM(0), HT_NUM(odd)), 0)).integer == odd);
    x = ht_neg(x);
    assert_true(ht_item_ext(ht_min(ht_clip_ext(x, HT_NUM(-odd), HT_NUM(0)), 0)).integer == -odd);
    ht_test_expect(ht_clip(bytes, -5, 1), (double[]){0, 1, 1}, 0);
    ht_test_expect(ht_clip(bytes, 1, 300), (double[]){1, 1, 2}, 0);
    ht_test_expect(ht_clip(bytes, 300, INFINITY), (double[]){255, 255, 255}, 0);
}

static void gradients_pass_on_the_bounds_and_inside(void **state)
{
    ht_tensor *x = ht_array((float[]){-2, -1, 0, 1, 2, NAN}, HT_SHAPE(6), HT_FLOAT32, 0);

    (void)state;
    assert_int_equal(ht_tensor_set_requires_grad(x, true), HT_SUCCESS);
    assert_int_equal(ht_backward(ht_sum(ht_clip(x, -1, 1), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), (double[]){0, 1, 1, 1, 0, 0}, 0);
}

static void complex_numbers_have_no_bounds(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3), HT_FLOAT32, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_clip(ht_astype(x, HT_COMPLEX64), 0, 1), HT_ERR_DTYPE,
                         "ht_clip: not defined for complex64");
    HT_TEST_EXPECT_ERROR(ht_clip_ext(x, HT_NUM(0), HT_COMPLEX(0, 1)), HT_ERR_DTYPE,
                         "ht_clip_ext: not defined for complex64");
}

/* Most ranks have no part of one element, and still return the error. */
static void all_ranks_refuse_a_number_of_unknown_kind(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(1), HT_FLOAT32, 0);
    ht_number none = HT_NUM(1.0);

    (void)state;
    none.kind = (ht_number_kind)7;
    HT_TEST_EXPECT_ERROR(ht_clip_ext(x, none, HT_NUM(2)), HT_ERR_ARGUMENT,
                         "ht_clip_ext: min is of kind 7");
    HT_TEST_EXPECT_ERROR(ht_clip_ext(x, HT_NUM(0), none), HT_ERR_ARGUMENT,
                         "ht_clip_ext: max is of kind 7");
}

/* NumPy's: numpy.round([1.255, -1.25, 1234.5, 1e300, inf, nan, -0.0], decimals). */
static void to_decimals(void **state)
{
    static const double x[] = {1.255, -1.25, 1234.5, 1e300, INFINITY, NAN, -0.0};
    static const struct {
        int decimals;
        double y[7];
    } rows[] = {{0, {1, -1, 1234, 1e300, INFINITY, NAN, 0}},
                {1, {1.3, -1.2, 1234.5, 1e300, INFINITY, NAN, 0}},
                {2, {1.25, -1.25, 1234.5, 1e300, INFINITY, NAN, 0}},
                {-2, {0, 0, 1200, 1e300, INFINITY, NAN, 0}}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ht_test_expect(ht_round_ext(ht_array(x, HT_SHAPE(7), HT_FLOAT64, 0), rows[i].decimals),
                       rows[i].y, 1e-15);
    ht_test_expect(ht_round_ext(ht_arange(0, 3, 1, HT_INT32, 0), 2), (double[]){0, 1, 2}, 0);
    HT_TEST_EXPECT_ERROR(ht_round_ext(ht_arange(0, 3, 1, HT_INT32, 0), -1), HT_ERR_DTYPE,
                         "ht_round_ext: not defined for int32");
}

static void fraction_and_whole(void **state)
{
    static const double x[] = {2.75, -2.75, INFINITY, -INFINITY, NAN};
    ht_tensor *fraction, *whole;

    (void)state;
    assert_int_equal(ht_modf(ht_array(x, HT_SHAPE(5), HT_FLOAT64, 0), &fraction, &whole),
                     HT_SUCCESS);
    ht_test_expect(fraction, (double[]){0.75, -0.75, 0, 0, NAN}, 0);
    ht_test_expect(whole, (double[]){2, -2, INFINITY, -INFINITY, NAN}, 0);
    ht_test_expect(ht_signbit(fraction), (double[]){0, 1, 0, 1, 0}, 0);
    HT_TEST_EXPECT_ERROR(ht_modf(whole, NULL, &whole), HT_ERR_ARGUMENT, "fraction is NULL");
}

/* Each dtype has its own greatest number. */
static void nan_and_infinities_become_numbers(void **state)
{
    static const struct {
        ht_dtype dtype;
        double greatest;
    } rows[] = {{HT_FLOAT16, 65504},
                {HT_BFLOAT16, 0x1.fep127},
                {HT_FLOAT32, 0x1.fffffep127},
                {HT_FLOAT64, 0x1.fffffffffffffp1023}};
    static const double x[] = {NAN, INFINITY, -INFINITY, 1.5};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double most = rows[i].greatest;

        ht_test_expect(
            ht_nan_to_num(ht_astype(ht_array(x, HT_SHAPE(4), HT_FLOAT64, 0), rows[i].dtype)),
            (double[]){0, most, -most, 1.5}, 0);
    }
}

/* A number far below the rounding unit becomes 0. */
static void far_decimals_leave_zero(void **state)
{
    static const ht_dtype dtypes[] = {HT_FLOAT16, HT_BFLOAT16, HT_FLOAT32, HT_FLOAT64};
    static const int decimals[] = {-30, -38, -39, -308, -309, -401, INT_MIN};
    const double values[] = {1.5, -7, INFINITY, 0};

    (void)state;
    for (int i = 0; i < 4; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_astype(ht_array(values, HT_SHAPE(4), HT_FLOAT64, 0), dtypes[i]);

        for (int d = 0; d < 7; d++)
            ht_test_expect(ht_round_ext(x, decimals[d]), (double[]){0, 0, INFINITY, 0}, 0);
        ht_test_expect(ht_round_ext(x, INT_MAX), values, 0);
        ht_scope_close(scope);
    }
    HT_TEST_EXPECT_ERROR(ht_abs_(ht_zeros(HT_SHAPE(2), HT_COMPLEX64, 0)), HT_ERR_DTYPE,
                         "ht_abs_: x is complex64, expected a real dtype");
}

HT_TEST_SUITE(test_rounding, cmocka_unit_test(clip_gives_the_same_for_every_split),
              cmocka_unit_test(clip_bounds_may_be_missing_or_crossed),
              cmocka_unit_test(clip_promotes_as_with_a_number),
              cmocka_unit_test(integers_are_clipped_exactly),
              cmocka_unit_test(gradients_pass_on_the_bounds_and_inside),
              cmocka_unit_test(complex_numbers_have_no_bounds),
              cmocka_unit_test(all_ranks_refuse_a_number_of_unknown_kind),
              cmocka_unit_test(to_decimals), cmocka_unit_test(fraction_and_whole),
              cmocka_unit_test(nan_and_infinities_become_numbers),
              cmocka_unit_test(far_decimals_leave_zero));
