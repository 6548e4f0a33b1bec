/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Reductions, broadcast and all-to-all of tensors: contiguous or not, every dtype, long counts. */
#include "core/collective/call.h"
#include "ht_test.h"
#include "tensor_check.h"

#include <string.h>

#include "core/base/half.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

enum { ROWS = 3, COLUMNS = 4, SIZE = ROWS * COLUMNS };

static const int64_t shape[2] = {ROWS, COLUMNS};

/* Element (i, j) is 100 rank + 10 i + j; stored by columns when `transposed`. */
static ht_tensor *numbers(ht_dtype dtype, bool transposed)
{
    double data[SIZE];
    const int64_t turned[2] = {COLUMNS, ROWS};

    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++)
            data[transposed ? j * ROWS + i : i * COLUMNS + j] = 100 * ht_test_rank + 10 * i + j;
    }

    ht_tensor *x = ht_array(data, 2, transposed ? turned : shape, HT_FLOAT64, HT_LOCAL);

    return ht_astype(transposed ? ht_transpose(x, 0, 1) : x, dtype);
}

/* Element (i, j) of x is a + b (10 i + j). */
static void assert_numbers(ht_tensor *x, double a, double b)
{
    const double *data = ht_test_data(ht_contiguous(ht_astype(x, HT_FLOAT64)));

    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLUMNS; j++)
            assert_true(data[i * COLUMNS + j] == a + b * (10 * i + j));
    }
}

static double rank_sum(void)
{
    return 100.0 * ht_test_size * (ht_test_size - 1) / 2;
}

static void test_allreduce_of_each_dtype(void **state)
{
    static const ht_dtype dtypes[] = {HT_INT16,   HT_INT32,   HT_INT64,     HT_FLOAT16,
                                      HT_FLOAT32, HT_FLOAT64, HT_COMPLEX64, HT_COMPLEX128};
    ht_scope *scope = ht_scope_open();

    (void)state;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        ht_tensor *x = numbers(dtypes[i], false);

        assert_int_equal(ht_allreduce(HT_COMM_WORLD, x, x, HT_OP_SUM), HT_SUCCESS);
        if (dtypes[i] != HT_FLOAT16 || ht_test_size <= 4) /* larger sums need rounding there */
            assert_numbers(x, rank_sum(), ht_test_size);
    }
    ht_scope_close(scope);
}

/* Enough elements for code that adds many at a time, which MPI libraries have. */
static void test_sums_of_narrow_integers_wrap(void **state)
{
    enum { LENGTH = 67 };
    static const struct {
        ht_dtype dtype;
        int64_t of_each, modulus, most;
    } rows[] = {
        {HT_UINT8, 200, 256, 255}, {HT_INT8, 100, 256, 127}, {HT_INT16, 30000, 65536, 32767}};

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        ht_tensor *x = ht_full_ext(HT_SHAPE(LENGTH), HT_NUM(rows[r].of_each), rows[r].dtype,
                                   HT_NONE, ht_get_device(), ht_get_comm());
        int64_t sum = ht_test_size * rows[r].of_each % rows[r].modulus;

        sum -= sum > rows[r].most ? rows[r].modulus : 0;
        assert_int_equal(ht_allreduce(HT_COMM_WORLD, x, x, HT_OP_SUM), HT_SUCCESS);
        for (int i = 0; i < LENGTH; i++)
            assert_int_equal(ht_item_ext(ht_narrow(x, 0, i, i + 1)).integer, sum);
    }
}

static void test_views_are_packed(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *send = numbers(HT_FLOAT32, true), *recv = ht_zeros_like(numbers(HT_FLOAT32, true));
    ht_tensor *turned = ht_transpose(
        ht_array((float[SIZE]){0}, HT_SHAPE(COLUMNS, ROWS), HT_FLOAT32, HT_LOCAL), 0, 1);

    (void)state;
    assert_false(ht_tensor_is_contiguous(turned));
    assert_int_equal(ht_allreduce(HT_COMM_WORLD, send, turned, HT_OP_MAX), HT_SUCCESS);
    assert_numbers(turned, 100 * (ht_test_size - 1), 1);
    assert_int_equal(ht_allreduce(HT_COMM_WORLD, turned, recv, HT_OP_MIN), HT_SUCCESS);
    assert_numbers(recv, 100 * (ht_test_size - 1), 1);
    ht_scope_close(scope);
}

