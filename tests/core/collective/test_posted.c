/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Non-blocking collective calls: a failure of one rank is an error of the wait on all ranks, and
 * other posted calls are right. */
#include "ht_test.h"

#include "agrees.h"
#include "tensor_check.h"

enum { ROWS = 4, COLUMNS = 3 };

typedef enum call {
    BCAST,
    ALLREDUCE,
    ALLGATHER,
    REDUCE,
    SCAN,
    EXSCAN,
    ALLGATHERV,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLTOALL,
    ALLTOALLV,
    CALLS
} call;

static const char *const names[CALLS] = {
    "ht_ibcast",    "ht_iallreduce",  "ht_iallgather", "ht_ireduce",  "ht_iscan",
    "ht_iexscan",   "ht_iallgatherv", "ht_igather",    "ht_igatherv", "ht_iscatter",
    "ht_iscatterv", "ht_ialltoall",   "ht_ialltoallv"};

static call call_now;
static ht_status (*spoil)(ht_tensor **send, ht_tensor **recv);

static ht_tensor *local(int64_t rows, ht_dtype dtype)
{
    return ht_full(HT_SHAPE(rows, COLUMNS), 1, dtype, HT_LOCAL);
}

static ht_request *post(call which, ht_tensor *send, ht_tensor *recv)
{
    const int64_t rows[] = {ROWS, ROWS, ROWS, ROWS};
    ht_comm *world = HT_COMM_WORLD;

    switch (which) {
    case BCAST:
        return ht_ibcast(world, recv, 0);
    case ALLREDUCE:
        return ht_iallreduce(world, send, recv, HT_OP_SUM);
    case REDUCE:
        return ht_ireduce(world, send, recv, HT_OP_SUM, ht_test_size - 1);
    case SCAN:
        return ht_iscan(world, send, recv, HT_OP_SUM);
    case EXSCAN:
        return ht_iexscan(world, send, recv, HT_OP_SUM);
    case ALLGATHERV:
        return ht_iallgatherv(world, send, recv, rows);
    case GATHER:
        return ht_igather(world, send, recv, 0);
    case GATHERV:
        return ht_igatherv(world, send, recv, rows, ht_test_size - 1);
    case SCATTER:
        return ht_iscatter(world, send, recv, ht_test_size - 1);
    case SCATTERV:
        return ht_iscatterv(world, send, recv, rows, 0);
    case ALLTOALL:
        return ht_ialltoall(world, send, recv);
    case ALLTOALLV:
        return ht_ialltoallv(world, send, rows, recv, rows);
    default:
        return ht_iallgather(world, send, recv);
    }
}

static bool deals(call which)
{
    return which == SCATTER || which == SCATTERV || which == ALLTOALL || which == ALLTOALLV;
}

static bool gathers(call which)
{
    return which == ALLGATHER || which == ALLGATHERV || which == GATHER || which == GATHERV ||
           which == ALLTOALL || which == ALLTOALLV;
}

static ht_tensor *whole(call which)
{
    return local(gathers(which) ? ROWS * ht_test_size : ROWS, HT_FLOAT32);
}

static void assert_all(ht_tensor *x, float value)
{
    const float *data = ht_test_data(x);

    for (int64_t i = 0; i < ht_tensor_size(x); i++)
        assert_true(data[i] == value);
}

static ht_status no_tensor(ht_tensor **send, ht_tensor **recv)
{
    *send = *recv = NULL;
    return HT_SUCCESS;
}

/* The state after a call that has failed on this rank, whose error the program has not read. */
static ht_status not_made(ht_tensor **send, ht_tensor **recv)
{
    *send = *recv = NULL;
    return ht_error_raise(NULL, HT_ERR_IO, "test: no such file");
}

static ht_status read_only(ht_tensor **send, ht_tensor **recv)
{
    (void)send;
    *recv = ht_broadcast_to(local(1, HT_FLOAT32), 2, ht_tensor_shape(*recv));
    return HT_SUCCESS;
}

