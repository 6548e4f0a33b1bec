/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <complex.h>

#include "ht/kernels/elementwise.h"
#include "elementwise.h"
#include "ht_test.h"
#include "tensor_check.h"

typedef ht_tensor *binary_fn(ht_tensor *, ht_tensor *);

static const int64_t rows5[2] = {5, 4}, row[1] = {4}, column[2] = {5, 1}, empty[2] = {0, 4};

/* Numbers about 0, of integers some 20 of them. */
static ht_tensor *operand(int ndim, const int64_t *shape, ht_dtype dtype, uint64_t seed)
{
    ht_tensor *x = ht_test_randn(ndim, shape, HT_FLOAT64, HT_NONE, seed);

    return ht_dtype_is_integer(dtype) ? ht_astype(ht_mul_scalar(x, 5), dtype) : x;
}

/* Every split of either operand gives what replicated operands give; the result is split as
 * promised. */
static void check_splits(binary_fn *f, ht_dtype dtype, const int64_t *a_shape, int a_ndim,
                         const int64_t *b_shape, int b_ndim)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *a = operand(a_ndim, a_shape, dtype, 1), *b = operand(b_ndim, b_shape, dtype, 2);
    ht_tensor *whole = f(a, b);

    for (int sa = -1; sa < a_ndim; sa++) {
        for (int sb = -1; sb < b_ndim; sb++) {
            ht_tensor *y = f(ht_resplit(a, sa < 0 ? HT_NONE : sa),
                             ht_resplit(b, sb < 0 ? HT_NONE : sb));

            ht_test_expect_same(y, whole, 0);
            if (sa >= 0 && a_shape[sa] != 1)
                assert_int_equal(ht_tensor_split(y), sa + ht_tensor_ndim(y) - a_ndim);
        }
    }
    ht_scope_close(scope);
}

static ht_tensor *isclose(ht_tensor *a, ht_tensor *b)
{
    return ht_isclose(a, b, 0.5, 0.25, false);
}

/* By kernel: the functions of two tensors, and what gradients and functions with numbers run. */
/* clang-format off */
static binary_fn *const functions[HT_KERNELS_ELEMENTWISE_END] = {
    [HT_KERNEL_ADD] = ht_add,
    [HT_KERNEL_SUB] = ht_sub,
    [HT_KERNEL_MUL] = ht_mul,
    [HT_KERNEL_DIV] = ht_div,
    [HT_KERNEL_POW] = ht_pow,
    [HT_KERNEL_FLOORDIV] = ht_floordiv,
    [HT_KERNEL_REMAINDER] = ht_remainder,
    [HT_KERNEL_FMOD] = ht_fmod,
    [HT_KERNEL_GCD] = ht_gcd,
    [HT_KERNEL_LCM] = ht_lcm,
    [HT_KERNEL_HYPOT] = ht_hypot,
    [HT_KERNEL_COPYSIGN] = ht_copysign,
    [HT_KERNEL_ATAN2] = ht_atan2,
    [HT_KERNEL_LOGADDEXP] = ht_logaddexp,
    [HT_KERNEL_LOGADDEXP2] = ht_logaddexp2,
    [HT_KERNEL_BITWISE_AND] = ht_bitwise_and,
    [HT_KERNEL_BITWISE_OR] = ht_bitwise_or,
    [HT_KERNEL_BITWISE_XOR] = ht_bitwise_xor,
    [HT_KERNEL_LEFT_SHIFT] = ht_left_shift,
    [HT_KERNEL_RIGHT_SHIFT] = ht_right_shift,
    [HT_KERNEL_LOGICAL_AND] = ht_logical_and,
    [HT_KERNEL_LOGICAL_OR] = ht_logical_or,
    [HT_KERNEL_LOGICAL_XOR] = ht_logical_xor,
    [HT_KERNEL_ISCLOSE] = isclose,
    [HT_KERNEL_EQ] = ht_eq,
    [HT_KERNEL_NE] = ht_ne,
    [HT_KERNEL_LT] = ht_lt,
    [HT_KERNEL_LE] = ht_le,
    [HT_KERNEL_GT] = ht_gt,
    [HT_KERNEL_GE] = ht_ge,
    [HT_KERNEL_MINIMUM] = ht_minimum,
    [HT_KERNEL_MAXIMUM] = ht_maximum,
};
/* clang-format on */
static const ht_kernel of_integers[] = {
    HT_KERNEL_GCD,         HT_KERNEL_LCM,        HT_KERNEL_BITWISE_AND, HT_KERNEL_BITWISE_OR,
    HT_KERNEL_BITWISE_XOR, HT_KERNEL_LEFT_SHIFT, HT_KERNEL_RIGHT_SHIFT};
