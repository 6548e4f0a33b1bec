/* SPDX-License-Identifier: MIT
 *
 * The watchdog: a thread per rank that sleeps, answers ranks whose deadline has passed with what
 * this rank is doing, and holds a deadline over the calls of MPI that nobody can poll: making
 * communicators and shared memory, opening files. Waits that poll have theirs in
 * communication_wait.c. Below MPI_THREAD_MULTIPLE there is no thread: waits that poll still end in
 * time, but the ranks that are missing cannot say what they do instead. */
#include "message.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ASK = 1, ANSWER, PERIOD = 250 /* ms */, PATIENCE = 1000 /* ms for all answers */ };

struct answer {
    uint64_t waits; /* begun so far */
    char what[256]; /* "": in none of them */
};

struct ht_watch ht__watch;

/* What the thread guards: the program's thread is inside a call that cannot be polled. */
static _Atomic(const char *) guarded;
static atomic_uint guards; /* begun so far, to tell two of the same name apart */

static MPI_Comm wire = MPI_COMM_NULL; /* under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool running, stopping; /* stopping: under the lock */

const char *ht__watch_guard(const char *what)
{
    const char *outer = atomic_load_explicit(&guarded, memory_order_relaxed);

    atomic_fetch_add_explicit(&guards, 1, memory_order_relaxed);
    atomic_store_explicit(&guarded, outer != NULL ? outer : what, memory_order_relaxed);
    return outer;
}

void ht__watch_unguard(const char *outer)
{
    atomic_fetch_add_explicit(&guards, 1, memory_order_relaxed);
    atomic_store_explicit(&guarded, outer, memory_order_relaxed);
}

static void answer_all(void)
{
    int there = 1;
    MPI_Status status;

    while (MPI_Iprobe(MPI_ANY_SOURCE, ASK, wire, &there, &status) == MPI_SUCCESS && there) {
        struct answer answer = {.waits = atomic_load(&ht__watch.waits)};
        const char *what = atomic_load(&ht__watch.what);

        if (what == NULL)
            what = atomic_load(&guarded);
        MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, ASK, wire, MPI_STATUS_IGNORE);
        snprintf(answer.what, sizeof answer.what, "%s", what != NULL ? what : "");
        MPI_Send(&answer, sizeof answer, MPI_BYTE, status.MPI_SOURCE, ANSWER, wire);
    }
}

/* Looks every period; an ended call, or the next one, starts the count again. Each period counts
 * as itself however long it took, so that a suspended job does not time out. */
static void guard_deadline(unsigned *last, double *waited)
{
    const char *what = atomic_load(&guarded);
    unsigned now = atomic_load(&guards);
    char text[512];

    if (what == NULL || now != *last) {
        *last = now;
        *waited = 0;
        return;
    }
    *waited += PERIOD * 1e-3;
    if (*waited <= ht__wait_timeout())
        return;
    snprintf(text, sizeof text, HT_TIMEOUT_TEXT, what, ht__wait_timeout());
    pthread_mutex_unlock(&lock); /* the end asks the others, which takes it */
    ht__abort(HT_ERR_TIMEOUT, text);
}

static void *watch(void *unused)
{
    unsigned last = 0;
    double waited = 0;

    (void)unused;
    pthread_mutex_lock(&lock);
    while (!stopping) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += PERIOD * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&stop, &lock, &until);
        if (stopping)
            break;
        if (wire != MPI_COMM_NULL)
            answer_all();
        guard_deadline(&last, &waited);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void ht__watch_start(void)
{
    int level;

    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE || ht__wait_timeout() <= 0)
        return;
    stopping = false;
    running = pthread_create(&thread, NULL, watch, NULL) == 0;
}

void ht__watch_connect(MPI_Comm world)
{
    MPI_Comm copy;

    if (ht__mpi_check(NULL, MPI_Comm_dup(world, &copy), "ht_init") != HT_SUCCESS)
        return;
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    pthread_mutex_lock(&lock);
    wire = copy;
    pthread_mutex_unlock(&lock);
}

void ht__watch_meet(ht_comm *world, const char *what)
{
    MPI_Request request;

    if (ht__mpi_check(world, MPI_Ibarrier(wire, &request), what) == HT_SUCCESS)
        ht__wait_mpi(world, 1, &request, what);
}

bool ht__watch_running(void)
{
    return running;
}

void ht__watch_end(void)
{
    if (running) {
        pthread_mutex_lock(&lock);
        stopping = true;
        pthread_cond_signal(&stop);
        pthread_mutex_unlock(&lock);
        pthread_join(thread, NULL);
        running = false;
    }
    MPI_Comm_free(&wire);
}

static bool hear(int rank, struct answer *answer, int *ms)
{
    for (;; ++*ms) {
        int there = 0;

        if (MPI_Iprobe(rank, ANSWER, wire, &there, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        if (there)
            return MPI_Recv(answer, sizeof *answer, MPI_BYTE, rank, ANSWER, wire,
                            MPI_STATUS_IGNORE) == MPI_SUCCESS;
        if (*ms >= PATIENCE)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* Holds one rank's absence against it and no other: all are asked before any answer is awaited. */
void ht__watch_describe(char *text, size_t room, const bool *silent, int size)
{
    size_t at = 0;
    int ms = 0;

    text[0] = '\0';
    if (!running || wire == MPI_COMM_NULL)
        return;
    for (int r = 0; r < size; r++) {
        MPI_Request request;

        if (silent[r] && MPI_Isend(NULL, 0, MPI_BYTE, r, ASK, wire, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
    }
    for (int r = 0; r < size && at < room; r++) {
        struct answer it = {0};

        if (!silent[r])
            continue;
        if (!hear(r, &it, &ms))
            at += (size_t)snprintf(text + at, room - at, "; rank %d does not answer", r);
        else if (it.what[0] != '\0')
            at += (size_t)snprintf(text + at, room - at, "; rank %d is in %s (its wait %llu)", r,
                                   it.what, (unsigned long long)it.waits);
        else
            at += (size_t)snprintf(text + at, room - at, "; rank %d computes, after %llu waits", r,
                                   (unsigned long long)it.waits);
    }
}
