/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* The map of ranks to nodes: of the ranks that are there, and of larger jobs by hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/comm/topology_map.h"
#include "ht.h"
#include "ht_test.h"

static void assert_map(const int *nodes, int size, const char *expected)
{
    char map[256];

    ht__topology_map(nodes, size, map, sizeof map);
    assert_string_equal(map, expected);
}

/* Each row of `maps` is by the number of ranks; nodes of two. */
static void map_of_nodes_with_two_ranks(void **state)
{
    static const char *const maps[] = {
        [1] = "node 0: rank 0",
        [2] = "node 0: ranks 0-1",
        [3] = "node 0: ranks 0-1, node 1: rank 2",
        [4] = "node 0: ranks 0-1, node 1: ranks 2-3",
        [7] = "node 0: ranks 0-1, node 1: ranks 2-3, node 2: ranks 4-5, node 3: rank 6",
    };

    (void)state;
    setenv("HT_RANKS_PER_NODE", "2", true);

    ht_comm *comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    int *nodes = ht__topology_nodes(comm);

    assert_string_equal(ht__topology_source(), "HT_RANKS_PER_NODE");
    unsetenv("HT_RANKS_PER_NODE");
    assert_map(nodes, ht_test_size, maps[ht_test_size]);
    ht__free(nodes);
    ht_release(comm);
}

static void test_one_host_is_one_node(void **state)
{
    int *nodes = ht__topology_nodes(HT_COMM_WORLD);
    char expected[32];

    (void)state;
    assert_string_equal(ht__topology_source(), "shared memory");
    snprintf(expected, sizeof expected, ht_test_size > 1 ? "node 0: ranks 0-%d" : "node 0: rank %d",
             ht_test_size - 1);
    assert_map(nodes, ht_test_size, expected);
    ht__free(nodes);
}

/* mpirun does not hand the environment on to other hosts: the others waited for ever. */
static void test_rank_0_decides(void **state)
{
    ht_comm *comm;
    int nodes;

    (void)state;
    if (ht_test_rank == 0)
        setenv("HT_RANKS_PER_NODE", "1", true);
    else if (ht_test_rank == 1)
        setenv("HT_RANKS_PER_NODE", "2", true);
    comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    unsetenv("HT_RANKS_PER_NODE");
    ht_comm_topology(comm, &nodes, NULL, NULL, NULL);
    assert_int_equal(nodes, ht_test_size);
    ht_release(comm);
}

/* A launcher may deal ranks out by turns, or leave gaps. */
static void test_ranks_that_do_not_follow_one_another(void **state)
{
    (void)state;
    assert_map((int[]){0, 1, 0, 1}, 4, "node 0: ranks 0,2, node 1: ranks 1,3");
    assert_map((int[]){0, 0, 1, 0, 0, 1, 1}, 7, "node 0: ranks 0-1,3-4, node 1: ranks 2,5-6");
}

static void test_many_equal_nodes_are_one_entry(void **state)
{
    int nodes[30];

    (void)state;
    for (int r = 0; r < 30; r++)
        nodes[r] = r / 4;
    assert_map(nodes, 28, "nodes 0-6: ranks 0-27, 4 each");
    assert_map(nodes, 30, "nodes 0-6: ranks 0-27, 4 each, node 7: ranks 28-29");
    assert_map(nodes, 16,
               "node 0: ranks 0-3, node 1: ranks 4-7, node 2: ranks 8-11, "
               "node 3: ranks 12-15");
    /* The first one is larger, and the ranks of the last are not in a row. */
    assert_map((int[]){0, 0, 1, 2, 3, 4, 5, 6, 0}, 9,
               "node 0: ranks 0-1,8, nodes 1-6: ranks 2-7, 1 each");
}

static void a_map_too_long_is_cut(void **state)
{
    char map[24];

    (void)state;
    ht__topology_map((int[]){0, 1, 0, 1}, 4, map, sizeof map);
    assert_string_equal(map, "node 0: ranks 0,2, n...");
}

HT_TEST_SUITE(test_topology_map, cmocka_unit_test(map_of_nodes_with_two_ranks),
              cmocka_unit_test(test_one_host_is_one_node), cmocka_unit_test(test_rank_0_decides),
              cmocka_unit_test(test_ranks_that_do_not_follow_one_another),
              cmocka_unit_test(test_many_equal_nodes_are_one_entry),
              cmocka_unit_test(a_map_too_long_is_cut));
