/* ranks 1 2 3 4 7 16 */
/* SPDX-License-Identifier: MIT */
/* The halves of the exchange against its sums, bit for bit, on one node and between nodes, by
 * messages and through shared memory; and what they send. */
#include "exchange_test.h"

#include <string.h>

#include "core/exchange/path.h"

enum { N = 5003, USUAL_SEGMENT = 512 * 1024 };

/* All on one node, each rank alone, and nodes of equal and of unequal size. */
static const int nodes_of[] = {64, 1, 2, 3, 4};
enum { NODES = 5 };

static job open_with(int per_node, bool messages)
{
    if (messages)
        setenv("HT_EXCHANGE", "messages", true);

    job j = open_job(per_node);

    unsetenv("HT_EXCHANGE");
    return j;
}

static void test_parts_follow_each_other(void **state)
{
    static const int64_t lengths[] = {0, 1, 2, 6, 7, 8, 100, N};
    job j = open_job(64);

    (void)state;
    for (int i = 0; i < 8; i++) {
        int64_t next = 0, most = (lengths[i] + ht_test_size - 1) / ht_test_size, begin, count;

        for (int r = 0; r < ht_test_size; r++) {
            ht__exchange_part(j.exchange, lengths[i], r, &begin, &count);
            assert_int_equal(begin, next);
            assert_true(count == most || begin + count == lengths[i]);
            next += count;
        }
        assert_int_equal(next, lengths[i]);
    }
    close_job(&j);
}

/* The expected values of this rank's part, and of the other parts. */
static void assert_scattered(const job *j, const float *data, const float *sums, int64_t n)
{
    int64_t begin, count;

    ht__exchange_part(j->exchange, n, ht_test_rank, &begin, &count);
    for (int64_t i = 0; i < n; i++) {
        bool mine = i >= begin && i < begin + count;
        float given = (float)contribution(ht_test_rank, i);

        assert_memory_equal(&data[i], mine ? &sums[i] : &given, sizeof given);
    }
}

static void both_halves(const job *j, float *data, int64_t n, ht_dtype wire)
{
    static float sums[N + 1];
    double scale = n % 2 != 0 ? 1.0 / 3 : 1;

    data[n] = 7;
    fill(sums, n, 0);
    finish(j->exchange, ht__exchange_start_as(j->exchange, sums, n, HT_FLOAT32, wire, scale, 0));
    fill(data, n, 0);
    finish(j->exchange,
           ht__exchange_reduce_scatter(j->exchange, data, n, HT_FLOAT32, wire, scale, 0));
    assert_scattered(j, data, sums, n);
    finish(j->exchange, ht__exchange_all_gather(j->exchange, data, n, HT_FLOAT32, 0));
    if (n > 0)
        assert_memory_equal(data, sums, (size_t)n * sizeof *data);
    assert_true(data[n] == 7);
}

static void halves_of_all_lengths(const job *j, float *data)
{
    static const size_t segments[] = {8, 1000, USUAL_SEGMENT};
    static const int64_t lengths[] = {0, 1, 2, 6, 7, 33, 1200, N};

    for (int s = 0; s < 3; s++) {
        ht__exchange_set_segment(j->exchange, segments[s]);
        for (int i = s == 0 ? 3 : 0; i < 8 - (s == 0); i++)
            both_halves(j, data, lengths[i], i % 3 == 0 ? HT_FLOAT32 : HT_FLOAT16 + i % 2);
        both_halves(j, data, N - 1, HT_FLOAT32);
    }
}

static void test_halves_make_a_sum(void **state)
{
    static float plain[N + 1];

    (void)state;
    for (int k = 0; k < NODES; k++) {
        job j = open_with(nodes_of[k], false), by_messages = open_with(nodes_of[k], true);
        float *shared = ht__exchange_memory(j.exchange, sizeof plain);

        halves_of_all_lengths(&j, plain);
        halves_of_all_lengths(&j, shared);
        halves_of_all_lengths(&by_messages, plain);
        ht__exchange_memory_release(j.exchange, shared);
        close_job(&j);
        close_job(&by_messages);
    }
}

