/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "ht_test.h"
#include "tensor_check.h"

typedef ht_tensor *reduce_fn(ht_tensor *, int);

static const int64_t shape[3] = {5, 3, 4};
static reduce_fn *const functions[] = {ht_sum,    ht_mean, ht_max, ht_min, ht_argmax,
                                       ht_argmin, ht_var,  ht_std, ht_prod};

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

static void every_split_gives_what_one_process_gives(void **state)
{
    (void)state;
    for (int f = 0; f < 9; f++) {
        for (int axis = -1; axis < 3; axis++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = ht_test_randn(3, shape, HT_FLOAT64, HT_NONE, 4);
            ht_tensor *whole = functions[f](x, split_of(axis));

            for (int split = 0; split < 3; split++) {
                ht_tensor *y = functions[f](ht_resplit(x, split), split_of(axis));

                ht_test_expect_same(y, whole, 1e-15);
                assert_int_equal(ht_tensor_split(y),
                                 axis < 0 || axis == split ? HT_NONE : split - (axis < split));
            }
            ht_scope_close(scope);
        }
    }
}

static void layouts_do_not_change_values(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_test_randn(3, shape, HT_FLOAT32, 1, 5);
    ht_tensor *t = ht_permute(x, HT_AXES(2, 0, 1));

    for (int f = 0; f < 4; f++)
        ht_test_expect_same(functions[f](t, 1), ht_transpose(functions[f](x, 0), 0, 1), 1e-6);
    ht_test_expect_same(ht_argmax(t, 2), ht_transpose(ht_argmax(x, 1), 0, 1), 0);
    ht_scope_close(scope);
}

static void integers_sum_in_int64_and_floats_in_double(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const int64_t many[1] = {100000};
    ht_tensor *bytes = ht_full(1, many, 200, HT_UINT8, 0);
    ht_tensor *tenth = ht_full(1, many, 0.1, HT_FLOAT32, 0);

    assert_int_equal(ht_tensor_dtype(ht_sum(bytes, 0)), HT_INT64);
    assert_true(ht_item(ht_sum(bytes, 0)) == 200.0 * 100000);
    assert_true(fabs(ht_item(ht_sum(tenth, 0)) - 100000 * (double)0.1f) < 0.001);
    assert_true(ht_item(ht_sum(ht_ones(1, many, HT_BOOL, 0), HT_NONE)) == 100000);
    ht_scope_close(scope);
}

static void deviation_is_that_of_the_definition(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const double data[6] = {1, 2, 4, 8, 3, 0};
    ht_tensor *x = ht_array(data, HT_SHAPE(3, 2), HT_FLOAT64, 0);

    ht_test_expect(ht_var(x, 1), (double[]){0.25, 4, 2.25}, 1e-15);
    ht_test_expect(ht_std(x, 1), (double[]){0.5, 2, 1.5}, 1e-15);
    ht_test_expect(ht_var(x, HT_NONE), (double[]){94.0 / 6 - 9}, 1e-14);
    ht_scope_close(scope);
}

static void nan_and_ties_do_not_depend_on_the_rank_count(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const int64_t nine[1] = {9};
    const double ties[9] = {1, 7, 3, 7, 7, 0, 0, 7, 0}, nans[9] = {1, 2, 3, 4, 5, 6, NAN, 8, NAN};

    assert_true(ht_item(ht_argmax(ht_array(ties, 1, nine, HT_FLOAT64, 0), 0)) == 1);
    assert_true(ht_item(ht_argmin(ht_array(ties, 1, nine, HT_FLOAT64, 0), 0)) == 5);
    assert_true(ht_item(ht_argmax(ht_array(nans, 1, nine, HT_FLOAT64, 0), 0)) == 6);
    assert_true(isnan(ht_item(ht_max(ht_array(nans, 1, nine, HT_FLOAT64, 0), 0))));
    assert_true(isnan(
        ht_item(ht_min(ht_astype(ht_array(nans, 1, nine, HT_FLOAT64, 0), HT_FLOAT32), HT_NONE))));
    assert_true(ht_item(ht_max(ht_array(ties, 1, nine, HT_FLOAT64, 0), 0)) == 7);
    ht_scope_close(scope);
}

static void cumulative_sums_cross_ranks(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_test_randn(3, shape, HT_FLOAT64, HT_NONE, 6);

    for (int axis = 0; axis < 3; axis++) {
        for (int split = 0; split < 3; split++)
            ht_test_expect_same(ht_cumsum(ht_resplit(x, split), axis), ht_cumsum(x, axis), 1e-14);
    }
    ht_test_expect(ht_cumsum(ht_arange(1, 6, 1, HT_INT32, 0), -1), (double[]){1, 3, 6, 10, 15}, 0);
    ht_scope_close(scope);
}

static void misuse_is_reported(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_ones(3, shape, HT_FLOAT32, 0);
    ht_tensor *none = ht_ones(HT_SHAPE(0, 3), HT_FLOAT32, 0);

    HT_TEST_EXPECT_ERROR(ht_sum(x, 3), HT_ERR_ARGUMENT,
                         "ht_sum: axis 3 is outside x of shape (5, 3, 4)");
    HT_TEST_EXPECT_ERROR(ht_max(none, 0), HT_ERR_SHAPE, "has no elements along axis 0");
    ht_test_expect(ht_sum(none, 0), (double[]){0, 0, 0}, 0);
    ht_scope_close(scope);
}

/* Both parts, as NumPy has them, whether or not a rank had none alone. */
static void a_complex_mean_of_no_elements_is_nan(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *none = ht_ones(HT_SHAPE(0, 1), HT_COMPLEX64, split < 0 ? HT_NONE : split);
        ht_number mean = ht_item_ext(ht_mean(none, HT_NONE));
        ht_number sum = ht_item_ext(ht_sum(none, HT_NONE));

        assert_true(isnan(mean.real) && isnan(mean.imaginary));
        assert_true(sum.real == 0 && sum.imaginary == 0);
    }
}

HT_TEST_SUITE(test_reduce, cmocka_unit_test(every_split_gives_what_one_process_gives),
              cmocka_unit_test(layouts_do_not_change_values),
              cmocka_unit_test(integers_sum_in_int64_and_floats_in_double),
              cmocka_unit_test(deviation_is_that_of_the_definition),
              cmocka_unit_test(nan_and_ties_do_not_depend_on_the_rank_count),
              cmocka_unit_test(cumulative_sums_cross_ranks), cmocka_unit_test(misuse_is_reported),
              cmocka_unit_test(a_complex_mean_of_no_elements_is_nan));
