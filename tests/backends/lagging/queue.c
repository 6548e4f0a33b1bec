/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lagging.h"

#define GARBAGE 0xc3

typedef struct work {
    struct work *next;
    int (*run)(lag_queue *queue, struct work *work);
    ht_kernel_fn *kernel;
    ht_kernel_call *call; /* owned */
    void *to, *from;
    size_t bytes;
    bool owned; /* from */
    lag_queue *other;
    long number;
} work;

struct lag_queue {
    lag_queue *next; /* among those that have ended */
    work *first, **last;
    long given, done, waits;
    bool eager;
    ht_status error; /* that is kept, and its message */
    char message[1024];
    bool stopped; /* no update runs until work that was given after an error's report */
};

lag_queue *lag_queue_new(void)
{
    lag_queue *queue = calloc(1, sizeof *queue);
    const char *run = getenv("LAG_RUN");

    if (queue == NULL)
        return NULL;
    queue->last = &queue->first;
    queue->eager = getenv("LAG_LESS") != NULL || (run != NULL && strcmp(run, "eager") == 0);
    return queue;
}

/* Others may still wait for its work, which is done: it is kept. */
void lag_queue_end(lag_queue *queue)
{
    static lag_queue *ended;

    lag_queue_drain(queue, queue->given);
    if (getenv("LAG_COUNT") != NULL)
        fprintf(stderr, "lag: %ld pieces of work, %ld waits\n", queue->given, queue->waits);
    queue->next = ended;
    ended = queue;
}

static void drop(work *w)
{
    if (w->owned)
        free(w->from);
    free(w->call);
    free(w);
}

static void run_until(lag_queue *queue, long number)
{
    while (queue->done < number && queue->first != NULL) {
        work *w = queue->first;

        queue->first = w->next;
        if (queue->first == NULL)
            queue->last = &queue->first;
        if (w->run(queue, w) != 0 && queue->error == HT_SUCCESS)
            queue->error = HT_ERR_DEVICE;
        queue->stopped |= queue->error != HT_SUCCESS;
        queue->done++;
        drop(w);
    }
}

static int give(lag_queue *queue, work w)
{
    work *own = malloc(sizeof *own);

    if (own == NULL) {
        lag_core->fail("lag: out of memory for work");
        return 1;
    }
    *own = w;
    *queue->last = own;
    queue->last = &own->next;
    queue->given++;
    if (queue->eager)
        run_until(queue, queue->given);
    return 0;
}

/* The first error in data is kept. */
static int run_kernel(lag_queue *queue, work *w)
{
    char cause[900];

    if (queue->stopped && w->call->kernel >= HT_KERNELS_OPTIM)
        return 0;
    if (w->kernel(NULL, w->call) == 0)
        return 0;
    const ht_status kind = lag_core->take_error(cause, sizeof cause);
    if (queue->error == HT_SUCCESS) {
        queue->error = kind;
        snprintf(queue->message, sizeof queue->message, "%s: %s", w->call->what, cause);
    }
    return 1;
}

static int run_copy(lag_queue *queue, work *w)
{
    (void)queue;
    memmove(w->to, w->from, w->bytes);
    return 0;
}

static int run_fill(lag_queue *queue, work *w)
{
    (void)queue;
    memset(w->to, GARBAGE, w->bytes);
    return 0;
}

static int run_await(lag_queue *queue, work *w)
{
    (void)queue;
    run_until(w->other, w->number);
    return 0;
}

/* Unless there has been another error meanwhile. */
static int run_resume(lag_queue *queue, work *w)
{
    (void)w;
    queue->stopped = queue->error != HT_SUCCESS;
    return 0;
}

int lag_queue_kernel(lag_queue *queue, ht_kernel_fn *run, ht_kernel_call *call)
{
    return give(queue, (work){.run = run_kernel, .kernel = run, .call = call});
}

int lag_queue_copy(lag_queue *queue, void *to, void *from, size_t bytes, bool owned)
{
    return give(queue,
                (work){.run = run_copy, .to = to, .from = from, .bytes = bytes, .owned = owned});
}

int lag_queue_fill(lag_queue *queue, void *to, size_t bytes)
{
    return give(queue, (work){.run = run_fill, .to = to, .bytes = bytes});
}

int lag_queue_await(lag_queue *queue, lag_queue *other, long number)
{
    return give(queue, (work){.run = run_await, .other = other, .number = number});
}

long lag_queue_given(const lag_queue *queue)
{
    return queue->given;
}

long lag_queue_done(const lag_queue *queue)
{
    return queue->done;
}

int lag_queue_drain(lag_queue *queue, long number)
{
    queue->waits++;
    run_until(queue, number);
    return lag_queue_tell(queue);
}

int lag_queue_tell(lag_queue *queue)
{
    if (queue->error == HT_SUCCESS)
        return 0;
    lag_core->fail_as(queue->error, "%s", queue->message);
    queue->error = HT_SUCCESS;
    give(queue, (work){.run = run_resume}); /* behind the updates that are based on the error */
    return 1;
}
