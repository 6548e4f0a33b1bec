/* SPDX-License-Identifier: MIT
 *
 * Copies between a device and memory of the host that is not pinned. The driver would wait for all
 * earlier work of the stream before it reads such memory. So the bytes pass through pinned pieces,
 * a part in each, on two lanes in turn: while the device copies one piece, the host copies the
 * other. A lane is a stream of its own, and its work is done in order. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "backends/cuda/staging.h"

enum { LANES = 2, JOBS = 64 };

#define PIECE ((size_t)4 << 20)

/* The driver itself takes as much at once, whatever the stream has to do. */
#define SMALL ((size_t)64 << 10)

/* A copy from a piece to memory of the host, which a lane makes in its turn. */
typedef struct job {
    void *to;
    const void *from;
    size_t bytes;
    atomic_bool waits; /* it is not done */
} job;

typedef struct lane {
    void *stream;
    void *up, *down; /* pinned, PIECE bytes to and from the device; NULL: not needed so far */
    void *emptied;   /* an event: `up` may be filled again */
    void *passed;    /* an event: of whatever is waited for */
    job jobs[JOBS];  /* the last ones, in a ring */
    unsigned next_job;
} lane;

typedef struct ht_cuda_staging {
    pthread_mutex_t mutex; /* of what follows: the thread of a loader copies, too */
    lane lanes[LANES];
    unsigned next; /* whose turn it is */
    void *given;   /* an event: the work that the stream had before the copy */
} ht_cuda_staging;

static int lane_open(lane *l)
{
    int error = ht_cuda_stream_new(&l->stream);

    if (error == 0)
        error = ht_cuda_event_new(&l->emptied);
    return error != 0 ? error : ht_cuda_event_new(&l->passed);
}

