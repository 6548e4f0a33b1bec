/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Rows and tensors dealt out between all ranks, as many as each pair has to exchange. */
#include "core/collective/call.h"
#include "ht_test.h"
#include "tensor_check.h"

#include "ht/manipulations.h"

enum { COLUMNS = 2, MOST = 8 };

/* Rows from one rank to another. */
static int64_t rows_between(int from, int to)
{
    return (from + 2 * to) % 3;
}

static double cell(int from, int to, int64_t k)
{
    return 16 * (7 * from + to) + (double)k;
}

/* The rows that this rank sends to all ranks, or receives from all. */
static ht_tensor *rows(bool received, ht_dtype dtype, int64_t counts[MOST], bool turned)
{
    double data[MOST * 3 * COLUMNS] = {0};
    int64_t n = 0;

    for (int r = 0; r < ht_test_size; r++) {
        int from = received ? r : ht_test_rank, to = received ? ht_test_rank : r;

        counts[r] = rows_between(from, to);
        for (int64_t k = 0; k < counts[r] * COLUMNS; k++)
            data[n++] = cell(from, to, k);
    }

    ht_tensor *x = ht_astype(ht_array(data, HT_SHAPE(n / COLUMNS, COLUMNS), HT_FLOAT64, HT_LOCAL),
                             dtype);

    return turned ? ht_transpose(ht_copy(ht_transpose(x, 0, 1)), 0, 1) : x;
}

static void deal(ht_dtype dtype, bool turned)
{
    ht_scope *scope = ht_scope_open();
    int64_t sent[MOST], come[MOST];
    ht_tensor *send = rows(false, dtype, sent, turned);
    ht_tensor *expected = rows(true, dtype, come, !turned), *recv = ht_zeros_like(expected);
    ht_tensor *later = ht_zeros_like(expected);
    ht_request *request = ht_ialltoallv(HT_COMM_WORLD, send, sent, later, come);

    assert_int_equal(ht_alltoallv(HT_COMM_WORLD, send, sent, recv, come), HT_SUCCESS);
    assert_int_equal(ht_wait(&request), HT_SUCCESS);
    ht_test_expect_same(recv, expected, 0);
    ht_test_expect_same(later, expected, 0);
    ht_scope_close(scope);
}

static void test_rows_of_each_dtype(void **state)
{
    (void)state;
    for (int limit = 0; limit <= 2; limit += 2) {
        ht__count_set_limit(limit);
        for (int i = 0; i < HT_DTYPE_COUNT; i++)
            deal((ht_dtype)i, i % 2 != 0);
    }
    ht__count_set_limit(0);
}

/* (from, to) and (to, from) of one length, so that the rows fit in place. */
static void test_rows_in_place(void **state)
{
    int64_t counts[MOST], total = 0;
    int32_t data[MOST * 3], n = 0, expected[MOST * 3];

    (void)state;
    for (int r = 0; r < ht_test_size; r++) {
        counts[r] = (r + ht_test_rank) % 3;
        total += counts[r];
        for (int k = 0; k < counts[r]; k++) {
            data[n] = 100 * ht_test_rank + 10 * r + k;
            expected[n++] = 100 * r + 10 * ht_test_rank + k;
        }
    }

    ht_tensor *x = ht_array(data, HT_SHAPE(total), HT_INT32, HT_LOCAL);

    assert_int_equal(ht_alltoallv(HT_COMM_WORLD, x, counts, x, counts), HT_SUCCESS);
    ht_test_expect_same(x, ht_array(expected, HT_SHAPE(total), HT_INT32, HT_LOCAL), 0);
}

static ht_dtype dtype_between(int from, int to)
{
    return (ht_dtype)((5 * from + to) % HT_DTYPE_COUNT);
}

/* A block (2, 3) of numbers, small enough for any dtype; of a larger matrix and turned, if it is
 * even. */
static ht_tensor *block(int from, int to, bool filled)
{
    ht_dtype dtype = dtype_between(from, to);
    ht_tensor *matrix = ht_zeros(HT_SHAPE(4, 5), dtype, HT_LOCAL);
    bool even = (from + to) % 2 == 0;
    ht_tensor *x = even ? ht_narrow(ht_narrow(matrix, 0, 1, 4), 1, 2, 4)
                        : ht_zeros(HT_SHAPE(2, 3), dtype, HT_LOCAL);

    x = even ? ht_transpose(x, 0, 1) : x;
    if (filled)
        ht_copy_(x, ht_reshape(ht_arange(from + to, from + to + 6, 1, HT_FLOAT32, HT_LOCAL),
                               HT_SHAPE(2, 3)));
    return x;
}

