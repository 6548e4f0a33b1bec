/* SPDX-License-Identifier: MIT
 *
 * The end of a program that prints: output that could not be written, as to a full device, is a
 * failure.
 */
#ifndef HT_TOOLS_OUTPUT_H
#define HT_TOOLS_OUTPUT_H

#include <stdio.h>

/* The exit status, when it would be `status` otherwise. */
static inline int output_status(const char *program, int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "%s: cannot write to the output\n", program);
    return status != 0 ? status : 1;
}

#endif
