/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lagging.h"

enum { DEVICES = 4 };

const ht_backend_services *lag_core;
static bool late_copies;
static bool asks_nothing, is_stuck; /* LAG_FLAW */
static ht_kernel refused = -1;
static bool refuses_all;

/* One at a time, because several threads may use devices. */
static pthread_mutex_t mutex;

typedef struct device {
    lag_memory *memory;
    lag_queue *queue, *side_queue; /* the second: of copies in parallel with the first */
} device;

typedef struct event {
    device *of;
    lag_queue *queue; /* of that device */
    long number;
} event;

static int device_count(void)
{
    return DEVICES;
}

static int device_open(int index, void **stream)
{
    device *d = calloc(1, sizeof *d);

    if (d != NULL)
        *d = (device){lag_memory_new(index), lag_queue_new(), lag_queue_new()};
    if (d == NULL || d->memory == NULL || d->queue == NULL || d->side_queue == NULL) {
        lag_core->fail("lag: out of memory for a device");
        return 1;
    }
    *stream = d;
    return 0;
}

static void device_close(void *stream)
{
    device *d = stream;

    lag_queue_end(d->queue);
    lag_queue_end(d->side_queue);
    lag_memory_end(d->memory);
    free(d);
}

static void *memory_alloc(void *stream, size_t bytes)
{
    device *d = stream;
    void *at;

    if (lag_lacks("an allocation"))
        return NULL;
    pthread_mutex_lock(&mutex);
    at = lag_memory_alloc(d->memory, bytes);
    if (at != NULL)
        lag_queue_fill(d->queue, lag_memory_real(d->memory, at), bytes);
    pthread_mutex_unlock(&mutex);
    return at;
}

static void memory_free(void *stream, void *at)
{
    device *d = stream;

    pthread_mutex_lock(&mutex);
    lag_memory_free(d->memory, at);
    pthread_mutex_unlock(&mutex);
}

/* The real address, or NULL after the error. */
static void *reach(const device *d, const void *at, const char *what)
{
    if (lag_memory_has(d->memory, at))
        return lag_memory_real(d->memory, at);
    lag_core->fail("illegal address: %s was given memory that is not the device's", what);
    return NULL;
}

static int to_device(lag_queue *queue, void *to, const void *from, size_t bytes)
{
    void *copy;

    if (lag_is_pinned(from))
        return lag_queue_copy(queue, to, (void *)(size_t)from, bytes, false);
    copy = malloc(bytes);
    if (copy == NULL) {
        lag_core->fail("lag: out of memory for a copy");
        return 1;
    }
    memcpy(copy, from, bytes);
    return lag_queue_copy(queue, to, copy, bytes, true);
}

static int to_host(lag_queue *queue, void *to, void *from, size_t bytes, bool late)
{
    if (late)
        memset(to, 0xa5, bytes);
    if (lag_queue_copy(queue, to, from, bytes, false) != 0)
        return 1;
    return late ? 0 : lag_queue_drain(queue, lag_queue_given(queue));
}

static int copy_by(lag_queue *queue, const device *d, void *to, const void *from, size_t bytes,
                   ht_copy_kind kind, bool late)
{
    if (kind != HT_COPY_DEVICE_TO_HOST)
        to = reach(d, to, "a copy");
    if (kind != HT_COPY_HOST_TO_DEVICE)
        from = reach(d, from, "a copy");
    if (to == NULL || from == NULL)
        return 1;
    if (kind == HT_COPY_HOST_TO_DEVICE)
        return to_device(queue, to, from, bytes);
    if (kind == HT_COPY_DEVICE_TO_HOST)
        return to_host(queue, to, (void *)(size_t)from, bytes, late);
    return lag_queue_copy(queue, to, (void *)(size_t)from, bytes, false);
}

static int memory_copy(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind)
{
    device *d = stream;
    int failed;

    if (lag_fault("a copy"))
        return 1;
    pthread_mutex_lock(&mutex);
    failed = copy_by(d->queue, d, to, from, bytes, kind, late_copies);
    pthread_mutex_unlock(&mutex);
    return failed;
}

