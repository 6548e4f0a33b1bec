/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Functions of two operands that are written over the first one: the values, the memory and the
 * gradients of the function itself. */
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { ROWS = 5, COLUMNS = 4 };

static const struct row {
    const char *name; /* of the form in place */
    ht_tensor *(*f)(ht_tensor *, ht_tensor *);
    ht_status (*in_place)(ht_tensor *, ht_tensor *);
    bool integers; /* takes nothing else */
    bool floating; /* gives float32 of integers */
    bool slope;    /* has gradients */
} rows[] = {
    {"ht_sub_", ht_sub, ht_sub_, .slope = true},
    {"ht_mul_", ht_mul, ht_mul_, .slope = true},
    {"ht_div_", ht_div, ht_div_, .floating = true, .slope = true},
    {"ht_pow_", ht_pow, ht_pow_, .slope = true},
    {"ht_floordiv_", ht_floordiv, ht_floordiv_, .slope = false},
    {"ht_remainder_", ht_remainder, ht_remainder_, .slope = true},
    {"ht_fmod_", ht_fmod, ht_fmod_, .slope = true},
    {"ht_gcd_", ht_gcd, ht_gcd_, .integers = true},
    {"ht_lcm_", ht_lcm, ht_lcm_, .integers = true},
    {"ht_hypot_", ht_hypot, ht_hypot_, .floating = true, .slope = true},
    {"ht_copysign_", ht_copysign, ht_copysign_, .floating = true, .slope = true},
    {"ht_atan2_", ht_atan2, ht_atan2_, .floating = true, .slope = true},
    {"ht_logaddexp_", ht_logaddexp, ht_logaddexp_, .floating = true, .slope = true},
    {"ht_logaddexp2_", ht_logaddexp2, ht_logaddexp2_, .floating = true, .slope = true},
    {"ht_bitwise_and_", ht_bitwise_and, ht_bitwise_and_, .integers = true},
    {"ht_bitwise_or_", ht_bitwise_or, ht_bitwise_or_, .integers = true},
    {"ht_bitwise_xor_", ht_bitwise_xor, ht_bitwise_xor_, .integers = true},
    {"ht_left_shift_", ht_left_shift, ht_left_shift_, .integers = true},
    {"ht_right_shift_", ht_right_shift, ht_right_shift_, .integers = true},
};

#define FOR_EACH(op) for (const struct row *op = rows; op < rows + sizeof rows / sizeof *rows; op++)

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

/* Numbers of either sign that are not integers; for integer dtypes about 20. */
static ht_tensor *operand(const struct row *op, int ndim, const int64_t *shape, int split,
                          uint64_t seed)
{
    ht_tensor *x = ht_test_randn(ndim, shape, HT_FLOAT64, split, seed);

    return op->integers ? ht_astype(ht_mul_scalar(x, 5), HT_INT32) : x;
}

/* The same values, in the memory that a had; a view of a knows them. */
static void check(const struct row *op, ht_tensor *a, ht_tensor *b)
{
    ht_tensor *y = op->f(a, b), *view = ht_transpose(a, 0, 1);
    const void *memory = ht_tensor_data(a);
    const int split = ht_tensor_split(a);

    assert_int_equal(op->in_place(a, b), HT_SUCCESS);
    ht_test_expect_same(a, y, 0);
    ht_test_expect_same(view, ht_transpose(y, 0, 1), 0);
    assert_ptr_equal(ht_tensor_data(a), memory);
    assert_int_equal(ht_tensor_split(a), split);
}

static void values_are_those_of_the_function(void **state)
{
    (void)state;
    FOR_EACH(op)
    for (int split = -1; split < 2; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = operand(op, HT_SHAPE(ROWS, COLUMNS), split_of(split), 1);

        for (int other = -1; other < 2; other++) {
            check(op, ht_copy(a), operand(op, HT_SHAPE(ROWS, COLUMNS), split_of(other), 2));
            check(op, ht_copy(a), operand(op, HT_SHAPE(ROWS, 1), split_of(other), 3));
        }
        check(op, ht_copy(a), operand(op, HT_SHAPE(COLUMNS), 0, 4));
        check(op, ht_copy(a), ht_scalar(3));
        check(op, ht_narrow(ht_copy(a), 0, 1, 4), operand(op, HT_SHAPE(COLUMNS), HT_NONE, 5));
        check(op, ht_narrow(ht_copy(a), 0, 1, 4), operand(op, HT_SHAPE(3, COLUMNS), 0, 6));
        check(op, a, a);
        ht_scope_close(scope);
    }
}

