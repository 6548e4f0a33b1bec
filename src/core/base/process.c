/* SPDX-License-Identifier: MIT
 *
 * The process and its place in a job. */

#include <stdio.h>
#include <stdlib.h>

#include "core/base/base.h"
#include "ht/communication.h"

struct ht_process ht__process = {.size = 1, .threads = 1};

bool ht_is_initialized(void)
{
    return ht__process.initialized;
}

int ht_get_num_threads(void)
{
    return ht__process.threads;
}

void ht__abort(ht_status code, const char *message)
{
    if (ht__process.end != NULL)
        ht__process.end(code, message);
    fprintf(stderr, "ht: %s\n", message);
    exit(EXIT_FAILURE);
}
