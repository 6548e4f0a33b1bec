/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { I = 6, J = 4, K = 5, ALL = I * J * K, NOTHING = -1 };

/* A call of a tensor of shape (I, J, K), the shape of its result, and which element of x each of
 * the result's is; NOTHING: 0. */
typedef struct call_row {
    const char *text;
    ht_tensor *(*call)(ht_tensor *x);
    int ndim;
    int64_t shape[4];
    int64_t (*from)(const int64_t at[]);
} call_row;

static int64_t at(int64_t i, int64_t j, int64_t k)
{
    return (i * J + j) * K + k;
}

#define CALL(name, expression, ...)               \
    static ht_tensor *name(ht_tensor *x)          \
    {                                             \
        return expression;                        \
    }                                             \
    static int64_t name##_from(const int64_t a[]) \
    {                                             \
        return __VA_ARGS__;                       \
    }
#define ROW(name, ...)                        \
    {                                         \
#name, name, __VA_ARGS__, name##_from \
    }

/* clang-format off */
static ht_tensor *part(ht_tensor *x, int which)
{
    ht_tensor *parts[3] = {NULL};

    return ht_split_at(x, HT_SHAPE(1, -2), 0, parts) == HT_SUCCESS ? parts[which] : NULL;
}

static ht_tensor *half(ht_tensor *x, int which)
{
    ht_tensor *parts[2] = {NULL};

    return ht_split(x, 2, 1, parts) == HT_SUCCESS ? parts[which] : NULL;
}

CALL(move, ht_moveaxis(x, HT_AXES(2, 0), HT_AXES(0, 1)), at(a[1], a[2], a[0]))
CALL(move_back, ht_moveaxis(x, HT_AXES(0), HT_AXES(-1)), at(a[2], a[0], a[1]))
CALL(roll_0, ht_roll(x, 2, 0), at((a[0] + 4) % I, a[1], a[2]))
CALL(roll_1, ht_roll(x, -13, 1), at(a[0], (a[1] + 1) % J, a[2]))
CALL(roll_2, ht_roll(x, 5, -1), at(a[0], a[1], a[2]))
CALL(roll_all, ht_roll(x, 7, HT_NONE), (at(a[0], a[1], a[2]) + ALL - 7) % ALL)
CALL(turn_1, ht_rot90(x, 1, 0, 1), at(a[1], J - 1 - a[0], a[2]))
CALL(turn_2, ht_rot90(x, -2, 2, 1), at(a[0], J - 1 - a[1], K - 1 - a[2]))
CALL(turn_3, ht_rot90(x, 7, 0, 2), at(I - 1 - a[2], a[1], a[0]))
CALL(turn_4, ht_rot90(x, 4, 0, 2), at(a[0], a[1], a[2]))
CALL(tiles, ht_tile(x, HT_SHAPE(2, 1, 3)), at(a[0] % I, a[1], a[2] % K))
CALL(no_tiles, ht_tile(x, HT_SHAPE(0)), at(a[0], a[1], a[2]))
CALL(more_tiles, ht_tile(x, HT_SHAPE(2, 1, 1, 1)), at(a[1], a[2], a[3]))
CALL(frame, ht_pad(x, HT_SHAPE(2, 1, 0, 0, 0, 3), ht_number_integer(0)),
     a[0] < 2 || a[0] > 7 || a[2] >= K ? NOTHING : at(a[0] - 2, a[1], a[2]))
