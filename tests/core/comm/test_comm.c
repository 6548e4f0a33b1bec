/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Communicators: division, splitting, private duplicates, and agreement. */
#include "core/comm/comm.h"
#include "ht_test.h"
#include "tensor_check.h"

#include <stdio.h>
#include <string.h>

static void test_world_is_the_job(void **state)
{
    (void)state;
    assert_int_equal(ht_comm_rank(HT_COMM_WORLD), ht_test_rank);
    assert_int_equal(ht_comm_size(HT_COMM_WORLD), ht_test_size);
    assert_int_equal(ht_comm_size(HT_COMM_SELF), 1);
    assert_ptr_equal(ht_get_comm(), HT_COMM_WORLD);
}

static void test_chunks_are_even_and_complete(void **state)
{
    (void)state;
    for (int64_t length = 0; length < 20; length++) {
        int64_t next = 0, start, count;

        for (int r = 0; r < ht_test_size; r++) {
            ht_comm_chunk(HT_COMM_WORLD, length, r, &start, &count);
            assert_int_equal(start, next);
            assert_int_equal(count, length / ht_test_size + (r < length % ht_test_size));
            next = start + count;
        }
        assert_int_equal(next, length);
    }
}

static void test_chunks_of_nothing(void **state)
{
    static const char text[] = "expected a length of at least 0 and a rank from 0 to ";
    int64_t start = 7, count = 7;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_comm_chunk(HT_COMM_WORLD, -1, 0, &start, &count), HT_ERR_ARGUMENT,
                         text);
    HT_TEST_EXPECT_ERROR(ht_comm_chunk(HT_COMM_WORLD, 5, -1, &start, &count), HT_ERR_ARGUMENT,
                         text);
    HT_TEST_EXPECT_ERROR(ht_comm_chunk(HT_COMM_WORLD, 5, ht_test_size, &start, &count),
                         HT_ERR_ARGUMENT, text);
    assert_true(start == 7 && count == 7);
}

static void test_split_orders_by_key(void **state)
{
    int color = ht_test_rank % 2;
    ht_comm *part = ht_comm_split(HT_COMM_WORLD, color, -ht_test_rank);
    int members = (ht_test_size - color + 1) / 2;

    (void)state;
    assert_int_equal(ht_comm_size(part), members);
    assert_int_equal(ht_comm_rank(part), members - 1 - ht_test_rank / 2);
    assert_int_equal(ht_use_comm(part), HT_SUCCESS);
    assert_ptr_equal(ht_get_comm(), part);
    ht_use_comm(HT_COMM_WORLD);
    ht_release(part);
}

static void test_split_leaves_out(void **state)
{
    ht_comm *first = ht_comm_split(HT_COMM_WORLD, ht_test_rank == 0 ? 0 : -1, 0);

    (void)state;
    assert_int_equal(first != NULL, ht_test_rank == 0);
    assert_int_equal(ht_error_get(NULL), HT_SUCCESS);
    ht_release(first);
}

static void test_duplicate_of_an_mpi_communicator(void **state)
{
    ht_comm *comm = ht_comm_from_mpi(MPI_COMM_WORLD);
    int relation;

    (void)state;
    MPI_Comm_compare(MPI_COMM_WORLD, ht_comm_mpi(comm), &relation);
    assert_int_equal(relation, MPI_CONGRUENT);
    ht_release(comm);
}

static void test_private_duplicates_are_kept(void **state)
{
    MPI_Comm reducer = ht__comm_private(HT_COMM_WORLD, HT_PURPOSE_REDUCER);
    MPI_Comm loader = ht__comm_private(HT_COMM_WORLD, HT_PURPOSE_LOADER);

    (void)state;
    assert_true(reducer != loader && reducer != ht_comm_mpi(HT_COMM_WORLD));
    assert_true(reducer == ht__comm_private(HT_COMM_WORLD, HT_PURPOSE_REDUCER));
}

static void test_topology_adds_up(void **state)
{
    int nodes, node, local_rank, local_size;
    int64_t ranks;

    (void)state;
    assert_int_equal(ht_comm_topology(HT_COMM_WORLD, &nodes, &node, &local_rank, &local_size),
                     HT_SUCCESS);
    assert_in_range(node, 0, nodes - 1);
    assert_in_range(local_rank, 0, local_size - 1);
    ranks = local_rank == 0 ? local_size : 0;
    ht__comm_allreduce_i64(HT_COMM_WORLD, &ranks, 1, HT_OP_SUM, "test");
    assert_int_equal(ranks, ht_test_size);
}

