/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

enum { I = 9, J = 4 };

/* Along either axis of (I, J). */
static void products_so_far(const double *x, int axis, double *y)
{
    const int step = axis == 0 ? J : 1;

    for (int i = 0; i < I * J; i++)
        y[i] = x[i] * ((axis == 0 ? i / J : i % J) > 0 ? y[i - step] : 1);
}

static void every_split_gives_the_products(void **state)
{
    (void)state;
    for (int way = 0; way < 6; way++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_test_randn(HT_SHAPE(I, J), HT_FLOAT64, split_of(way % 3 - 1), 4), *y;
        double expected[I * J];

        products_so_far(ht_test_values(x), way / 3, expected);
        y = ht_cumprod(x, way / 3);
        assert_int_equal(ht_tensor_split(y), split_of(way % 3 - 1));
        ht_test_expect(y, expected, 1e-14);
        ht_test_expect(ht_transpose(ht_cumprod(ht_transpose(x, 0, 1), 1 - way / 3), 0, 1), expected,
                       1e-14);
        assert_int_equal(ht_cumprod_(x, way / 3), HT_SUCCESS);
        ht_test_expect(x, expected, 1e-14);
        ht_scope_close(scope);
    }
}

static void integers_and_complex_numbers(void **state)
{
    ht_tensor *x = ht_arange(1, 21, 1, HT_INT32, 0), *y = ht_cumprod(x, 0);

    (void)state;
    assert_int_equal(ht_tensor_dtype(y), HT_INT64);
    assert_true(ht_item_ext(ht_max(y, HT_NONE)).integer == 2432902008176640000);
    x = ht_mul_scalar_ext(ht_ones(HT_SHAPE(5), HT_COMPLEX64, 0), HT_COMPLEX(0, 1));
    ht_test_expect(ht_real(ht_cumprod(x, 0)), (double[]){0, -1, 0, 1, 0}, 0);
    ht_test_expect(ht_imag(ht_cumprod(x, 0)), (double[]){1, 0, -1, 0, 1}, 0);
    x = ht_array((int[]){1, 2, 3, 4}, HT_SHAPE(4), HT_INT32, 0);
    assert_int_equal(ht_cumsum_(x, 0), HT_SUCCESS);
    assert_int_equal(ht_tensor_dtype(x), HT_INT32);
    ht_test_expect(x, (double[]){1, 3, 6, 10}, 0);
    assert_int_equal(ht_tensor_size(ht_cumprod(ht_ones(HT_SHAPE(0, 2), HT_FLOAT32, 0), 0)), 0);
}

static ht_tensor *cumprod(ht_tensor *in[], void *user)
{
    return ht_cumprod(in[0], *(int *)user);
}

/* Lines without a zero, with one and with two. */
static void gradients_of_cumprod_at_zeros(void **state)
{
    static const double numbers[12] = {1.5, 0, 2, -1, 0, 3, 0.5, 2, 0, 2, 1, 3};

    (void)state;
    for (int way = 0; way < 6; way++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *in[1] = {ht_resplit(ht_array(numbers, HT_SHAPE(4, 3), HT_FLOAT64, HT_NONE),
                                       split_of(way % 3 - 1))};
        int axis = way / 3;

        ht_tensor_set_requires_grad(in[0], true);
        ht_test_gradcheck(cumprod, 1, in, &axis, 1e-6);
        ht_scope_close(scope);
    }
}

static void misuse_is_reported(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3), HT_BOOL, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_cumprod(x, 1), HT_ERR_ARGUMENT, "ht_cumprod: axis 1");
    HT_TEST_EXPECT_ERROR(ht_cumsum_(x, 0), HT_ERR_DTYPE, "ht_cumsum_: the result is int64");
    HT_TEST_EXPECT_ERROR(ht_cumprod_(x, 0), HT_ERR_DTYPE, "ht_cumprod_: the result is int64");
}

HT_TEST_SUITE(test_cumprod, cmocka_unit_test(every_split_gives_the_products),
              cmocka_unit_test(integers_and_complex_numbers),
              cmocka_unit_test(gradients_of_cumprod_at_zeros),
              cmocka_unit_test(misuse_is_reported));