static void test_reduce_scan_exscan(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = numbers(HT_INT64, false), *y = ht_zeros_like(x);
    int root = ht_test_size - 1, before = ht_test_rank;

    (void)state;
    assert_int_equal(ht_reduce(HT_COMM_WORLD, x, ht_test_rank == root ? y : NULL, HT_OP_SUM, root),
                     HT_SUCCESS);
    assert_numbers(y, ht_test_rank == root ? rank_sum() : 0,
                   ht_test_rank == root ? ht_test_size : 0);
    assert_int_equal(ht_scan(HT_COMM_WORLD, x, y, HT_OP_SUM), HT_SUCCESS);
    assert_numbers(y, 100.0 * before * (before + 1) / 2, before + 1);
    y = ht_zeros_like(x);
    assert_int_equal(ht_exscan(HT_COMM_WORLD, x, y, HT_OP_SUM), HT_SUCCESS);
    assert_numbers(y, 100.0 * before * (before - 1) / 2, before);
    ht_scope_close(scope);
}

static void test_logical_and_or(void **state)
{
    ht_scope *scope = ht_scope_open();
    bool mine[2] = {ht_test_rank != 0, ht_test_rank == ht_test_size - 1};
    ht_tensor *x = ht_array(mine, HT_SHAPE(2), HT_BOOL, HT_LOCAL), *y = ht_zeros_like(x);

    (void)state;
    ht_allreduce(HT_COMM_WORLD, x, y, HT_OP_AND);
    const bool *both = ht_test_data(y);
    assert_false(both[0]);
    assert_int_equal(both[1], ht_test_size == 1);
    ht_allreduce(HT_COMM_WORLD, x, y, HT_OP_OR);
    both = ht_test_data(y);
    assert_int_equal(both[0], ht_test_size > 1);
    assert_true(both[1]);
    ht_scope_close(scope);
}

/* They are 0 or 1 where one rank alone contributes, too: on one rank, and at the ends of scans. */
static void test_logical_results_of_integers_are_0_or_1(void **state)
{
    static const ht_dtype dtypes[] = {HT_UINT8, HT_INT8, HT_INT16, HT_INT32, HT_INT64};

    (void)state;
    for (int i = 0; i < 10; i++) {
        ht_scope *scope = ht_scope_open();
        ht_reduce_op op = i % 2 == 0 ? HT_OP_AND : HT_OP_OR;
        ht_tensor *x = ht_full(HT_SHAPE(2, 3), 3, dtypes[i / 2], HT_NONE);
        ht_tensor *one = ht_ones_like(x), *y = ht_copy(x), *turned = ht_transpose(x, 0, 1);
        ht_tensor *scanned = ht_zeros_like(turned);
        ht_request *posted;

        assert_int_equal(ht_scan(HT_COMM_WORLD, turned, scanned, op), HT_SUCCESS);
        ht_test_expect_same(ht_transpose(scanned, 0, 1), one, 0);
        assert_int_equal(ht_exscan(HT_COMM_WORLD, x, y, op), HT_SUCCESS);
        ht_test_expect_same(y, ht_test_rank == 0 ? x : one, 0);
        posted = ht_iallreduce(HT_COMM_WORLD, x, y, op);
        assert_int_equal(ht_wait(&posted), HT_SUCCESS);
        ht_test_expect_same(y, one, 0);
        y = ht_copy(x);
        assert_int_equal(ht_reduce(HT_COMM_WORLD, y, y, op, 0), HT_SUCCESS);
        ht_test_expect_same(y, ht_test_rank == 0 ? one : x, 0);
        assert_int_equal(ht_allreduce(HT_COMM_WORLD, x, x, op), HT_SUCCESS);
        ht_test_expect_same(x, one, 0);
        ht_scope_close(scope);
    }
}

/* bfloat16 sums are made in float32 and rounded once per addition. */
static void test_bfloat16_rounds_to_nearest(void **state)
{
    ht_scope *scope = ht_scope_open();
    uint16_t mine = ht__float_to_bfloat16(ht_test_rank == 0 ? 256.0f : 1.5f);
    ht_tensor *x = ht_array(&mine, HT_SHAPE(1), HT_BFLOAT16, HT_LOCAL);

    (void)state;
    ht_allreduce(HT_COMM_WORLD, x, x, HT_OP_MAX);
    assert_int_equal(*(const uint16_t *)ht_test_data(x), ht__float_to_bfloat16(256.0f));
    if (ht_test_size == 2) {
        mine = ht__float_to_bfloat16(ht_test_rank == 0 ? 256.0f : 1.5f);
        x = ht_array(&mine, HT_SHAPE(1), HT_BFLOAT16, HT_LOCAL);
        ht_allreduce(HT_COMM_WORLD, x, x, HT_OP_SUM);
        assert_int_equal(*(const uint16_t *)ht_test_data(x), ht__float_to_bfloat16(258.0f));
    }
    ht_scope_close(scope);
}

