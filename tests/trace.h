/* SPDX-License-Identifier: MIT
 *
 * Reading traces (src/core/timeline/file.c) for tests, by a JSON parser that forgives nothing. */
#ifndef HT_TEST_TRACE_H
#define HT_TEST_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_TEXT = 160 };

struct trace_event {
    char phase; /* X: a span; b, e: the ends of a flight; M: a name */
    char name[TRACE_TEXT], category[TRACE_TEXT], of[TRACE_TEXT], id[TRACE_TEXT];
    int pid, tid;
    int64_t begin, end; /* nanoseconds */
};

struct trace {
    struct trace_event *events; /* owned */
    int count;
};

/* An array of objects; fields of nested objects are named "args.of". NULL if it is not JSON of that
 * form: then *wrong names the fault and its place. Release with trace_free. */
struct trace *trace_parse(const char *text, const char **wrong);
struct trace *trace_read(const char *path, const char **wrong);
void trace_free(struct trace *trace);

/* Whether any two spans of a thread are either nested or disjoint. */
bool trace_nests(const struct trace *trace);

/* Intervals of time, sorted and disjoint. */
struct trace_time {
    int64_t (*spans)[2]; /* owned */
    int count;
};

/* When a span of `category`, or a flight ("exchange"), was open. tid < 0: on any thread. Free
 * .spans. */
struct trace_time trace_time_of(const struct trace *trace, const char *category, int tid);
struct trace_time trace_time_both(struct trace_time a, struct trace_time b); /* in a and in b */
int64_t trace_length(struct trace_time time);

#endif