static const ht_kernel others[] = {HT_KERNEL_RELU_GRAD, HT_KERNEL_TANH_GRAD, HT_KERNEL_SIGMOID_GRAD,
                                   HT_KERNEL_AXPBY};

static bool is_among(ht_kernel kernel, const ht_kernel list[], size_t count)
{
    while (count > 0 && list[count - 1] != kernel)
        count--;
    return count > 0;
}

static void check_function(ht_kernel kernel, const char *name)
{
    binary_fn *f = functions[kernel];
    const ht_dtype dtype = is_among(kernel, of_integers, sizeof of_integers / sizeof *of_integers)
                               ? HT_INT64
                               : HT_FLOAT64;

    if (is_among(kernel, others, sizeof others / sizeof *others) ||
        ht_test_function_of_grad(kernel) != NULL)
        return;
    if (f == NULL)
        fail_msg("kernel %s has no row here", name);
    check_splits(f, dtype, rows5, 2, rows5, 2);
    check_splits(f, dtype, rows5, 2, row, 1);
    check_splits(f, dtype, row, 1, rows5, 2);
    check_splits(f, dtype, rows5, 2, column, 2);
    check_splits(f, dtype, empty, 2, row, 1);
}

static void splits_do_not_change_values(void **state)
{
#define CHECK(name, operands) check_function(HT_KERNEL_##name, #name);
    (void)state;
    HT_BINARY_KERNELS(CHECK)
#undef CHECK
}

static void values_are_those_of_arithmetic(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const double a_data[4] = {1, -2, 3, 0.5}, b_data[4] = {4, 5, -6, 0.25};
    const int64_t shape[1] = {4};
    ht_tensor *a = ht_array(a_data, 1, shape, HT_FLOAT64, 0);
    ht_tensor *b = ht_array(b_data, 1, shape, HT_FLOAT64, HT_NONE);

    ht_test_expect(ht_add(a, b), (double[]){5, 3, -3, 0.75}, 0);
    ht_test_expect(ht_sub(a, b), (double[]){-3, -7, 9, 0.25}, 0);
    ht_test_expect(ht_mul(a, b), (double[]){4, -10, -18, 0.125}, 0);
    ht_test_expect(ht_div(a, b), (double[]){0.25, -0.4, -0.5, 2}, 1e-15);
    ht_test_expect(ht_gt(a, b), (double[]){0, 0, 1, 1}, 0);
    ht_test_expect(ht_maximum(a, b), (double[]){4, 5, 3, 0.5}, 0);
    ht_test_expect(ht_minimum(a, b), (double[]){1, -2, -6, 0.25}, 0);
    ht_test_expect(ht_neg(a), (double[]){-1, 2, -3, -0.5}, 0);
    ht_test_expect(ht_sub_scalar(a, 1), (double[]){0, -3, 2, -0.5}, 0);
    ht_scope_close(scope);
}

static void dtypes_promote_as_in_pytorch(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    const int64_t shape[1] = {3};
    ht_tensor *x[HT_DTYPE_COUNT];

    for (int i = 0; i < HT_DTYPE_COUNT; i++)
        x[i] = ht_ones(1, shape, (ht_dtype)i, 0);
    for (int i = 0; i < HT_DTYPE_COUNT; i++) {
        for (int j = 0; j < HT_DTYPE_COUNT; j++) {
            ht_tensor *y = ht_add(x[i], x[j]);

            assert_int_equal(ht_tensor_dtype(y), ht_promote_types((ht_dtype)i, (ht_dtype)j));
            ht_test_expect(ht_tensor_dtype(y) >= HT_COMPLEX64 ? ht_eq(y, ht_full_like(y, 2))
                                                              : ht_div_scalar(y, i || j ? 2 : 1),
                           (double[]){1, 1, 1}, 0);
        }
    }
    assert_int_equal(ht_tensor_dtype(ht_div(x[HT_INT32], x[HT_INT64])), HT_FLOAT32);
    assert_int_equal(ht_tensor_dtype(ht_mul_scalar(x[HT_INT16], 2)), HT_INT16);
    assert_int_equal(ht_tensor_dtype(ht_mul_scalar(x[HT_INT16], 0.5)), HT_FLOAT32);
    assert_int_equal(ht_tensor_dtype(ht_mul_scalar(x[HT_BFLOAT16], 0.5)), HT_BFLOAT16);
    ht_scope_close(scope);
}

