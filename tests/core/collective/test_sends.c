/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Sends of each manner, and parts gathered and dealt out without waiting. */
#include "core/collective/call.h"
#include "ht_test.h"
#include "tensor_check.h"

#include "ht/manipulations.h"

enum { COLUMNS = 3, MOST = 8 };

typedef ht_status send_fn(ht_comm *comm, ht_tensor *buffer, int dest, int tag);
typedef ht_request *isend_fn(ht_comm *comm, ht_tensor *buffer, int dest, int tag);

static ht_tensor *numbers(int64_t rows, ht_dtype dtype, double first)
{
    ht_tensor *x = ht_arange(first, first + (double)(rows * COLUMNS), 1, dtype, HT_LOCAL);

    return ht_reshape(x, HT_SHAPE(rows, COLUMNS));
}

/* The receive has begun everywhere before the sends, so that even a ready one may. */
static void around(send_fn *send, isend_fn *isend, ht_tensor *x, ht_tensor *expected)
{
    int next = (ht_test_rank + 1) % ht_test_size;
    int previous = (ht_test_rank + ht_test_size - 1) % ht_test_size;
    ht_tensor *come = ht_zeros_like(expected);
    ht_request *receive = ht_irecv(HT_COMM_WORLD, come, previous, 5), *sent = NULL;

    assert_int_equal(ht_barrier(HT_COMM_WORLD), HT_SUCCESS);
    if (isend != NULL)
        sent = isend(HT_COMM_WORLD, x, next, 5);
    else
        assert_int_equal(send(HT_COMM_WORLD, x, next, 5), HT_SUCCESS);
    assert_int_equal(ht_wait(&receive), HT_SUCCESS);
    if (isend != NULL)
        assert_int_equal(ht_wait(&sent), HT_SUCCESS);
    ht_test_expect_same(come, expected, 0);
}

static void every_send_mode_delivers(void **state)
{
    static send_fn *const sends[] = {ht_send, ht_ssend, ht_bsend, ht_rsend};
    static isend_fn *const isends[] = {ht_isend, ht_issend, ht_ibsend, ht_irsend};
    int previous = (ht_test_rank + ht_test_size - 1) % ht_test_size;

    (void)state;
    for (int i = 0; i < 16; i++) {
        ht_scope *scope = ht_scope_open();
        ht_dtype dtype = i % 3 == 0 ? HT_FLOAT64 : HT_INT32;
        int64_t rows = i < 8 ? 5 : 40000; /* a short message, and one that MPI does not buffer */
        ht_tensor *x = numbers(rows, dtype, ht_test_rank);

        if (i % 2 != 0)
            x = ht_transpose(ht_copy(ht_transpose(x, 0, 1)), 0, 1);
        ht__count_set_limit(i % 5 == 4 ? 7 : 0);
        around(sends[i % 4], i % 8 < 4 ? NULL : isends[i % 4], x, numbers(rows, dtype, previous));
        ht__count_set_limit(0);
        ht_scope_close(scope);
    }
}

/* All send before any receives, and write to what they have sent. */
static void test_buffered_sends_do_not_wait(void **state)
{
    enum { MESSAGES = 5, LONG = 60000 };
    int next = (ht_test_rank + 1) % ht_test_size;
    int previous = (ht_test_rank + ht_test_size - 1) % ht_test_size;
    ht_tensor *x = numbers(LONG, HT_FLOAT32, 0), *come = ht_zeros_like(x);

    (void)state;
    for (int i = 0; i < MESSAGES; i++) {
        ht_fill_(x, 10 * ht_test_rank + i);
        if (i % 2 == 0) {
            assert_int_equal(ht_bsend(HT_COMM_WORLD, x, next, i), HT_SUCCESS);
            continue;
        }

        ht_request *request = ht_ibsend(HT_COMM_WORLD, x, next, i);
        bool done = false;

        assert_int_equal(ht_test(request, &done), HT_SUCCESS);
        assert_true(done);
        assert_int_equal(ht_wait(&request), HT_SUCCESS);
    }
    for (int i = MESSAGES - 1; i >= 0; i--) {
        assert_int_equal(ht_recv(HT_COMM_WORLD, come, previous, i), HT_SUCCESS);
        ht_test_expect_same(
            come, ht_full(HT_SHAPE(LONG, COLUMNS), 10 * previous + i, HT_FLOAT32, HT_LOCAL), 0);
    }
    assert_int_equal(ht_bsend(HT_COMM_WORLD, ht_narrow(x, 0, 0, 0), next, 9), HT_SUCCESS);
    assert_int_equal(ht_recv(HT_COMM_WORLD, ht_narrow(come, 0, 0, 0), previous, 9), HT_SUCCESS);
}

/* A synchronous send does not complete before the other rank has begun to receive. */
static void test_synchronous_sends_wait(void **state)
{
    ht_tensor *x = numbers(1, HT_INT32, 7), *come = ht_zeros_like(x);
    bool done = true;

    (void)state;
    if (ht_test_rank == 0) {
        ht_request *request = ht_issend(HT_COMM_WORLD, x, ht_test_size - 1, 1);

        assert_int_equal(ht_test(request, &done), HT_SUCCESS);
        assert_false(done);
        ht_barrier(HT_COMM_WORLD);
        if (ht_test_size == 1)
            assert_int_equal(ht_recv(HT_COMM_WORLD, come, 0, 1), HT_SUCCESS);
        assert_int_equal(ht_wait(&request), HT_SUCCESS);
        return;
    }
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == ht_test_size - 1)
        assert_int_equal(ht_recv(HT_COMM_WORLD, come, 0, 1), HT_SUCCESS);
}

