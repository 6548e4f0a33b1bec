/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

/* Keys of a tensor of shape (6, 4, 5), and NumPy's x[key]: its shape, the remaining indices of each
 * axis of x, in order, and the result's axes that they make. */
enum { AXES = 3, NO = -1 };

static const int64_t shape[AXES] = {6, 4, 5};

typedef struct key_row {
    const char *text;
    int count;
    ht_index key[5];
    int ndim;
    int64_t shape[5];
    const char *left[AXES]; /* digits */
    int axis[AXES];
} key_row;

#define I "012345"
#define J "0123"
#define K "01234"

/* clang-format off */
static const key_row *rows(int *count)
{
    static key_row table[16];
    const ht_index all = HT_ALL, none = HT_NEWAXIS, etc = HT_ELLIPSIS;
    const int64_t open = HT_OPEN;
    int n = 0;
#define AT               ht_index_integer
#define STEP             ht_slice_step
#define ROW(text, ...)   table[n++] = (key_row){text, __VA_ARGS__}
    ROW("x[3]", 1, {AT(3)}, 2, {4, 5}, {"3", J, K}, {NO, 0, 1});
    ROW("x[-1, -4]", 2, {AT(-1), AT(-4)}, 1, {5}, {"5", "0", K}, {NO, NO, 0});
    ROW("x[2, 1, 4]", 3, {AT(2), AT(1), AT(4)}, 0, {0}, {"2", "1", "4"}, {NO, NO, NO});
    ROW("x[1:5]", 1, {STEP(1, 5, 1)}, 3, {4, 4, 5}, {"1234", J, K}, {0, 1, 2});
    ROW("x[..., 1:-1]", 2, {etc, ht_slice(1, -1)}, 3, {6, 4, 3}, {I, J, "123"}, {0, 1, 2});
    ROW("x[::2, 1, ::3]", 3, {STEP(open, open, 2), AT(1), STEP(open, open, 3)}, 2, {3, 2},
        {"024", "1", "03"}, {0, NO, 1});
    ROW("x[::-1]", 1, {STEP(open, open, -1)}, 3, {6, 4, 5}, {"543210", J, K}, {0, 1, 2});
    ROW("x[4:0:-2, :, ::-2]", 3, {STEP(4, 0, -2), all, STEP(open, open, -2)}, 3, {2, 4, 3},
        {"42", J, "420"}, {0, 1, 2});
    ROW("x[:, None, 3, None, -2]", 5, {all, none, AT(3), none, AT(-2)}, 3, {6, 1, 1},
        {I, "3", "3"}, {0, NO, NO});
    ROW("x[5:2]", 1, {ht_slice(5, 2)}, 3, {0, 4, 5}, {"", J, K}, {0, 1, 2});
    ROW("x[:, 2:2:-1]", 2, {all, STEP(2, 2, -1)}, 3, {6, 0, 5}, {I, "", K}, {0, 1, 2});
    ROW("x[-99:99, 99:-99:-3]", 2, {ht_slice(-99, 99), STEP(99, -99, -3)}, 3, {6, 2, 5},
        {I, "30", K}, {0, 1, 2});
    ROW("x[2:3, 3:2:-1, ::7]", 3, {ht_slice(2, 3), STEP(3, 2, -1), STEP(open, open, 7)}, 3,
        {1, 1, 1}, {"2", "3", "0"}, {0, 1, 2});
    ROW("x[..., 1::2**63-1, 2:]", 3, {etc, STEP(1, open, INT64_MAX), ht_slice(2, open)}, 3,
        {6, 1, 3}, {I, "1", "234"}, {0, 1, 2});
    ROW("x[None, ..., None]", 3, {none, etc, none}, 5, {1, 6, 4, 5, 1}, {I, J, K}, {1, 2, 3});
    ROW("x[()]", 0, {all}, 3, {6, 4, 5}, {I, J, K}, {0, 1, 2});
    *count = n;
    return table;
}
/* clang-format on */

