/* SPDX-License-Identifier: MIT
 *
 * The progress thread: moves the exchange while the program computes. It is off unless
 * HT_PROGRESS_THREAD=1, and runs only if MPI lets several threads call it. It tests, then sleeps
 * 100 microseconds, or longer while nothing moves. Because several segments are under way, the
 * network stays busy and the program keeps its core. While nothing is pending it waits to be woken.
 *
 * A lock separates it from the program's thread. Without the progress thread the lock is not taken:
 * the cost is one look at a flag that only the program's thread writes. */
#include "core/base/environment.h"
#include "core/exchange/path.h"
#include "core/timeline/timeline.h"
#include "ht/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAUSE_NS = 100 * 1000, LONGEST_PAUSE_NS = 4 * PAUSE_NS };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static ht_move_fn *move;
static bool running;  /* of the program's thread */
static bool stopping; /* under the lock */

void ht__gate_lock(void)
{
    if (running)
        pthread_mutex_lock(&gate);
}

bool ht__gate_try(void)
{
    return !running || pthread_mutex_trylock(&gate) == 0;
}

void ht__gate_unlock(void)
{
    if (running)
        pthread_mutex_unlock(&gate);
}

void ht__thread_wake(void)
{
    if (running)
        pthread_cond_signal(&started);
}

static void *serve(void *unused)
{
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    bool moved;

    (void)unused;
    ht__timeline_name_thread("progress");
    pthread_mutex_lock(&gate);
    while (!stopping) {
        if (!move(&moved)) {
            pthread_cond_wait(&started, &gate);
            continue;
        }
        pthread_mutex_unlock(&gate);
        if (moved)
            pause.tv_nsec = PAUSE_NS;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < LONGEST_PAUSE_NS)
            pause.tv_nsec *= 2;
        pthread_mutex_lock(&gate);
    }
    pthread_mutex_unlock(&gate);
    return NULL;
}

void ht__thread_start(ht_move_fn *move_all)
{
    int level;

    if (running || !ht__env_flag(HT_ENV_HT_PROGRESS_THREAD))
        return;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) {
        ht_log_write0(HT_LOG_WARN, "HT_PROGRESS_THREAD=1: no progress thread, because MPI was not "
                                   "initialised with MPI_THREAD_MULTIPLE");
        return;
    }
    stopping = false;
    move = move_all;
    running = pthread_create(&thread, NULL, serve, NULL) == 0;
    if (!running)
        ht_log_write0(HT_LOG_WARN, "HT_PROGRESS_THREAD=1: cannot start the thread");
}

void ht__thread_stop(void)
{
    if (!running)
        return;
    pthread_mutex_lock(&gate);
    stopping = true;
    pthread_cond_signal(&started);
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    running = false;
}
