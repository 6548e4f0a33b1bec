/* ranks 1 2 3 4 7 16 */
/* SPDX-License-Identifier: MIT */
/* The exchange between nodes, which HT_RANKS_PER_NODE makes of the ranks of one machine, against
 * the tree over nodes, bit for bit; and what travels between them. */
#include "exchange_test.h"

#include <string.h>

enum { N = 5003 };

static void exchange_once(job *j, float *data, ht_dtype wire, double scale)
{
    fill(data, N, 0);
    finish(j->exchange, ht__exchange_start_as(j->exchange, data, N, HT_FLOAT32, wire, scale, 0));
    assert_sums(data, N, 0, j->per_node, wire, (float)scale);
}

/* Each rank alone, 2 + 2, 3 + 1, 4 + 4, …: with the rank counts above, these are nodes of equal and
 * of unequal size, and numbers of nodes that are not powers of two. */
static const int nodes_of[] = {1, 2, 3, 4};

static void test_sums_follow_the_tree_of_nodes(void **state)
{
    static float plain[N];

    (void)state;
    for (int k = 0; k < 4; k++) {
        job j = open_job(nodes_of[k]);
        float *shared = ht__exchange_memory(j.exchange, sizeof plain);

        exchange_once(&j, plain, HT_FLOAT32, 1);
        exchange_once(&j, shared, HT_FLOAT32, 1.0 / 3);
        exchange_once(&j, shared, HT_FLOAT32, 1);
        ht__exchange_memory_release(j.exchange, shared);
        close_job(&j);
    }
}

static void test_narrow_sums_follow_the_tree_of_nodes(void **state)
{
    static float plain[N];

    (void)state;
    for (int k = 0; k < 4; k++) {
        job j = open_job(nodes_of[k]);
        float *shared = ht__exchange_memory(j.exchange, sizeof plain);

        for (ht_dtype wire = HT_FLOAT16; wire <= HT_BFLOAT16; wire++) {
            exchange_once(&j, plain, wire, 1.0 / 3);
            exchange_once(&j, shared, wire, 1);
        }
        ht__exchange_memory_release(j.exchange, shared);
        close_job(&j);
    }
}

/* Cut into operations and segments of many lengths, finished in another order on each rank. */
static void cut(job *j, float *data, ht_dtype wire)
{
    static const int64_t cuts[] = {0, 1, 2, 19, 1000, 1001, 2500, N};
    ht_exchange_op *ops[7];

    fill(data, N, 0);
    for (int i = 0; i < 7; i++)
        ops[i] = ht__exchange_start_as(j->exchange, data + cuts[i], cuts[i + 1] - cuts[i],
                                       HT_FLOAT32, wire, 1, i % 3);
    for (int i = 0; i < 7; i++)
        finish(j->exchange, ops[(i + ht_test_rank) % 7]);
    assert_sums(data, N, 0, j->per_node, wire, 1);
}

static void cuts_do_not_change_the_bits_on_nodes(void **state)
{
    static float plain[N];
    static const size_t segments[] = {8, 120, 4096, 1 << 20};

    (void)state;
    for (int k = 0; k < 4; k++) {
        job j = open_job(nodes_of[k]);
        float *shared = ht__exchange_memory(j.exchange, sizeof plain);

        for (int s = 0; s < 4; s++) {
            ht__exchange_set_segment(j.exchange, segments[s]);
            cut(&j, plain, HT_FLOAT32);
            cut(&j, shared, HT_BFLOAT16);
            exchange_once(&j, shared, HT_FLOAT16, 1.0 / 3);
        }
        ht__exchange_memory_release(j.exchange, shared);
        close_job(&j);
    }
}

/* Data that all ranks have filled are summed and handed out while the last rank has not written the
 * rest. */
