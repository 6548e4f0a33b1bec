/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The timeline: the file of a rank is JSON whose spans nest, and the summary counts every moment
 * once. */
#include "core/comm/comm.h"
#include "core/start/start.h"
#include "core/timeline/impl.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ht_test.h"
#include "tensor_check.h"
#include "trace.h"

static char base[64];

/* Each rank uses a different name, although libht appends the rank, too. */
static void start_file(void)
{
    snprintf(base, sizeof base, "/tmp/ht-timeline-%ld", (long)getpid());
    ht__timeline_open(base);
}

static const char *file_name(void)
{
    static char name[80];

    snprintf(name, sizeof name, "%s.%d", base, ht_test_rank);
    return name;
}

/* Reads and removes it. */
static struct trace *read_file(void)
{
    const char *wrong;
    struct trace *trace = trace_read(file_name(), &wrong);

    if (trace == NULL)
        fail_msg("%s: %s", file_name(), wrong);
    unlink(file_name());
    return trace;
}

static struct trace *stop_and_read(void)
{
    ht__timeline_close();
    return read_file();
}

static const struct trace_event *find(const struct trace *trace, const char *name)
{
    for (int i = 0; i < trace->count; i++) {
        if (strcmp(trace->events[i].name, name) == 0)
            return &trace->events[i];
    }
    fail_msg("no event is called %s", name);
    return NULL;
}

