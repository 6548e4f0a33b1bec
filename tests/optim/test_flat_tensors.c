/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Averages of tensors side by side, piece by piece, against one exchange of all of them. */
#include <string.h>

#include "nn/parallel/daso/daso_test.h"
#include "optim/flat_tensors.h"

enum { ROWS = 500, COLUMNS = 300, LONG = 200000, SHORT = 3, N = ROWS * COLUMNS + SHORT + LONG };

/* One that is not contiguous, a short one, and one of several pieces; other values on each rank. */
static ht_value *some_tensors(double value)
{
    int64_t turned[2] = {COLUMNS, ROWS}, few = SHORT, many = LONG;
    ht_tensor *list[] = {ht_transpose(ht_randn(2, turned, HT_FLOAT32, HT_NONE), 0, 1),
                         ht_randn(1, &few, HT_FLOAT32, HT_NONE),
                         ht_randn(1, &many, HT_FLOAT32, HT_NONE)};

    for (int i = 0; i < 3; i++) {
        list[i] = ht_tensor_local(list[i]);
        ht_mul_scalar_(list[i], value + ht_test_rank);
    }
    return ht_value_tensors(3, list);
}

static void read_all(const ht_value *tensors, float *values)
{
    for (int i = 0; i < 3; i++) {
        ht_tensor *x = ht_contiguous(ht_value_as_tensor(ht_value_at(tensors, i)));

        memcpy(values, ht_test_data(x), (size_t)ht_tensor_size(x) * sizeof *values);
        values += ht_tensor_size(x);
    }
}

static ht_flat_average average_over(ht_comm *comm, ht_dtype wire)
{
    return (ht_flat_average){.exchange = ht__exchange_get(comm, HT_PURPOSE_AVERAGES),
                             .ranks = ht_comm_size(comm),
                             .wire = wire,
                             .what = "test"};
}

/* Bit for bit, for any wire dtype, on nodes of any size, from memory of a rank and of a node. */
static void pieces_do_not_change_the_bits_of_averages(void **state)
{
    static const ht_dtype wires[] = {HT_FLOAT32, HT_BFLOAT16};
    static float expected[N], values[N];

    (void)state;
    for (int i = 0; i < 8; i++) {
        ht_comm *comm = nodes_of(1 + i / 4);
        ht_flat_average how = average_over(comm, wires[i % 2]);
        ht_value *tensors = some_tensors(i);
        ht_flat_tensors *flat = ht__flat_new(tensors, i / 2 % 2 ? how.exchange : NULL);
        ht_exchange_op *op;

        read_all(tensors, expected);
        op = ht__exchange_start_as(how.exchange, expected, N, HT_FLOAT32, how.wire, 1.0 / how.ranks,
                                   0);
        ht__exchange_wait(how.exchange, op, "test");
        ht__exchange_release(how.exchange, op);
        assert_int_equal(ht__flat_average(flat, &how), HT_SUCCESS);
        read_all(tensors, values);
        assert_memory_equal(values, expected, sizeof values);
        ht__flat_free(flat);
        ht_release(comm);
    }
    unsetenv("HT_RANKS_PER_NODE");
}

struct visits {
    int64_t left, came; /* elements so far */
    int64_t last;       /* that come before an error */
};

static ht_status count_leaving(void *user, int64_t begin, int64_t end)
{
    struct visits *visits = user;

    assert_int_equal(begin, visits->left);
    visits->left = end;
    return HT_SUCCESS;
}

static ht_status count_coming(void *user, int64_t begin, int64_t end)
{
    struct visits *visits = user;

    assert_int_equal(visits->left, N);
    assert_int_equal(begin, visits->came);
    visits->came = end;
    return end > visits->last ? HT_ERR_STATE : HT_SUCCESS;
}

static void test_every_element_is_visited_once(void **state)
{
    ht_flat_average how = average_over(HT_COMM_WORLD, HT_FLOAT32);
    struct visits visits = {.last = N};
    ht_flat_tensors *flat = ht__flat_new(some_tensors(1), NULL);

    (void)state;
    how.leave = count_leaving;
    how.arrive = count_coming;
    how.user = &visits;
    assert_int_equal(ht__flat_average(flat, &how), HT_SUCCESS);
    assert_int_equal(visits.came, N);
    ht__flat_free(flat);
}

/* Nothing stays outstanding: the next average is right. */
static void test_an_error_on_arrival_ends_the_average(void **state)
{
    static float before[N], values[N];
    ht_flat_average how = average_over(HT_COMM_WORLD, HT_FLOAT32);
    struct visits visits = {.last = ROWS * COLUMNS};
    ht_value *tensors = some_tensors(1);
    ht_flat_tensors *flat = ht__flat_new(tensors, how.exchange);

    (void)state;
    how.arrive = count_coming;
    how.user = &visits;
    visits.left = N;
    read_all(tensors, before);
    assert_int_equal(ht__flat_average(flat, &how), HT_ERR_STATE);
    read_all(tensors, values);
    assert_memory_equal(values + ROWS * COLUMNS, before + ROWS * COLUMNS,
                        (SHORT + LONG) * sizeof *values);

    how.arrive = NULL;
    ht_fill_(ht_value_as_tensor(ht_value_at(tensors, 2)), ht_test_rank);
    assert_int_equal(ht__flat_average(flat, &how), HT_SUCCESS);
    read_all(tensors, values);
    for (int i = N - LONG; i < N; i++)
        assert_true(values[i] == (ht_test_size - 1) / 2.0F);
    ht__flat_free(flat);
}

HT_TEST_SUITE(test_flat_tensors, cmocka_unit_test(pieces_do_not_change_the_bits_of_averages),
              cmocka_unit_test(test_every_element_is_visited_once),
              cmocka_unit_test(test_an_error_on_arrival_ends_the_average));
