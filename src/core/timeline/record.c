/* SPDX-License-Identifier: MIT
 *
 * Recording. Each thread has a stack of open spans and a buffer of finished ones. It takes no lock
 * until the buffer is full or a second old. Then the buffer is written to the file, if there is
 * one.
 *
 * At each change of the stack, the time since the last change is added to the kind of the innermost
 * open span. So every nanosecond is counted once, and the times of all kinds add up to the elapsed
 * time. */
#include "core/base/base.h"
#include "core/timeline/impl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SECOND = 1000000000 };

atomic_bool ht__timeline_on;

static _Thread_local timeline_thread *mine;
static _Thread_local const char *role = "thread";

/* The lock of the file, and of the list of threads. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static timeline_thread *threads;
static int thread_count;

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t skew;

/* Since the start. */
static timeline_thread *program; /* the thread that started */
static uint64_t started;
static bool has_file; /* all ranks were to write one */
static atomic_llong steps;

/* Flights end on any thread while the program asks for their sum: one lock, so that a flight is in
 * `flown` or still under way, and never both. */
static pthread_mutex_t flights = PTHREAD_MUTEX_INITIALIZER;
static int flying;
static uint64_t flying_since, flown, bytes_flown;

uint64_t ht__timeline_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec + 1 + skew;
}

void ht__timeline_set_skew(uint64_t ns)
{
    skew = ns;
}

static void leave(void *thread)
{
    pthread_mutex_lock(&lock);
    ((timeline_thread *)thread)->in_use = false;
    pthread_mutex_unlock(&lock);
}

static void make_key(void)
{
    pthread_key_create(&key, leave);
}

static timeline_thread *find_unused(void)
{
    for (timeline_thread *thread = threads; thread != NULL; thread = thread->next) {
        if (!thread->in_use && strcmp(thread->role, role) == 0)
            return thread;
    }
    return NULL;
}

static timeline_thread *make_thread(void)
{
    timeline_thread *thread = ht__alloc(sizeof *thread);

    thread->role = role;
    thread->id = thread_count++;
    thread->next = threads;
    threads = thread;
    return thread;
}

static timeline_thread *this_thread(void)
{
    if (mine != NULL)
        return mine;
    pthread_once(&once, make_key);
    pthread_mutex_lock(&lock);
    mine = find_unused();
    if (mine == NULL)
        mine = make_thread();
    mine->in_use = true;
    pthread_mutex_unlock(&lock);
    pthread_setspecific(key, mine);
    mine->depth = 0;
    mine->last = mine->flushed = ht__timeline_now();
    return mine;
}

void ht__timeline_name_thread(const char *name)
{
    role = name;
}

/* Under the lock. */
static void write_records(timeline_thread *thread)
{
    int count = atomic_load_explicit(&thread->count, memory_order_acquire);

    if (ht__timeline_file_is_open() && thread->written < count && !thread->announced) {
        thread->announced = true;
        ht__timeline_file_thread(thread);
    }
    for (; thread->written < count; thread->written++)
        ht__timeline_file_record(thread, &thread->records[thread->written]);
}

/* Under the lock. */
static void write_all(void)
{
    for (timeline_thread *thread = threads; thread != NULL; thread = thread->next)
        write_records(thread);
    ht__timeline_file_sync();
}

/* Never waits: the job may be ending because of what the thread that has the lock has met. */
void ht__timeline_flush(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    write_all();
    pthread_mutex_unlock(&lock);
}

