/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* The exchange against a sum computed on one rank by the tree that exchange.h promises, bit for
 * bit, by messages and through shared memory. */
#include "exchange_test.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange/path.h"

enum { N = 5003, SMALL_SEGMENT = 4096, USUAL_SEGMENT = 512 * 1024 };

static ht_exchange *engine(void)
{
    return ht__exchange_get(HT_COMM_WORLD, HT_PURPOSE_REDUCER);
}

static void assert_expected(const float *data, int64_t n, int64_t from, float scale)
{
    assert_sums(data, n, from, ht_test_size, HT_FLOAT32, scale);
}

static void exchange_once(float *data, double scale)
{
    fill(data, N, 0);
    finish(engine(), ht__exchange_start(engine(), data, N, HT_FLOAT32, scale, 0));
    assert_expected(data, N, 0, (float)scale);
}

static void test_messages_follow_the_tree(void **state)
{
    static float data[N];

    (void)state;
    exchange_once(data, 1);
    exchange_once(data, 1.0 / 3);
}

static void test_shared_memory_follows_the_tree(void **state)
{
    float *data = ht__exchange_memory(engine(), sizeof *data * N);

    (void)state;
    for (int repeat = 0; repeat < 3; repeat++)
        exchange_once(data, repeat == 1 ? 1.0 / 3 : 1);
    ht__exchange_memory_release(engine(), data);
    assert_ptr_equal(ht__exchange_memory(engine(), sizeof *data * N), data);
    ht__exchange_memory_release(engine(), data);
}

static int count_blocks(void)
{
    int count = 0;

    for (const shared_block *block = engine()->blocks; block != NULL; block = block->next)
        count++;
    return count;
}

/* The memory of a request serves smaller ones, down to half of it. Other requests free it, so that
 * memory of many sizes does not add up. Sums in it are right at every size. */
static void memory_of_many_sizes_does_not_add_up(void **state)
{
    float *data = ht__exchange_memory(engine(), sizeof *data * N), *again;
    const int count = count_blocks();

    (void)state;
    exchange_once(data, 1);
    ht__exchange_memory_release(engine(), data);
    again = ht__exchange_memory(engine(), sizeof *data * (N - 1000));
    assert_ptr_equal(again, data);
    assert_true(again[0] == 0 && again[N - 1001] == 0);
    ht__exchange_memory_release(engine(), again);
    for (int i = 0; i < 40; i++) {
        const int64_t n = i % 2 == 0 ? N + 100 * i : N / 4 - 10 * i;

        data = ht__exchange_memory(engine(), sizeof *data * (size_t)(n > N ? n : N));
        exchange_once(data, 1);
        again = ht__exchange_memory(engine(), sizeof *again * (size_t)n);
        assert_true(again != data);
        assert_in_range(count_blocks(), 1, count + 1);
        ht__exchange_memory_release(engine(), again);
        ht__exchange_memory_release(engine(), data);
    }
}

static void cuts_do_not_change_the_bits_of_sums(void **state)
{
    static const int64_t cuts[] = {0, 1, 2, 19, 1000, 1001, 2500, N};
    static float data[N];
    ht_exchange_op *ops[7];

    (void)state;
    ht__exchange_set_segment(engine(), SMALL_SEGMENT);
    fill(data, N, 0);
    for (int i = 0; i < 7; i++)
        ops[i] = ht__exchange_start(engine(), data + cuts[i], cuts[i + 1] - cuts[i], HT_FLOAT32, 1,
                                    i % 3);
    for (int i = 6; i >= 0; i--)
        finish(engine(), ops[i]);
    assert_expected(data, N, 0, 1);
    ht__exchange_set_segment(engine(), 40);
    exchange_once(data, 1);
    ht__exchange_set_segment(engine(), USUAL_SEGMENT);
}