/* Where in x the elements of x[key] are, in order. Returns how many. */
static int places(const key_row *row, int at[120])
{
    int n = 0;

    for (const char *i = row->left[0]; *i != '\0'; i++) {
        for (const char *j = row->left[1]; *j != '\0'; j++) {
            for (const char *k = row->left[2]; *k != '\0'; k++)
                at[n++] = 20 * (*i - '0') + 5 * (*j - '0') + (*k - '0');
        }
    }
    return n;
}

static ht_tensor *counted(int split)
{
    return ht_resplit(ht_reshape(ht_arange(0, 120, 1, HT_FLOAT64, HT_NONE), HT_SHAPE(6, 4, 5)),
                      split);
}

static void expect_shape(const key_row *row, const ht_tensor *y, int split)
{
    int axis = split == HT_NONE ? NO : row->axis[split];

    assert_int_equal(ht_tensor_ndim(y), row->ndim);
    for (int i = 0; i < row->ndim; i++)
        assert_int_equal(ht_tensor_shape(y)[i], row->shape[i]);
    assert_int_equal(ht_tensor_split(y), axis == NO ? HT_NONE : axis);
}

static void every_key_of_every_split(void **state)
{
    int row_count, at[120];
    const key_row *row = rows(&row_count);
    double expected[120];

    (void)state;
    for (int r = 0; r < row_count; r++, row++) {
        int n = places(row, at);

        for (int i = 0; i < n; i++)
            expected[i] = at[i];
        for (int split = -1; split < AXES; split++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *y = ht_getitem(counted(split < 0 ? HT_NONE : split), row->count, row->key);

            print_message("%s, split %d\n", row->text, split);
            expect_shape(row, y, split < 0 ? HT_NONE : split);
            ht_test_expect(y, expected, 0);
            ht_test_expect(ht_add(y, y), ht_test_values(ht_mul_scalar(y, 2)), 0);
            ht_scope_close(scope);
        }
    }
}

/* Values of the key's shape, split along each axis, and of one row; numbers. */
static void write_row(const key_row *row, int split, int values_split)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = counted(split), *values;
    double expected[120];
    int at[120], n = places(row, at);

    for (int i = 0; i < 120; i++)
        expected[i] = i;
    for (int i = 0; i < n; i++)
        expected[at[i]] = 1000 + i;
    values = ht_resplit(
        ht_reshape(ht_arange(1000, 1000 + n, 1, HT_INT64, HT_NONE), row->ndim, row->shape),
        values_split);
    assert_int_equal(ht_setitem_(x, row->count, row->key, values), HT_SUCCESS);
    ht_test_expect(x, expected, 0);
    for (int i = 0; i < n; i++)
        expected[at[i]] = 0.5;
    assert_int_equal(ht_setitem_(x, row->count, row->key, ht_scalar(0.5)), HT_SUCCESS);
    ht_test_expect(x, expected, 0);
    ht_scope_close(scope);
}

static void every_key_is_written(void **state)
{
    int row_count;
    const key_row *row = rows(&row_count);

    (void)state;
    for (int r = 0; r < row_count; r++, row++) {
        for (int split = -1; split < AXES; split++) {
            for (int of = -1; of < row->ndim; of++) {
                print_message("%s, split %d, values %d\n", row->text, split, of);
                write_row(row, split < 0 ? HT_NONE : split, of < 0 ? HT_NONE : of);
            }
        }
    }
}

/* The last axis of the values is that of x[key], also where an integer took the split axis away. */
static void values_broadcast(void **state)
{
    (void)state;
    for (int split = -1; split < AXES; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = counted(split < 0 ? HT_NONE : split);
        ht_tensor *line = ht_arange(0, 5, 1, HT_FLOAT64, 0);
        const double *values;

        assert_int_equal(ht_setitem_(x, HT_KEY(2), line), HT_SUCCESS);
        assert_int_equal(ht_setitem_(x, HT_KEY(HT_ALL, 1), line), HT_SUCCESS);
        assert_int_equal(
            ht_setitem_(x, HT_KEY(HT_ELLIPSIS, ht_slice_step(HT_OPEN, HT_OPEN, -1)), line),
            HT_SUCCESS);
        values = ht_test_values(x);
        for (int i = 0; i < 120; i++)
            assert_true(values[i] == 4 - i % 5);
        assert_int_equal(
            ht_setitem_(x, HT_KEY(0), ht_resplit(ht_ones(HT_SHAPE(1, 1, 4, 5), HT_INT8, 2), 0)),
            HT_SUCCESS);
        assert_true(ht_item(ht_sum(ht_getitem(x, HT_KEY(0)), HT_NONE)) == 20);
        ht_scope_close(scope);
    }
}