static void test_doubles_are_scattered(void **state)
{
    static double sums[N], data[N];
    int64_t begin, count;

    (void)state;
    for (int k = 0; k < NODES; k++) {
        job j = open_job(nodes_of[k]);

        for (int64_t i = 0; i < N; i++)
            data[i] = sums[i] = contribution(ht_test_rank, i);
        finish(j.exchange, ht__exchange_start(j.exchange, sums, N, HT_FLOAT64, 0.3, 0));
        finish(j.exchange,
               ht__exchange_reduce_scatter(j.exchange, data, N, HT_FLOAT64, HT_FLOAT64, 0.3, 0));
        ht__exchange_part(j.exchange, N, ht_test_rank, &begin, &count);
        assert_memory_equal(data + begin, sums + begin, (size_t)count * sizeof *data);
        close_job(&j);
    }
}

static unsigned char byte_of(ht_dtype dtype, int64_t at)
{
    return (unsigned char)((uint64_t)(at * 41 + (int)dtype) * 0x9e3779b97f4a7c15u >> 56);
}

static void gather(const job *j, unsigned char *data, int64_t n, ht_dtype dtype)
{
    int64_t size = (int64_t)ht_dtype_size(dtype), begin, count;

    ht__exchange_part(j->exchange, n, ht_test_rank, &begin, &count);
    memset(data, 0xa5, (size_t)(n * size));
    for (int64_t i = begin * size; i < (begin + count) * size; i++)
        data[i] = byte_of(dtype, i);
    finish(j->exchange, ht__exchange_all_gather(j->exchange, data, n, dtype, 0));
    for (int64_t i = 0; i < n * size; i++)
        assert_int_equal(data[i], byte_of(dtype, i));
}

/* Bit patterns that mean nothing in their dtype, too. */
static void test_any_dtype_is_gathered(void **state)
{
    static unsigned char plain[1003 * 16];

    (void)state;
    for (int k = 0; k < NODES; k++) {
        job j = open_job(nodes_of[k]);
        unsigned char *shared = ht__exchange_memory(j.exchange, sizeof plain);

        for (ht_dtype dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
            gather(&j, plain, 1003, dtype);
            gather(&j, shared, 1003, dtype);
            gather(&j, plain, 5, dtype);
        }
        ht__exchange_memory_release(j.exchange, shared);
        close_job(&j);
    }
}

/* Sums and halves of both kinds at once, finished in another order on each rank. */
static void in_flight(const job *j, float *const buffers[], int count, const float *sums)
{
    ht_exchange_op *ops[24];
    int64_t begin, part;

    ht__exchange_part(j->exchange, N, ht_test_rank, &begin, &part);
    for (int i = 0; i < count; i++) {
        fill(buffers[i], N, 0);
        if (i % 3 == 0)
            ops[i] = ht__exchange_start(j->exchange, buffers[i], N, HT_FLOAT32, 1, i * 7 % 5);
        else if (i % 3 == 1)
            ops[i] = ht__exchange_reduce_scatter(j->exchange, buffers[i], N, HT_FLOAT32, HT_FLOAT32,
                                                 1, i * 7 % 5);
        else
            memcpy(buffers[i] + begin, sums + begin, (size_t)part * sizeof *sums);
        if (i % 3 == 2)
            ops[i] = ht__exchange_all_gather(j->exchange, buffers[i], N, HT_FLOAT32, i * 7 % 5);
    }
    for (int i = 0; i < count; i++)
        finish(j->exchange, ops[(i + ht_test_rank) % count]);
    for (int i = 0; i < count; i++) {
        if (i % 3 == 1)
            assert_scattered(j, buffers[i], sums, N);
        else
            assert_memory_equal(buffers[i], sums, N * sizeof *sums);
    }
}

static int operations_made(const job *j)
{
    int count = 0;

    for (const ht_exchange_op *op = j->exchange->made; op != NULL; op = op->made)
        count++;
    return count;
}

static void more_halves_than_segments_in_flight(void **state)
{
    enum { OPS = 24 };
    static float plain[OPS][N], sums[N];
    float *buffers[OPS];
    int made;

    (void)state;
    for (int k = 0; k < NODES; k++) {
        job j = open_job(nodes_of[k]);

        ht__exchange_set_segment(j.exchange, 4096);
        fill(sums, N, 0);
        finish(j.exchange, ht__exchange_start(j.exchange, sums, N, HT_FLOAT32, 1, 0));
        for (int i = 0; i < OPS; i++)
            buffers[i] = i % 2 == 0 ? plain[i] : ht__exchange_memory(j.exchange, sizeof sums);
        in_flight(&j, buffers, OPS, sums);
        made = operations_made(&j);
        in_flight(&j, buffers, OPS, sums);
        assert_int_equal(operations_made(&j), made);
        for (int i = 1; i < OPS; i += 2)
            ht__exchange_memory_release(j.exchange, buffers[i]);
        close_job(&j);
    }
}

