/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* A function along an axis, compared with one operation on the complete tensor. */
#include "ht_test.h"

#include "agrees.h"
#include "tensor_check.h"

#include "ht/linalg.h"
#include "ht/vmap.h"

/* a - b, and b is (columns) for each row of a. */
static ht_tensor *subtract(ht_tensor *const slices[], void *user)
{
    ++*(int *)user;
    return ht_sub(slices[0], slices[1]);
}

static ht_tensor *numbers(int64_t rows, int64_t columns, ht_dtype dtype, int split)
{
    return ht_resplit(
        ht_astype(ht_reshape(ht_arange(0, (double)(rows * columns), 1, HT_FLOAT32, HT_NONE),
                             HT_SHAPE(rows, columns)),
                  dtype),
        split);
}

/* Both are mapped along separate axes, or b is not mapped; every split of both. */
static void subtract_along(int a_axis, int b_axis, int out_axis, int a_split, int b_split,
                           ht_dtype dtype)
{
    ht_scope *scope = ht_scope_open();
    int64_t n = 5, m = 3;
    int calls = 0, axes[2] = {a_axis, b_axis};
    ht_tensor *a = numbers(n, m, dtype, HT_NONE),
              *b = ht_mul_scalar(numbers(n, m, dtype, HT_NONE), 3);
    ht_tensor *expected, *y;
    bool split = a_split != HT_NONE || (b_split != HT_NONE && b_axis != HT_NONE);

    if (b_axis == HT_NONE)
        b = ht_getitem(b, HT_KEY(1));
    expected = ht_sub(a, b); /* (5, 3), whose axis 0 is mapped */
    a = ht_resplit(a_axis == 0 ? a : ht_transpose(a, 0, 1), a_split);
    b = ht_resplit(b_axis == 1 ? ht_transpose(b, 0, 1) : b,
                   b_axis == HT_NONE && b_split != HT_NONE ? 0 : b_split);
    y = ht_vmap_ext(subtract, 2, (ht_tensor *[]){a, b}, axes, out_axis, &calls);
    assert_non_null(y);
    assert_int_equal(ht_tensor_dtype(y), dtype);
    assert_int_equal(ht_tensor_split(y), !split ? HT_NONE : out_axis < 0 ? out_axis + 2 : out_axis);
    assert_int_equal(calls, ht_tensor_lshape(y)[out_axis < 0 ? out_axis + 2 : out_axis]);
    ht_test_expect_same(
        y, out_axis == 0 || out_axis == -2 ? expected : ht_transpose(expected, 0, 1), 0);
    ht_scope_close(scope);
}

static void test_axes_and_splits(void **state)
{
    static const int splits[] = {HT_NONE, 0, 1};
    static const int b_axes[] = {0, 1, HT_NONE};

    (void)state;
    for (int i = 0; i < 2 * 3 * 4 * 9; i++)
        subtract_along(i % 2, b_axes[i / 2 % 3], i / 6 % 4 - 2, splits[i / 24 % 3],
                       splits[i / 72 % 3], i % 5 == 0 ? HT_INT64 : HT_FLOAT32);
}

static ht_tensor *gram(ht_tensor *const slices[], void *user)
{
    (void)user;
    return ht_matmul(ht_transpose(slices[0], 0, 1), slices[0]);
}

/* Along the split axis, unbalanced, some ranks with nothing; a matrix from each matrix. */
static void test_unbalanced_slabs(void **state)
{
    ht_tensor *x = ht_test_randn(HT_SHAPE(9, 3, 2), HT_FLOAT64, 0, 7);
    ht_tensor *part = ht_narrow(x, 0, 4, 7), *all = ht_resplit(part, HT_NONE);
    ht_tensor *y = ht_vmap(gram, 1, &part, NULL);

    (void)state;
    assert_int_equal(ht_tensor_split(y), 0);
    assert_int_equal(ht_tensor_lshape(y)[0], ht_tensor_lshape(part)[0]);
    for (int64_t i = 0; i < 3; i++) {
        ht_tensor *one = ht_getitem(all, HT_KEY(i));

        ht_test_expect_same(ht_getitem(ht_resplit(y, HT_NONE), HT_KEY(i)), gram(&one, NULL), 1e-15);
    }
}