static void test_tensors_of_any_kind(void **state)
{
    ht_tensor *send[MOST], *recv[MOST];

    (void)state;
    for (int limit = 0; limit <= 2; limit += 2) {
        ht_scope *scope = ht_scope_open();

        ht__count_set_limit(limit);
        for (int r = 0; r < ht_test_size; r++) {
            send[r] = (ht_test_rank + r) % 3 == 1 ? NULL : block(ht_test_rank, r, true);
            recv[r] = (ht_test_rank + r) % 3 == 1 ? NULL : block(r, ht_test_rank, false);
        }
        assert_int_equal(ht_alltoallw(HT_COMM_WORLD, send, recv), HT_SUCCESS);
        for (int r = 0; r < ht_test_size; r++) {
            if (recv[r] != NULL)
                ht_test_expect_same(recv[r], block(r, ht_test_rank, true), 0);
        }
        ht_scope_close(scope);
    }
    ht__count_set_limit(0);
}

/* Columns of one matrix become rows of it: all of them are read before any is written. Backwards,
 * too. */
static void test_tensors_of_one_memory(void **state)
{
    int64_t n = ht_test_size;
    ht_tensor *x = ht_reshape(ht_arange(0, (double)(n * n), 1, HT_INT64, HT_LOCAL), HT_SHAPE(n, n));
    ht_tensor *send[MOST], *recv[MOST], *old = ht_copy(x);

    (void)state;
    ht_add_(x, ht_scalar(100 * ht_test_rank), 1);
    for (int r = 0; r < n; r++) {
        send[r] = ht_getitem(x, HT_KEY(ht_slice_step(HT_OPEN, HT_OPEN, -1), r));
        recv[r] = ht_getitem(x, HT_KEY(r));
    }
    assert_int_equal(ht_alltoallw(HT_COMM_WORLD, send, recv), HT_SUCCESS);
    for (int r = 0; r < n; r++)
        ht_test_expect_same(
            recv[r],
            ht_add_scalar(
                ht_getitem(old, HT_KEY(ht_slice_step(HT_OPEN, HT_OPEN, -1), ht_test_rank)),
                100 * r),
            0);
}

/* A number from each to each. */
static void test_tensors_without_axes(void **state)
{
    ht_tensor *send[MOST], *recv[MOST];

    (void)state;
    for (int r = 0; r < ht_test_size; r++) {
        send[r] = ht_full(0, NULL, 10 * ht_test_rank + r, HT_FLOAT32, HT_LOCAL);
        recv[r] = ht_zeros(0, NULL, HT_FLOAT32, HT_LOCAL);
    }
    assert_int_equal(ht_alltoallw(HT_COMM_WORLD, send, recv), HT_SUCCESS);
    for (int r = 0; r < ht_test_size; r++)
        assert_true(ht_item(recv[r]) == 10 * r + ht_test_rank);
}

static void test_misuse(void **state)
{
    int64_t counts[MOST] = {0}, one_more[MOST] = {0};
    ht_tensor *x = ht_zeros(HT_SHAPE(ht_test_size, 2), HT_FLOAT32, HT_LOCAL);
    ht_tensor *list[MOST] = {NULL}, *other[MOST] = {NULL};

    (void)state;
    for (int r = 0; r < ht_test_size; r++)
        counts[r] = one_more[r] = 1;
    one_more[0]++;
    list[0] = x;
    HT_TEST_EXPECT_ERROR(ht_alltoallv(HT_COMM_WORLD, x, one_more, x, counts), HT_ERR_SHAPE,
                         "ht_alltoallv: the local part of send is");
    HT_TEST_EXPECT_ERROR(ht_alltoallv(HT_COMM_WORLD, x, NULL, x, counts), HT_ERR_ARGUMENT,
                         "ht_alltoallv: send_counts is NULL");
    counts[0] = -1;
    HT_TEST_EXPECT_ERROR(ht_alltoallv(HT_COMM_WORLD, x, one_more, x, counts), HT_ERR_ARGUMENT,
                         "ht_alltoallv: recv_counts[0] is -1, expected at least 0 rows");
    HT_TEST_EXPECT_ERROR(ht_alltoallw(HT_COMM_WORLD, list, other), HT_ERR_SHAPE,
                         "ht_alltoallw: rank 0 sends");
    HT_TEST_EXPECT_ERROR(ht_alltoallw(HT_COMM_WORLD, NULL, other), HT_ERR_ARGUMENT,
                         "ht_alltoallw: send is NULL");
    HT_TEST_EXPECT_ERROR(ht_alltoallv(HT_COMM_WORLD,
                                      ht_zeros(HT_SHAPE(ht_test_size), HT_FLOAT32, HT_LOCAL),
                                      (int64_t[MOST]){1, 1, 1, 1, 1, 1, 1, 1}, x,
                                      (int64_t[MOST]){1, 1, 1, 1, 1, 1, 1, 1}),
                         HT_ERR_SHAPE, "expected shapes that differ along axis 0 only");
}

HT_TEST_SUITE(test_deals, cmocka_unit_test(test_rows_of_each_dtype),
              cmocka_unit_test(test_rows_in_place), cmocka_unit_test(test_tensors_of_any_kind),
              cmocka_unit_test(test_tensors_of_one_memory),
              cmocka_unit_test(test_tensors_without_axes), cmocka_unit_test(test_misuse));
