/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Long forms of reductions, of every split, against the short ones and NumPy's rules. */
#include <math.h>

#include "ht_test.h"
#include "tensor_check.h"

static const int64_t shape[3] = {5, 3, 4};

typedef ht_tensor *long_form(ht_tensor *, const ht_reduce_options *);

static long_form *const forms[] = {ht_sum_ext, ht_prod_ext, ht_mean_ext,   ht_var_ext,   ht_std_ext,
                                   ht_max_ext, ht_min_ext,  ht_argmax_ext, ht_argmin_ext};
static ht_tensor *(*const short_forms[])(ht_tensor *, int) = {
    ht_sum, ht_prod, ht_mean, ht_var, ht_std, ht_max, ht_min, ht_argmax, ht_argmin};

enum { SUM, PROD, MEAN, VAR, STD, MAX, MIN, ARGMAX, ARGMIN, FORMS };

static ht_reduce_options over(int count, const int axes[])
{
    ht_reduce_options o = ht_reduce_options_default();

    o.count = count;
    o.axes = axes;
    return o;
}

/* Over a list of axes, as over one axis of what they are merged to. */
static void lists_of_axes(void **state)
{
    (void)state;
    for (int job = 0; job < FORMS * 4; job++) {
        ht_scope *scope = ht_scope_open();
        const int f = job / 4, split = job % 4 - 1;
        ht_tensor *whole = ht_test_randn(3, shape, HT_FLOAT64, HT_NONE, 8);
        ht_tensor *x = split < 0 ? whole : ht_resplit(whole, split), *y;
        ht_tensor *merged = ht_reshape(ht_permute(whole, HT_AXES(1, 0, 2)), HT_SHAPE(3, 20));
        ht_reduce_options o = over(HT_AXES(-1, 0));

        ht_test_expect_same(forms[f](x, &o), short_forms[f](merged, 1), 1e-14);
        o.keepdims = true;
        y = forms[f](x, &o);
        assert_int_equal(ht_tensor_ndim(y), 3);
        assert_int_equal(ht_tensor_shape(y)[0] * 10 + ht_tensor_shape(y)[2], 11);
        assert_int_equal(ht_tensor_split(y), split == 1 ? 1 : HT_NONE);
        ht_test_expect_same(ht_reshape(y, HT_SHAPE(3)), short_forms[f](merged, 1), 1e-14);
        ht_test_expect_same(forms[f](x, NULL), short_forms[f](whole, HT_NONE), 1e-14);
        if (f < ARGMAX) { /* of no axes */
            o = over(0, (int[]){0});
            ht_test_expect_same(forms[f](x, &o),
                                f == VAR || f == STD ? ht_zeros_like(whole) : whole, 0);
        }
        ht_scope_close(scope);
    }
}

static void dtypes_are_those_of_the_addition(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const int64_t large[2] = {INT64_MAX, -1};
    const float third[2] = {1.0f / 3, 0x1p30f};
    ht_reduce_options o = ht_reduce_options_default();
    ht_tensor *y, *x = ht_array(third, HT_SHAPE(2), HT_FLOAT32, 0);

    o.dtype = HT_FLOAT64;
    y = ht_sum_ext(x, &o);
    assert_int_equal(ht_tensor_dtype(y), HT_FLOAT64);
    assert_true(ht_item(y) == (double)(1.0f / 3) + 0x1p30);
    assert_true(ht_item(ht_mean_ext(x, &o)) == ((double)(1.0f / 3) + 0x1p30) / 2);
    o.dtype = HT_INT8; /* of the low bits */
    y = ht_sum_ext(ht_array(large, HT_SHAPE(2), HT_INT64, 0), &o);
    assert_int_equal(ht_tensor_dtype(y), HT_INT8);
    assert_true(ht_item(y) == -2);
    o.dtype = HT_COMPLEX64;
    assert_int_equal(ht_tensor_dtype(ht_var_ext(x, &o)), HT_FLOAT32);
    HT_TEST_EXPECT_ERROR(ht_max_ext(x, &o), HT_ERR_ARGUMENT,
                         "ht_max_ext: options.dtype is set, expected its default");
    o.dtype = HT_BOOL;
    HT_TEST_EXPECT_ERROR(ht_sum_ext(x, &o), HT_ERR_DTYPE, "expected a numeric one");
    o.dtype = HT_INT32;
    HT_TEST_EXPECT_ERROR(ht_std_ext(x, &o), HT_ERR_DTYPE, "expected a floating or complex one");
    ht_scope_close(scope);
}

static void deviations_take_off_degrees(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const double data[4] = {1, 2, 4, 9};
    ht_reduce_options o = ht_reduce_options_default();

    for (int split = HT_NONE;; split = 0) {
        ht_tensor *x = ht_array(data, HT_SHAPE(4), HT_FLOAT64, split);

        o.ddof = 1;
        ht_test_expect(ht_var_ext(x, &o), (double[]){38.0 / 3}, 1e-15);
        ht_test_expect(ht_std_ext(x, &o), (double[]){sqrt(38.0 / 3)}, 1e-15);
        o.ddof = 4;
        assert_true(isinf(ht_item(ht_var_ext(x, &o))));
        o.ddof = 5;
        assert_true(isinf(ht_item(ht_var_ext(x, &o))));
        HT_TEST_EXPECT_ERROR(ht_mean_ext(x, &o), HT_ERR_ARGUMENT, "options.ddof is set");
        if (split == 0)
            break;
    }
    ht_scope_close(scope);
}

