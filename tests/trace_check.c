/* SPDX-License-Identifier: MIT
 *
 * usage: trace-check FILE. Whether it is a trace whose spans nest; prints how many ranks are in it.
 */
#include <stdio.h>

#include "trace.h"

static int ranks_in(const struct trace *trace)
{
    int most = -1;

    for (int i = 0; i < trace->count; i++)
        most = trace->events[i].pid > most ? trace->events[i].pid : most;
    return most + 1;
}

int main(int argc, char **argv)
{
    const char *wrong = "usage: trace-check FILE";
    struct trace *trace = argc == 2 ? trace_read(argv[1], &wrong) : NULL;
    bool nests;

    if (trace == NULL) {
        fprintf(stderr, "trace-check: %s\n", wrong);
        return 2;
    }
    nests = trace_nests(trace);
    printf("%d\n", ranks_in(trace));
    trace_free(trace);
    return nests ? 0 : 1;
}