CALL(diagonal, ht_diagonal(x, 0, 0, 1), at(a[1], a[1], a[0]))
CALL(diagonal_up, ht_diagonal(x, 2, -1, 0), at(a[1] + 2, a[0], a[1]))
CALL(diagonal_down, ht_diagonal(x, -3, 0, 2), at(a[1] + 3, a[0], a[1]))
CALL(diagonal_far, ht_diagonal(x, INT64_MIN, 0, 2), at(a[1], a[0], a[1]))
CALL(lower, ht_tril(x, -1), a[2] > a[1] - 1 ? NOTHING : at(a[0], a[1], a[2]))
CALL(upper, ht_triu(x, 2), a[2] < a[1] + 2 ? NOTHING : at(a[0], a[1], a[2]))
CALL(upper_all, ht_triu(x, INT64_MIN), at(a[0], a[1], a[2]))
CALL(stacked, ht_stack(HT_LIST(ht_tensor *, x, ht_neg(ht_neg(x))), -1), at(a[0], a[1], a[2]))
CALL(side_by_side, ht_hstack(HT_LIST(ht_tensor *, x, ht_flip(x, HT_AXES(1)))),
     at(a[0], a[1] < J ? a[1] : 2 * J - 1 - a[1], a[2]))
CALL(below, ht_vstack(HT_LIST(ht_tensor *, x, x)), at(a[0] % I, a[1], a[2]))
CALL(columns, ht_column_stack(HT_LIST(ht_tensor *, x, x)), at(a[0], a[1] % J, a[2]))
CALL(part_0, part(x, 0), at(a[0], a[1], a[2]))
CALL(part_1, part(x, 1), at(a[0] + 1, a[1], a[2]))
CALL(part_2, part(x, 2), at(a[0] + 4, a[1], a[2]))
CALL(half_1, half(x, 1), at(a[0], a[1] + 2, a[2]))

static const call_row rows[] = {
    ROW(move, 3, {K, I, J}), ROW(move_back, 3, {J, K, I}),
    ROW(roll_0, 3, {I, J, K}), ROW(roll_1, 3, {I, J, K}), ROW(roll_2, 3, {I, J, K}),
    ROW(roll_all, 3, {I, J, K}),
    ROW(turn_1, 3, {J, I, K}), ROW(turn_2, 3, {I, J, K}), ROW(turn_3, 3, {K, J, I}),
    ROW(turn_4, 3, {I, J, K}),
    ROW(tiles, 3, {2 * I, J, 3 * K}), ROW(no_tiles, 3, {I, J, 0}), ROW(more_tiles, 4, {2, I, J, K}),
    ROW(frame, 3, {I + 3, J, K + 3}),
    ROW(diagonal, 2, {K, J}), ROW(diagonal_up, 2, {J, 4}), ROW(diagonal_down, 2, {J, 3}),
    ROW(diagonal_far, 2, {J, 0}),
    ROW(lower, 3, {I, J, K}), ROW(upper, 3, {I, J, K}), ROW(upper_all, 3, {I, J, K}),
    ROW(stacked, 4, {I, J, K, 2}), ROW(side_by_side, 3, {I, 2 * J, K}),
    ROW(below, 3, {2 * I, J, K}),
    ROW(columns, 3, {I, 2 * J, K}),
    ROW(part_0, 3, {1, J, K}), ROW(part_1, 3, {3, J, K}), ROW(part_2, 3, {2, J, K}),
    ROW(half_1, 3, {I, 2, K})};
/* clang-format on */

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

/* 1, 2, ...; in slabs that are not balanced, too. */
static ht_tensor *numbers(int split, ht_dtype dtype, bool balanced)
{
    ht_tensor *x = ht_arange(1 - 2 * J * K, 1 + ALL, 1, HT_INT64, HT_NONE);

    x = ht_astype(ht_reshape(x, HT_SHAPE(I + 2, J, K)), dtype);
    if (balanced)
        return ht_resplit(ht_narrow(x, 0, 2, I + 2), split);
    return ht_narrow(ht_resplit(x, split), 0, 2, I + 2);
}

static int expected_of(const call_row *row, double expected[])
{
    int count = 1;

    for (int axis = 0; axis < row->ndim; axis++)
        count *= (int)row->shape[axis];
    for (int i = 0; i < count; i++) {
        int64_t index[4], left = i;

        for (int axis = row->ndim - 1; axis >= 0; axis--) {
            index[axis] = left % row->shape[axis];
            left /= row->shape[axis];
        }
        expected[i] = (double)row->from(index) + 1;
    }
    return count;
}