static void initial_values(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const int64_t large[2] = {INT64_MAX - 5, 1};
    ht_number number = HT_NUM(3), half = HT_NUM(0.5);
    ht_reduce_options o = over(HT_AXES(0));
    ht_tensor *none = ht_zeros(HT_SHAPE(0, 2), HT_FLOAT32, 0);
    ht_tensor *x = ht_array(large, HT_SHAPE(2), HT_INT64, 0);

    o.initial = &number;
    assert_true(*(const int64_t *)ht_test_data(ht_sum_ext(x, &o)) == INT64_MAX - 1);
    ht_test_expect(ht_max_ext(none, &o), (double[]){3, 3}, 0);
    ht_test_expect(ht_min_ext(none, &o), (double[]){3, 3}, 0);
    ht_test_expect(ht_sum_ext(none, &o), (double[]){3, 3}, 0);
    ht_test_expect(ht_prod_ext(none, &o), (double[]){3, 3}, 0);
    assert_true(ht_item_ext(ht_prod_ext(x, &o)).integer == INT64_MAX - 17); /* modulo 2^64 */
    assert_true(ht_item(ht_min_ext(x, &o)) == 1);
    HT_TEST_EXPECT_ERROR(ht_argmax_ext(x, &o), HT_ERR_ARGUMENT, "options.initial is set");
    o.initial = &half;
    HT_TEST_EXPECT_ERROR(ht_sum_ext(x, &o), HT_ERR_DTYPE,
                         "options.initial is 0.5, of a higher kind");
    o.initial = NULL;
    HT_TEST_EXPECT_ERROR(ht_max_ext(none, &o), HT_ERR_SHAPE, "ht_max_ext: x of shape (0, 2)");
    ht_scope_close(scope);
}

/* An initial value outside the range of the dtype is refused in both directions, on ranks without
 * elements too. */
static void initial_values_are_in_range(void **state)
{
    (void)state;
    ht_number below = HT_NUM(-300), above = HT_NUM(1000), none = HT_NUM(NAN);
    ht_reduce_options o = ht_reduce_options_default();
    ht_tensor *bytes = ht_ones(HT_SHAPE(4), HT_UINT8, 0), *chars = ht_astype(bytes, HT_INT8);

    o.initial = &below;
    HT_TEST_EXPECT_ERROR(ht_max_ext(bytes, &o), HT_ERR_ARGUMENT,
                         "ht_max_ext: options.initial is -300, expected 0 to 255 for uint8");
    assert_true(ht_item(ht_sum_ext(bytes, &o)) == -296);
    o.dtype = HT_UINT8;
    HT_TEST_EXPECT_ERROR(ht_sum_ext(bytes, &o), HT_ERR_ARGUMENT,
                         "ht_sum_ext: options.initial is -300, expected 0 to 255 for uint8");
    o = ht_reduce_options_default();
    o.initial = &above;
    HT_TEST_EXPECT_ERROR(ht_min_ext(chars, &o), HT_ERR_ARGUMENT,
                         "ht_min_ext: options.initial is 1000, expected -128 to 127 for int8");
    assert_true(ht_item(ht_prod_ext(chars, &o)) == 1000);
    o.initial = &none;
    HT_TEST_EXPECT_ERROR(ht_min_ext(chars, &o), HT_ERR_DTYPE, "options.initial is nan, of a");
}

/* As without a mask: what counts is not touched. */
static void masks_keep_negative_zeros(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_full(HT_SHAPE(3), -0.0, HT_FLOAT32, 0);
    ht_reduce_options o = ht_reduce_options_default();

    o.where = ht_ones(HT_SHAPE(3), HT_BOOL, 0);
    assert_true(signbit(ht_item(ht_prod_ext(x, &o))));
    ht_scope_close(scope);
}