static void open_and_fill(job *j, float *data, ht_dtype wire)
{
    bool last = ht_test_rank == ht_test_size - 1;
    int64_t half = N / 2, some = half - 128; /* more than a slice less */
    ht_exchange_op *op;

    ht__exchange_set_segment(j->exchange, 256);
    memset(data, 0, N * sizeof *data);
    ht_barrier(j->comm);
    op = ht__exchange_open(j->exchange, data, N, HT_FLOAT32, wire, 1, 0);
    fill(data, last ? half : N, 0);
    ht__exchange_fill(j->exchange, op, last ? half : N);
    if (ht_comm_size(j->comm) > j->per_node)
        ht__exchange_wait_part(j->exchange, op, some, "test");
    ht_barrier(j->comm);
    if (ht_comm_size(j->comm) > j->per_node)
        assert_sums(data, some, 0, j->per_node, wire, 1);
    if (last)
        fill(data + half, N - half, half);
    ht__exchange_fill(j->exchange, op, N);
    finish(j->exchange, op);
    assert_sums(data, N, 0, j->per_node, wire, 1);
}

static void test_opened_data_travel_as_they_come(void **state)
{
    static float plain[N];

    (void)state;
    for (int k = 0; k < 4; k++) {
        job j = open_job(nodes_of[k]);
        float *shared = ht__exchange_memory(j.exchange, sizeof plain);

        for (int i = 0; i < 4; i++)
            open_and_fill(&j, i < 2 ? plain : shared, i % 2 == 0 ? HT_FLOAT32 : HT_BFLOAT16);
        ht__exchange_memory_release(j.exchange, shared);
        close_job(&j);
    }
}

/* The bytes sent to other nodes by all ranks while one exchange was made. */
static int64_t bytes_of(job *j, float *data, ht_dtype wire)
{
    int64_t bytes = -(int64_t)ht__exchange_bytes_sent(j->exchange);

    exchange_once(j, data, wire, 1);
    bytes += (int64_t)ht__exchange_bytes_sent(j->exchange);
    ht__comm_allreduce_i64(HT_COMM_WORLD, &bytes, 1, HT_OP_SUM, "test");
    return bytes;
}

static void test_narrow_data_are_half_the_bytes(void **state)
{
    static float data[N];

    (void)state;
    for (int k = 0; k < 4; k++) {
        job j = open_job(nodes_of[k]);
        int nodes = (ht_test_size - 1) / nodes_of[k] + 1;
        int64_t whole = bytes_of(&j, data, HT_FLOAT32);

        /* Each node's sum goes out, and each result comes in, once: 2 (nodes - 1) times all. */
        assert_int_equal(whole, (int64_t)sizeof data * 2 * (nodes - 1));
        assert_int_equal(2 * bytes_of(&j, data, HT_BFLOAT16), whole);
        assert_int_equal(2 * bytes_of(&j, data, HT_FLOAT16), whole);
        close_job(&j);
    }
}

static void test_unsupported_wire_dtypes_are_refused(void **state)
{
    double data[2] = {0};
    job j = open_job(1);
    const char *message;

    (void)state;
    ht_comm_set_errhandler(j.comm, HT_ERRORS_RETURN);
    assert_null(ht__exchange_start_as(j.exchange, data, 2, HT_FLOAT64, HT_BFLOAT16, 1, 0));
    assert_int_equal(ht_error_get(&message), HT_ERR_DTYPE);
    assert_string_equal(message, "exchange: float64 cannot travel as bfloat16");
    ht_error_clear();
    close_job(&j);
}

HT_TEST_SUITE(test_exchange_nodes, cmocka_unit_test(test_sums_follow_the_tree_of_nodes),
              cmocka_unit_test(test_narrow_sums_follow_the_tree_of_nodes),
              cmocka_unit_test(cuts_do_not_change_the_bits_on_nodes),
              cmocka_unit_test(test_opened_data_travel_as_they_come),
              cmocka_unit_test(test_narrow_data_are_half_the_bytes),
              cmocka_unit_test(test_unsupported_wire_dtypes_are_refused));
