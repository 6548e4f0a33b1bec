/* SPDX-License-Identifier: MIT
 *
 * Streams of random numbers, for code that runs on threads of the library. Its process-local draws
 * are numbered within the stream, so they do not depend on the order of the threads. */
#ifndef HT_CORE_OPS_CREATION_RANDOM_STREAM_H
#define HT_CORE_OPS_CREATION_RANDOM_STREAM_H

#include <stdint.h>

typedef enum ht_random_stream_kind {
    HT_STREAM_BATCH,  /* the transform of a loader's batch */
    HT_STREAM_REPLICA /* a copy of a module on another device */
} ht_random_stream_kind;

typedef struct ht_random_stream {
    uint64_t seed, draws;
    struct ht_random_stream *outer; /* not owned; of this thread; NULL: none */
} ht_random_stream;

/* Between the two, the thread draws from the stream of (of, seed, first, second). The struct is the
 * caller's. */
void ht__random_enter(ht_random_stream *s, ht_random_stream_kind of, uint64_t seed, uint64_t first,
                      uint64_t second);
void ht__random_leave(const ht_random_stream *s);

/* Mixes a number into a key: all bits of both reach all bits of the result. */
uint64_t ht__random_mix(uint64_t key, uint64_t number);

#endif
