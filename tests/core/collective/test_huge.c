/* ranks 2 long */
/* SPDX-License-Identifier: MIT */
/* Counts beyond those of int, in earnest: about 4.3 GiB on each rank. */
#include "ht_test.h"
#include "tensor_check.h"

#include "ht/manipulations.h"

#define LONG ((int64_t)INT32_MAX + 1000)

/* Rank 0 has or expects all, rank 1 nothing, or the other way. */
static ht_tensor *bytes(bool there)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(there ? LONG : 0), HT_INT8, HT_LOCAL);

    if (there) {
        ht_fill_(ht_narrow(x, 0, INT32_MAX - 2, LONG), 3);
        ht_fill_(ht_narrow(x, 0, LONG - 1, LONG), 7);
    }
    return x;
}

static void assert_bytes(ht_tensor *x)
{
    assert_true(ht_item(ht_narrow(x, 0, 0, 1)) == 0);
    assert_true(ht_item(ht_narrow(x, 0, INT32_MAX - 3, INT32_MAX - 2)) == 0);
    assert_true(ht_item(ht_narrow(x, 0, INT32_MAX - 2, INT32_MAX - 1)) == 3);
    assert_true(ht_item(ht_narrow(x, 0, LONG - 2, LONG - 1)) == 3);
    assert_true(ht_item(ht_narrow(x, 0, LONG - 1, LONG)) == 7);
}

static void alltoallv_of_more_than_2_31_rows(void **state)
{
    bool sends = ht_test_rank == 0;
    ht_tensor *send = bytes(sends), *recv = ht_zeros(HT_SHAPE(sends ? 0 : LONG), HT_INT8, HT_LOCAL);
    const int64_t all[2] = {0, LONG}, from[2] = {LONG, 0}, none[2] = {0, 0};

    (void)state;
    assert_int_equal(
        ht_alltoallv(HT_COMM_WORLD, send, sends ? all : none, recv, sends ? none : from),
        HT_SUCCESS);
    if (!sends)
        assert_bytes(recv);
}

static void parts_of_unequal_size_are_gathered_and_scattered(void **state)
{
    bool has = ht_test_rank == 1;
    ht_tensor *part = bytes(has);
    ht_tensor *whole = has ? NULL : ht_zeros(HT_SHAPE(LONG), HT_INT8, HT_LOCAL);
    ht_request *request = ht_igatherv(HT_COMM_WORLD, part, whole, (const int64_t[2]){0, LONG}, 0);

    (void)state;
    assert_int_equal(ht_wait(&request), HT_SUCCESS);
    if (!has)
        assert_bytes(whole);
}

static void a_message_of_more_than_2_31_bytes(void **state)
{
    (void)state;
    if (ht_test_rank == 0) {
        assert_int_equal(ht_ssend(HT_COMM_WORLD, bytes(true), 1, 4), HT_SUCCESS);
        return;
    }

    ht_tensor *x = ht_zeros(HT_SHAPE(LONG), HT_INT8, HT_LOCAL);

    assert_int_equal(ht_recv(HT_COMM_WORLD, x, 0, 4), HT_SUCCESS);
    assert_bytes(x);
}

HT_TEST_SUITE(test_huge, cmocka_unit_test(alltoallv_of_more_than_2_31_rows),
              cmocka_unit_test(parts_of_unequal_size_are_gathered_and_scattered),
              cmocka_unit_test(a_message_of_more_than_2_31_bytes));