/* By its own thread: no other thread may make room. */
static void flush_mine(timeline_thread *thread, uint64_t now)
{
    pthread_mutex_lock(&lock);
    write_records(thread);
    ht__timeline_file_sync();
    thread->written = 0;
    atomic_store_explicit(&thread->count, 0, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    thread->flushed = now;
}

static void record(timeline_thread *thread, timeline_record it)
{
    int count = atomic_load_explicit(&thread->count, memory_order_relaxed);

    thread->records[count] = it;
    atomic_store_explicit(&thread->count, count + 1, memory_order_release);
    if (count + 1 == HT_TIMELINE_RECORDS || it.end > thread->flushed + SECOND)
        flush_mine(thread, it.end);
}

/* Gives the time since the last change of the stack to the innermost span. */
static void account(timeline_thread *thread, uint64_t now)
{
    int kind = thread->depth > 0 ? thread->open[thread->depth - 1].kind : HT_SPAN_PROGRAM;

    thread->spent[kind] += now - thread->last;
    thread->last = now;
}

int ht__span_open(ht_span_kind kind, const char *name, const char *of)
{
    timeline_thread *thread = this_thread();
    uint64_t now;

    if (thread->depth == HT_TIMELINE_DEPTH)
        return 0; /* what lies deeper counts as part of this */
    now = ht__timeline_now();
    account(thread, now);
    thread->open[thread->depth++] = (timeline_record){
        .kind = (int)kind,
        .name = ht__timeline_keep(&thread->names, name),
        .of = of != NULL ? ht__timeline_keep(&thread->names, of) : NULL,
        .begin = now,
    };
    return thread->depth;
}

void ht__span_close(int span, bool keep)
{
    timeline_thread *thread = this_thread();
    uint64_t now = ht__timeline_now();

    if (span > thread->depth)
        return;
    account(thread, now);
    thread->depth = span - 1;
    if (!keep || !ht__timeline_is_on())
        return;

    timeline_record it = thread->open[span - 1];

    it.end = now;
    record(thread, it);
}

const char *ht__timeline_layer(void)
{
    const timeline_thread *thread = this_thread();

    for (int i = thread->depth; i-- > 0;) {
        if (thread->open[i].kind == HT_SPAN_FORWARD)
            return thread->open[i].name;
    }
    return NULL;
}

void ht__timeline_step(void)
{
    atomic_fetch_add_explicit(&steps, 1, memory_order_relaxed);
}

void ht__flight_begin(size_t bytes)
{
    pthread_mutex_lock(&flights);
    if (flying++ == 0)
        flying_since = ht__timeline_now();
    bytes_flown += bytes;
    pthread_mutex_unlock(&flights);
}

uint64_t ht__flight_end(void)
{
    uint64_t now;

    pthread_mutex_lock(&flights);
    now = ht__timeline_now();
    if (--flying == 0)
        flown += now - flying_since;
    pthread_mutex_unlock(&flights);
    return now;
}

void ht__timeline_draw_flight(const char *name, uint64_t begin, uint64_t end, size_t bytes)
{
    timeline_thread *thread = this_thread();

    if (ht__timeline_is_on() && end > begin) /* else nothing had to travel */
        record(thread, (timeline_record){.kind = HT_SPAN_KINDS,
                                         .name = ht__timeline_keep(&thread->names, name),
                                         .begin = begin,
                                         .end = end,
                                         .bytes = bytes});
}

void ht__timeline_begin(void)
{
    program = this_thread();
    pthread_mutex_lock(&flights);
    started = program->last = flying_since = ht__timeline_now();
    bytes_flown = flown = 0;
    pthread_mutex_unlock(&flights);
    memset(program->spent, 0, sizeof program->spent);
    atomic_store(&steps, 0);
    atomic_store(&ht__timeline_on, true);
}

timeline_totals ht__timeline_totals(void)
{
    timeline_totals totals = {.steps = atomic_load(&steps)};
    uint64_t now, under_way;

    pthread_mutex_lock(&flights);
    now = ht__timeline_now();
    under_way = flown + (flying > 0 ? now - flying_since : 0);
    totals.exchanged = (double)bytes_flown;
    pthread_mutex_unlock(&flights);

    account(program, now);
    for (int kind = 0; kind < HT_SPAN_KINDS; kind++)
        totals.seconds[kind] = 1e-9 * (double)program->spent[kind];
    totals.wall = 1e-9 * (double)(now - started);
    totals.in_flight = 1e-9 * (double)under_way;
    return totals;
}

void ht__timeline_record_to(const char *path, int rank, int64_t shift, int64_t error)
{
    ht__timeline_name_thread("program");
    this_thread();
    pthread_mutex_lock(&lock);
    mine->role = role;
    for (timeline_thread *thread = threads; thread != NULL; thread = thread->next) {
        thread->announced = false;
        thread->written = atomic_load(&thread->count);
    }
    ht__timeline_file_open(path, rank, shift, error);
    pthread_mutex_unlock(&lock);
    has_file = true;
}

bool ht__timeline_has_file(void)
{
    return has_file;
}

void ht__timeline_close(void)
{
    atomic_store(&ht__timeline_on, false);
    pthread_mutex_lock(&lock);
    write_all();
    ht__timeline_file_close();
    pthread_mutex_unlock(&lock);
    has_file = false;
}