static int side_copy(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind,
                     void *first, void *made)
{
    device *d = stream;
    const event *after = first;
    int failed;

    if (lag_fault("a copy"))
        return 1;
    pthread_mutex_lock(&mutex);
    failed = lag_queue_await(d->side_queue, after != NULL ? after->queue : d->queue,
                             after != NULL ? after->number : lag_queue_given(d->queue)) != 0 ||
             copy_by(d->side_queue, d, to, from, bytes, kind, true) != 0;
    *(event *)made = (event){d, d->side_queue, lag_queue_given(d->side_queue)};
    pthread_mutex_unlock(&mutex);
    return failed;
}

static int copy_between(void *to_stream, void *to, void *from_stream, const void *from,
                        size_t bytes)
{
    const device *target = to_stream, *source = from_stream;
    int failed;

    if (lag_fault("a copy"))
        return 1;
    pthread_mutex_lock(&mutex);
    to = reach(target, to, "a copy");
    from = reach(source, from, "a copy");
    failed = to == NULL || from == NULL ||
             lag_queue_await(target->queue, source->queue, lag_queue_given(source->queue)) != 0 ||
             lag_queue_copy(target->queue, to, (void *)(size_t)from, bytes, false) != 0 ||
             lag_queue_await(source->queue, target->queue, lag_queue_given(target->queue)) != 0;
    pthread_mutex_unlock(&mutex);
    return failed;
}

static int synchronize(void *stream)
{
    device *d = stream;
    int failed;

    pthread_mutex_lock(&mutex);
    lag_queue_drain(d->side_queue,
                    lag_queue_given(d->side_queue)); /* copies: their errors are the other's */
    failed = lag_queue_drain(d->queue, lag_queue_given(d->queue));
    pthread_mutex_unlock(&mutex);
    return failed != 0 || lag_fault("a wait for the stream");
}

static int poll_error(void *stream)
{
    int failed;

    pthread_mutex_lock(&mutex);
    failed = lag_queue_tell(((device *)stream)->queue);
    pthread_mutex_unlock(&mutex);
    return failed;
}

static int event_new(void *stream, void **made)
{
    event *e = lag_fault("making an event") ? NULL : calloc(1, sizeof *e);

    *made = e;
    if (e == NULL)
        return 1;
    *e = (event){.of = stream, .queue = ((device *)stream)->queue};
    return 0;
}

static void event_free(void *made)
{
    free(made);
}

static int event_record(void *stream, void *made)
{
    device *d = stream;
    event *e = made;

    if (lag_fault("recording an event"))
        return 1;
    pthread_mutex_lock(&mutex);
    *e = (event){d, d->queue, lag_queue_given(d->queue)};
    pthread_mutex_unlock(&mutex);
    return 0;
}

/* The errors are those of the device's own queue. */
static int drain(const event *e, long number)
{
    return lag_queue_drain(e->queue, number) != 0 ? 1 : lag_queue_tell(e->of->queue);
}

/* Asking a device makes its time pass: an event that was asked for completes. */
static int event_done(void *made)
{
    event *e = made;
    int done;

    if (is_stuck)
        return 0;
    if (asks_nothing)
        return 1;
    pthread_mutex_lock(&mutex);
    done = lag_queue_done(e->queue) >= e->number;
    if (!done && drain(e, lag_queue_done(e->queue) + 1) != 0)
        done = -1;
    pthread_mutex_unlock(&mutex);
    return lag_fault("asking an event") ? -1 : done;
}

static int event_wait(void *made)
{
    event *e = made;
    int failed;

    pthread_mutex_lock(&mutex);
    failed = drain(e, e->number);
    pthread_mutex_unlock(&mutex);
    return failed != 0 || lag_fault("a wait for an event");
}

static int stream_wait(void *stream, void *made)
{
    device *d = stream;
    event *e = made;
    int failed;

    if (lag_fault("a stream that waits"))
        return 1;
    pthread_mutex_lock(&mutex);
    failed = lag_queue_await(d->queue, e->queue, e->number);
    pthread_mutex_unlock(&mutex);
    return failed;
}

struct translation {
    const device *of;
    const char *what;
    bool failed;
};

