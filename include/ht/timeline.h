/* SPDX-License-Identifier: MIT
 *
 * Where the time of a run goes.
 *
 * HT_TIMELINE=FILE writes a trace for each rank, FILE.0, FILE.1, ..., which ui.perfetto.dev and
 * chrome://tracing show. It also prints a summary at the end. A program can get the summary without
 * a trace. doc/timeline.md explains both. */
#ifndef HT_TIMELINE_H
#define HT_TIMELINE_H

#include <stdio.h>

#include "ht/error.h"

HT_BEGIN_DECLS

/* Seconds of one rank's calling thread, and bytes.
 *
 * compute = forward + backward + update + program, and wall = compute + exposed + moving +
 * communication + loader. */
typedef struct ht_timeline_times {
    double wall, compute;     /* the sums above */
    double forward, backward; /* of modules; of backward passes */
    double update;            /* ht_optimizer_step and due updates */
    double program;           /* outside all spans of the library: losses, the program's own work */
    double exposed;           /* waiting for the exchange of gradients */
    double moving;            /* adding and sending for that exchange, instead of computing */
    double communication;     /* waiting for any other communication */
    double loader;            /* waiting for batches, and reading and writing files */
    double in_flight, hidden; /* gradients were in flight; the part without waiting */
    double exchanged;         /* bytes of the gradients */
    double sent;              /* bytes sent to other nodes for them */
} ht_timeline_times;

typedef struct ht_timeline_summary {
    int ranks;
    int64_t steps; /* calls of ht_optimizer_step; the maximum over ranks */
    ht_timeline_times mine, mean, least, most; /* this rank; each field over all ranks */
} ht_timeline_summary;

/* Starts to measure on the calling thread, or starts again from zero.
 *
 * Under HT_TIMELINE, ht_init has started already.
 *
 * Not collective.
 * Errors: HT_ERR_STATE before ht_init, which ends the process (ht/error.h). */
HT_API ht_status ht_timeline_start(void);

/* Combines the measurements of all ranks since ht_timeline_start, each of the thread that started.
 *
 * summary: *summary is filled in; unchanged after an error.
 * Collective over the world, after ht_timeline_start on every rank.
 * Errors: HT_ERR_STATE without ht_timeline_start, on that rank alone. */
HT_API ht_status ht_timeline_summarize(ht_timeline_summary *summary);

/* Prints a page on `summary` to `stream`.
 *
 * Under HT_TIMELINE, ht_finalize prints one to rank 0's stderr, unless the program has asked for a
 * summary itself.
 *
 * Not collective.
 * Errors: HT_ERR_ARGUMENT (ht_error_get) if summary or stream is NULL. */
HT_API void ht_timeline_print(const ht_timeline_summary *summary, FILE *stream);

HT_END_DECLS
#endif
