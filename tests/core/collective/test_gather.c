/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Parts of different length gathered and scattered, slabs exchanged between any two axes, and
 * tensors sent around a ring. */
#include "core/collective/call.h"
#include "ht_test.h"
#include "tensor_check.h"

#include <stdio.h>

#include "ht/factories.h"
#include "ht/manipulations.h"

enum { COLUMNS = 3, MOST = 7 * 8 * COLUMNS };

/* Rank r holds r rows, so rank 0 none; row k of the complete tensor is (10 k, 10 k + 1, 10 k + 2).
 */
static int64_t first_row(int rank)
{
    return (int64_t)rank * (rank - 1) / 2;
}

static ht_tensor *rows(int64_t first, int64_t count)
{
    double data[MOST + 1];

    for (int64_t i = 0; i < count * COLUMNS; i++)
        data[i] = (double)(10 * (first + i / COLUMNS) + i % COLUMNS);
    return ht_array(data, HT_SHAPE(count, COLUMNS), HT_FLOAT64, HT_LOCAL);
}

static ht_tensor *no_rows(int64_t count)
{
    static const double zeros[MOST + 1];

    return ht_array(zeros, HT_SHAPE(count, COLUMNS), HT_FLOAT64, HT_LOCAL);
}

static void assert_rows(ht_tensor *x, int64_t first, int64_t count)
{
    const double *data = ht_test_data(ht_contiguous(x));

    for (int64_t i = 0; i < count * COLUMNS; i++)
        assert_true(data[i] == (double)(10 * (first + i / COLUMNS) + i % COLUMNS));
}

static void gather_and_scatter(void)
{
    int root = ht_test_size / 2;
    int64_t total = first_row(ht_test_size), mine = ht_test_rank;
    ht_tensor *part = rows(first_row(ht_test_rank), mine);
    ht_tensor *all = no_rows(total), *at_root = no_rows(total), *back = no_rows(mine);

    assert_int_equal(ht_allgather(HT_COMM_WORLD, part, all), HT_SUCCESS);
    assert_rows(all, 0, total);
    assert_int_equal(ht_gather(HT_COMM_WORLD, part, ht_test_rank == root ? at_root : NULL, root),
                     HT_SUCCESS);
    if (ht_test_rank == root)
        assert_rows(at_root, 0, total);
    assert_int_equal(ht_scatter(HT_COMM_WORLD, ht_test_rank == root ? at_root : NULL, back, root),
                     HT_SUCCESS);
    assert_rows(back, first_row(ht_test_rank), mine);
}

static void test_parts_of_different_length(void **state)
{
    ht_scope *scope = ht_scope_open();

    (void)state;
    gather_and_scatter();
    ht_scope_close(scope);
}

static void test_parts_beyond_int(void **state)
{
    ht_scope *scope = ht_scope_open();

    (void)state;
    ht__count_set_limit(4); /* as if INT_MAX were 4 */
    gather_and_scatter();
    ht__count_set_limit(0);
    ht_scope_close(scope);
}

static void test_iallgather_of_canonical_parts(void **state)
{
    ht_scope *scope = ht_scope_open();
    int64_t total = ht_test_size + 2, start, count;

    (void)state;
    ht_comm_chunk(HT_COMM_WORLD, total, ht_test_rank, &start, &count);

    ht_tensor *all = no_rows(total);
    ht_request *request = ht_iallgather(HT_COMM_WORLD, rows(start, count), all);

    assert_int_equal(ht_wait(&request), HT_SUCCESS);
    assert_rows(all, 0, total);
    ht_scope_close(scope);
}

/* The element at (i, j, k) of the complete (R, C, D) tensor. */
static float cell(int64_t i, int64_t j, int64_t k)
{
    return (float)(100 * i + 10 * j + k);
}

static void assert_cells(ht_tensor *x, const int64_t first[3])
{
    const int64_t *n = ht_tensor_lshape(x);
    const float *data = ht_test_data(ht_contiguous(x));

    for (int64_t i = 0; i < n[0]; i++) {
        for (int64_t j = 0; j < n[1]; j++) {
            for (int64_t k = 0; k < n[2]; k++)
                assert_true(data[(i * n[1] + j) * n[2] + k] ==
                            cell(first[0] + i, first[1] + j, first[2] + k));
        }
    }
}

/* This rank's slab of the complete tensor along `axis`; its last two axes are swapped in memory if
 * `strided`. */