static void every_call_of_every_split(void **state)
{
    static double expected[6 * ALL];

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const call_row *row = &rows[r];

        expected_of(row, expected);
        for (int way = 0; way < 8; way++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *x = numbers(split_of(way / 2 - 1), HT_INT16, way % 2), *y = row->call(x);

            print_message("%s, split %d, %sbalanced\n", row->text, way / 2 - 1,
                          way % 2 ? "" : "not ");
            assert_int_equal(ht_tensor_dtype(y), HT_INT16);
            assert_int_equal(ht_tensor_ndim(y), row->ndim);
            for (int axis = 0; axis < row->ndim; axis++)
                assert_int_equal(ht_tensor_shape(y)[axis], row->shape[axis]);
            assert_true((ht_tensor_split(y) == HT_NONE) == (way < 2));
            ht_test_expect(y, expected, 0);
            ht_scope_close(scope);
        }
    }
}

static ht_tensor *call(ht_tensor *inputs[], void *user)
{
    return ((const call_row *)user)->call(inputs[0]);
}

static void gradients(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = numbers(split_of((int)r % 4 - 1), HT_FLOAT64, r % 3);

        x = ht_mul_scalar(x, 0.01);
        ht_tensor_set_requires_grad(x, true);
        ht_test_gradcheck(call, 1, &x, (void *)&rows[r], 1e-7);
        ht_scope_close(scope);
    }
}

/* Fewer axes than the names of the functions say. */
static void tensors_of_one_axis(void **state)
{
    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_arange(1, 4, 1, HT_INT32, split_of(split)),
                  *one = ht_ones(0, NULL, HT_INT32, HT_NONE);
        ht_tensor *same = ht_diag(ht_diag(x, -2), -2);

        ht_test_expect(ht_hstack(HT_LIST(ht_tensor *, x, x)), (double[]){1, 2, 3, 1, 2, 3}, 0);
        ht_test_expect(ht_hstack(HT_LIST(ht_tensor *, one, x)), (double[]){1, 1, 2, 3}, 0);
        ht_test_expect(ht_vstack(HT_LIST(ht_tensor *, x, x)), (double[]){1, 2, 3, 1, 2, 3}, 0);
        ht_test_expect(ht_column_stack(HT_LIST(ht_tensor *, x, x)), (double[]){1, 1, 2, 2, 3, 3},
                       0);
        ht_test_expect(ht_diag(x, 1), (double[]){0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0},
                       0);
        ht_test_expect(same, (double[]){1, 2, 3}, 0);
        ht_test_expect(ht_tile(x, HT_SHAPE(2, 2)), (double[]){1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3},
                       0);
        ht_test_expect(ht_pad(x, HT_SHAPE(1, 2), ht_number_integer(-9)),
                       (double[]){-9, 1, 2, 3, -9, -9}, 0);
        ht_test_expect(ht_diff(ht_mul(x, x), 1, 0), (double[]){3, 5}, 0);
        ht_test_expect(ht_diff(ht_mul(x, x), 2, 0), (double[]){2}, 0);
        ht_test_expect(ht_diff(x, 4, 0), NULL, 0);
        ht_test_expect(ht_diff(ht_gt(x, ht_scalar(1)), 1, -1), (double[]){1, 0}, 0);
        ht_test_expect(ht_ptp(ht_mul(x, x), 0), (double[]){8}, 0);
        ht_scope_close(scope);
    }
}

/* Repeats that exceed the range, occur a million times, or have no end. */
static void extreme_counts_and_places(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_arange(0, 5, 1, HT_INT32, 0), *parts[3], *many = ht_tile(x, HT_SHAPE(200000));

    (void)state;
    assert_int_equal(ht_split_at(x, HT_SHAPE(INT64_MIN, INT64_MAX), 0, parts), HT_SUCCESS);
    ht_test_expect(parts[0], NULL, 0);
    ht_test_expect(parts[1], (double[]){0, 1, 2, 3, 4}, 0);
    ht_test_expect(parts[2], NULL, 0);
    ht_test_expect(ht_diff(x, INT_MAX, 0), NULL, 0);
    assert_int_equal(ht_tensor_size(many), 1000000);
    assert_true(ht_item(ht_sum(many, HT_NONE)) == 2000000);
    ht_test_expect(ht_getitem(many, HT_KEY(ht_slice(499999, 500001))), (double[]){4, 0}, 0);
    ht_scope_close(scope);
}

