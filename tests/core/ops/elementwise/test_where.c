/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Elements chosen by a mask: of any split and shape, with gradients of those chosen alone. */
#include <complex.h>
#include <math.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { ROWS = 5, COLUMNS = 4 };

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

static ht_tensor *part(ht_tensor *x, int split)
{
    return ht_resplit(x, split < ht_tensor_ndim(x) ? split_of(split) : HT_NONE);
}

/* Three operands of any split give what replicated ones give. */
static void check_splits(ht_tensor *mask, ht_tensor *a, ht_tensor *b, const double expected[])
{
    ht_test_expect(ht_where(mask, a, b), expected, 0);
    for (int job = 0; job < 27; job++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *m = part(mask, job % 3 - 1);
        ht_tensor *y = ht_where(m, part(a, job / 3 % 3 - 1), part(b, job / 9 - 1));

        ht_test_expect(y, expected, 0);
        if (ht_tensor_ndim(m) == 2 && ht_tensor_shape(m)[0] == ROWS && ht_tensor_split(m) == 0)
            assert_int_equal(ht_tensor_split(y), 0);
        ht_scope_close(scope);
    }
}

static void splits_and_shapes_of_operands(void **state)
{
    ht_tensor *a = ht_test_randn(HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, HT_NONE, 1);
    ht_tensor *b = ht_test_randn(HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, HT_NONE, 2);
    ht_tensor *row = ht_narrow(b, 0, 2, 3), *column = ht_narrow(a, 1, 1, 2);
    ht_tensor *mask = ht_gt(a, b);
    const double *x = ht_test_values(a), *y = ht_test_values(b);
    double chosen[ROWS * COLUMNS], broad[ROWS * COLUMNS], rows[ROWS * COLUMNS];

    (void)state;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const int r = i / COLUMNS, c = i % COLUMNS;

        chosen[i] = x[i] > y[i] ? x[i] : y[i];
        broad[i] = x[i] > y[i] ? x[r * COLUMNS + 1] : y[2 * COLUMNS + c];
        rows[i] = y[2 * COLUMNS + c] > 0 ? x[i] : y[i];
    }
    check_splits(mask, a, b, chosen);
    check_splits(mask, column, row, broad);
    check_splits(mask, column, ht_reshape(row, HT_SHAPE(COLUMNS)), broad);
    check_splits(ht_gt(row, ht_scalar(0)), a, b, rows);
    check_splits(ht_gt(ht_reshape(row, HT_SHAPE(COLUMNS)), ht_scalar(0)), a, b, rows);
    check_splits(ht_full(0, NULL, 1, HT_BOOL, HT_NONE), a, row, x);
}

static void views_and_slabs_that_are_not_canonical(void **state)
{
    ht_tensor *a = ht_test_randn(HT_SHAPE(12, 3), HT_FLOAT32, HT_NONE, 3), *y;
    ht_tensor *b = ht_test_randn(HT_SHAPE(7, 3), HT_FLOAT32, HT_NONE, 4);
    ht_tensor *expected = ht_where(ht_gt(b, ht_scalar(0)), ht_narrow(a, 0, 5, 12), b);

    (void)state;
    for (int split = 0; split < 2; split++) {
        ht_tensor *slab = ht_narrow(ht_resplit(a, 0), 0, 5, 12), *other = ht_resplit(b, split);

        ht_test_expect_same(ht_where(ht_gt(other, ht_scalar(0)), slab, other), expected, 0);
        ht_test_expect_same(ht_where(ht_gt(slab, other), slab, other), ht_maximum(slab, other), 0);
        y = ht_where(ht_transpose(ht_gt(other, ht_scalar(0)), 0, 1), ht_transpose(slab, 0, 1),
                     ht_transpose(other, 0, 1));
        ht_test_expect_same(y, ht_transpose(expected, 0, 1), 0);
    }
    y = ht_where(ht_ones(HT_SHAPE(0, 3), HT_BOOL, 0), ht_scalar(1),
                 ht_ones(HT_SHAPE(3), HT_INT8, 0));
    assert_int_equal(ht_tensor_size(y), 0);
    assert_int_equal(ht_tensor_dtype(y), HT_INT8);
}

