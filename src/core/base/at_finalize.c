/* SPDX-License-Identifier: MIT
 *
 * Functions of higher folders that run when the library ends. */

#include "core/base/base.h"

static void (**calls)(void); /* owned */
static int count;

void ht__at_finalize(void (*call)(void))
{
    for (int i = 0; i < count; i++) {
        if (calls[i] == call)
            return;
    }
    calls = ht__realloc(calls, ((size_t)count + 1) * sizeof *calls);
    calls[count++] = call;
}

void ht__run_at_finalize(void)
{
    for (int i = 0; i < count; i++)
        calls[i]();
    ht__free(calls);
    calls = NULL;
    count = 0;
}