static void meshgrid_and_broadcast_arrays_of_each_split(void **state)
{
    ht_tensor *both[2], *apart[2] = {NULL, NULL};

    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *in[2] = {ht_arange(1, 3, 1, HT_FLOAT32, HT_NONE),
                            ht_arange(7, 10, 1, HT_INT32, split_of(split))};

        assert_int_equal(ht_meshgrid(2, in, false, both), HT_SUCCESS);
        ht_test_expect(both[0], (double[]){1, 1, 1, 2, 2, 2}, 0);
        ht_test_expect(both[1], (double[]){7, 8, 9, 7, 8, 9}, 0);
        assert_true(ht_tensor_shape(both[0])[0] == 2 && ht_tensor_shape(both[0])[1] == 3);
        assert_int_equal(ht_tensor_split(both[1]), split < 0 ? HT_NONE : 1);
        assert_int_equal(ht_meshgrid(2, in, true, both), HT_SUCCESS);
        ht_test_expect(both[0], (double[]){1, 2, 1, 2, 1, 2}, 0);
        ht_test_expect(both[1], (double[]){7, 7, 8, 8, 9, 9}, 0);
        assert_int_equal(ht_meshgrid(1, in, true, both), HT_SUCCESS);
        ht_test_expect(both[0], (double[]){1, 2}, 0);

        in[0] = ht_expand_dims(in[0], 1);
        assert_int_equal(ht_broadcast_arrays(2, in, both), HT_SUCCESS);
        ht_test_expect(both[0], (double[]){1, 1, 1, 2, 2, 2}, 0);
        ht_test_expect(both[1], (double[]){7, 8, 9, 7, 8, 9}, 0);
        HT_TEST_EXPECT_ERROR(ht_meshgrid(2, in, true, both), HT_ERR_SHAPE,
                             "ht_meshgrid: operand 0 is (2, 1), expected one axis");
        in[0] = ht_zeros(HT_SHAPE(2, 2), HT_BOOL, 0);
        HT_TEST_EXPECT_ERROR(ht_broadcast_arrays(2, in, both), HT_ERR_SHAPE,
                             "ht_broadcast_arrays: operand 1 is (3,), which does not broadcast "
                             "with the operands before it, (2, 2)");
        HT_TEST_EXPECT_ERROR(ht_broadcast_arrays(2, apart, both), HT_ERR_ARGUMENT, "xs[0] is NULL");
        HT_TEST_EXPECT_ERROR(ht_meshgrid(0, in, true, both), HT_ERR_ARGUMENT, "count is 0");
        ht_scope_close(scope);
    }
}

