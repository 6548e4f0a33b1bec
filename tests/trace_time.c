/* SPDX-License-Identifier: MIT
 *
 * Times of events, and the spans around them. */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

/* By process and thread, then by begin; what lies outside first. */
static int outer_first(const void *one, const void *other)
{
    const struct trace_event *a = one, *b = other;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end != b->end ? (a->end > b->end ? -1 : 1) : 0;
}

bool trace_nests(const struct trace *trace)
{
    struct trace_event *sorted = malloc(((size_t)trace->count + 1) * sizeof *sorted);
    int count = 0, depth = 0, open[64];
    bool nests = true;

    for (int i = 0; i < trace->count; i++) {
        if (trace->events[i].phase == 'X')
            sorted[count++] = trace->events[i];
    }
    qsort(sorted, (size_t)count, sizeof *sorted, outer_first);
    for (int i = 0; i < count && nests; i++) {
        const struct trace_event *e = &sorted[i], *outer;

        while (depth > 0 &&
               (outer = &sorted[open[depth - 1]],
                outer->pid != e->pid || outer->tid != e->tid || outer->end <= e->begin))
            depth--;
        nests = e->end >= e->begin && depth < 64 &&
                (depth == 0 || e->end <= sorted[open[depth - 1]].end);
        if (nests)
            open[depth++] = i;
    }
    free(sorted);
    return nests;
}

static int by_begin(const void *one, const void *other)
{
    const int64_t *a = one, *b = other;

    return (a[0] > b[0]) - (a[0] < b[0]);
}

static void add_time(struct trace_time *time, int64_t begin, int64_t end)
{
    time->spans = realloc(time->spans, ((size_t)time->count + 1) * sizeof *time->spans);
    if (time->spans == NULL)
        abort();
    time->spans[time->count][0] = begin;
    time->spans[time->count++][1] = end;
}

/* Sorts, and joins what touches. */
static void tidy(struct trace_time *time)
{
    int kept = 0;

    if (time->count == 0)
        return;
    qsort(time->spans, (size_t)time->count, sizeof *time->spans, by_begin);
    for (int i = 1; i < time->count; i++) {
        int64_t *last = time->spans[kept], *next = time->spans[i];

        if (next[0] > last[1])
            memcpy(time->spans[++kept], next, sizeof *time->spans);
        else if (next[1] > last[1])
            last[1] = next[1];
    }
    time->count = kept + 1;
}

static int64_t end_of_flight(const struct trace *trace, const struct trace_event *begin)
{
    for (int i = 0; i < trace->count; i++) {
        const struct trace_event *e = &trace->events[i];

        if (e->phase == 'e' && e->pid == begin->pid && strcmp(e->id, begin->id) == 0)
            return e->begin;
    }
    return begin->begin;
}

struct trace_time trace_time_of(const struct trace *trace, const char *category, int tid)
{
    struct trace_time time = {0};

    for (int i = 0; i < trace->count; i++) {
        const struct trace_event *e = &trace->events[i];

        if (strcmp(e->category, category) != 0 || (tid >= 0 && e->tid != tid))
            continue;
        if (e->phase == 'X')
            add_time(&time, e->begin, e->end);
        else if (e->phase == 'b')
            add_time(&time, e->begin, end_of_flight(trace, e));
    }
    tidy(&time);
    return time;
}

struct trace_time trace_time_both(struct trace_time a, struct trace_time b)
{
    struct trace_time both = {0};

    for (int i = 0, k = 0; i < a.count && k < b.count;) {
        int64_t begin = a.spans[i][0] > b.spans[k][0] ? a.spans[i][0] : b.spans[k][0];
        int64_t end = a.spans[i][1] < b.spans[k][1] ? a.spans[i][1] : b.spans[k][1];

        if (begin < end)
            add_time(&both, begin, end);
        if (a.spans[i][1] < b.spans[k][1])
            i++;
        else
            k++;
    }
    return both;
}

int64_t trace_length(struct trace_time time)
{
    int64_t length = 0;

    for (int i = 0; i < time.count; i++)
        length += time.spans[i][1] - time.spans[i][0];
    return length;
}