/* Each element other than 0 is set; a and b promote without the mask. */
static void dtypes_of_masks_and_of_results(void **state)
{
    static const double marks[] = {0, -0.0, 0.25, NAN, -3};
    ht_tensor *mask = ht_array(marks, HT_SHAPE(5), HT_FLOAT64, 0);

    (void)state;
    for (int i = 0; i < HT_DTYPE_COUNT; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_ones(HT_SHAPE(5), (ht_dtype)i, 0), *zero = ht_zeros_like(x);
        ht_tensor *m = ht_astype(ht_ne(mask, ht_scalar(0)), (ht_dtype)i);

        ht_test_expect(ht_ne(ht_where(mask, x, zero), zero), (double[]){0, 0, 1, 1, 1}, 0);
        ht_test_expect(ht_ne(ht_where(m, zero, x), zero), (double[]){1, 1, 0, 0, 0}, 0);
        assert_int_equal(ht_tensor_dtype(ht_where(mask, x, zero)), i);
        for (int j = 0; j < HT_DTYPE_COUNT; j++)
            assert_int_equal(ht_tensor_dtype(ht_where(m, x, ht_ones(HT_SHAPE(5), (ht_dtype)j, 0))),
                             ht_promote_types((ht_dtype)i, (ht_dtype)j));
        ht_scope_close(scope);
    }
}

static void values_keep_their_bits(void **state)
{
    const int64_t odd = (INT64_C(1) << 53) + 1;
    ht_tensor *mask = ht_array((double[]){1, 0, 1}, HT_SHAPE(3), HT_FLOAT64, 0);
    ht_tensor *n = ht_full_ext(HT_SHAPE(3), HT_NUM(odd), HT_INT64, 0, ht_get_device(),
                               ht_get_comm());
    ht_tensor *zero = ht_where(mask, ht_full(HT_SHAPE(3), -0.0, HT_FLOAT32, 0), ht_scalar(0));

    (void)state;
    assert_true(ht_item_ext(ht_max(ht_where(mask, n, ht_neg(n)), 0)).integer == odd);
    assert_true(ht_item_ext(ht_min(ht_where(mask, n, ht_neg(n)), 0)).integer == -odd);
    ht_test_expect(ht_signbit(zero), (double[]){1, 0, 1}, 0);
    ht_test_expect(ht_where(mask, ht_scalar(INFINITY), ht_scalar(NAN)),
                   (double[]){INFINITY, NAN, INFINITY}, 0);
}

static ht_tensor *chosen(ht_tensor *in[], void *user)
{
    return ht_where(user, in[0], in[1]);
}

static void gradients_are_of_those_chosen(void **state)
{
    static const int64_t shapes[][2] = {{ROWS, COLUMNS}, {1, COLUMNS}, {ROWS, 1}};
    ht_tensor *mask = ht_gt(ht_test_randn(HT_SHAPE(ROWS, COLUMNS), HT_FLOAT64, HT_NONE, 5),
                            ht_scalar(0));

    (void)state;
    for (int job = 0; job < 27; job++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *in[2] = {
            ht_test_randn(2, shapes[job % 3], HT_FLOAT64, split_of(job / 9 - 1), 6),
            ht_test_randn(2, shapes[job / 3 % 3], HT_FLOAT64, split_of(1 - job / 9), 7)};

        ht_tensor_set_requires_grad(in[0], true);
        ht_tensor_set_requires_grad(in[1], true);
        ht_test_gradcheck(chosen, 2, in, ht_resplit(mask, split_of(job % 3 - 1)), 1e-8);
        ht_scope_close(scope);
    }
}

