/* SPDX-License-Identifier: MIT
 *
 * Random operations of the exchange, several at once and finished in another order on each rank, on
 * nodes of random size. The halves must have the bits of the sums, and sums the bits of a single
 * sum on the other way. Lengths, segments, priorities and memory make no difference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange/exchange.h"
#include "fuzz/fuzz.h"

enum { SUM, SCATTER, GATHER, KINDS, OPS = 6, MOST = 6000, ENGINES = 8 };
static const char *const names[] = {"sum", "reduce-scatter", "all-gather"};

struct operation {
    int kind, priority;
    int64_t n;
    ht_dtype dtype, wire;
    double scale;
    bool shared;
    uint64_t seed;
    char *data, *memory; /* memory: of the exchange, kept */
    ht_exchange_op *op;
};

static char failure[512];
static int rank, size;

/* A split of the world ends the engines of earlier ones that the program has released. */
static ht_comm *comms[ENGINES];

static void release_comms(void)
{
    for (int i = 0; i < ENGINES; i++) {
        ht_release(comms[i]);
        comms[i] = NULL;
    }
}

/* With 1, 2 or 3 ranks on a node, or all; with shared memory or without. */
static ht_exchange *engine(int which)
{
    static ht_exchange *made[ENGINES];
    char text[2] = {(char)('0' + which / 2), '\0'};

    if (made[which] != NULL)
        return made[which];
    if (which % 2 != 0)
        setenv("HT_EXCHANGE", "messages", true);
    if (which / 2 > 0)
        setenv("HT_RANKS_PER_NODE", text, true);
    comms[which] = ht_comm_split(HT_COMM_WORLD, 0, rank);
    made[which] = ht__exchange_get(comms[which], HT_PURPOSE_REDUCER);
    ht__at_finalize(release_comms);
    unsetenv("HT_RANKS_PER_NODE");
    unsetenv("HT_EXCHANGE");
    return made[which];
}

static void fill(const struct operation *o, char *data)
{
    size_t bytes = (size_t)o->n * ht_dtype_size(o->dtype);

    for (int64_t i = 0; i < o->n && o->kind != GATHER; i++) {
        uint64_t h = hash_of(o->seed + (uint64_t)rank, (uint64_t)i);
        double x = ldexp((double)(h >> 40) - 0x1p23, -23 + (int)(h % 8));

        if (o->dtype == HT_FLOAT32)
            ((float *)data)[i] = (float)x;
        else
            ((double *)data)[i] = x;
    }
    for (size_t i = 0; i < bytes && o->kind == GATHER; i++)
        data[i] = (char)hash_of(o->seed, i);
}

static void begin_one(ht_exchange *exchange, struct operation *o)
{
    int64_t begin, count, size_of = (int64_t)ht_dtype_size(o->dtype);

    fill(o, o->data);
    ht__exchange_part(exchange, o->n, rank, &begin, &count);
    if (o->kind == SUM) {
        o->op = ht__exchange_start_as(exchange, o->data, o->n, o->dtype, o->wire, o->scale,
                                      o->priority);
    } else if (o->kind == SCATTER) {
        o->op = ht__exchange_reduce_scatter(exchange, o->data, o->n, o->dtype, o->wire, o->scale,
                                            o->priority);
    } else {
        memset(o->data, 0x5a, (size_t)(begin * size_of));
        memset(o->data + (begin + count) * size_of, 0x5a,
               (size_t)((o->n - begin - count) * size_of));
        o->op = ht__exchange_all_gather(exchange, o->data, o->n, o->dtype, o->priority);
    }
}

static void come_to_end(ht_exchange *exchange, struct operation *o)
{
    ht__exchange_wait(exchange, o->op, "fuzz");
    ht__exchange_release(exchange, o->op);
}

/* Compares with the expected result: a sum as another engine makes it, for this rank's part or for
 * all. */
