/* SPDX-License-Identifier: MIT
 *
 * The timeline, for the folders that record on it. Spans of time have a kind and a name, and nest
 * on each thread; flights of the exchange do not nest. If the timeline is off, a span costs one
 * look at a flag. */
#ifndef HT_CORE_TIMELINE_TIMELINE_H
#define HT_CORE_TIMELINE_TIMELINE_H

#include <stdatomic.h>

#include "ht/timeline.h"

/* The kinds of work of a thread. Time belongs to the innermost span that is open. */
typedef enum ht_span_kind {
    HT_SPAN_PROGRAM, /* no span at all: the program's own code */
    HT_SPAN_FORWARD,
    HT_SPAN_BACKWARD,
    HT_SPAN_UPDATE,
    HT_SPAN_EXPOSED, /* waiting for the exchange */
    HT_SPAN_MOVING,  /* adding and sending for the exchange */
    HT_SPAN_WAIT,    /* waiting for any other communication */
    HT_SPAN_LOADER,
    HT_SPAN_FILE,
    HT_SPAN_KINDS
} ht_span_kind;

extern atomic_bool ht__timeline_on;

static inline bool ht__timeline_is_on(void)
{
    return atomic_load_explicit(&ht__timeline_on, memory_order_relaxed);
}

/* Not to be called while it is off. Names are copied. `of`: what kind of thing has that name; NULL.
 */
int ht__span_open(ht_span_kind kind, const char *name, const char *of);
void ht__span_close(int span, bool keep); /* and spans inside that were left open */

/* Returns what the end is given; 0: it is off. */
static inline int ht__span_begin(ht_span_kind kind, const char *name, const char *of)
{
    return ht__timeline_is_on() ? ht__span_open(kind, name, of) : 0;
}

static inline void ht__span_end(int span)
{
    if (span != 0)
        ht__span_close(span, true);
}

/* For spans that are mostly empty: its time counts in any case, but it is drawn only if kept. */
static inline void ht__span_end_if(int span, bool keep)
{
    if (span != 0)
        ht__span_close(span, keep);
}

uint64_t ht__timeline_now(void);         /* nanoseconds of this host's clock; never 0 */
void ht__timeline_set_skew(uint64_t ns); /* added to them, for tests: a clock of another host */

/* The innermost module whose forward runs on this thread: valid until the process ends. NULL: none.
 */
const char *ht__timeline_layer(void);

void ht__timeline_step(void); /* an optimizer has made one */

/* The exchange has started, or finished, an operation: time in which some are under way is summed.
 * The end returns the time. */
void ht__flight_begin(size_t bytes);
uint64_t ht__flight_end(void);

/* Draws the span from `begin` to `end`. */
void ht__timeline_draw_flight(const char *name, uint64_t begin, uint64_t end, size_t bytes);

/* The calling thread is drawn under this name, a literal. */
void ht__timeline_name_thread(const char *name);

/* Writes the finished spans of all threads; any thread may call it at any time. */
void ht__timeline_flush(void);

/* ---- start and end (of a job's: core/start) -------------------------------------------------- */
void ht__timeline_begin(void); /* on the calling thread */

/* This rank writes `path`.RANK; `shift` makes times of this clock those of the trace. */
void ht__timeline_record_to(const char *path, int rank, int64_t shift, int64_t error);
bool ht__timeline_has_file(void);
void ht__timeline_close(void); /* recording has ended, and the file is complete */

#endif