static void views_of_any_stride_are_operands(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *a = ht_test_randn(2, rows5, HT_FLOAT32, 0, 3);
    ht_tensor *t = ht_transpose(a, 0, 1); /* (4, 5), split 1 */
    ht_tensor *part = ht_narrow(t, 1, 1, 4);

    ht_test_expect_same(ht_add(t, t), ht_transpose(ht_mul_scalar(a, 2), 0, 1), 0);
    ht_test_expect_same(ht_add(part, part), ht_narrow(ht_mul_scalar(t, 2), 1, 1, 4), 0);
    ht_test_expect_same(ht_mul(part, ht_balance(part)), ht_mul(part, part), 0);
    ht_scope_close(scope);
}

/* One operand has slabs that are not canonical, the other is split along another axis. */
static void unbalanced_slabs_meet_another_split(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *whole = ht_test_randn(HT_SHAPE(3, 12), HT_FLOAT64, HT_NONE, 4);
    ht_tensor *other = ht_test_randn(HT_SHAPE(3, 7), HT_FLOAT64, HT_NONE, 5);
    ht_tensor *part = ht_narrow(ht_resplit(whole, 1), 1, 5, 12);
    ht_tensor *expected = ht_sub(ht_narrow(whole, 1, 5, 12), other);

    for (int split = 0; split < 2; split++) {
        ht_test_expect_same(ht_sub(part, ht_resplit(other, split)), expected, 0);
        ht_test_expect_same(ht_sub(ht_resplit(other, split), part), ht_neg(expected), 0);
    }
    ht_scope_close(scope);
}

/* Split along an axis of length 1, which lies on one rank and is needed on all. */
static void a_split_axis_that_broadcasts_is_replicated(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *a = ht_test_randn(2, rows5, HT_FLOAT64, HT_NONE, 6);
    ht_tensor *b = ht_test_randn(HT_SHAPE(1, 4), HT_FLOAT64, 0, 7);
    ht_tensor *expected = ht_add(a, ht_resplit(b, HT_NONE));

    for (int split = -1; split < 2; split++)
        ht_test_expect_same(ht_add(ht_resplit(a, split < 0 ? HT_NONE : split), b), expected, 0);
    ht_scope_close(scope);
}

static void misuse_is_reported(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *a = ht_ones(2, rows5, HT_FLOAT32, 0), *flag = ht_ones(1, row, HT_BOOL, HT_NONE);
    ht_tensor *local = ht_array((float[4]){0}, 1, row, HT_FLOAT32, HT_LOCAL);

    HT_TEST_EXPECT_ERROR(ht_add(a, ht_ones(HT_SHAPE(3), HT_FLOAT32, 0)), HT_ERR_SHAPE,
                         "ht_add: a is (5, 4), b is (3,): lengths 4 and 3 do not broadcast");
    HT_TEST_EXPECT_ERROR(ht_sub(flag, flag), HT_ERR_DTYPE, "ht_sub: not defined for bool");
    if (ht_test_size > 1)
        HT_TEST_EXPECT_ERROR(ht_mul(a, local), HT_ERR_COMM, "ht_mul: a is on a communicator of");
    ht_scope_close(scope);
}

/* Their products wrap to 0, and to a negative number. */
static void results_above_2_59_elements_are_refused(void **state)
{
    ht_tensor *one = ht_ones(0, NULL, HT_FLOAT32, HT_NONE), *parts[16];
    const int64_t tall[] = {INT64_C(1) << 32, 1}, wide[] = {1, INT64_C(1) << 32},
                  most[] = {INT64_C(1) << 58};

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_add(ht_broadcast_to(one, 2, tall), ht_broadcast_to(one, 2, wide)),
                         HT_ERR_SHAPE, "ht_add: a result of shape (4294967296, 4294967296)");
    HT_TEST_EXPECT_ERROR(ht_eq(ht_broadcast_to(one, 2, tall), ht_broadcast_to(one, 2, wide)),
                         HT_ERR_SHAPE, "ht_eq: a result of shape");
    for (int i = 0; i < 16; i++)
        parts[i] = ht_broadcast_to(one, 1, most);
    HT_TEST_EXPECT_ERROR(ht_concatenate(16, parts, 0), HT_ERR_SHAPE, "ht_concatenate: ");
}

HT_TEST_SUITE(test_binary, cmocka_unit_test(results_above_2_59_elements_are_refused),
              cmocka_unit_test(splits_do_not_change_values),
              cmocka_unit_test(values_are_those_of_arithmetic),
              cmocka_unit_test(dtypes_promote_as_in_pytorch),
              cmocka_unit_test(views_of_any_stride_are_operands),
              cmocka_unit_test(unbalanced_slabs_meet_another_split),
              cmocka_unit_test(a_split_axis_that_broadcasts_is_replicated),
              cmocka_unit_test(misuse_is_reported));
