/* SPDX-License-Identifier: MIT
 *
 * Polite waiting with a deadline. A waiting rank yields its core after each poll, which costs
 * nothing if no other process wants it. Then it sleeps in pauses that grow, because with more ranks
 * than cores the other rank needs the core. MPI moves data in pieces, one or a few for each poll,
 * and does not report them. So each pause is followed by a series of polls. */
#include "core/comm/mpi.h"
#include "core/base/environment.h"
#include "core/timeline/timeline.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

/* Seconds. A pause is a tenth of what has been waited so far, so that it delays no wait by much
 * more than that. */
static const struct manner {
    double eager;      /* before the first pause */
    double pause_most; /* they grow up to this */
    double polls;      /* after a pause, for as many times its length */
} own_core = {.eager = 50e-3, .pause_most = 200e-6, .polls = 1},
  shared_core = {.eager = 1e-3, .pause_most = 2e-3, .polls = 0.05};
static const double pause_least = 20e-6;

static const struct manner *manner = &own_core;

atomic_int ht__held_back;
void (*ht__post_held_back)(void);

static _Thread_local ht_serve_fn *serve;

void ht__wait_set_serve(ht_serve_fn *new_serve)
{
    serve = new_serve;
}

void ht__wait_start(bool oversubscribed)
{
    manner = oversubscribed ? &shared_core : &own_core;
}

/* `eager`: until when it has to poll, in terms of what has been waited. */
static void back_off(double waited, double *eager)
{
    if (waited < *eager) {
        sched_yield();
        return;
    }

    double pause = waited / 10;

    pause = pause < pause_least          ? pause_least
            : pause > manner->pause_most ? manner->pause_most
                                         : pause;
    nanosleep(&(struct timespec){.tv_nsec = (long)(pause * 1e9)}, NULL);
    *eager = waited + pause * (1 + manner->polls);
}

static ht_status wait_for(ht_comm *comm, ht_poll_fn *poll, void *state, const char *what,
                          bool for_device)
{
    ht_poll answer = poll(state);

    what = ht__called(what);
    ht__watch_enter(what);
    if (answer == HT_POLL_DONE) {
        ht__watch_leave();
        return HT_SUCCESS;
    }

    const double timeout = ht__wait_timeout();
    struct ht_clock clock = {0};
    double eager = manner->eager;

    while ((answer = poll(state)) != HT_POLL_DONE) {
        double waited = ht__clock_elapsed(&clock, 1);
        bool served = serve != NULL && serve();

        if (ht__compare_on)
            ht__compare_posted();
        if (atomic_load_explicit(&ht__held_back, memory_order_relaxed) > 0)
            ht__post_held_back();
        if (timeout > 0 && waited > timeout)
            break;
        if (answer == HT_POLL_MOVED) {
            clock.elapsed = waited = 0;
            eager = manner->eager;
            ht__watch_enter(what);
        }
        back_off(served ? 0 : waited, &eager);
    }
    if (answer != HT_POLL_DONE && for_device) /* both may return */
        HT_FAIL_HERE(comm, HT_ERR_TIMEOUT, HT_DEVICE_TIMEOUT_TEXT, what, timeout);
    else if (answer != HT_POLL_DONE)
        HT_FAIL_HERE(comm, HT_ERR_TIMEOUT, HT_TIMEOUT_TEXT, what, timeout);
    ht__watch_leave();
    return answer == HT_POLL_DONE ? HT_SUCCESS : HT_ERR_TIMEOUT;
}

ht_status ht__wait_until(ht_comm *comm, ht_poll_fn *poll, void *state, const char *what)
{
    return wait_for(comm, poll, state, what, false);
}

ht_status ht__wait_device(ht_comm *comm, ht_poll_fn *poll, void *state, const char *what)
{
    return wait_for(comm, poll, state, what, true);
}

struct batch {
    int count;
    MPI_Request *requests;
    int result;
};

static ht_poll batch_done(void *state)
{
    struct batch *batch = state;
    int done = 0;

    batch->result = ht__mpi_test(batch->count, batch->requests, &done);
    return done || batch->result != MPI_SUCCESS ? HT_POLL_DONE : HT_POLL_IDLE;
}

ht_status ht__wait_mpi(ht_comm *comm, int count, MPI_Request requests[], const char *what)
{
    struct batch batch = {.count = count, .requests = requests};
    int span = ht__span_begin(HT_SPAN_WAIT, what, NULL);
    ht_status status = ht__wait_until(comm, batch_done, &batch, what);

    ht__span_end(span);
    return status != HT_SUCCESS ? status : ht__mpi_check(comm, batch.result, what);
}

ht_status ht__wait_posted(ht_comm *comm, int result, MPI_Request *request, const char *what)
{
    ht_status status = ht__mpi_check(comm, result, what);

    return status != HT_SUCCESS ? status : ht__wait_mpi(comm, 1, request, what);
}