/* Rows of a written over by the rows before them, which lie in the same memory. */
static void operands_may_overlap(void **state)
{
    (void)state;
    FOR_EACH(op)
    {
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = operand(op, HT_SHAPE(ROWS, COLUMNS), 1, 7);

        check(op, ht_narrow(a, 0, 1, 5), ht_narrow(a, 0, 0, 4));
        a = operand(op, HT_SHAPE(COLUMNS, COLUMNS), HT_NONE, 8);
        check(op, a, ht_transpose(a, 0, 1));
        ht_scope_close(scope);
    }
}

/* Integers that the result does not fit, and shapes that a has not. */
static void results_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    FOR_EACH(op)
    {
        ht_scope *scope = ht_scope_open();
        ht_tensor *n = ht_full(HT_SHAPE(COLUMNS), 3, HT_INT32, 0), *before = ht_copy(n);
        ht_tensor *wide = ht_full(HT_SHAPE(ROWS, COLUMNS), 2, HT_INT32, 0);

        if (op->floating)
            HT_TEST_EXPECT_ERROR(op->in_place(n, n), HT_ERR_DTYPE, op->name);
        else
            HT_TEST_EXPECT_ERROR(op->in_place(n, wide), HT_ERR_SHAPE, op->name);
        HT_TEST_EXPECT_ERROR(op->in_place(n, ht_scalar(0.5)), HT_ERR_DTYPE, op->name);
        HT_TEST_EXPECT_ERROR(op->in_place(n, NULL), HT_ERR_ARGUMENT, op->name);
        HT_TEST_EXPECT_ERROR(op->in_place(NULL, n), HT_ERR_ARGUMENT, op->name);
        HT_TEST_EXPECT_ERROR(op->in_place(ht_scalar(1), n), HT_ERR_STATE, op->name);
        ht_test_expect_same(n, before, 0);
        ht_scope_close(scope);
    }
}

static ht_tensor *of_a_copy(ht_tensor *inputs[], void *user)
{
    ht_tensor *y = ht_mul_scalar(inputs[0], 1);

    assert_int_equal(((const struct row *)user)->in_place(y, inputs[1]), HT_SUCCESS);
    return y;
}

/* The second operand lies in the memory that is written. */
static ht_tensor *of_itself(ht_tensor *inputs[], void *user)
{
    ht_tensor *y = ht_mul_scalar(inputs[0], 1);

    assert_int_equal(((const struct row *)user)->in_place(y, ht_narrow(y, 0, 0, 1)), HT_SUCCESS);
    return y;
}

/* Those of the function, for a that the function keeps for its own gradient, too. */
static void gradients_are_those_of_differences(void **state)
{
    static const double a[] = {5.3, 4.1, 3.2, 0.7, 1.6, 2.9}, b[] = {2, 1.5, 0.9};

    (void)state;
    FOR_EACH(op)
    for (int split = -1; split < 2 && op->slope; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *in[2] = {ht_array(a, HT_SHAPE(2, 3), HT_FLOAT64, split_of(split)),
                            ht_array(b, HT_SHAPE(3), HT_FLOAT64, HT_NONE)};

        ht_tensor_set_requires_grad(in[0], true);
        ht_tensor_set_requires_grad(in[1], true);
        ht_test_gradcheck(of_a_copy, 2, in, (void *)(uintptr_t)op, 1e-7);
        ht_test_gradcheck(of_itself, 1, in, (void *)(uintptr_t)op, 1e-6);
        HT_TEST_EXPECT_ERROR(op->in_place(in[0], in[1]), HT_ERR_STATE, op->name);
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_binary_in_place, cmocka_unit_test(values_are_those_of_the_function),
              cmocka_unit_test(operands_may_overlap),
              cmocka_unit_test(results_that_do_not_fit_are_refused),
              cmocka_unit_test(gradients_are_those_of_differences));
