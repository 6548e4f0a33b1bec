/* SPDX-License-Identifier: MIT
 *
 * The watchdog: a thread of each rank that sleeps, and answers ranks that miss others with this
 * rank's current operation. It also has a deadline for calls of MPI that cannot be polled: making
 * communicators and shared memory, opening files. Waits that poll have their deadline in
 * comm/wait.c.
 *
 * Below MPI_THREAD_MULTIPLE the watchdog does not run. Waits that poll still end in time, but the
 * missing ranks cannot report their operations. */

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "core/comm/mpi.h"
#include "ht/log.h"

enum { PERIOD = 250 /* ms */, NOTICE = 10 /* s */ };

static bool stopping; /* under the lock, and so is all of comm/watchdog_ask.c */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static atomic_bool running;

void ht__watch_describe(char *text, size_t room, const bool *whom)
{
    text[0] = '\0';
    if (!running)
        return;
    pthread_mutex_lock(&lock);
    ht__ask_describe(text, room, whom);
    pthread_mutex_unlock(&lock);
}

/* Looks every period; an ended call, or the next one, starts the count again. Each period counts
 * as itself however long it took, so that a suspended job does not time out. */
static void guard_deadline(unsigned *last, double *waited)
{
    unsigned now;
    const char *what = ht__watch_guarded(&now);
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

static void give_notice(const char *what)
{
    char others[1024];

    if (ht__ask_who_waits_elsewhere(what, others, sizeof others))
        ht_log_write(HT_LOG_WARN,
                     "%s: has waited for other ranks for %d s; the job ends after %g s%s", what,
                     NOTICE, ht__wait_timeout(), others);
}

/* Once, if the deadline is much later: a line for a person who looks at a job that does not move.
 */
static void look_at_wait(uint64_t *last, double *waited)
{
    static bool noticed;
    const char *what = atomic_load(&ht__watch.what);
    uint64_t now = atomic_load(&ht__watch.moves);

    if (what == NULL || now != *last || noticed) {
        *last = now;
        *waited = 0;
        return;
    }
    *waited += PERIOD * 1e-3;
    if (*waited < NOTICE || ht__wait_timeout() < 2 * NOTICE)
        return;
    noticed = true;
    give_notice(what);
}

static void *watch(void *unused)
{
    unsigned last_guard = 0;
    uint64_t last_move = 0;
    double guarded_for = 0, waited = 0;

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
        ht__ask_answer();
        guard_deadline(&last_guard, &guarded_for);
        look_at_wait(&last_move, &waited);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void ht__watch_start(MPI_Comm world)
{
    int level;

    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE || ht__wait_timeout() <= 0)
        return;
    ht__ask_start(world);
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
    ht__ask_connect(copy);
    pthread_mutex_unlock(&lock);
}

bool ht__watch_running(void)
{
    return running;
}

void ht__watch_stop(void)
{
    if (!running)
        return;
    pthread_mutex_lock(&lock);
    stopping = true;
    pthread_cond_signal(&stop);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    running = false;
}

void ht__watch_end(void)
{
    ht__watch_stop();
    ht__ask_end();
}
