/* SPDX-License-Identifier: MIT
 *
 * Copies between a device and memory of the host that is not pinned. The driver would wait for all
 * earlier work of the stream before it reads such memory. So the bytes pass through pinned pieces,
 * a part in each, on two lanes in turn: while the device copies one piece, the host copies the
 * other. A lane is a separate stream, and its work is done in order. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/staging.h"

enum { LANES = 2, JOBS = 64 };

#define PIECE ((size_t)4 << 20)

/* The driver itself copies this much at once, for any work in the stream. */
#define SMALL ((size_t)64 << 10)

/* A job that waits can be called off, and one that runs cannot. */
enum { DONE, WAITS, RUNS };

/* A copy from a piece to memory of the host, which a lane makes in its turn. */
typedef struct job {
    void *to;
    const void *from;
    size_t bytes;
    atomic_int state;
} job;

typedef struct lane {
    void *stream;
    void *up, *down; /* pinned, PIECE bytes to and from the device; NULL: not needed so far */
    void *emptied;   /* an event: `up` may be filled again */
    void *passed;    /* an event, recorded again for each wait */
    job jobs[JOBS];  /* the last ones, in a ring */
    unsigned next_job;
} lane;

typedef struct route {
    pthread_mutex_t mutex; /* of what follows: the thread of a loader copies, too */
    lane lanes[LANES];
    unsigned next; /* whose turn it is */
    void *given;   /* an event: the work that the stream had before the copy */
} route;

/* Copies of each kind have a route, so that they never wait for copies of another kind. One route
 * is in the order of the work. The others are in parallel with it: to the host, to the device after
 * an event, and to the device ahead. A copy ahead may wait for all work that the device has. */
typedef enum route_kind { IN_ORDER, TO_HOST, AFTER_EVENT, AHEAD, ROUTES } route_kind;

typedef struct ht_cuda_staging {
    route routes[ROUTES];
} ht_cuda_staging;

static int lane_open(lane *l)
{
    int error = ht_cuda_stream_new(&l->stream);

    if (error == 0)
        error = ht_cuda_event_new(&l->emptied);
    return error != 0 ? error : ht_cuda_event_new(&l->passed);
}

/* After an error of the device, CUDA calls no job that waits, and one may still run. */
static void call_off_jobs(lane *l)
{
    for (int i = 0; i < JOBS; i++) {
        int state = WAITS;

        if (atomic_compare_exchange_strong(&l->jobs[i].state, &state, DONE))
            continue;
        while (atomic_load(&l->jobs[i].state) == RUNS)
            sched_yield();
    }
}

/* When it returns, nothing of the lane writes memory of the host. */
static int lane_wait(lane *l)
{
    const int error = ht_cuda_stream_wait(l->stream);

    if (error != 0)
        call_off_jobs(l);
    return error;
}

/* Also one that is open in part. */
static void lane_close(lane *l)
{
    if (l->stream != NULL) {
        lane_wait(l);
        ht_cuda_stream_free(l->stream);
    }
    if (l->emptied != NULL)
        ht_cuda_event_free(l->emptied);
    if (l->passed != NULL)
        ht_cuda_event_free(l->passed);
    if (l->up != NULL)
        ht_cuda_host_free(l->up);
    if (l->down != NULL)
        ht_cuda_host_free(l->down);
}

static int route_open(route *r)
{
    int error = 0;

    for (int i = 0; i < LANES && error == 0; i++)
        error = lane_open(&r->lanes[i]);
    return error != 0 ? error : ht_cuda_event_new(&r->given);
}

static void route_close(route *r)
{
    for (int i = 0; i < LANES; i++)
        lane_close(&r->lanes[i]);
    if (r->given != NULL)
        ht_cuda_event_free(r->given);
    pthread_mutex_destroy(&r->mutex);
}

struct ht_cuda_staging *ht_cuda_staging_new(void)
{
    ht_cuda_staging *staging = calloc(1, sizeof *staging);

    for (int i = 0; i < ROUTES && staging != NULL; i++)
        pthread_mutex_init(&staging->routes[i].mutex, NULL);
    return staging;
}

