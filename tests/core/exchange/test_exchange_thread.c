/* ranks 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The progress thread, proved by order: an exchange is done before its ranks call the library
 * again; without the thread it is not. */
#include "exchange_test.h"

#include <stdlib.h>
#include <time.h>

#include "core/exchange/path.h"

enum { N = 1 << 19, PER_NODE = 1 };

static float data[N];

static ht_exchange *engine_of(ht_comm *comm)
{
    ht_exchange *exchange = ht__exchange_get(comm, HT_PURPOSE_REDUCER);

    ht__exchange_set_segment(exchange, 1 << 16);
    return exchange;
}

/* Each rank a node: messages in several steps, of more segments than are in flight at once. */
static ht_comm *separate_ranks(void)
{
    setenv("HT_RANKS_PER_NODE", "1", true);

    ht_comm *comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);

    unsetenv("HT_RANKS_PER_NODE");
    return comm;
}

/* Neither the library nor MPI is called. */
static bool done_while_computing(const ht_exchange_op *op, int ms)
{
    for (int i = 0; i < ms && !ht__exchange_done(op); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    return ht__exchange_done(op);
}

static void test_without_a_thread_nothing_moves(void **state)
{
    ht_comm *comm = separate_ranks();
    ht_exchange *exchange = engine_of(comm);

    (void)state;
    fill(data, N, 0);

    ht_exchange_op *op = ht__exchange_start(exchange, data, N, HT_FLOAT32, 1, 0);

    assert_false(done_while_computing(op, 100));
    finish(exchange, op);
    ht_release(comm);
}

static void test_the_thread_finishes_while_the_program_computes(void **state)
{
    (void)state;
    setenv("HT_PROGRESS_THREAD", "1", true);

    ht_comm *comm = separate_ranks();
    ht_exchange *exchange = engine_of(comm);

    unsetenv("HT_PROGRESS_THREAD");
    for (int round = 0; round < 3; round++) {
        fill(data, N, round);

        ht_exchange_op *op = ht__exchange_start(exchange, data, N, HT_FLOAT32, 1, 0);

        assert_true(done_while_computing(op, 20 * 1000));
        ht__exchange_release(exchange, op);
        assert_sums(data, N, round, PER_NODE, HT_FLOAT32, 1);
    }
    ht__thread_stop();
    ht_release(comm);
}

/* Operations of both kinds, started, moved and waited for while the thread moves them too. */
static void program_and_progress_thread_move_sums_at_once(void **state)
{
    enum { OPS = 12, SHORT = 3001 };
    ht_exchange_op *ops[OPS];
    float *buffers[OPS];

    (void)state;
    setenv("HT_PROGRESS_THREAD", "1", true);

    ht_comm *comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    ht_exchange *exchange = ht__exchange_get(comm, HT_PURPOSE_REDUCER);

    unsetenv("HT_PROGRESS_THREAD");
    for (int i = 0; i < OPS; i++)
        buffers[i] = i % 2 != 0 ? ht__exchange_memory(exchange, SHORT * sizeof **buffers)
                                : data + (size_t)i * SHORT;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < OPS; i++) {
            fill(buffers[i], SHORT, i);
            ops[i] = ht__exchange_start(exchange, buffers[i], SHORT, HT_FLOAT32, 1, i % 3);
        }
        ht__exchange_progress(exchange);
        for (int i = 0; i < OPS; i++)
            finish(exchange, ops[(i + ht_test_rank) % OPS]);
    }
    for (int i = 0; i < OPS; i++) {
        assert_sums(buffers[i], SHORT, i, ht_test_size, HT_FLOAT32, 1);
        if (i % 2 != 0)
            ht__exchange_memory_release(exchange, buffers[i]);
    }
    ht__thread_stop();
    ht_release(comm);
}

HT_TEST_SUITE(test_exchange_thread, cmocka_unit_test(test_without_a_thread_nothing_moves),
              cmocka_unit_test(test_the_thread_finishes_while_the_program_computes),
              cmocka_unit_test(program_and_progress_thread_move_sums_at_once));