/* Neither the value of the other branch nor the gradient that the chosen one gets. */
static void nan_of_the_other_branch_does_not_leak(void **state)
{
    const double weights[] = {1, NAN, INFINITY, 2};
    ht_tensor *mask = ht_array((double[]){1, 0, 0, 1}, HT_SHAPE(4), HT_FLOAT64, 0), *y;
    ht_tensor *a = ht_array((double[]){1, NAN, INFINITY, 4}, HT_SHAPE(4), HT_FLOAT64, 0);
    ht_tensor *b = ht_array((double[]){NAN, 2, 3, -INFINITY}, HT_SHAPE(4), HT_FLOAT64, HT_NONE);

    (void)state;
    ht_tensor_set_requires_grad(a, true);
    ht_tensor_set_requires_grad(b, true);
    ht_tensor_set_requires_grad(mask, true);
    y = ht_where(mask, a, b);
    ht_test_expect(y, (double[]){1, 2, 3, 4}, 0);
    y = ht_mul(y, ht_array(weights, HT_SHAPE(4), HT_FLOAT64, 0));
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(a), (double[]){1, 0, 0, 2}, 0);
    ht_test_expect(ht_tensor_grad(b), (double[]){0, NAN, INFINITY, 0}, 0);
    assert_null(ht_tensor_grad(mask));
}

/* Gradients of complex numbers, and of an operand of a lower kind, whose gradient is real. */
static void gradients_have_the_dtype_of_their_operand(void **state)
{
    ht_tensor *mask = ht_array((double[]){1, 0}, HT_SHAPE(2), HT_FLOAT64, 0), *y;
    ht_tensor *a = ht_ones(HT_SHAPE(2), HT_FLOAT32, 0), *b = ht_ones(HT_SHAPE(2), HT_COMPLEX128, 0);

    (void)state;
    ht_tensor_set_requires_grad(a, true);
    ht_tensor_set_requires_grad(b, true);
    y = ht_mul(ht_where(mask, a, b), ht_scalar_ext(HT_COMPLEX(2, 3)));
    assert_int_equal(ht_backward(ht_sum(ht_real(y), HT_NONE)), HT_SUCCESS);
    assert_int_equal(ht_tensor_dtype(ht_tensor_grad(a)), HT_FLOAT32);
    ht_test_expect(ht_tensor_grad(a), (double[]){2, 0}, 0);
    ht_test_expect(ht_real(ht_tensor_grad(b)), (double[]){0, 2}, 0);
    ht_test_expect(ht_imag(ht_tensor_grad(b)), (double[]){0, -3}, 0);
}

static void misuse_is_reported(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(ROWS, COLUMNS), HT_FLOAT32, 0),
              *three = ht_ones(HT_SHAPE(3), HT_BOOL, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_where(three, x, x), HT_ERR_SHAPE,
                         "ht_where: mask is (3,), a is (5, 4): lengths 3 and 4 do not broadcast");
    HT_TEST_EXPECT_ERROR(ht_where(x, ht_scalar(1), three), HT_ERR_SHAPE,
                         "ht_where: mask is (5, 4), b is (3,): lengths 4 and 3 do not broadcast");
    HT_TEST_EXPECT_ERROR(ht_where(NULL, x, x), HT_ERR_ARGUMENT, "ht_where: mask");
    HT_TEST_EXPECT_ERROR(ht_where(x, NULL, x), HT_ERR_ARGUMENT, "ht_where: a");
    HT_TEST_EXPECT_ERROR(ht_where(x, x, NULL), HT_ERR_ARGUMENT, "ht_where: b");
}

HT_TEST_SUITE(test_where, cmocka_unit_test(splits_and_shapes_of_operands),
              cmocka_unit_test(views_and_slabs_that_are_not_canonical),
              cmocka_unit_test(dtypes_of_masks_and_of_results),
              cmocka_unit_test(values_keep_their_bits),
              cmocka_unit_test(gradients_are_of_those_chosen),
              cmocka_unit_test(nan_of_the_other_branch_does_not_leak),
              cmocka_unit_test(gradients_have_the_dtype_of_their_operand),
              cmocka_unit_test(misuse_is_reported));