int ht_cuda_staging_open(const ht_cuda_device *device)
{
    int error = 0;

    for (int i = 0; i < ROUTES && error == 0; i++)
        error = route_open(&device->staging->routes[i]);
    return error;
}

void ht_cuda_staging_free(const ht_cuda_device *device)
{
    for (int i = 0; i < ROUTES; i++)
        route_close(&device->staging->routes[i]);
    free(device->staging);
}

int ht_cuda_staging_wait(const ht_cuda_device *device)
{
    int first = 0;

    for (int i = 0; i < ROUTES * LANES; i++) {
        const int error = lane_wait(&device->staging->routes[i / LANES].lanes[i % LANES]);

        first = first != 0 ? first : error;
    }
    return first;
}

/* Both lanes continue after the event; NULL: after the work that the stream was given so far. */
static int begin(const ht_cuda_device *device, const route *r, void *after)
{
    int error = 0;

    if (after == NULL) {
        after = r->given;
        error = ht_cuda_event_record(after, device->stream);
    }
    for (int i = 0; i < LANES && error == 0; i++)
        error = ht_cuda_stream_after(r->lanes[i].stream, after);
    return error;
}

/* The event is recorded behind the work of both lanes. */
static int end(const route *r, void *event)
{
    const lane *lanes = r->lanes;
    int error = ht_cuda_event_record(lanes[1].passed, lanes[1].stream);

    if (error == 0)
        error = ht_cuda_stream_after(lanes[0].stream, lanes[1].passed);
    return error != 0 ? error : ht_cuda_event_record(event, lanes[0].stream);
}

/* Before a copy begins: without pinned memory for it, the driver copies, and the host waits. */
static bool has_pieces(route *r, bool goes_up)
{
    for (int i = 0; i < LANES; i++) {
        void **piece = goes_up ? &r->lanes[i].up : &r->lanes[i].down;

        if (*piece != NULL || ht_cuda_host_malloc(piece, PIECE) == 0)
            continue;
        *piece = NULL;
        ht_cuda_launched(); /* clears the runtime's error, so that no launch reports it */
        return false;
    }
    return true;
}

static lane *next_lane(route *r)
{
    return &r->lanes[r->next++ % LANES];
}

static size_t part(size_t left)
{
    return left < PIECE ? left : PIECE;
}

/* The host has read all of `from` when it returns. */
static int up(route *r, char *to, const char *from, size_t bytes)
{
    int error = 0;

    for (size_t n; bytes > 0 && error == 0; to += n, from += n, bytes -= n) {
        lane *l = next_lane(r);

        n = part(bytes);
        error = ht_cuda_event_wait(l->emptied);
        if (error != 0)
            break;
        memcpy(l->up, from, n);
        error = ht_cuda_copy(to, l->up, n, l->stream);
        if (error == 0)
            error = ht_cuda_event_record(l->emptied, l->stream);
    }
    return error;
}

static int start_down(const lane *l, const char *from, size_t bytes)
{
    const int error = ht_cuda_copy(l->down, from, bytes, l->stream);

    return error != 0 ? error : ht_cuda_event_record(l->passed, l->stream);
}

static int finish_down(const lane *l, char *to, size_t bytes)
{
    const int error = ht_cuda_event_wait(l->passed);

    if (error == 0)
        memcpy(to, l->down, bytes);
    return error;
}

/* All of `to` is there when it returns. */
static int down(route *r, char *to, const char *from, size_t bytes)
{
    lane *before = NULL;
    size_t n = 0;
    int error = 0;

    for (size_t at = 0; at < bytes && error == 0; at += n) {
        lane *l = next_lane(r);

        n = part(bytes - at);
        error = start_down(l, from + at, n);
        if (error == 0 && before != NULL)
            error = finish_down(before, to + at - PIECE, PIECE);
        before = l;
    }
    return error != 0 ? error : finish_down(before, to + bytes - n, n);
}

static void carry_out(void *user)
{
    job *j = user;
    int state = WAITS;

    if (!atomic_compare_exchange_strong(&j->state, &state, RUNS))
        return; /* it was called off */
    memcpy(j->to, j->from, j->bytes);
    atomic_store(&j->state, DONE);
}