/* Also one that is open in part. */
static void lane_close(const lane *l)
{
    if (l->stream != NULL) {
        ht_cuda_stream_wait(l->stream);
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

int ht_cuda_staging_open(ht_cuda_device *device)
{
    ht_cuda_staging *staging;
    void *memory;
    int error = ht_cuda_host_malloc(&memory, sizeof *staging);

    if (error != 0)
        return error;
    device->staging = staging = memset(memory, 0, sizeof *staging);
    pthread_mutex_init(&staging->mutex, NULL);
    for (int i = 0; i < LANES && error == 0; i++)
        error = lane_open(&staging->lanes[i]);
    return error != 0 ? error : ht_cuda_event_new(&staging->given);
}

void ht_cuda_staging_close(ht_cuda_device *device)
{
    ht_cuda_staging *staging = device->staging;

    if (staging == NULL)
        return;
    for (int i = 0; i < LANES; i++)
        lane_close(&staging->lanes[i]);
    if (staging->given != NULL)
        ht_cuda_event_free(staging->given);
    pthread_mutex_destroy(&staging->mutex);
    ht_cuda_host_free(staging);
}

int ht_cuda_staging_wait(const ht_cuda_device *device)
{
    int error = 0;

    for (int i = 0; i < LANES && error == 0; i++)
        error = ht_cuda_stream_wait(device->staging->lanes[i].stream);
    return error;
}

/* Both lanes go on behind the event; NULL: behind the work that the stream was given so far. */
static int begin(const ht_cuda_device *device, void *after)
{
    const ht_cuda_staging *staging = device->staging;
    int error = 0;

    if (after == NULL) {
        after = staging->given;
        error = ht_cuda_event_record(after, device->stream);
    }
    for (int i = 0; i < LANES && error == 0; i++)
        error = ht_cuda_stream_after(staging->lanes[i].stream, after);
    return error;
}

/* The event is recorded behind the work of both lanes. */
static int end(const ht_cuda_staging *staging, void *event)
{
    const lane *lanes = staging->lanes;
    int error = ht_cuda_event_record(lanes[1].passed, lanes[1].stream);

    if (error == 0)
        error = ht_cuda_stream_after(lanes[0].stream, lanes[1].passed);
    return error != 0 ? error : ht_cuda_event_record(event, lanes[0].stream);
}

static int need_piece(void **piece)
{
    return *piece != NULL ? 0 : ht_cuda_host_malloc(piece, PIECE);
}

static lane *next_lane(ht_cuda_staging *staging)
{
    return &staging->lanes[staging->next++ % LANES];
}

static size_t part(size_t left)
{
    return left < PIECE ? left : PIECE;
}

/* The host has read all of `from` when it returns. */
static int up(ht_cuda_staging *staging, char *to, const char *from, size_t bytes)
{
    int error = 0;

    for (size_t n; bytes > 0 && error == 0; to += n, from += n, bytes -= n) {
        lane *l = next_lane(staging);

        n = part(bytes);
        error = need_piece(&l->up);
        if (error == 0)
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

static int start_down(lane *l, const char *from, size_t bytes)
{
    int error = need_piece(&l->down);

    if (error == 0)
        error = ht_cuda_copy(l->down, from, bytes, l->stream);
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
static int down(ht_cuda_staging *staging, char *to, const char *from, size_t bytes)
{
    lane *before = NULL;
    size_t n = 0;
    int error = 0;

    for (size_t at = 0; at < bytes && error == 0; at += n) {
        lane *l = next_lane(staging);

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

    memcpy(j->to, j->from, j->bytes);
    atomic_store(&j->waits, false);
}

/* Of a job that is done. A lane does them in order, so that the next one of the ring is the oldest.
 */
static int next_job(lane *l, job **next)
{
    *next = &l->jobs[l->next_job++ % JOBS];
    return atomic_load(&(*next)->waits) ? ht_cuda_stream_wait(l->stream) : 0;
}

/* The runtime calls the host when a piece is full. */
static int down_later(ht_cuda_staging *staging, char *to, const char *from, size_t bytes)
{
    int error = 0;

    for (size_t n; bytes > 0 && error == 0; to += n, from += n, bytes -= n) {
        lane *l = next_lane(staging);
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
        atomic_store(&j->waits, true);
        error = ht_cuda_host_call(l->stream, carry_out, j);
    }
    return error;
}

/* The stream goes on behind what was copied up. */
static int follow(const ht_cuda_device *device)
{
    int error = 0;

    for (int i = 0; i < LANES && error == 0; i++)
        error = ht_cuda_stream_after(device->stream, device->staging->lanes[i].emptied);
    return error;
}

static int stage(const ht_cuda_device *device, void *to, const void *from, size_t bytes,
                 ht_copy_kind kind)
{
    int error = begin(device, NULL);

    if (error != 0)
        return error;
    if (kind == HT_COPY_DEVICE_TO_HOST)
        return down(device->staging, to, from, bytes);
    error = up(device->staging, to, from, bytes);
    return error != 0 ? error : follow(device);
}

int ht_cuda_stage(const ht_cuda_device *device, void *to, const void *from, size_t bytes,
                  ht_copy_kind kind)
{
    int error;

    if (bytes <= SMALL || ht_cuda_is_pinned(kind == HT_COPY_HOST_TO_DEVICE ? from : to))
        return ht_cuda_copy(to, from, bytes, device->stream);
    pthread_mutex_lock(&device->staging->mutex);
    error = stage(device, to, from, bytes, kind);
    pthread_mutex_unlock(&device->staging->mutex);
    return error;
}

static int stage_beside(const ht_cuda_device *device, void *to, const void *from, size_t bytes,
                        ht_copy_kind kind, void *after)
{
    ht_cuda_staging *staging = device->staging;
    const bool goes_up = kind == HT_COPY_HOST_TO_DEVICE;
    int error = begin(device, after);

    if (error != 0)
        return error;
    if ((goes_up && bytes <= SMALL) || ht_cuda_is_pinned(goes_up ? from : to))
        return ht_cuda_copy(to, from, bytes, staging->lanes[0].stream);
    return goes_up ? up(staging, to, from, bytes) : down_later(staging, to, from, bytes);
}

int ht_cuda_stage_beside(const ht_cuda_device *device, void *to, const void *from, size_t bytes,
                         ht_copy_kind kind, void *after, void *event)
{
    int error;

    pthread_mutex_lock(&device->staging->mutex);
    error = stage_beside(device, to, from, bytes, kind, after);
    if (error == 0)
        error = end(device->staging, event);
    pthread_mutex_unlock(&device->staging->mutex);
    return error;
}