static ht_tensor *slab(const int64_t shape[3], int axis, bool filled, bool strided,
                       int64_t first[3])
{
    int64_t n[3] = {shape[0], shape[1], shape[2]};
    float data[9 * 9 * 9] = {0};

    first[0] = first[1] = first[2] = 0;
    ht_comm_chunk(HT_COMM_WORLD, shape[axis], ht_test_rank, &first[axis], &n[axis]);
    for (int64_t i = 0; filled && i < n[0] * n[1] * n[2]; i++) {
        int64_t j = strided ? i % n[1] : i / n[2] % n[1], k = strided ? i / n[1] % n[2] : i % n[2];

        data[i] = cell(first[0] + i / (n[1] * n[2]), first[1] + j, first[2] + k);
    }
    if (!strided)
        return ht_array(data, 3, n, HT_FLOAT32, HT_LOCAL);
    return ht_transpose(ht_array(data, HT_SHAPE(n[0], n[2], n[1]), HT_FLOAT32, HT_LOCAL), 1, 2);
}

static void exchange_slabs(const int64_t shape[3], int from, int to, bool strided)
{
    int64_t first[3], send_start[17] = {0}, recv_start[17] = {0}, count;
    ht_tensor *send = slab(shape, from, true, strided, first);
    ht_tensor *recv = slab(shape, to, false, !strided, first);
    ht_request *request;

    for (int r = 0; r < ht_test_size; r++) {
        ht_comm_chunk(HT_COMM_WORLD, shape[to], r, &send_start[r], &count);
        send_start[r + 1] = send_start[r] + count;
        ht_comm_chunk(HT_COMM_WORLD, shape[from], r, &recv_start[r], &count);
        recv_start[r + 1] = recv_start[r] + count;
    }
    request = ht__comm_alltoall_axis(HT_COMM_WORLD, send, to, send_start, recv, from, recv_start,
                                     "test");
    assert_int_equal(ht_wait(&request), HT_SUCCESS);
    assert_cells(recv, first);
}

static void test_slabs_between_axes(void **state)
{
    static const int64_t shapes[][3] = {{5, 6, 7}, {1, 8, 2}, {9, 0, 3}};

    (void)state;
    for (int limit = 0; limit <= 2; limit += 2) {
        ht__count_set_limit(limit);
        for (int s = 0; s < 3; s++) {
            for (int pair = 0; pair < 9; pair++) {
                ht_scope *scope = ht_scope_open();

                if (pair / 3 != pair % 3)
                    exchange_slabs(shapes[s], pair / 3, pair % 3, pair % 2 != 0);
                ht_scope_close(scope);
            }
        }
    }
    ht__count_set_limit(0);
}

static void isend_and_irecv_in_a_ring(void **state)
{
    ht_scope *scope = ht_scope_open();
    int next = (ht_test_rank + 1) % ht_test_size;
    int previous = (ht_test_rank + ht_test_size - 1) % ht_test_size;
    ht_tensor *come = ht_transpose(no_rows(COLUMNS), 0, 1);
    ht_request *sent = ht_isend(HT_COMM_WORLD, ht_transpose(rows(ht_test_rank, COLUMNS), 0, 1),
                                next, 32767);

    (void)state;
    assert_int_equal(ht_recv(HT_COMM_WORLD, come, previous, 32767), HT_SUCCESS);
    assert_int_equal(ht_wait(&sent), HT_SUCCESS);
    assert_rows(ht_transpose(come, 0, 1), previous, COLUMNS);
    ht_scope_close(scope);
}

static void test_misuse_is_reported(void **state)
{
    ht_scope *scope = ht_scope_open();
    const char *message;
    char expected[80];

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_send(HT_COMM_WORLD, rows(0, 1), ht_test_size, 0), HT_ERR_ARGUMENT);
    ht_error_get(&message);
    snprintf(expected, sizeof expected,
             "ht_send: dest is %d, expected a rank of a communicator of %d", ht_test_size,
             ht_test_size);
    assert_string_equal(message, expected);
    assert_null(ht_irecv(HT_COMM_WORLD, rows(0, 1), 0, 32768));
    assert_string_equal(message, "ht_irecv: tag is 32768, expected 0 to 32767");
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_scope_close(scope);
}

HT_TEST_SUITE(test_gather, cmocka_unit_test(test_parts_of_different_length),
              cmocka_unit_test(test_parts_beyond_int),
              cmocka_unit_test(test_iallgather_of_canonical_parts),
              cmocka_unit_test(test_slabs_between_axes),
              cmocka_unit_test(isend_and_irecv_in_a_ring),
              cmocka_unit_test(test_misuse_is_reported));