/* Infinities and NaN where the mask is not set do not count; the mask broadcasts. */
static void masks(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_scope *scope = ht_scope_open();
        const double data[6] = {1, INFINITY, 4, 2, NAN, 8};
        const bool set[3] = {true, false, true};
        ht_tensor *x = ht_array(data, HT_SHAPE(2, 3), HT_FLOAT64, split < 0 ? HT_NONE : split);
        ht_reduce_options o = ht_reduce_options_default();

        o.where = ht_array(set, HT_SHAPE(3), HT_BOOL, HT_NONE);
        ht_test_expect(ht_sum_ext(x, &o), (double[]){15}, 0);
        ht_test_expect(ht_prod_ext(x, &o), (double[]){64}, 0);
        ht_test_expect(ht_mean_ext(x, &o), (double[]){3.75}, 0);
        ht_test_expect(ht_var_ext(x, &o), (double[]){85.0 / 4 - 3.75 * 3.75}, 1e-14);
        o.count = 1, o.axes = &(int){0};
        ht_test_expect(ht_sum_ext(x, &o), (double[]){3, 0, 12}, 0);
        ht_test_expect(ht_prod_ext(x, &o), (double[]){2, 1, 32}, 0);
        ht_test_expect(ht_mean_ext(x, &o), (double[]){1.5, NAN, 6}, 0);
        ht_test_expect(ht_std_ext(x, &o), (double[]){0.5, NAN, 2}, 1e-15);
        o.ddof = 1;
        ht_test_expect(ht_var_ext(x, &o), (double[]){0.5, NAN, 8}, 1e-15);
        HT_TEST_EXPECT_ERROR(ht_sum_ext(x, &o), HT_ERR_ARGUMENT, "options.ddof is set");
        o.ddof = 0;
        HT_TEST_EXPECT_ERROR(ht_max_ext(x, &o), HT_ERR_ARGUMENT, "options.where is set");
        o.where = x;
        HT_TEST_EXPECT_ERROR(ht_sum_ext(x, &o), HT_ERR_DTYPE, "options.where is float64");
        o.where = ht_ones(HT_SHAPE(2, 2), HT_BOOL, HT_NONE);
        HT_TEST_EXPECT_ERROR(ht_sum_ext(x, &o), HT_ERR_SHAPE, "options.where");
        o.where = ht_ones(HT_SHAPE(1), HT_BOOL, HT_LOCAL);
        if (ht_comm_size(ht_get_comm()) > 1)
            HT_TEST_EXPECT_ERROR(ht_sum_ext(x, &o), HT_ERR_COMM,
                                 "ht_sum_ext: x is on a communicator of");
        ht_scope_close(scope);
    }
}

static ht_tensor *gradient(long_form *f, ht_tensor *x, const ht_reduce_options *o,
                           ht_tensor *weight)
{
    x = ht_copy(x);
    ht_tensor_set_requires_grad(x, true);
    assert_int_equal(ht_backward(ht_sum(ht_mul(f(x, o), weight), HT_NONE)), HT_SUCCESS);
    return ht_tensor_grad(x);
}

/* Finite differences, with kept and dropped axes, a mask, ddof. */
static void gradients(void **state)
{
    (void)state;
    for (int job = 0; job < 7 * 8; job++) {
        ht_scope *scope = ht_scope_open();
        const int f = job / 8, split = job % 2 ? job / 2 % 3 : HT_NONE;
        const double step = 1e-6;
        ht_tensor *x = ht_test_randn(3, shape, HT_FLOAT64, split, 4), *g, *up, *down, *weight;
        ht_tensor *towards = ht_test_randn(3, shape, HT_FLOAT64, split, 5);
        ht_reduce_options o = over(HT_AXES(2, 0));
        double expected;

        o.keepdims = job / 2 % 2;
        if (job / 4 % 2 && f < MAX) {
            o.where = ht_gt(ht_test_randn(3, shape, HT_FLOAT64, HT_NONE, 6),
                            ht_zeros(0, NULL, HT_FLOAT64, HT_NONE));
            o.ddof = f == VAR || f == STD;
        }
        weight = ht_add_scalar(ht_zeros_like(forms[f](x, &o)), 0.7);
        g = gradient(forms[f], x, &o, weight);
        up = forms[f](ht_add(x, ht_mul_scalar(towards, step)), &o);
        down = forms[f](ht_sub(x, ht_mul_scalar(towards, step)), &o);
        expected = 0.7 * ht_item(ht_sum(ht_sub(up, down), HT_NONE)) / (2 * step);
        assert_true(fabs(ht_item(ht_sum(ht_mul(g, towards), HT_NONE)) - expected) <= 1e-6);
        ht_scope_close(scope);
    }
}

static void misuse(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_ones(3, shape, HT_FLOAT32, 0);
    ht_reduce_options o = over(HT_AXES(1, -2));

    HT_TEST_EXPECT_ERROR(ht_sum_ext(x, &o), HT_ERR_ARGUMENT, "ht_sum_ext: axis 1 is given twice");
    o = over(HT_AXES(0, 5));
    HT_TEST_EXPECT_ERROR(ht_sum_ext(x, &o), HT_ERR_ARGUMENT, "ht_sum_ext: axis 5");
    o = over(2, NULL);
    HT_TEST_EXPECT_ERROR(ht_mean_ext(x, &o), HT_ERR_ARGUMENT, "options.count is 2");
    o.size = 0;
    HT_TEST_EXPECT_ERROR(ht_var_ext(x, &o), HT_ERR_ARGUMENT, "ht_reduce_options_default");
    ht_scope_close(scope);
}

HT_TEST_SUITE(test_reduce_ext, cmocka_unit_test(lists_of_axes),
              cmocka_unit_test(dtypes_are_those_of_the_addition),
              cmocka_unit_test(deviations_take_off_degrees), cmocka_unit_test(initial_values),
              cmocka_unit_test(initial_values_are_in_range), cmocka_unit_test(masks),
              cmocka_unit_test(masks_keep_negative_zeros), cmocka_unit_test(gradients),
              cmocka_unit_test(misuse));