/* The rows of a tensor on each rank: r on rank r, or two on each if `even`; *first is this rank's
 * first row. */
static int64_t divide(bool even, int64_t counts[MOST], int64_t *first)
{
    int64_t total = 0;

    *first = 0;
    for (int r = 0; r < ht_test_size; r++) {
        counts[r] = even ? 2 : r;
        *first += r < ht_test_rank ? counts[r] : 0;
        total += counts[r];
    }
    return total;
}

static void gather_and_scatter(bool even, ht_dtype dtype)
{
    int root = ht_test_size / 2;
    bool is_root = ht_test_rank == root;
    int64_t counts[MOST], first, total = divide(even, counts, &first);
    ht_tensor *whole = numbers(total, dtype, 0);
    ht_tensor *part = numbers(counts[ht_test_rank], dtype, (double)(first * COLUMNS));
    ht_tensor *all = ht_zeros_like(whole), *at_root = is_root ? ht_zeros_like(whole) : NULL;
    ht_tensor *back = ht_transpose(
        ht_zeros(HT_SHAPE(COLUMNS, counts[ht_test_rank]), dtype, HT_LOCAL), 0, 1);
    ht_request *requests[3];

    requests[0] = even ? ht_iallgather(HT_COMM_WORLD, part, all)
                       : ht_iallgatherv(HT_COMM_WORLD, part, all, counts);
    requests[1] = even ? ht_igather(HT_COMM_WORLD, part, at_root, root)
                       : ht_igatherv(HT_COMM_WORLD, part, at_root, counts, root);
    requests[2] = even ? ht_iscatter(HT_COMM_WORLD, is_root ? whole : NULL, back, root)
                       : ht_iscatterv(HT_COMM_WORLD, is_root ? whole : NULL, back, counts, root);
    assert_int_equal(ht_wait_all(3, requests), HT_SUCCESS);
    ht_test_expect_same(all, whole, 0);
    if (is_root)
        ht_test_expect_same(at_root, whole, 0);
    ht_test_expect_same(back, part, 0);
}

static void gather_and_scatter_parts(void **state)
{
    (void)state;
    for (int i = 0; i < 24; i++) {
        ht_scope *scope = ht_scope_open();
        ht_dtype dtype = i % 4 < 2 ? HT_FLOAT64 : HT_INT16;

        ht__count_set_limit(i % 3 == 0 ? 4 : 0);
        gather_and_scatter(i % 2 == 0, dtype);
        ht_scope_close(scope);
    }
    ht__count_set_limit(0);
}

static void counts_displs_shape_divides_any_axis(void **state)
{
    int64_t counts[MOST], displs[MOST], shape[3] = {5, 10, 2}, output[3], at = 0, mine;

    (void)state;
    assert_int_equal(
        ht_comm_counts_displs_shape(HT_COMM_WORLD, 3, shape, -2, counts, displs, output),
        HT_SUCCESS);
    ht_comm_chunk(HT_COMM_WORLD, 10, ht_test_rank, NULL, &mine);
    for (int r = 0; r < ht_test_size; r++) {
        assert_int_equal(displs[r], at);
        at += counts[r];
    }
    assert_int_equal(at, 10);
    assert_int_equal(counts[ht_test_rank], mine);
    assert_int_equal(output[0], 5);
    assert_int_equal(output[1], mine * ht_test_size);
    assert_int_equal(output[2], 2);
    assert_int_equal(ht_comm_counts_displs_shape(HT_COMM_WORLD, 3, shape, 0, NULL, NULL, NULL),
                     HT_SUCCESS);
    HT_TEST_EXPECT_ERROR(
        ht_comm_counts_displs_shape(HT_COMM_WORLD, 3, shape, 3, counts, displs, output),
        HT_ERR_ARGUMENT, "ht_comm_counts_displs_shape: axis is 3, expected -3 to 2");
}

static void test_misuse(void **state)
{
    ht_tensor *x = numbers(2, HT_FLOAT32, 0);
    ht_request *request;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    request = ht_igatherv(HT_COMM_WORLD, x, x, (int64_t[MOST]){0}, 0);
    assert_int_equal(ht_wait(&request), HT_ERR_SHAPE);
    assert_message("ht_igatherv: this rank's part has 2 rows, but its count is 0");
    request = ht_issend(HT_COMM_WORLD, NULL, 0, 0);
    assert_null(request);
    assert_message("ht_issend: buffer is NULL");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_sends, cmocka_unit_test(every_send_mode_delivers),
              cmocka_unit_test(test_buffered_sends_do_not_wait),
              cmocka_unit_test(test_synchronous_sends_wait),
              cmocka_unit_test(gather_and_scatter_parts),
              cmocka_unit_test(counts_displs_shape_divides_any_axis),
              cmocka_unit_test(test_misuse));
