/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* A wrong argument of a collective call on one rank is an error on all ranks, and the next call is
 * right. */
#include "ht_test.h"

#include <string.h>

#include "agrees.h"
#include "tensor_check.h"

enum { ROWS = 4, COLUMNS = 3 };

typedef enum call {
    BCAST,
    REDUCE,
    ALLREDUCE,
    SCAN,
    EXSCAN,
    REDUCE_SCATTER,
    ALLGATHER,
    GATHER,
    SCATTER,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW
} call;
typedef enum fault {
    NO_SEND,
    NO_RECV,
    DTYPE,
    BOTH_DTYPES,
    READ_ONLY,
    LENGTH,
    ROOT,
    OPERATION
} fault;

static call call_now;
static fault fault_now;

static ht_tensor *local(int64_t rows, ht_dtype dtype)
{
    int64_t shape[2] = {rows, COLUMNS};

    return ht_zeros(2, shape, dtype, HT_LOCAL);
}

static ht_tensor *read_only(int64_t rows)
{
    return ht_tensor_local(
        ht_broadcast_to(ht_zeros(HT_SHAPE(COLUMNS), HT_FLOAT32, HT_NONE), HT_SHAPE(rows, COLUMNS)));
}

/* Rows of each side in a correct call; all-to-all has one row for each rank. */
static int64_t send_rows(void)
{
    return call_now == SCATTER || call_now == REDUCE_SCATTER ? ROWS * ht_test_size
           : call_now >= ALLTOALL                            ? ht_test_size
                                                             : ROWS;
}

static int64_t recv_rows(void)
{
    return call_now == ALLGATHER || call_now == GATHER ? ROWS * ht_test_size
           : call_now >= ALLTOALL                      ? ht_test_size
                                                       : ROWS;
}

/* All from each rank to each other. */
static ht_status exchange(ht_tensor *send, ht_tensor *recv)
{
    ht_tensor *out[4] = {send, send, send, send}, *in[4];

    for (int r = 0; r < 4; r++)
        in[r] = r == ht_test_rank || recv == NULL ? recv : ht_zeros_like(recv);
    return ht_alltoallw(HT_COMM_WORLD, out, in);
}

static ht_status make_call(bool odd)
{
    ht_dtype dtype = HT_FLOAT32;
    ht_tensor *send = local(send_rows(), dtype), *recv = local(recv_rows(), dtype);
    ht_reduce_op op = HT_OP_SUM;
    const int64_t one[4] = {1, 1, 1, 1};
    int root = 0;

    if (odd && fault_now == NO_SEND)
        send = NULL;
    if (odd && fault_now == NO_RECV)
        recv = NULL;
    if (odd && fault_now == DTYPE)
        recv = local(recv_rows(), HT_FLOAT64);
    if (odd && fault_now == BOTH_DTYPES) {
        send = local(send_rows(), HT_INT32);
        recv = local(recv_rows(), HT_INT32);
    }
    if (odd && fault_now == READ_ONLY)
        recv = read_only(recv_rows());
    if (odd && fault_now == LENGTH) {
        send = local(send_rows() + 1, dtype);
        recv = call_now == BCAST ? send : recv;
    }
    if (odd && fault_now == ROOT)
        root = ht_test_size;
    if (odd && fault_now == OPERATION)
        op = HT_OP_AND;
    switch (call_now) {
    case BCAST:
        return ht_bcast(HT_COMM_WORLD, recv, root);
    case REDUCE:
        return ht_reduce(HT_COMM_WORLD, send, recv, op, root);
    case ALLREDUCE:
        return ht_allreduce(HT_COMM_WORLD, send, recv, op);
    case SCAN:
        return ht_scan(HT_COMM_WORLD, send, recv, op);
    case EXSCAN:
        return ht_exscan(HT_COMM_WORLD, send, recv, op);
    case ALLGATHER:
        return ht_allgather(HT_COMM_WORLD, send, recv);
    case GATHER:
        return ht_gather(HT_COMM_WORLD, send, recv, root);
    case SCATTER:
        return ht_scatter(HT_COMM_WORLD, send, recv, root);
    case ALLTOALL:
        return ht_alltoall(HT_COMM_WORLD, send, recv);
    case REDUCE_SCATTER:
        return ht_reduce_scatter(HT_COMM_WORLD, send, recv, op);
    case ALLTOALLV:
        return ht_alltoallv(HT_COMM_WORLD, send, one, recv, one);
    case ALLTOALLW:
        return exchange(send, recv);
    }
    return HT_SUCCESS;
}

/* Whether the fault is one where rank `odd` brings it. An argument that only the root reads may
 * have any value on the others. */
static bool applies(int odd)
{
    bool rooted = call_now == BCAST || call_now == REDUCE || call_now == GATHER ||
                  call_now == SCATTER;
    bool reduces = call_now >= REDUCE && call_now <= REDUCE_SCATTER;

    switch (fault_now) {
    case NO_SEND:
        return call_now != BCAST && (call_now != SCATTER || odd == 0);
    case NO_RECV:
        return (call_now != REDUCE && call_now != GATHER) || odd == 0;
    case DTYPE:
    case READ_ONLY:
        return call_now == BCAST ? odd != 0
                                 : (call_now != REDUCE && call_now != GATHER) || odd == 0;
    case BOTH_DTYPES:
        return ht_test_size > 1;
    case LENGTH:
        return call_now == BCAST                             ? ht_test_size > 1
               : call_now == GATHER || call_now == ALLGATHER ? true
               : call_now == SCATTER                         ? odd == 0
                                                             : true;
    case ROOT:
        return rooted;
    case OPERATION:
        return reduces;
    }
    return false;
}