static void misuse(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_zeros(HT_SHAPE(4, 3), HT_FLOAT32, 0), *parts[3];
    ht_tensor *other = ht_zeros(HT_SHAPE(4, 2), HT_FLOAT32, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_stack(HT_LIST(ht_tensor *, x, other), 0), HT_ERR_SHAPE,
                         "ht_stack: operand 0 is (4, 3), operand 1 is (4, 2)");
    HT_TEST_EXPECT_ERROR(ht_stack(HT_LIST(ht_tensor *, x), 3), HT_ERR_ARGUMENT, "new axis 3");
    HT_TEST_EXPECT_ERROR(ht_vstack(HT_LIST(ht_tensor *, x, other)), HT_ERR_SHAPE, "ht_vstack: ");
    HT_TEST_EXPECT_ERROR(ht_hstack(0, NULL), HT_ERR_ARGUMENT, "ht_hstack: count is 0");
    HT_TEST_EXPECT_ERROR(ht_column_stack(HT_LIST(ht_tensor *, x, NULL)), HT_ERR_ARGUMENT,
                         "ht_column_stack: xs[1] is NULL");
    HT_TEST_EXPECT_ERROR(ht_split(x, 2, 1, parts), HT_ERR_SHAPE,
                         "cannot be divided into 2 equal parts");
    HT_TEST_EXPECT_ERROR(ht_split_at(x, -1, NULL, 1, parts), HT_ERR_ARGUMENT, "count is -1");
    HT_TEST_EXPECT_ERROR(ht_moveaxis(x, HT_AXES(0, 1), HT_AXES(0)), HT_ERR_ARGUMENT,
                         "ht_moveaxis: 2 axes and 1 places");
    HT_TEST_EXPECT_ERROR(ht_moveaxis(x, HT_AXES(0, -2), HT_AXES(0, 1)), HT_ERR_ARGUMENT, "twice");
    HT_TEST_EXPECT_ERROR(ht_roll(x, 1, 2), HT_ERR_ARGUMENT, "ht_roll");
    HT_TEST_EXPECT_ERROR(ht_rot90(x, 1, 0, -2), HT_ERR_ARGUMENT, "axis 0 is given twice");
    HT_TEST_EXPECT_ERROR(ht_flip(x, -1, (int[]){0}), HT_ERR_ARGUMENT, "ht_flip: count is -1");
    HT_TEST_EXPECT_ERROR(ht_tile(x, HT_SHAPE(-1)), HT_ERR_ARGUMENT, "ht_tile: times has -1");
    HT_TEST_EXPECT_ERROR(ht_tile(x, HT_SHAPE(INT64_MAX)), HT_ERR_SHAPE,
                         "ht_tile: a result of shape");
    HT_TEST_EXPECT_ERROR(ht_tile(x, HT_SHAPE(INT64_C(1) << 52)), HT_ERR_MEMORY,
                         "ht_tile: out of memory: ");
    HT_TEST_EXPECT_ERROR(ht_pad(x, HT_SHAPE(1), ht_number_integer(0)), HT_ERR_ARGUMENT,
                         "ht_pad: 1 widths");
    HT_TEST_EXPECT_ERROR(ht_pad(x, HT_SHAPE(0, -1), ht_number_integer(0)), HT_ERR_ARGUMENT,
                         "at least 0 each");
    HT_TEST_EXPECT_ERROR(ht_pad(x, HT_SHAPE(0, INT64_MAX), ht_number_integer(0)), HT_ERR_SHAPE,
                         "ht_pad: a result of shape (4, 9223372036854775807) has 2^59 elements");
    HT_TEST_EXPECT_ERROR(
        ht_pad(x, HT_SHAPE(INT64_C(1) << 62, INT64_C(1) << 62), ht_number_integer(0)), HT_ERR_SHAPE,
        "ht_pad: a result of shape (4, 9223372036854775807) has 2");
    HT_TEST_EXPECT_ERROR(ht_diagonal(x, 0, 1, 1), HT_ERR_ARGUMENT, "axis 1 is given twice");
    HT_TEST_EXPECT_ERROR(ht_diag(ht_stack(HT_LIST(ht_tensor *, x), 0), 0), HT_ERR_SHAPE,
                         "ht_diag: x is (1, 4, 3), expected one axis or two");
    HT_TEST_EXPECT_ERROR(ht_tril(ht_arange(0, 3, 1, HT_INT8, 0), 0), HT_ERR_SHAPE,
                         "ht_tril: x is (3,), expected at least two axes");
    HT_TEST_EXPECT_ERROR(ht_diff(x, -1, 0), HT_ERR_ARGUMENT, "ht_diff: times is -1");
    ht_scope_close(scope);
}

HT_TEST_SUITE(test_rearrange, cmocka_unit_test(every_call_of_every_split),
              cmocka_unit_test(gradients), cmocka_unit_test(tensors_of_one_axis),
              cmocka_unit_test(extreme_counts_and_places),
              cmocka_unit_test(meshgrid_and_broadcast_arrays_of_each_split),
              cmocka_unit_test(misuse));