/* The odd rank spoils its second call of three; all are waited for in another order. */
static ht_status make_calls(bool odd)
{
    ht_tensor *first = whole(BCAST), *sum = local(ROWS, HT_FLOAT32);
    ht_tensor *send = local(deals(call_now) ? ROWS * ht_test_size : ROWS, HT_FLOAT32);
    ht_tensor *recv = whole(call_now);
    ht_request *requests[3];
    ht_status status;

    requests[0] = post(BCAST, NULL, first);
    if (odd)
        spoil(&send, &recv);
    requests[1] = post(call_now, send, recv);
    requests[2] = post(ALLREDUCE, sum, sum);
    assert_int_equal(ht_wait(&requests[2]), HT_SUCCESS);
    assert_all(sum, (float)ht_test_size);
    status = ht_wait(&requests[1]);
    assert_int_equal(ht_wait(&requests[0]), HT_SUCCESS);
    return status;
}

static void test_in_every_call(ht_status (*how)(ht_tensor **, ht_tensor **), const char *text)
{
    spoil = how;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    for (call_now = BCAST; call_now < CALLS; call_now++)
        ht_test_agrees(&(ht_test_agreed){names[call_now], make_calls},
                       text != NULL ? text : names[call_now]);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

static void every_posted_call_agrees_on_a_null_tensor(void **state)
{
    (void)state;
    test_in_every_call(no_tensor, NULL);
}

static void test_null_from_an_earlier_error(void **state)
{
    (void)state;
    test_in_every_call(not_made, "test: no such file");
}

static void test_read_only(void **state)
{
    (void)state;
    spoil = read_only;
    call_now = ALLREDUCE;
    ht_test_agrees(&(ht_test_agreed){"ht_iallreduce", make_calls}, "read-only view");
    call_now = ALLGATHER;
    ht_test_agrees(&(ht_test_agreed){"ht_iallgather", make_calls}, "read-only view");
}

static ht_status all_spoil(bool odd)
{
    ht_request *request = ht_iallreduce(HT_COMM_WORLD, NULL, NULL, HT_OP_SUM);

    (void)odd;
    return ht_wait(&request);
}

static void a_posted_error_on_all_ranks(void **state)
{
    (void)state;
    ht_test_agrees(&(ht_test_agreed){"ht_iallreduce", all_spoil}, "send is NULL");
}

/* Releasing a request waits for it, if the program has not done so. */
static ht_status released(bool odd)
{
    ht_tensor *x = local(ROWS, HT_FLOAT32);
    ht_request *request = ht_iallreduce(HT_COMM_WORLD, odd ? NULL : x, odd ? NULL : x, HT_OP_SUM);
    bool done = false;
    ht_status status = HT_SUCCESS;

    while (!done)
        status = ht_test(request, &done);
    ht_release(request);
    return status;
}

static void a_posted_error_is_found_by_test(void **state)
{
    (void)state;
    ht_test_agrees(&(ht_test_agreed){"ht_iallreduce", released}, "send is NULL");
}

/* Blocking calls between the posting and the wait. */
static ht_status with_calls_between(bool odd)
{
    ht_tensor *x = local(ROWS, HT_FLOAT32), *y = local(ROWS, HT_FLOAT32);
    ht_request *request = ht_iallreduce(HT_COMM_WORLD, odd ? NULL : x, odd ? NULL : x, HT_OP_SUM);
    ht_status status;

    if (odd && ht_test_size > 1)
        ht_error_clear(); /* the request has it */
    for (int i = 0; i < 3; i++)
        assert_int_equal(ht_allreduce(HT_COMM_WORLD, y, y, HT_OP_MAX), HT_SUCCESS);
    assert_all(y, 1);
    status = ht_wait(&request);
    return status;
}

static void a_posted_error_with_calls_between(void **state)
{
    (void)state;
    ht_test_agrees(&(ht_test_agreed){"ht_iallreduce", with_calls_between}, "send is NULL");
}

HT_TEST_SUITE(test_posted, cmocka_unit_test(every_posted_call_agrees_on_a_null_tensor),
              cmocka_unit_test(test_null_from_an_earlier_error), cmocka_unit_test(test_read_only),
              cmocka_unit_test(a_posted_error_on_all_ranks),
              cmocka_unit_test(a_posted_error_is_found_by_test),
              cmocka_unit_test(a_posted_error_with_calls_between));
