/* SPDX-License-Identifier: MIT
 *
 * The deadline for the start of MPI, when the other ranks cannot be asked. A thread ends this
 * process, and with it the job, if MPI_Init_thread does not return. */
#include "core/comm/mpi.h"
#include "core/base/environment.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool started;

/* Seconds. Processes take their time to start, however short the waits between them may be. */
static double deadline(void)
{
    const double least = 15;

    return ht__wait_timeout() > least ? ht__wait_timeout() : least;
}

/* Before MPI says it, launchers do; without a number where they do not. */
static void give_up(void)
{
    const char *rank = ht__env_text(HT_ENV_OMPI_COMM_WORLD_RANK);
    char line[256];
    int length = snprintf(line, sizeof line, "ht: %s%s%s" HT_TIMEOUT_TEXT "\n",
                          rank != NULL ? "rank " : "", rank != NULL ? rank : "",
                          rank != NULL ? ": " : "", "MPI_Init_thread, in ht_init", deadline());

    length = (int)write(STDERR_FILENO, line, (size_t)length); /* whether or not it could be */
    _exit(EXIT_FAILURE);
}

/* A tick counts as one however long it took, so that a suspended job does not time out. */
static void *wait_for_start(void *unused)
{
    const double tick = 0.1;
    double waited = 0;

    (void)unused;
    pthread_mutex_lock(&lock);
    while (!started) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)(tick * 1e9);
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&changed, &lock, &until);
        waited += tick;
        if (!started && waited > deadline())
            give_up();
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

int ht__mpi_start(int *argc, char ***argv)
{
    pthread_t thread;
    int level, result;
    bool guarded = ht__wait_timeout() > 0;

    started = false;
    if (guarded)
        guarded = pthread_create(&thread, NULL, wait_for_start, NULL) == 0;
    result = MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
    if (!guarded)
        return result;
    pthread_mutex_lock(&lock);
    started = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return result;
}