static void test_every_fault_in_every_call(void **state)
{
    static const char *const names[] = {
        [BCAST] = "ht_bcast",         [REDUCE] = "ht_reduce",
        [ALLREDUCE] = "ht_allreduce", [SCAN] = "ht_scan",
        [EXSCAN] = "ht_exscan",       [ALLGATHER] = "ht_allgather",
        [GATHER] = "ht_gather",       [SCATTER] = "ht_scatter",
        [ALLTOALL] = "ht_alltoall",   [REDUCE_SCATTER] = "ht_reduce_scatter",
        [ALLTOALLV] = "ht_alltoallv", [ALLTOALLW] = "ht_alltoallw"};
    ht_test_agreed row = {.call = make_call};

    (void)state;
    for (call_now = BCAST; call_now <= ALLTOALLW; call_now++) {
        for (fault_now = NO_SEND; fault_now <= OPERATION; fault_now++) {
            char what[80];

            snprintf(what, sizeof what, "%s, fault %d", names[call_now], (int)fault_now);
            row.what = what;
            if (applies(0))
                ht_test_agrees_from(&row, names[call_now], 0);
            if (ht_test_size > 1 && applies(ht_test_size - 1))
                ht_test_agrees_from(&row, names[call_now], ht_test_size - 1);
        }
    }
}

/* Arguments that a rank does not use are not checked there. */
static void arguments_of_the_root_are_unchecked_elsewhere(void **state)
{
    ht_scope *scope = ht_scope_open();
    bool root = ht_test_rank == 0;
    ht_tensor *x = local(ROWS, HT_FLOAT32), *all = local(ROWS * ht_test_size, HT_FLOAT32);
    ht_tensor *fixed = read_only(ROWS);

    (void)state;
    assert_int_equal(ht_reduce(HT_COMM_WORLD, x, root ? x : fixed, HT_OP_SUM, 0), HT_SUCCESS);
    assert_int_equal(ht_gather(HT_COMM_WORLD, x, root ? all : NULL, 0), HT_SUCCESS);
    assert_int_equal(ht_scatter(HT_COMM_WORLD, root ? all : NULL, x, 0), HT_SUCCESS);
    assert_int_equal(ht_bcast(HT_COMM_WORLD, root ? fixed : x, 0), HT_SUCCESS);
    ht_scope_close(scope);
}

/* Two handles of one memory: the same place is the call in place, a shifted one is copied first. */
static void test_handles_of_one_memory(void **state)
{
    ht_scope *scope = ht_scope_open();
    double data[3] = {1, 2, 3};
    ht_tensor *x = ht_array(data, HT_SHAPE(3), HT_FLOAT64, HT_LOCAL);
    ht_tensor *same = ht_narrow(x, 0, 0, 3), *low = ht_narrow(x, 0, 0, 2);
    ht_tensor *high = ht_narrow(x, 0, 1, 3);
    const double *now;

    (void)state;
    assert_int_equal(ht_allreduce(HT_COMM_WORLD, x, same, HT_OP_SUM), HT_SUCCESS);
    now = ht_test_data(x);
    for (int i = 0; i < 3; i++)
        assert_true(now[i] == (i + 1) * ht_test_size);
    assert_int_equal(ht_allreduce(HT_COMM_WORLD, low, high, HT_OP_MAX), HT_SUCCESS);
    now = ht_test_data(x);
    assert_true(now[0] == ht_test_size && now[1] == ht_test_size && now[2] == 2 * ht_test_size);
    assert_int_equal(ht_scan(HT_COMM_WORLD, high, low, HT_OP_MAX), HT_SUCCESS);
    now = ht_test_data(x);
    assert_true(now[0] == ht_test_size && now[1] == 2 * ht_test_size);
    ht_scope_close(scope);
}

/* The part may be a view of the complete tensor, which is usual on the root. */
static void a_part_may_lie_in_the_complete_tensor(void **state)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *all = ht_array(&(int32_t[8]){0}, HT_SHAPE(ht_test_size), HT_INT32, HT_LOCAL);
    ht_tensor *mine = ht_narrow(all, 0, ht_test_rank, ht_test_rank + 1),
              *first = ht_narrow(all, 0, 0, 1);

    (void)state;
    ht_fill_(mine, ht_test_rank + 1);
    assert_int_equal(ht_allgather(HT_COMM_WORLD, mine, all), HT_SUCCESS);
    for (int r = 0; r < ht_test_size; r++)
        assert_int_equal(((const int32_t *)ht_test_data(all))[r], r + 1);
    assert_int_equal(ht_scatter(HT_COMM_WORLD, all, first, 0), HT_SUCCESS);
    assert_int_equal(*(const int32_t *)ht_test_data(all), ht_test_rank + 1);
    assert_int_equal(ht_gather(HT_COMM_WORLD, first, all, 0), HT_SUCCESS);
    assert_int_equal(ht_alltoall(HT_COMM_WORLD, all, ht_narrow(all, 0, 0, ht_test_size)),
                     HT_SUCCESS);
    ht_scope_close(scope);
}

static ht_status set_handler(bool odd)
{
    return ht_comm_set_errhandler(HT_COMM_WORLD, odd ? (ht_errhandler)7 : HT_ERRORS_RETURN);
}

static void test_handlers(void **state)
{
    (void)state;
    ht_test_agrees(&(ht_test_agreed){"ht_comm_set_errhandler", set_handler}, "handler");
}

HT_TEST_SUITE(test_arguments, cmocka_unit_test(test_every_fault_in_every_call),
              cmocka_unit_test(arguments_of_the_root_are_unchecked_elsewhere),
              cmocka_unit_test(test_handles_of_one_memory),
              cmocka_unit_test(a_part_may_lie_in_the_complete_tensor),
              cmocka_unit_test(test_handlers));