/* *next: a job that is done. A lane does its jobs in order, so the oldest is the next of the ring. */
static int next_job(lane *l, job **next)
{
    *next = &l->jobs[l->next_job++ % JOBS];
    return atomic_load(&(*next)->state) != DONE ? lane_wait(l) : 0;
}

/* The runtime calls the host when a piece is full. */
static int down_later(route *r, char *to, const char *from, size_t bytes)
{
    int error = 0;

    for (size_t n; bytes > 0 && error == 0; to += n, from += n, bytes -= n) {
        lane *l = next_lane(r);
        job *j;

        n = part(bytes);
        error = next_job(l, &j);
        if (error == 0)
            error = start_down(l, from, n);
        if (error != 0)
            break;
        j->to = to;
        j->from = l->down;
        j->bytes = n;
        atomic_store(&j->state, WAITS);
        error = ht_cuda_host_call(l->stream, carry_out, j);
        if (error != 0)
            atomic_store(&j->state, DONE);
    }
    return error;
}

/* The stream continues after the work of both lanes. */
static int follow(const ht_cuda_device *device, const route *r)
{
    int error = 0;

    for (int i = 0; i < LANES && error == 0; i++) {
        error = ht_cuda_event_record(r->lanes[i].passed, r->lanes[i].stream);
        if (error == 0)
            error = ht_cuda_stream_after(device->stream, r->lanes[i].passed);
    }
    return error;
}

/* Copies before an error are in the order of the work, too: `to` may be freed. */
static int stage(const ht_cuda_device *device, route *r, void *to, const void *from, size_t bytes,
                 ht_copy_kind kind)
{
    int error, followed;

    if (!has_pieces(r, kind == HT_COPY_HOST_TO_DEVICE))
        return ht_cuda_copy(to, from, bytes, device->stream);
    error = begin(device, r, NULL);
    if (error != 0)
        return error;
    if (kind == HT_COPY_DEVICE_TO_HOST)
        return down(r, to, from, bytes);
    error = up(r, to, from, bytes);
    followed = follow(device, r);
    return error != 0 ? error : followed;
}

int ht_cuda_stage(const ht_cuda_device *device, void *to, const void *from, size_t bytes,
                  ht_copy_kind kind)
{
    route *r = &device->staging->routes[IN_ORDER];
    int error;

    if (bytes <= SMALL || ht_cuda_is_pinned(kind == HT_COPY_HOST_TO_DEVICE ? from : to))
        return ht_cuda_copy(to, from, bytes, device->stream);
    pthread_mutex_lock(&r->mutex);
    error = stage(device, r, to, from, bytes, kind);
    pthread_mutex_unlock(&r->mutex);
    return error;
}

static int stage_side_copy(const ht_cuda_device *device, route *r, void *to, const void *from,
                           size_t bytes, ht_copy_kind kind, void *after)
{
    const bool goes_up = kind == HT_COPY_HOST_TO_DEVICE;
    int error = begin(device, r, after);

    if (error != 0)
        return error;
    if ((goes_up && bytes <= SMALL) || ht_cuda_is_pinned(goes_up ? from : to) ||
        !has_pieces(r, goes_up))
        return ht_cuda_copy(to, from, bytes, r->lanes[0].stream);
    return goes_up ? up(r, to, from, bytes) : down_later(r, to, from, bytes);
}

static route_kind route_of(ht_copy_kind kind, const void *after)
{
    if (kind == HT_COPY_DEVICE_TO_HOST)
        return TO_HOST;
    return after != NULL ? AFTER_EVENT : AHEAD;
}

int ht_cuda_stage_side_copy(const ht_cuda_device *device, void *to, const void *from, size_t bytes,
                            ht_copy_kind kind, void *after, void *event)
{
    route *r = &device->staging->routes[route_of(kind, after)];
    int error;

    pthread_mutex_lock(&r->mutex);
    error = stage_side_copy(device, r, to, from, bytes, kind, after);
    if (error == 0)
        error = end(r, event);
    pthread_mutex_unlock(&r->mutex);
    return error;
}