static int count_of(const struct trace *trace, char phase)
{
    int count = 0;

    for (int i = 0; i < trace->count; i++)
        count += trace->events[i].phase == phase;
    return count;
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

static void *other_thread(void *unused)
{
    int span;

    (void)unused;
    ht__timeline_name_thread("other");
    span = ht__span_begin(HT_SPAN_LOADER, "elsewhere", NULL);
    pause_ms(2);
    ht__span_end(span);
    return NULL;
}

static void test_spans_nest_on_each_thread(void **state)
{
    pthread_t thread;

    (void)state;
    start_file();

    int outer = ht__span_begin(HT_SPAN_FORWARD, "outer", "Net");

    assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
    for (int i = 0; i < 3; i++) {
        int inner = ht__span_begin(HT_SPAN_FORWARD, "inner", "Linear");

        ht__span_end(ht__span_begin(HT_SPAN_WAIT, "inmost", NULL));
        assert_string_equal(ht__timeline_layer(), "inner");
        ht__span_end(inner);
    }
    pthread_join(thread, NULL);
    ht__span_end(outer);

    struct trace *trace = stop_and_read();
    const struct trace_event *elsewhere = find(trace, "elsewhere");

    assert_true(count_of(trace, 'X') >= 8);
    assert_true(trace_nests(trace));
    assert_string_equal(find(trace, "outer")->of, "Net");
    assert_int_not_equal(elsewhere->tid, find(trace, "outer")->tid);
    assert_int_equal(elsewhere->pid, ht_test_rank);
    assert_true(elsewhere->end - elsewhere->begin >= 2000000);
    trace_free(trace);
}

/* Left open by an error, or opened before the timeline: spans outside them end all the same. */
static void test_a_span_ends_those_left_open_inside(void **state)
{
    int before = ht__span_begin(HT_SPAN_FORWARD, "before", NULL);

    (void)state;
    start_file();

    int outer = ht__span_begin(HT_SPAN_FORWARD, "outer", NULL);

    ht__span_begin(HT_SPAN_BACKWARD, "left open", NULL);
    ht__span_end(outer);
    assert_null(ht__timeline_layer());
    ht__span_end(before);
    ht__span_end(ht__span_begin(HT_SPAN_UPDATE, "after", NULL));

    struct trace *trace = stop_and_read();

    assert_true(trace_nests(trace));
    assert_true(find(trace, "after")->begin >= find(trace, "outer")->end);
    assert_int_equal(before, 0);
    trace_free(trace);
}

static void test_names_are_escaped_and_cut(void **state)
{
    char name[301] = "quote \" backslash \\ newline \n \x01 end: ", expected[TRACE_TEXT];

    (void)state;
    while (strlen(name) < 299)
        strcat(name, "\xc3\xa4"); /* two bytes each, an odd number before them */
    start_file();
    ht__span_end(ht__span_begin(HT_SPAN_FORWARD, name, name));

    struct trace *trace = stop_and_read();
    size_t length = strlen(trace->events[trace->count - 1].name);

    snprintf(expected, sizeof expected, "%.*s", (int)length, name);
    assert_string_equal(find(trace, expected)->of, expected);
    assert_true(length >= 95 && length <= 96);
    assert_int_equal((length - strcspn(name, "\xc3")) % 2, 0);
    trace_free(trace);
}

static void test_nothing_is_lost_when_the_buffer_is_full(void **state)
{
    enum { SPANS = 10000 };

    (void)state;
    start_file();
    for (int i = 0; i < SPANS; i++)
        ht__span_end(ht__span_begin(HT_SPAN_FORWARD, "one of many", NULL));

    struct trace *trace = stop_and_read();

    assert_true(count_of(trace, 'X') >= SPANS);
    assert_true(trace_nests(trace));
    trace_free(trace);
}

/* A crash leaves a file that lacks only the closing bracket. */
static void test_a_file_without_its_end_lacks_a_bracket(void **state)
{
    const char *wrong = NULL;
    FILE *file;

    (void)state;
    start_file();
    ht__span_end(ht__span_begin(HT_SPAN_FORWARD, "finished", NULL));
    ht__timeline_flush();
    assert_null(trace_read(file_name(), &wrong));
    file = fopen(file_name(), "a");
    fputs("]", file);
    fclose(file);

    struct trace *trace = read_file();

    find(trace, "finished");
    trace_free(trace);
    ht__timeline_close();
}

static double now(void)
{
    return 1e-9 * (double)ht__timeline_now();
}

static double parts(const ht_timeline_times *t)
{
    return t->forward + t->backward + t->update + t->program + t->exposed + t->moving +
           t->communication + t->loader;
}

/* Bounds of a measured time: by a clock read inside of its ends, and by one read outside. */
struct bounds {
    double least, most;
};

static void add(struct bounds *bounds, const double begin[2], const double end[2])
{
    bounds->least += end[0] - begin[1];
    bounds->most += end[1] - begin[0];
}

static void expect(double x, struct bounds bounds)
{
    assert_true(x >= bounds.least - 1e-6 && x <= bounds.most + 1e-6);
}

static int begin_timed(ht_span_kind kind, double at[2])
{
    int span;

    at[0] = now();
    span = ht__span_begin(kind, "timed", NULL);
    at[1] = now();
    return span;
}

/* It counts, drawn or not. */
static void end_timed(int span, bool drawn, double at[2])
{
    at[0] = now();
    ht__span_end_if(span, drawn);
    at[1] = now();
}

/* A wait inside a layer is not counted as the layer's, and is counted once. */
static void test_parts_add_up_to_the_wall_time(void **state)
{
    struct bounds wall = {0}, forward = {0}, exposed = {0}, loader = {0};
    double start[2], stop[2], a[2], b[2], c[2], d[2];
    ht_timeline_summary s;

    (void)state;
    start[0] = now();
    assert_int_equal(ht_timeline_start(), HT_SUCCESS);
    start[1] = now();
    for (int i = 0; i < 5; i++) {
        int outer = begin_timed(HT_SPAN_FORWARD, a), inner;

        pause_ms(4);
        inner = begin_timed(HT_SPAN_EXPOSED, b);
        pause_ms(8);
        end_timed(inner, true, c);
        pause_ms(4);
        end_timed(outer, true, d);
        add(&forward, a, b);
        add(&exposed, b, c);
        add(&forward, c, d);
        inner = begin_timed(HT_SPAN_LOADER, a);
        pause_ms(6);
        end_timed(inner, false, b);
        add(&loader, a, b);
        pause_ms(2);
        ht__timeline_step();
    }
    stop[0] = now();
    assert_int_equal(ht_timeline_summarize(&s), HT_SUCCESS);
    stop[1] = now();
    ht__timeline_close();
    add(&wall, start, stop);
    expect(s.mine.wall, wall);
    expect(parts(&s.mine), wall);
    expect(s.mine.forward, forward);
    expect(s.mine.exposed, exposed);
    expect(s.mine.loader, loader);
    assert_true(fabs(parts(&s.mean) - s.mean.wall) < 1e-6);
    assert_true(s.least.forward <= s.mine.forward && s.mine.forward <= s.most.forward);
    assert_int_equal(s.steps, 5);
}

enum { ROUNDS = 500 };

static atomic_int taken_off, landed;

static void *land(void *unused)
{
    (void)unused;
    for (int round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&taken_off) < round)
            sched_yield();
        for (volatile int i = 0; i < 7 * round % 1000; i++)
            continue;
        ht__flight_end();
        atomic_store(&landed, round);
    }
    return NULL;
}

/* A flight as long as all the time so far ends while it is asked for: it counts once. */
static void test_a_flight_that_ends_meanwhile_counts_once(void **state)
{
    pthread_t thread;

    (void)state;
    ht_timeline_start();
    atomic_store(&taken_off, 0);
    atomic_store(&landed, 0);
    assert_int_equal(pthread_create(&thread, NULL, land, NULL), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        ht__timeline_begin();
        ht__flight_begin(1);
        atomic_store(&taken_off, round);
        do {
            timeline_totals totals = ht__timeline_totals();

            assert_true(totals.in_flight <= totals.wall);
        } while (atomic_load(&landed) < round);
    }
    pthread_join(thread, NULL);
    ht__timeline_close();
}

