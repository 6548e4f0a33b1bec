/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Non-blocking reductions and all-to-all give the results of blocking ones, for every dtype and
 * operation, strided or not; and a reduction whose result stays in parts. */
#include "core/collective/call.h"
#include "ht_test.h"
#include "tensor_check.h"

#include "ht/manipulations.h"

enum { ROWS = 3, COLUMNS = 4 };

typedef enum kind { ALLREDUCE, REDUCE, SCAN, EXSCAN, KINDS } kind;

/* Small numbers that differ between ranks; stored by columns when `turned`. */
static ht_tensor *numbers(int64_t rows, ht_dtype dtype, bool turned)
{
    ht_tensor *x = ht_arange(0, (double)(rows * COLUMNS), 1, HT_FLOAT64, HT_LOCAL);

    x = ht_remainder(ht_add_scalar(ht_mul_scalar(x, 1 + ht_test_rank), ht_test_rank), ht_scalar(5));
    x = ht_astype(x, dtype);
    return turned ? ht_transpose(ht_reshape(x, HT_SHAPE(COLUMNS, rows)), 0, 1)
                  : ht_reshape(x, HT_SHAPE(rows, COLUMNS));
}

static ht_status waits(kind which, ht_tensor *send, ht_tensor *recv, ht_reduce_op op, int root)
{
    switch (which) {
    case ALLREDUCE:
        return ht_allreduce(HT_COMM_WORLD, send, recv, op);
    case REDUCE:
        return ht_reduce(HT_COMM_WORLD, send, recv, op, root);
    case SCAN:
        return ht_scan(HT_COMM_WORLD, send, recv, op);
    default:
        return ht_exscan(HT_COMM_WORLD, send, recv, op);
    }
}

static ht_request *posts(kind which, ht_tensor *send, ht_tensor *recv, ht_reduce_op op, int root)
{
    switch (which) {
    case ALLREDUCE:
        return ht_iallreduce(HT_COMM_WORLD, send, recv, op);
    case REDUCE:
        return ht_ireduce(HT_COMM_WORLD, send, recv, op, root);
    case SCAN:
        return ht_iscan(HT_COMM_WORLD, send, recv, op);
    default:
        return ht_iexscan(HT_COMM_WORLD, send, recv, op);
    }
}

static void compare(kind which, ht_dtype dtype, ht_reduce_op op)
{
    ht_scope *scope = ht_scope_open();
    int root = ht_test_size - 1;
    bool turned = ((int)dtype + (int)op) % 2 != 0;
    ht_tensor *x = numbers(ROWS, dtype, turned), *y = ht_zeros_like(x), *z = ht_zeros_like(x);
    ht_tensor *in_place = ht_copy(x), *expected = ht_copy(x);
    ht_request *first = posts(which, x, y, op, root);
    ht_request *second = posts(which, in_place, in_place, op, root);

    assert_int_equal(waits(which, x, z, op, root), HT_SUCCESS);
    assert_int_equal(waits(which, expected, expected, op, root), HT_SUCCESS);
    assert_int_equal(ht_wait(&second), HT_SUCCESS);
    assert_int_equal(ht_wait(&first), HT_SUCCESS);
    ht_test_expect_same(y, z, 0);
    ht_test_expect_same(in_place, expected, 0);
    ht_scope_close(scope);
}

static void test_reductions_of_each_dtype(void **state)
{
    (void)state;
    for (int limit = 0; limit <= 5; limit += 5) {
        ht__count_set_limit(limit);
        for (int i = 0; i < KINDS * HT_DTYPE_COUNT * 6; i++) {
            ht_dtype dtype = (ht_dtype)(i / 6 % HT_DTYPE_COUNT);
            ht_reduce_op op = (ht_reduce_op)(i % 6);

            kind which = (kind)(i / 6 / HT_DTYPE_COUNT);
            bool drawn = limit == 0 ? ((int)which + (int)dtype + (int)op) % 2 == 0 : i % 5 == 0;

            if (ht__mpi_op(op, dtype) != MPI_OP_NULL && drawn)
                compare(which, dtype, op);
        }
    }
    ht__count_set_limit(0);
}

