/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lagging.h"

/* Read anew at each call, so that a test may set it between two. */
bool lag_lacks(const char *what)
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
    if (++calls != atol(wanted))
        return false;
    setenv("LAG_FAULT_MADE", what, true);
    return true;
}

bool lag_fault(const char *what)
{
    if (!lag_lacks(what))
        return false;
    lag_core->fail("lag: %s fails, as asked for", what);
    return true;
}
