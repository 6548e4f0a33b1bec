/* SPDX-License-Identifier: MIT
 *
 * Where the time of a run goes. HT_TIMELINE=FILE writes a trace, FILE.0, FILE.1, ... for each rank,
 * that ui.perfetto.dev and chrome://tracing show; and a summary at the end, which a program can
 * also ask for without a trace. doc/timeline.md explains both. */
#ifndef HT_TIMELINE_H
#define HT_TIMELINE_H

#include <stdio.h>

#include "ht/error.h"

HT_BEGIN_DECLS

/* Seconds of one rank's calling thread, and bytes. forward + backward + update + program = compute;
 * compute + exposed + moving + communication + loader = wall. */
typedef struct ht_timeline_times {
    double wall, compute;
    double forward, backward; /* of modules; of backward passes */
    double update;            /* ht_optimizer_step and updates made later */
    double program;           /* outside all of the library's spans: losses, the program's own */
    double exposed;           /* waiting for the exchange of gradients */
    double moving;            /* adding and sending for it, instead of computing */
    double communication;     /* waiting for any other communication */
    double loader;            /* waiting for batches, and reading and writing files */
    double in_flight, hidden; /* some gradients were under way; and this thread did not wait */
    double exchanged;         /* bytes of the gradients */
    double sent;              /* bytes that went to other nodes for them */
} ht_timeline_times;

typedef struct ht_timeline_summary {
    int ranks;
    int64_t steps; /* calls of ht_optimizer_step; the most of any rank */
    ht_timeline_times mine, mean, least, most; /* of this rank; over the ranks, each by itself */
} ht_timeline_summary;

/* Starts to measure on the calling thread, or starts again from nothing. Under HT_TIMELINE, ht_init
 * has started already. Before ht_init: HT_ERR_STATE. Not collective. */
HT_API ht_status ht_timeline_start(void);

/* What was measured since, by the thread that started. HT_ERR_STATE if it has not. Collective over
 * the world. */
HT_API ht_status ht_timeline_summarize(ht_timeline_summary *summary);

/* Writes a page of it. Under HT_TIMELINE ht_finalize does so, on rank 0's stderr, if the program
 * has asked for no summary itself. Not collective. */
HT_API void ht_timeline_print(const ht_timeline_summary *summary, FILE *stream);

HT_END_DECLS
#endif