static ht_tensor *get(ht_tensor *inputs[], void *user)
{
    const key_row *row = user;

    return ht_getitem(inputs[0], row->count, row->key);
}

static ht_tensor *set(ht_tensor *inputs[], void *user)
{
    const key_row *row = user;
    ht_tensor *y = ht_copy(inputs[0]);

    assert_int_equal(ht_setitem_(y, row->count, row->key, inputs[1]), HT_SUCCESS);
    return y;
}

static void gradients(void **state)
{
    int row_count;
    const key_row *row = rows(&row_count);

    (void)state;
    for (int r = 0; r < row_count; r++, row++) {
        for (int split = -1; split < AXES; split++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *in[2] = {
                ht_test_randn(3, shape, HT_FLOAT64, split < 0 ? HT_NONE : split, 1),
                ht_test_randn(row->ndim, row->shape, HT_FLOAT64, row->ndim > 0 ? 0 : HT_NONE, 2)};

            ht_tensor_set_requires_grad(in[0], true);
            ht_tensor_set_requires_grad(in[1], true);
            ht_test_gradcheck(get, 1, in, (void *)row, 1e-7);
            if (r % 3 == 0) /* each takes 240 writes */
                ht_test_gradcheck(set, 2, in, (void *)row, 1e-7);
            ht_scope_close(scope);
        }
    }
}

static void a_slice_is_a_view_of_each_local_part(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = counted(0), *odd = ht_getitem(x, HT_KEY(ht_slice_step(1, HT_OPEN, 2), -1));

    (void)state;
    ht_fill_(odd, -1);
    ht_test_expect(ht_getitem(x, HT_KEY(HT_ALL, 3, 4)), (double[]){19, -1, 59, -1, 99, -1}, 0);
    ht_test_expect(ht_balance(odd), ht_test_values(odd), 0);
    ht_scope_close(scope);
}

/* Each rank's numbers of any integer type; nothing is kept of a key. */
static void a_loop_reads_every_element(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = counted(HT_NONE);

    (void)state;
    for (short i = 0; i < 6; i++) {
        for (unsigned j = 0; j < 4; j++) {
            for (int64_t k = -5; k < 0; k++) {
                ht_scope *inner = ht_scope_open();

                assert_true(ht_item(ht_getitem(x, HT_KEY(i, j, k))) == 20 * i + 5 * (int)j + k + 5);
                ht_scope_close(inner);
            }
        }
    }
    ht_scope_close(scope);
}

