/* SPDX-License-Identifier: MIT
 *
 * The numbers of draws. Each communicator counts its own draws, so that draws on some of the ranks
 * do not change those of others. Threads of the program share the counts; threads of the library
 * draw from streams. */
#include "core/ops/creation/random_stream.h"

#include <pthread.h>

#include "core/comm/mpi.h"
#include "core/ops/ops.h"
#include "ht/random.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* over all numbers, but for streams */
static uint64_t seed_now;
static uint64_t epoch;       /* raised by seeding: counts of an earlier one are over */
static uint64_t world_draws; /* may be set before there is a world */

static _Thread_local ht_random_stream *stream; /* not owned; the innermost; NULL: none */

uint64_t ht__random_mix(uint64_t key, uint64_t number)
{
    uint64_t z = key + 0x9e3779b97f4a7c15u * (number + 1);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void ht__random_enter(ht_random_stream *s, ht_random_stream_kind of, uint64_t seed, uint64_t first,
                      uint64_t second)
{
    const uint64_t key = ht__random_mix(ht__random_mix(seed, of), first);

    *s = (ht_random_stream){.seed = ht__random_mix(key, second), .outer = stream};
    stream = s;
}

void ht__random_leave(const ht_random_stream *s)
{
    stream = s->outer;
}

/* Ranks that share a communicator count together, also from inside a stream of one of them. */
static ht_random_stream *stream_of(const ht_comm *comm)
{
    return comm->size == 1 ? stream : NULL;
}

static uint64_t *draws_of(ht_comm *comm)
{
    if (comm == ht__comm_world_if_any())
        return &world_draws;
    if (comm->draws_epoch != epoch) {
        comm->draws_epoch = epoch;
        comm->draws = 0;
    }
    return &comm->draws;
}

uint64_t ht__random_draws(ht_comm *comm)
{
    uint64_t draws;

    pthread_mutex_lock(&mutex);
    draws = *draws_of(comm);
    pthread_mutex_unlock(&mutex);
    return draws;
}

void ht__random_set_draws(ht_comm *comm, uint64_t draws)
{
    pthread_mutex_lock(&mutex);
    *draws_of(comm) = draws;
    pthread_mutex_unlock(&mutex);
}

void ht__random_next(ht_comm *comm, uint64_t *seed, uint64_t *draw)
{
    ht_random_stream *own = stream_of(comm);

    if (own != NULL) {
        *seed = ht__replay(own->seed);
        *draw = ht__replay_count(&own->draws);
        return;
    }
    pthread_mutex_lock(&mutex);
    *seed = ht__replay(seed_now);
    *draw = ht__replay_count(draws_of(comm));
    pthread_mutex_unlock(&mutex);
}

void ht_random_seed(uint64_t seed)
{
    ht_random_set_state(seed, 0);
}

static void get_state(uint64_t *seed, uint64_t *draw)
{
    if (stream != NULL) {
        *seed = stream->seed;
        *draw = stream->draws;
        return;
    }
    pthread_mutex_lock(&mutex);
    *seed = seed_now;
    *draw = world_draws;
    pthread_mutex_unlock(&mutex);
}

void ht_random_get_state(uint64_t *seed, uint64_t *draw)
{
    uint64_t seed_there, draw_there;

    get_state(&seed_there, &draw_there);
    if (seed != NULL)
        *seed = seed_there;
    if (draw != NULL)
        *draw = draw_there;
}

void ht_random_set_state(uint64_t seed, uint64_t draw)
{
    if (stream != NULL) {
        stream->seed = seed;
        stream->draws = draw;
        return;
    }
    pthread_mutex_lock(&mutex);
    seed_now = seed;
    world_draws = draw;
    epoch++;
    pthread_mutex_unlock(&mutex);
}