/* 256 + 1.5 + ... in float32, rounded once per addition. */
static void test_halves_scan_in_float32(void **state)
{
    static const ht_dtype halves[] = {HT_FLOAT16, HT_BFLOAT16};

    (void)state;
    for (int i = 0; i < 2; i++) {
        ht_tensor *x = ht_full(HT_SHAPE(9), 0.5, halves[i], HT_LOCAL), *y = ht_zeros_like(x);
        ht_request *request = ht_iscan(HT_COMM_WORLD, x, y, HT_OP_SUM);

        assert_int_equal(ht_wait(&request), HT_SUCCESS);
        ht_test_expect_same(y, ht_full(HT_SHAPE(9), 0.5 * (ht_test_rank + 1), halves[i], HT_LOCAL),
                            0);
    }
}

static void test_alltoall(void **state)
{
    (void)state;
    for (int i = 0; i < HT_DTYPE_COUNT; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = numbers(ht_test_size, (ht_dtype)i, i % 2 != 0), *y = ht_zeros_like(x);
        ht_tensor *z = ht_zeros_like(x);
        ht_request *request = ht_ialltoall(HT_COMM_WORLD, x, y);

        assert_int_equal(ht_alltoall(HT_COMM_WORLD, x, z), HT_SUCCESS);
        assert_int_equal(ht_wait(&request), HT_SUCCESS);
        ht_test_expect_same(y, z, 0);
        request = ht_ialltoall(HT_COMM_WORLD, x, x);
        assert_int_equal(ht_wait(&request), HT_SUCCESS);
        ht_test_expect_same(x, z, 0);
        ht_scope_close(scope);
    }
}

/* Rank r keeps (r + 1) % 3 rows of the reduction; if `inside`, the result is a part of the sent
 * tensor. */
static void reduce_scatter(ht_dtype dtype, ht_reduce_op op, bool inside)
{
    ht_scope *scope = ht_scope_open();
    int64_t start = 0, rows = 0;

    for (int r = 0; r < ht_test_size; r++) {
        start += r < ht_test_rank ? (r + 1) % 3 : 0;
        rows += (r + 1) % 3;
    }

    int64_t end = start + (ht_test_rank + 1) % 3;
    ht_tensor *x = numbers(rows, dtype, (int)dtype % 2 != 0), *all = ht_zeros_like(x);
    ht_tensor *part = inside ? ht_narrow(x, 0, start, end)
                             : ht_zeros(HT_SHAPE(end - start, COLUMNS), dtype, HT_LOCAL);

    assert_int_equal(ht_allreduce(HT_COMM_WORLD, x, all, op), HT_SUCCESS);
    assert_int_equal(ht_reduce_scatter(HT_COMM_WORLD, x, part, op), HT_SUCCESS);
    ht_test_expect_same(part, ht_narrow(all, 0, start, end), 0);
    ht_scope_close(scope);
}

static void test_reduce_scatter(void **state)
{
    (void)state;
    for (int limit = 0; limit <= 3; limit += 3) {
        ht__count_set_limit(limit);
        for (int i = 0; i < HT_DTYPE_COUNT * 6; i++) {
            if (ht__mpi_op((ht_reduce_op)(i % 6), (ht_dtype)(i / 6)) != MPI_OP_NULL)
                reduce_scatter((ht_dtype)(i / 6), (ht_reduce_op)(i % 6), i % 5 == 0);
        }
    }
    ht__count_set_limit(0);
}

static void test_misuse(void **state)
{
    ht_tensor *x = numbers(2 * ht_test_size, HT_FLOAT32, false);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_reduce_scatter(HT_COMM_WORLD, x, ht_narrow(x, 0, 0, 1), HT_OP_SUM),
                         HT_ERR_SHAPE, "ht_reduce_scatter: the parts together have");
    HT_TEST_EXPECT_ERROR(ht_reduce_scatter(HT_COMM_WORLD, x, ht_narrow(x, 0, 0, 2), HT_OP_AND),
                         HT_ERR_DTYPE, "ht_reduce_scatter: and is not defined for float32");
}

HT_TEST_SUITE(test_waitless, cmocka_unit_test(test_reductions_of_each_dtype),
              cmocka_unit_test(test_halves_scan_in_float32), cmocka_unit_test(test_alltoall),
              cmocka_unit_test(test_reduce_scatter), cmocka_unit_test(test_misuse));
