/* SPDX-License-Identifier: MIT
 *
 * ht-run: which checkpoints the job has written that it runs, and none before it. */
#ifndef HT_TOOLS_WRITTEN_H
#define HT_TOOLS_WRITTEN_H

#include <stdint.h>

/* Gives the job a name, HT_JOB for all that is started from now on, and notes the files that are
 * there. `checkpoint`: FILE; NULL: none is known. */
void written_begin(const char *checkpoint);

/* HT_JOB as it was set. */
const char *written_job(void);

/* When the newest of FILE, FILE.1, ... that the job has written was, in nanoseconds; 0: there is
 * none. */
int64_t written_last(void);

#endif