static void test_small_collectives(void **state)
{
    int64_t mine[2] = {ht_test_rank, -ht_test_rank}, all[2 * 16];
    char text[8] = "";

    (void)state;
    ht__comm_allgather_i64(HT_COMM_WORLD, mine, 2, all, "test");
    for (int r = 0; r < ht_test_size; r++) {
        assert_int_equal(all[2 * r], r);
        assert_int_equal(all[2 * r + 1], -r);
    }
    ht__comm_allreduce_i64(HT_COMM_WORLD, mine, 2, HT_OP_MIN, "test");
    assert_int_equal(mine[0], 0);
    assert_int_equal(mine[1], 1 - ht_test_size);
    if (ht_test_rank == ht_test_size - 1)
        memcpy(text, "last", 5);
    ht__comm_bcast_bytes(HT_COMM_WORLD, text, sizeof text, ht_test_size - 1, "test");
    assert_string_equal(text, "last");
}

static void test_agreement_gives_one_text(void **state)
{
    const char *message;
    ht_status mine = HT_SUCCESS;

    (void)state;
    assert_int_equal(ht__agree("test", HT_COMM_WORLD, HT_SUCCESS), HT_SUCCESS);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    if (ht_test_rank == ht_test_size - 1)
        mine = ht__error_set(HT_ERR_IO, "ht_load: rank %d cannot read", ht_test_rank);
    assert_int_equal(ht__agree("test", HT_COMM_WORLD, mine), HT_ERR_IO);
    ht_error_get(&message);

    char expected[64];

    snprintf(expected, sizeof expected, "ht_load: rank %d cannot read", ht_test_size - 1);
    assert_string_equal(message, expected);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static void test_unknown_handler_is_refused(void **state)
{
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_comm_set_errhandler(HT_COMM_WORLD, (ht_errhandler)7), HT_ERR_ARGUMENT);
    ht_error_get(&message);
    assert_string_equal(message, "ht_comm_set_errhandler: handler is 7, expected an ht_errhandler");
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static int freed; /* communicators of MPI that had been marked */

static int note_freed(MPI_Comm mpi, int key, void *value, void *unused)
{
    (void)mpi, (void)key, (void)value, (void)unused;
    freed++;
    return MPI_SUCCESS;
}

/* MPI frees them collectively: the next split does it, when all ranks have released them. */
static void test_a_split_frees_what_was_split_before(void **state)
{
    int key, color = ht_test_rank % 2;
    ht_comm *parts[3], *inner;
    bool last = ht_test_rank == ht_test_size - 1;

    (void)state;
    freed = 0;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_freed, &key, NULL);
    for (int i = 0; i < 2; i++) {
        parts[i] = ht_comm_split(HT_COMM_WORLD, color, 0);
        MPI_Comm_set_attr(ht_comm_mpi(parts[i]), key, NULL);
    }
    ht_release(parts[0]);
    if (!last)
        ht_release(parts[1]);
    parts[2] = ht_comm_split(HT_COMM_WORLD, ht_test_rank == 0 ? 0 : -1, 0);
    assert_int_equal(freed, 1);
    if (last)
        ht_release(parts[1]);
    ht_release(parts[2]);
    parts[0] = ht_comm_split(HT_COMM_WORLD, color, 0);
    assert_int_equal(freed, 2);
    inner = ht_comm_split(parts[0], 0, 0);
    ht_release(parts[0]);
    parts[1] = ht_comm_split(HT_COMM_WORLD, color, 0);
    ht_barrier(inner); /* outlives the one that it was split off from */
    ht_release(inner);
    ht_release(parts[1]);
    MPI_Comm_free_keyval(&key);
}

HT_TEST_SUITE(test_comm, cmocka_unit_test(test_world_is_the_job),
              cmocka_unit_test(test_chunks_are_even_and_complete),
              cmocka_unit_test(test_chunks_of_nothing), cmocka_unit_test(test_split_orders_by_key),
              cmocka_unit_test(test_split_leaves_out),
              cmocka_unit_test(test_duplicate_of_an_mpi_communicator),
              cmocka_unit_test(test_private_duplicates_are_kept),
              cmocka_unit_test(test_topology_adds_up), cmocka_unit_test(test_small_collectives),
              cmocka_unit_test(test_agreement_gives_one_text),
              cmocka_unit_test(test_unknown_handler_is_refused),
              cmocka_unit_test(test_a_split_frees_what_was_split_before));
