/* SPDX-License-Identifier: MIT
 *
 * What parts above the core do when the library ends. */
#include "core.h"

#include <stdlib.h>

enum { MOST = 8 };

static void (*calls[MOST])(void);
static int count;

void ht__at_finalize(void (*call)(void))
{
    for (int i = 0; i < count; i++) {
        if (calls[i] == call)
            return;
    }
    if (count == MOST)
        abort();
    calls[count++] = call;
}

void ht__run_at_finalize(void)
{
    for (int i = 0; i < count; i++)
        calls[i]();
    count = 0;
}