/* The bytes that all ranks have sent to other nodes. */
static int64_t sent(const job *j)
{
    int64_t bytes = (int64_t)ht__exchange_bytes_sent(j->exchange);

    ht__comm_allreduce_i64(HT_COMM_WORLD, &bytes, 1, HT_OP_SUM, "test");
    return bytes;
}

/* Each half is half of a sum; but nodes beyond a power of two, which give all, get their parts of
 * the sum once more. */
static void test_halves_send_what_a_sum_sends(void **state)
{
    static float data[16 * 1024];
    int64_t n = (int64_t)ht_test_size * 1024;

    (void)state;
    for (int k = 0; k < NODES; k++) {
        job j = open_job(nodes_of[k]);
        int64_t nodes = (ht_test_size - 1) / nodes_of[k] + 1, start = sent(&j), sum, scatter, all;
        int64_t power;

        fill(data, n, 0);
        finish(j.exchange, ht__exchange_start(j.exchange, data, n, HT_FLOAT32, 1, 0));
        sum = sent(&j) - start;
        finish(j.exchange,
               ht__exchange_reduce_scatter(j.exchange, data, n, HT_FLOAT32, HT_FLOAT32, 0, 0));
        scatter = sent(&j) - start - sum;
        finish(j.exchange, ht__exchange_all_gather(j.exchange, data, n, HT_FLOAT32, 0));
        all = sent(&j) - start - sum;
        assert_int_equal(sum, n * 4 * 2 * (nodes - 1));
        assert_int_equal(all - scatter, n * 4 * (nodes - 1));
        for (power = 1; 2 * power <= nodes;)
            power *= 2;
        assert_int_equal(all - sum, (nodes - power) * j.per_node * 1024 * 4);
        assert_true(j.per_node > 1 || 10 * all <= 11 * sum);
        close_job(&j);
    }
}

/* The last rank starts only after a message that rank 0 sends when its own starts have returned. */
static void test_halves_do_not_wait(void **state)
{
    static float data[N];
    int8_t few[3] = {0};
    int token = 0, last = ht_test_size - 1;
    job j = open_job(2);

    (void)state;
    fill(data, N, 0);
    if (ht_test_rank == last && last > 0)
        MPI_Recv(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

    ht_exchange_op *ops[] = {
        ht__exchange_reduce_scatter(j.exchange, data, N, HT_FLOAT32, HT_FLOAT32, 1, 0),
        ht__exchange_all_gather(j.exchange, few, 3, HT_INT8, 3)};

    if (ht_test_rank == 0 && last > 0)
        MPI_Send(&token, 1, MPI_INT, last, 9, MPI_COMM_WORLD);
    finish(j.exchange, ops[1]);
    finish(j.exchange, ops[0]);
    close_job(&j);
}

static void test_integers_are_not_summed(void **state)
{
    int32_t data[2] = {0};
    job j = open_job(1);
    const char *message;

    (void)state;
    ht_comm_set_errhandler(j.comm, HT_ERRORS_RETURN);
    assert_null(ht__exchange_reduce_scatter(j.exchange, data, 2, HT_INT32, HT_INT32, 1, 0));
    assert_int_equal(ht_error_get(&message), HT_ERR_DTYPE);
    assert_string_equal(message, "exchange: dtype is int32, expected float32 or float64");
    ht_error_clear();
    close_job(&j);
}

HT_TEST_SUITE(test_exchange_halves, cmocka_unit_test(test_parts_follow_each_other),
              cmocka_unit_test(test_halves_make_a_sum),
              cmocka_unit_test(test_doubles_are_scattered),
              cmocka_unit_test(test_any_dtype_is_gathered),
              cmocka_unit_test(more_halves_than_segments_in_flight),
              cmocka_unit_test(test_halves_send_what_a_sum_sends),
              cmocka_unit_test(test_halves_do_not_wait),
              cmocka_unit_test(test_integers_are_not_summed));
