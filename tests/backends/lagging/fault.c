/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lagging.h"

/* Whether this is the call that LAG_FAULT asks for; the variable is read again each time, so that a
 * test may set it between two calls. */
static bool is_asked_for(void)
{
    static char known[32];
    static long calls;
    const char *wanted = getenv("LAG_FAULT");

    if (wanted == NULL) {
        known[0] = '\0';
        return false;
    }
    if (strcmp(wanted, known) != 0) {
        snprintf(known, sizeof known, "%s", wanted);
        calls = 0;
    }
    return ++calls == atol(wanted);
}

/* Threads of loaders call the device, too. */
bool lag_lacks(const char *what)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    bool asked;

    pthread_mutex_lock(&mutex);
    asked = is_asked_for();
    if (asked)
        setenv("LAG_FAULT_MADE", what, true);
    pthread_mutex_unlock(&mutex);
    return asked;
}

bool lag_fault(const char *what)
{
    if (!lag_lacks(what))
        return false;
    lag_core->fail("lag: %s fails, as asked for", what);
    return true;
}
