/* SPDX-License-Identifier: MIT
 *
 * The deadline of all waits (HT_TIMEOUT), and a clock for them that leaves out time in which this
 * process did not run. */
#include <time.h>

#include "core/base/environment.h"
#include "core/comm/mpi.h"

static double timeout = 600;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double ht__clock_elapsed(struct ht_clock *clock, double most)
{
    double time = now(), tick = clock->last > 0 ? time - clock->last : 0;

    clock->last = time;
    clock->elapsed += tick < most ? tick : most;
    return clock->elapsed;
}

void ht__wait_read_timeout(void)
{
    ht__env_number(HT_ENV_HT_TIMEOUT, &timeout);
}

double ht__wait_timeout(void)
{
    return timeout;
}