/* More operations at once, of both kinds, than there are segments in flight. */
static void more_sums_than_segments_in_flight(void **state)
{
    enum { OPS = 24 };
    static float data[OPS / 2][N];
    float *shared[OPS / 2];
    ht_exchange_op *ops[OPS];

    (void)state;
    ht__exchange_set_segment(engine(), SMALL_SEGMENT);
    for (int i = 0; i < OPS / 2; i++)
        shared[i] = ht__exchange_memory(engine(), sizeof *data);
    for (int i = 0; i < OPS; i++) {
        float *buffer = i % 2 != 0 ? shared[i / 2] : data[i / 2];

        fill(buffer, N, i);
        ops[i] = ht__exchange_start(engine(), buffer, N, HT_FLOAT32, 1, (i * 7) % 5);
    }
    for (int i = 0; i < OPS; i++)
        finish(engine(), ops[(i + ht_test_rank) % OPS]); /* each rank waits in another order */
    for (int i = 0; i < OPS; i++)
        assert_expected(i % 2 != 0 ? shared[i / 2] : data[i / 2], N, i, 1);
    for (int i = 0; i < OPS / 2; i++)
        ht__exchange_memory_release(engine(), shared[i]);
    ht__exchange_set_segment(engine(), USUAL_SEGMENT);
}

static void test_doubles_agree_on_both_paths(void **state)
{
    static double plain[N];
    double *shared = ht__exchange_memory(engine(), sizeof plain);

    (void)state;
    for (int64_t i = 0; i < N; i++)
        plain[i] = shared[i] = contribution(ht_test_rank, i);
    finish(engine(), ht__exchange_start(engine(), plain, N, HT_FLOAT64, 1, 0));
    finish(engine(), ht__exchange_start(engine(), shared, N, HT_FLOAT64, 1, 0));
    assert_memory_equal(plain, shared, sizeof plain);
    for (int64_t i = 0; i < N; i++) {
        double sum = 0, size = 0;

        for (int r = 0; r < ht_test_size; r++) {
            sum += contribution(r, i);
            size += fabs(contribution(r, i));
        }
        assert_true(fabs(plain[i] - sum) <= 2 * ht_test_size * DBL_EPSILON * size);
    }
    ht__exchange_memory_release(engine(), shared);
}

/* Small buffers go through blocks of the engine's own: more of them at once than it has blocks. */
static void test_small_buffers_take_turns(void **state)
{
    enum { OPS = 9, SMALL = 5 };
    static float data[OPS][SMALL];
    ht_exchange_op *ops[OPS];

    (void)state;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < OPS; i++) {
            fill(data[i], 1 + i % SMALL, i + round);
            ops[i] = ht__exchange_start(engine(), data[i], 1 + i % SMALL, HT_FLOAT32, 1, i * 5 % 7);
        }
        for (int i = OPS - 1; i >= 0; i--)
            finish(engine(), ops[i]);
        for (int i = 0; i < OPS; i++)
            assert_expected(data[i], 1 + i % SMALL, i + round, 1);
    }
}