static void check(ht_exchange *exchange, const struct operation *o)
{
    static double right[2 * MOST], given[2 * MOST];
    size_t element = ht_dtype_size(o->dtype);
    int64_t begin, count;

    fill(o, (char *)right);
    memcpy(given, right, (size_t)o->n * element);
    if (o->kind != GATHER) {
        struct operation alone = *o;

        alone.op = ht__exchange_start_as(exchange, right, o->n, o->dtype, o->wire, o->scale, 0);
        come_to_end(exchange, &alone);
    }
    ht__exchange_part(exchange, o->n, rank, &begin, &count);
    for (int64_t i = 0; i < o->n && failure[0] == '\0'; i++) {
        bool mine = o->kind != SCATTER || (i >= begin && i < begin + count);

        if (memcmp(o->data + (size_t)i * element,
                   (char *)(mine ? right : given) + (size_t)i * element, element) != 0)
            snprintf(failure, sizeof failure,
                     "%s of %lld %s as %s, scale %g, priority %d, %s: element %lld on rank %d",
                     names[o->kind], (long long)o->n, ht_dtype_name(o->dtype),
                     ht_dtype_name(o->wire), o->scale, o->priority,
                     o->shared ? "in shared memory" : "in memory of its own", (long long)i, rank);
    }
}

static struct operation random_operation(struct random *random)
{
    static const int64_t below[] = {3, 40, 2000, MOST};
    static const double scales[] = {1, 0.5, 1.0 / 3};
    struct operation o = {.kind = (int)random_below(random, KINDS),
                          .priority = (int)random_below(random, 4),
                          .n = random_below(random, below[random_below(random, 4)]),
                          .dtype = random_chance(random, 70) ? HT_FLOAT32 : HT_FLOAT64,
                          .scale = scales[random_below(random, 3)],
                          .shared = random_chance(random, 50),
                          .seed = random_next(random)};

    if (o.kind == GATHER)
        o.dtype = (ht_dtype)random_below(random, HT_DTYPE_COUNT);
    o.wire = o.dtype;
    if (o.kind != GATHER && o.dtype == HT_FLOAT32 && random_chance(random, 40))
        o.wire = random_chance(random, 50) ? HT_FLOAT16 : HT_BFLOAT16;
    return o;
}

static void run(struct random *random, bool trace)
{
    static const size_t segments[] = {64, 1000, 4096, 512 * 1024};
    static char plain[OPS][MOST * 16];
    int which = (int)random_below(random, ENGINES), count = 1 + (int)random_below(random, OPS);
    ht_exchange *exchange = engine(which);
    struct operation ops[OPS];

    ht__exchange_set_segment(exchange, segments[random_below(random, 4)]);
    for (int i = 0; i < count; i++) {
        struct operation *o = &ops[i];

        *o = random_operation(random);
        o->data = plain[i];
        if (o->shared)
            o->data = o->memory = ht__exchange_memory(exchange, sizeof plain[i]);
        if (trace && rank == 0)
            fprintf(stderr, "  engine %d: %s of %lld %s as %s, priority %d, shared %d\n", which,
                    names[o->kind], (long long)o->n, ht_dtype_name(o->dtype),
                    ht_dtype_name(o->wire), o->priority, o->shared);
    }
    for (int i = 0; i < count; i++)
        begin_one(exchange, &ops[i]);
    for (int i = 0; i < count; i++)
        come_to_end(exchange, &ops[(i + rank) % count]);
    for (int i = 0; i < count; i++)
        check(engine(which ^ 1), &ops[i]);
    for (int i = 0; i < count; i++) {
        if (ops[i].shared)
            ht__exchange_memory_release(exchange, ops[i].memory);
    }
}

bool family_exchange(uint64_t seed, bool trace)
{
    struct random random = {hash_of(seed, 777)};
    int first;

    rank = ht_comm_rank(HT_COMM_WORLD);
    size = ht_comm_size(HT_COMM_WORLD);
    failure[0] = '\0';
    for (int i = 0; i < 4; i++)
        run(&random, trace);
    first = failure[0] != '\0' ? rank : size;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == rank)
        fprintf(stderr, "fuzz: exchange, seed %llu, %d ranks: %s\n", (unsigned long long)seed, size,
                failure);
    return first == size;
}
