/* SPDX-License-Identifier: MIT */
/* The contribution of rank r to an exchange, and the sum by the tree that exchange.h promises. */
#ifndef HT_TESTS_CORE_EXCHANGE_EXCHANGE_TEST_H
#define HT_TESTS_CORE_EXCHANGE_EXCHANGE_TEST_H

#include "ht_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/exchange/exchange.h"
#include "core/base/half.h"

enum { MOST_RANKS = 64 };

/* Numbers of very different size, so that the order of additions shows. */
static inline double contribution(int r, int64_t i)
{
    uint64_t h = ((uint64_t)i * 0x9e3779b97f4a7c15u) ^ ((uint64_t)(r + 1) * 0xbf58476d1ce4e5b9u);

    h ^= h >> 29;
    h *= 0x94d049bb133111ebu;
    h ^= h >> 32;
    return ldexp((double)(int64_t)(h >> 11) - 0x1p52, -52 + (int)(h % 20));
}

static inline void fill(float *data, int64_t n, int64_t from)
{
    for (int64_t i = 0; i < n; i++)
        data[i] = (float)contribution(ht_test_rank, from + i);
}

static inline float rounded(float x, ht_dtype wire)
{
    if (wire == HT_BFLOAT16)
        return ht__bfloat16_to_float(ht__float_to_bfloat16(x));
    if (wire == HT_FLOAT16)
        return ht__float16_to_float(ht__float_to_float16(x));
    return x;
}

static inline float add_rounded(float a, float b, ht_dtype wire)
{
    return rounded(a, wire) + rounded(b, wire);
}

/* ((0+1)+(2+3))+… over the leaves, those beyond a power of two first added to a neighbour. */
static inline float tree_sum(const float *leaves, int count, ht_dtype wire)
{
    float leaf[MOST_RANKS];
    int power = 1;

    while (2 * power <= count)
        power *= 2;
    for (int j = 0; j < power; j++) {
        int folded = count - power;

        leaf[j] = leaves[j < folded ? 2 * j : j + folded];
        if (j < folded)
            leaf[j] = add_rounded(leaf[j], leaves[2 * j + 1], wire);
    }
    for (; power > 1; power /= 2) {
        for (int j = 0; j < power / 2; j++)
            leaf[j] = add_rounded(leaf[2 * j], leaf[2 * j + 1], wire);
    }
    return leaf[0];
}

/* Element i of the sum over all ranks, `per_node` of them on a node, fewer on the last one. */
static inline float expected_sum(int per_node, ht_dtype wire, int64_t i, float scale)
{
    float nodes[MOST_RANKS] = {0}, leaves[MOST_RANKS], sum;
    int count = 0;

    for (int first = 0; first < ht_test_size; first += per_node) {
        int local = ht_test_size - first < per_node ? ht_test_size - first : per_node;

        for (int r = 0; r < local; r++)
            leaves[r] = (float)contribution(first + r, i);
        nodes[count++] = tree_sum(leaves, local, HT_FLOAT32);
    }
    sum = tree_sum(nodes, count, wire) * scale;
    return count > 1 ? rounded(sum, wire) : sum;
}

static inline void assert_sums(const float *data, int64_t n, int64_t from, int per_node,
                               ht_dtype wire, float scale)
{
    for (int64_t i = 0; i < n; i++) {
        float expected = expected_sum(per_node, wire, from + i, scale);

        assert_memory_equal(&data[i], &expected, sizeof expected);
    }
}

static inline void finish(ht_exchange *exchange, ht_exchange_op *op)
{
    assert_int_equal(ht__exchange_wait(exchange, op, "test"), HT_SUCCESS);
    assert_true(ht__exchange_done(op));
    ht__exchange_release(exchange, op);
}

typedef struct job {
    ht_comm *comm;
    ht_exchange *exchange;
    int per_node;
} job;

/* On a communicator of its own: it looks at HT_RANKS_PER_NODE when it is made. Nodes are blocks of
 * ranks; the last one has the remaining ranks. */
static inline job open_job(int per_node)
{
    char text[12];
    job j = {.per_node = per_node};

    snprintf(text, sizeof text, "%d", per_node);
    setenv("HT_RANKS_PER_NODE", text, true);
    j.comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    unsetenv("HT_RANKS_PER_NODE");
    j.exchange = ht__exchange_get(j.comm, HT_PURPOSE_REDUCER);
    return j;
}

static inline void close_job(job *j)
{
    ht_release(j->comm);
}

#endif