/* The last rank starts only after a message that rank 0 sends when its own start has returned. */
static void start_before_the_last(float *data)
{
    int last = ht_test_size - 1, token = 0;

    fill(data, N, 0);
    if (ht_test_rank == last && last > 0)
        MPI_Recv(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    ht_exchange_op *op = ht__exchange_start(engine(), data, N, HT_FLOAT32, 1, 0);

    if (ht_test_rank == 0 && last > 0) {
        for (int i = 0; i < 100; i++)
            ht__exchange_progress(engine());
        assert_false(ht__exchange_done(op));
        MPI_Send(&token, 1, MPI_INT, last, 9, MPI_COMM_WORLD);
    }
    while (!ht__exchange_done(op))
        ht__exchange_progress(engine());
    ht__exchange_release(engine(), op);
    assert_expected(data, N, 0, 1);
}

static void test_start_does_not_wait(void **state)
{
    static float plain[N];
    float *shared = ht__exchange_memory(engine(), sizeof plain);

    (void)state;
    start_before_the_last(plain);
    start_before_the_last(shared);
    ht__exchange_memory_release(engine(), shared);
}

/* Data in an opened part are summed and handed out while the rest is not yet written; that rest is
 * not read. */
static void test_opened_data_travel_as_they_come(void **state)
{
    static float data[N];
    ht_exchange_op *op;

    (void)state;
    ht__exchange_set_segment(engine(), SMALL_SEGMENT);
    fill(data, N / 2, 0);
    op = ht__exchange_open(engine(), data, N, HT_FLOAT32, HT_FLOAT32, 1.0 / 3, 0);
    for (int64_t n = 0; n <= N / 2; n += N / 4) {
        ht__exchange_fill(engine(), op, n);
        assert_int_equal(ht__exchange_wait_part(engine(), op, n - n % 1024, "test"), HT_SUCCESS);
        assert_false(ht__exchange_done(op));
        assert_expected(data, n - n % 1024, 0, 1.0f / 3);
    }
    fill(data + N / 2, N - N / 2, N / 2);
    ht__exchange_fill(engine(), op, N);
    finish(engine(), op);
    assert_expected(data, N, 0, 1.0f / 3);
    ht__exchange_set_segment(engine(), USUAL_SEGMENT);
}

/* Each rank of the one node sums a slice, once all have filled it. */
static void test_opened_data_in_shared_memory(void **state)
{
    float *data = ht__exchange_memory(engine(), sizeof *data * N);
    ht_exchange_op *op = ht__exchange_open(engine(), data, N, HT_FLOAT32, HT_FLOAT32, 1, 0);

    (void)state;
    ht_barrier(HT_COMM_WORLD);
    fill(data, N, 0);
    ht__exchange_fill(engine(), op, N / 2);
    ht__exchange_fill(engine(), op, N);
    finish(engine(), op);
    assert_expected(data, N, 0, 1);
    ht__exchange_memory_release(engine(), data);
}

static void test_integers_are_refused(void **state)
{
    int32_t data[2] = {0};
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(ht__exchange_start(engine(), data, 2, HT_INT32, 1, 0));
    assert_int_equal(ht_error_get(&message), HT_ERR_DTYPE);
    assert_string_equal(message, "exchange: dtype is int32, expected float32 or float64");
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static int64_t split_again(void)
{
    ht_release(ht_comm_split(HT_COMM_WORLD, 0, 0));
    return ht_live_objects("comm");
}

/* Its engine and its windows go with it, but not below memory that a rank has. */
static void an_engine_ends_with_its_communicator(void **state)
{
    const int64_t before = split_again();
    bool last = ht_test_rank == ht_test_size - 1;
    ht_storage *storage = NULL;

    (void)state;
    for (int i = 0; i < 5; i++) {
        ht_comm *comm = ht_comm_split(HT_COMM_WORLD, 0, 0);
        ht_exchange *exchange = ht__exchange_get(comm, HT_PURPOSE_REDUCER);
        float *data = ht__exchange_memory(exchange, N * sizeof *data);
        ht_storage *lent = ht__exchange_storage(exchange, ht__device_cpu(), 1000);

        fill(data, N, 0);
        finish(exchange, ht__exchange_start(exchange, data, N, HT_FLOAT32, 1, 0));
        assert_expected(data, N, 0, 1);
        ht__exchange_memory_release(exchange, data);
        ht_release(comm);
        if (i == 4 && last)
            storage = lent;
        else
            ht_release(lent);
        assert_int_equal(ht_live_objects("comm"), before + 1);
    }
    assert_int_equal(split_again(), before + 1);
    ht_release(storage);
    assert_int_equal(split_again(), before);
}

HT_TEST_SUITE(test_exchange, cmocka_unit_test(test_messages_follow_the_tree),
              cmocka_unit_test(test_shared_memory_follows_the_tree),
              cmocka_unit_test(memory_of_many_sizes_does_not_add_up),
              cmocka_unit_test(cuts_do_not_change_the_bits_of_sums),
              cmocka_unit_test(more_sums_than_segments_in_flight),
              cmocka_unit_test(test_doubles_agree_on_both_paths),
              cmocka_unit_test(test_small_buffers_take_turns),
              cmocka_unit_test(test_start_does_not_wait),
              cmocka_unit_test(test_opened_data_travel_as_they_come),
              cmocka_unit_test(test_opened_data_in_shared_memory),
              cmocka_unit_test(test_integers_are_refused),
              cmocka_unit_test(an_engine_ends_with_its_communicator));