static void translate(ht_kernel_operand *operand, void *user)
{
    struct translation *t = user;
    const int64_t begin = operand->begin, end = operand->end;
    char *first = (char *)operand->data + begin,
         *last = end > begin ? first + (end - begin - 1) : first;

    if (reach(t->of, first, t->what) == NULL || reach(t->of, last, t->what) == NULL)
        t->failed = true;
    else
        operand->data = (char *)lag_memory_real(t->of->memory, first) - begin;
}

/* Every kernel: later. */
static int run_later(void *stream, const ht_kernel_call *call)
{
    device *d = stream;
    ht_kernel_call *own = malloc(call->bytes);
    struct translation t = {d, call->what, own == NULL};
    int failed = 1;

    if (refuses_all || call->kernel == refused || lag_fault("a kernel")) {
        free(own);
        return refuses_all || call->kernel == refused ? HT_KERNEL_REFUSED : 1;
    }
    if (own == NULL) {
        lag_core->fail("lag: out of memory for a call");
        return 1;
    }
    if (call->operands == 0) {
        lag_core->fail("lag: %s: kernel %d has no operands", call->what, call->kernel);
        free(own);
        return 1;
    }
    memcpy(own, call, call->bytes);
    lag_core->operands(own, translate, &t);
    pthread_mutex_lock(&mutex);
    lag_memory_note(d->memory, call->what);
    if (!t.failed)
        failed = lag_queue_kernel(d->queue, lag_kernel(call->kernel, call->dtype), own);
    else
        free(own);
    pthread_mutex_unlock(&mutex);
    return failed;
}

/* Removes functions that a backend need not have. */
static void leave_out(ht_backend *backend)
{
    backend->poll = NULL;
    backend->event_new = NULL;
    backend->event_free = NULL;
    backend->event_record = NULL;
    backend->event_done = NULL;
    backend->event_wait = NULL;
    backend->stream_wait = NULL;
    backend->host_alloc = NULL;
    backend->host_free = NULL;
    backend->side_copy = NULL;
    backend->copy_between = NULL;
}

static void add_all(ht_backend *backend)
{
    for (ht_kernel kernel = 0; kernel < HT_KERNEL_LIMIT; kernel++) {
        for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
            if (lag_kernel(kernel, (ht_dtype)dtype) != NULL)
                lag_core->add(backend, kernel, (ht_dtype)dtype, run_later);
        }
    }
}

int ht_backend_open(uint32_t abi, const ht_backend_services *services, ht_backend *backend)
{
    const char *copies = getenv("LAG_COPIES"), *refuse = getenv("LAG_REFUSE");
    const char *flaw = getenv("LAG_FLAW");
    pthread_mutexattr_t recursive;

    if (abi != HT_BACKEND_ABI)
        return 1;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&mutex, &recursive);
    late_copies = copies != NULL && strcmp(copies, "late") == 0;
    asks_nothing = flaw != NULL && strcmp(flaw, "wait") == 0;
    is_stuck = flaw != NULL && strcmp(flaw, "stuck") == 0;
    lag_core = services;
    refused = refuse != NULL ? services->kernel(refuse) : -1;
    refuses_all = refuse != NULL && strcmp(refuse, "all") == 0;
    *backend = (ht_backend){
        .abi = HT_BACKEND_ABI,
        .size = sizeof *backend,
        .name = "lag",
        .prefer_channels_last = true,
        .device_count = device_count,
        .device_open = device_open,
        .device_close = device_close,
        .memory_alloc = memory_alloc,
        .memory_free = memory_free,
        .memory_copy = memory_copy,
        .synchronize = synchronize,
        .poll = poll_error,
        .event_new = event_new,
        .event_free = event_free,
        .event_record = event_record,
        .event_done = event_done,
        .event_wait = event_wait,
        .stream_wait = stream_wait,
        .host_alloc = lag_host_alloc,
        .host_free = lag_host_free,
        .side_copy = side_copy,
        .copy_between = copy_between,
    };
    if (getenv("LAG_LESS") != NULL)
        leave_out(backend);
    lag_kernels_begin();
    add_all(backend);
    return 0;
}
