/* SPDX-License-Identifier: MIT
 *
 * The inside of the timeline, for this folder and core/start only: the recordings of a thread, and
 * the file. */
#ifndef HT_CORE_TIMELINE_IMPL_H
#define HT_CORE_TIMELINE_IMPL_H

#include <stdatomic.h>

#include "core/timeline/timeline.h"

enum { HT_TIMELINE_DEPTH = 64, HT_TIMELINE_RECORDS = 4096 };

typedef struct timeline_record {
    const char *name, *of; /* of the thread's names */
    uint64_t begin, end;
    uint64_t bytes; /* of a flight */
    int kind;       /* of a span; HT_SPAN_KINDS: a flight */
} timeline_record;

/* Strings, each kept once, until the process ends: layers and buckets may be destroyed before their
 * spans are written. */
typedef struct timeline_names {
    char **table; /* open addressing; a power of two */
    size_t room, count;
} timeline_names;

const char *ht__timeline_keep(timeline_names *names, const char *text);

/* Written by its thread alone, but for `written`, and read by the thread that writes the file:
 * records up to `count`. Kept until the process ends; taken over by a later thread of the same
 * name. */
typedef struct timeline_thread {
    struct timeline_thread *next;
    const char *role; /* a literal */
    int id;
    bool in_use, announced; /* under the lock; announced: the file has its name */

    timeline_record open[HT_TIMELINE_DEPTH];
    int depth;
    uint64_t last;                 /* when the innermost span changed */
    uint64_t spent[HT_SPAN_KINDS]; /* up to then, in spans of each kind and nothing inside them */
    timeline_names names;

    timeline_record records[HT_TIMELINE_RECORDS];
    atomic_int count; /* of records */
    int written;      /* of them; under the lock */
    uint64_t flushed; /* when its thread last did so */
} timeline_thread;

/* timeline/file.c; under the lock. `shift` makes times of this clock those of the trace. */
void ht__timeline_file_open(const char *path, int rank, int64_t shift, int64_t error);
bool ht__timeline_file_is_open(void);
void ht__timeline_file_thread(const timeline_thread *thread);
void ht__timeline_file_record(const timeline_thread *thread, const timeline_record *record);
void ht__timeline_file_sync(void); /* hands complete lines to the system */
void ht__timeline_file_close(void);

/* record.c: since the start, on the thread that started it. */
typedef struct timeline_totals {
    double seconds[HT_SPAN_KINDS];
    double wall, in_flight, exchanged; /* seconds; bytes */
    int64_t steps;
} timeline_totals;
timeline_totals ht__timeline_totals(void);

#endif