static void test_starting_again_forgets(void **state)
{
    ht_timeline_summary s;

    (void)state;
    ht_timeline_start();

    int span = ht__span_begin(HT_SPAN_FORWARD, "before", NULL);

    pause_ms(5);
    ht__timeline_step();
    ht_timeline_start();
    ht__span_end(span);
    ht_timeline_summarize(&s);
    ht__timeline_close();
    assert_int_equal(s.steps, 0);
    assert_true(fabs(parts(&s.mine) - s.mine.wall) < 1e-6);
}

/* One machine that plays several, whose clocks differ by seconds. */
static void test_the_difference_of_clocks_is_found(void **state)
{
    int64_t offset = 1, error = 1, skew = ht_test_rank * INT64_C(3000000000);
    ht_comm *comm;

    (void)state;
    assert_int_equal(ht__comm_clock_offset(HT_COMM_WORLD, &offset, &error), HT_SUCCESS);
    if (HT_COMM_WORLD->nodes == 1)
        assert_true(offset == 0 && error == 0);

    setenv("HT_RANKS_PER_NODE", "1", true);
    comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);
    unsetenv("HT_RANKS_PER_NODE");
    ht__timeline_set_skew((uint64_t)skew);
    assert_int_equal(ht__comm_clock_offset(comm, &offset, &error), HT_SUCCESS);
    ht__timeline_set_skew(0);
    if (ht_test_rank > 0)
        assert_true(error > 0 && error < 1000000000);
    assert_true(llabs(offset + skew) <= error);
    ht_release(comm);
}

static void keep(ht_log_level level, const char *line, void *user)
{
    (void)level;
    snprintf(user, 256, "%s", line);
}

static void test_a_file_that_cannot_be_written_is_a_warning(void **state)
{
    char line[256] = "";
    ht_timeline_summary s;

    (void)state;
    ht_log_set_sink(keep, line);
    ht__timeline_open("/nowhere/trace");
    ht_log_set_sink(NULL, NULL);
    assert_non_null(strstr(line, "HT_TIMELINE: cannot write /nowhere/trace."));
    assert_int_equal(ht_timeline_summarize(&s), HT_SUCCESS);
    ht__timeline_close();
}

/* Seconds of a run as milliseconds of a step. */
static void test_the_page_of_a_summary(void **state)
{
    ht_timeline_summary s = {.ranks = 3, .steps = 4};
    const char *const lines[] = {
        "timeline: 3 ranks, 4 steps in 2.000 s\n",
        "  milliseconds a step            mean  (least ... most rank)  of the wall time\n",
        "  compute                     250.000  (225.000 ... 300.000)   50 %\n",
        "  exchange, exposed           125.000  (0.000 ... 0.000)   25 %\n",
        "  imbalance of compute: the slowest rank takes 20.0 % more than the mean\n",
        "  gradients: 1.500 MB a step and rank, 0.500 MB sent to other nodes\n",
    };
    char line[256];
    FILE *page = tmpfile();
    size_t found = 0;

    (void)state;
    s.mean = (ht_timeline_times){
        .wall = 2, .compute = 1, .exposed = 0.5, .exchanged = 6e6, .sent = 2e6};
    s.least.compute = 0.9;
    s.most.compute = 1.2;
    ht_timeline_print(&s, page);
    rewind(page);
    while (fgets(line, sizeof line, page) != NULL)
        found += found < 6 && strcmp(line, lines[found]) == 0;
    fclose(page);
    if (found != 6)
        fail_msg("there is no line \"%s\"", lines[found]);
    HT_TEST_EXPECT_ERROR(ht_timeline_print(NULL, stdout), HT_ERR_ARGUMENT,
                         "ht_timeline_print: summary is NULL");
    HT_TEST_EXPECT_ERROR(ht_timeline_print(&s, NULL), HT_ERR_ARGUMENT,
                         "ht_timeline_print: stream is NULL");
}

static void test_a_summary_needs_a_start(void **state)
{
    ht_timeline_summary s;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_timeline_summarize(&s), HT_ERR_STATE,
                         "ht_timeline_summarize: call ht_timeline_start first");
}

HT_TEST_SUITE(test_timeline, cmocka_unit_test(test_spans_nest_on_each_thread),
              cmocka_unit_test(test_a_span_ends_those_left_open_inside),
              cmocka_unit_test(test_names_are_escaped_and_cut),
              cmocka_unit_test(test_nothing_is_lost_when_the_buffer_is_full),
              cmocka_unit_test(test_a_file_without_its_end_lacks_a_bracket),
              cmocka_unit_test(test_parts_add_up_to_the_wall_time),
              cmocka_unit_test(test_a_flight_that_ends_meanwhile_counts_once),
              cmocka_unit_test(test_starting_again_forgets),
              cmocka_unit_test(test_the_difference_of_clocks_is_found),
              cmocka_unit_test(test_a_file_that_cannot_be_written_is_a_warning),
              cmocka_unit_test(test_the_page_of_a_summary),
              cmocka_unit_test(test_a_summary_needs_a_start));