static ht_tensor *first_number(ht_tensor *const slices[], void *user)
{
    (void)user;
    return ht_max(slices[0], HT_NONE);
}

/* Numbers from rows; a view from each. */
static void test_results_without_axes(void **state)
{
    ht_tensor *x = numbers(8, 3, HT_INT32, 0);

    (void)state;
    ht_test_expect(ht_vmap(first_number, 1, &x, NULL), (double[]){2, 5, 8, 11, 14, 17, 20, 23}, 0);
}

static ht_tensor *never(ht_tensor *const slices[], void *user)
{
    (void)slices;
    (void)user;
    return NULL;
}

static ht_tensor *growing(ht_tensor *const slices[], void *user)
{
    ht_tensor *x = slices[0];

    (void)user;
    return ht_zeros(HT_SHAPE(1 + (int64_t)ht_item(ht_min(x, HT_NONE)) / 3), HT_FLOAT32, HT_LOCAL);
}

static void test_misuse(void **state)
{
    ht_tensor *x = numbers(8, 3, HT_FLOAT32, 0), *whole = numbers(8, 3, HT_FLOAT32, HT_NONE);
    ht_tensor *empty = numbers(0, 3, HT_FLOAT32, 0), *both[2] = {x, ht_narrow(x, 0, 0, 4)};

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_vmap(gram, 1, &whole, NULL), HT_ERR_ARGUMENT,
                         "ht_vmap: no tensor has an axis to map along (none is split");
    HT_TEST_EXPECT_ERROR(ht_vmap(subtract, 2, both, NULL), HT_ERR_SHAPE,
                         "ht_vmap: axis 0 of tensor 0, of shape (8, 3), and axis 0 of tensor 1, of "
                         "shape (4, 3), differ in length");
    HT_TEST_EXPECT_ERROR(ht_vmap(never, 1, &x, NULL), HT_ERR_ARGUMENT,
                         "ht_vmap: the function returned NULL");
    HT_TEST_EXPECT_ERROR(ht_vmap(first_number, 1, &empty, NULL), HT_ERR_SHAPE,
                         "ht_vmap: the mapped axes have length 0");
    HT_TEST_EXPECT_ERROR(ht_vmap(growing, 1, &x, NULL), HT_ERR_SHAPE, "ht_vmap: the function");
    HT_TEST_EXPECT_ERROR(ht_vmap_ext(first_number, 1, &x, (int[]){0}, 1, NULL), HT_ERR_ARGUMENT,
                         "ht_vmap_ext: out_axis is 1, expected an axis of a result of 1 axes");
    HT_TEST_EXPECT_ERROR(ht_vmap_ext(first_number, 1, &x, (int[]){2}, 0, NULL), HT_ERR_ARGUMENT,
                         "ht_vmap_ext");
}

static bool odd_now;

static ht_tensor *fails_here(ht_tensor *const slices[], void *user)
{
    (void)user;
    return odd_now ? ht_matmul(slices[0], ht_zeros(HT_SHAPE(9, 9), HT_FLOAT32, HT_LOCAL))
                   : slices[0];
}

static ht_status fail_on_one(bool odd)
{
    ht_tensor *x = numbers(8, 3, HT_FLOAT32, 0);

    odd_now = odd;
    return ht_vmap(fails_here, 1, &x, NULL) != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status fail_on_one_ext(bool odd)
{
    ht_tensor *x = numbers(8, 3, HT_FLOAT32, 0);

    odd_now = odd;
    return ht_vmap_ext(fails_here, 1, &x, (int[]){0}, 0, NULL) != NULL ? HT_SUCCESS
                                                                       : ht_error_get(NULL);
}

static void test_failure_of_one_rank(void **state)
{
    static const ht_test_agreed rows[] = {
        HT_AGREES(ht_vmap, " by a failing function", fail_on_one),
        HT_AGREES(ht_vmap_ext, " by a failing function", fail_on_one_ext)};

    (void)state;
    if (ht_test_size <= 4) /* each has a row */
        ht_test_agree_all(2, rows);
}

HT_TEST_SUITE(test_vmap, cmocka_unit_test(test_axes_and_splits),
              cmocka_unit_test(test_unbalanced_slabs), cmocka_unit_test(test_results_without_axes),
              cmocka_unit_test(test_misuse), cmocka_unit_test(test_failure_of_one_rank));