static void test_long_counts(void **state)
{
    ht_scope *scope = ht_scope_open();

    (void)state;
    ht__count_set_limit(5); /* as if INT_MAX were 5 */
    ht_tensor *x = numbers(HT_FLOAT32, false), *y = numbers(HT_FLOAT32, false);
    assert_int_equal(ht_bcast(HT_COMM_WORLD, x, ht_test_size - 1), HT_SUCCESS);
    assert_numbers(x, 100 * (ht_test_size - 1), 1);
    assert_int_equal(ht_allreduce(HT_COMM_WORLD, y, y, HT_OP_SUM), HT_SUCCESS);
    assert_numbers(y, rank_sum(), ht_test_size);
    ht__count_set_limit(0);
    ht_scope_close(scope);
}

static void test_requests_complete_in_any_order(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = numbers(HT_FLOAT64, true), *y = numbers(HT_FLOAT64, false);
    ht_request *first = ht_ibcast(HT_COMM_WORLD, x, 0);
    ht_request *second = ht_iallreduce(HT_COMM_WORLD, y, y, HT_OP_SUM);
    bool done = false;

    (void)state;
    assert_int_equal(ht_wait(&second), HT_SUCCESS);
    assert_null(second);
    while (!done)
        assert_int_equal(ht_test(first, &done), HT_SUCCESS);
    assert_int_equal(ht_wait_all(1, &first), HT_SUCCESS);
    assert_numbers(x, 0, 1);
    assert_numbers(y, rank_sum(), ht_test_size);

    ht_request *left = ht_ibcast(HT_COMM_WORLD, x, 0);

    ht_release(left); /* waits */
    ht_scope_close(scope);
}

static void test_alltoall_transposes_blocks(void **state)
{
    ht_scope *scope = ht_scope_open();
    int32_t mine[2 * 16];

    (void)state;
    for (int i = 0; i < 2 * ht_test_size; i++)
        mine[i] = 100 * ht_test_rank + i;

    ht_tensor *x = ht_array(mine, HT_SHAPE(2 * ht_test_size), HT_INT32, HT_LOCAL);

    assert_int_equal(ht_alltoall(HT_COMM_WORLD, x, x), HT_SUCCESS);
    for (int i = 0; i < 2 * ht_test_size; i++)
        assert_int_equal(((const int32_t *)ht_test_data(x))[i],
                         100 * (i / 2) + 2 * ht_test_rank + i % 2);
    ht_scope_close(scope);
}

static void test_misuse_is_reported(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = numbers(HT_FLOAT32, false), *y = numbers(HT_FLOAT64, false);
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_allreduce(HT_COMM_WORLD, x, y, HT_OP_SUM), HT_ERR_DTYPE);
    ht_error_get(&message);
    assert_string_equal(message,
                        "ht_allreduce: send is float32, recv is float64, expected the same dtype");
    assert_int_equal(ht_allreduce(HT_COMM_WORLD, x, x, HT_OP_AND), HT_ERR_DTYPE);
    assert_string_equal(message, "ht_allreduce: and is not defined for float32");
    assert_int_equal(ht_bcast(HT_COMM_WORLD, x, 99), HT_ERR_ARGUMENT);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_scope_close(scope);
}

HT_TEST_SUITE(test_collective, cmocka_unit_test(test_allreduce_of_each_dtype),
              cmocka_unit_test(test_sums_of_narrow_integers_wrap),
              cmocka_unit_test(test_views_are_packed), cmocka_unit_test(test_reduce_scan_exscan),
              cmocka_unit_test(test_logical_and_or),
              cmocka_unit_test(test_logical_results_of_integers_are_0_or_1),
              cmocka_unit_test(test_bfloat16_rounds_to_nearest), cmocka_unit_test(test_long_counts),
              cmocka_unit_test(test_requests_complete_in_any_order),
              cmocka_unit_test(test_alltoall_transposes_blocks),
              cmocka_unit_test(test_misuse_is_reported));