static void misuse(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = counted(0), *part = ht_ones(HT_SHAPE(3, 5), HT_FLOAT32, HT_NONE);
    ht_index odd = HT_ALL;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(6)), HT_ERR_ARGUMENT,
                         "ht_getitem: index 6 is out of range for axis 0 of x of shape (6, 4, 5)");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(HT_ELLIPSIS, -6)), HT_ERR_ARGUMENT,
                         "index -6 is out of range for axis 2");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(1, 2, 3, 4)), HT_ERR_ARGUMENT,
                         "the key has 4 indices, but x of shape (6, 4, 5) has 3 axes");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(HT_ELLIPSIS, HT_ELLIPSIS)), HT_ERR_ARGUMENT,
                         "2 ellipses");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(ht_slice_step(0, 1, 0))), HT_ERR_ARGUMENT,
                         "step of the slice of axis 0 is 0, expected another integer");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(HT_NEWAXIS, HT_NEWAXIS, HT_NEWAXIS, HT_NEWAXIS,
                                              HT_NEWAXIS, HT_NEWAXIS)),
                         HT_ERR_ARGUMENT, "more than 8 axes");
    HT_TEST_EXPECT_ERROR(ht_getitem(NULL, HT_KEY(1)), HT_ERR_ARGUMENT, "ht_getitem: x is NULL");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, 1, NULL), HT_ERR_ARGUMENT, "key is NULL");
    HT_TEST_EXPECT_ERROR(ht_getitem(x, -1, &odd), HT_ERR_ARGUMENT, "the key has -1 items");
    odd.kind = (ht_index_kind)77;
    HT_TEST_EXPECT_ERROR(ht_getitem(x, 1, &odd), HT_ERR_ARGUMENT, "expected an ht_index_kind");
    HT_TEST_EXPECT_ERROR(ht_setitem_(x, HT_KEY(0), part), HT_ERR_SHAPE, "ht_setitem_: values");
    HT_TEST_EXPECT_ERROR(ht_setitem_(x, HT_KEY(0), NULL), HT_ERR_ARGUMENT, "values is NULL");
    HT_TEST_EXPECT_ERROR(
        ht_setitem_(ht_broadcast_to(part, HT_SHAPE(2, 3, 5)), HT_KEY(0), ht_scalar(1)),
        HT_ERR_STATE, "ht_setitem_");
    ht_tensor_set_requires_grad(part, true);
    HT_TEST_EXPECT_ERROR(ht_setitem_(part, HT_KEY(0), ht_scalar(1)), HT_ERR_STATE, "ht_setitem_");
    HT_TEST_EXPECT_ERROR(
        ht_setitem_(ht_zeros(HT_SHAPE(3), HT_UINT8, 0), HT_KEY(HT_ALL), ht_scalar(300)),
        HT_ERR_ARGUMENT, "300");
    ht_scope_close(scope);
}

/* ht_scalar(2) in a key is the integer 2, on one rank and on many. */
static void numbers_in_keys_are_integers(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *x = ht_resplit(
            ht_reshape(ht_arange(0, 12, 1, HT_INT32, HT_NONE), HT_SHAPE(4, 3)),
            split < 0 ? HT_NONE : split);
        ht_tensor *rows = ht_array((int64_t[]){3, 0}, HT_SHAPE(2), HT_INT64, HT_NONE);

        ht_test_expect(ht_getitem(x, HT_KEY(ht_scalar(2))), (double[]){6, 7, 8}, 0);
        ht_test_expect(ht_getitem(x, HT_KEY(HT_ALL, ht_scalar(-1))), (double[]){2, 5, 8, 11}, 0);
        ht_test_expect(ht_getitem(x, HT_KEY(rows, ht_scalar(1))), (double[]){10, 1}, 0);
        ht_test_expect(ht_take(x, ht_scalar(1), 1), (double[]){1, 4, 7, 10}, 0);
        assert_int_equal(ht_setitem_(x, HT_KEY(ht_scalar(0), ht_scalar(1)), ht_scalar(50)),
                         HT_SUCCESS);
        ht_test_expect(ht_getitem(x, HT_KEY(0)), (double[]){0, 50, 2}, 0);
        HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(ht_scalar(1.5))), HT_ERR_DTYPE,
                             "ht_getitem: an index is float64, expected integers or bool");
        HT_TEST_EXPECT_ERROR(ht_getitem(x, HT_KEY(ht_scalar(4))), HT_ERR_ARGUMENT,
                             "ht_getitem: index 4 is out of range for axis 0 of x of shape (4, 3)");
    }
}

HT_TEST_SUITE(test_getitem, cmocka_unit_test(numbers_in_keys_are_integers),
              cmocka_unit_test(every_key_of_every_split), cmocka_unit_test(every_key_is_written),
              cmocka_unit_test(values_broadcast), cmocka_unit_test(gradients),
              cmocka_unit_test(a_slice_is_a_view_of_each_local_part),
              cmocka_unit_test(a_loop_reads_every_element), cmocka_unit_test(misuse));
