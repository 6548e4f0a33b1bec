/* SPDX-License-Identifier: MIT
 *
 * Start and end of the core, and of the timeline of a job. */
#ifndef HT_CORE_START_START_H
#define HT_CORE_START_START_H

#include <stdint.h>

void ht__core_init(void); /* devices, kernel tables; after the world is known */
void ht__core_finalize(void);

/* init: as HT_TIMELINE of rank 0 says, for all. open: this rank writes `path`.RANK. report: the
 * page, on stderr, if there is a file and the program has not printed it. All collective over the
 * world. */
void ht__timeline_init(void);
void ht__timeline_open(const char *path);
void ht__timeline_report(void);
uint64_t ht__timeline_sent(void); /* bytes, since it was started */

#endif
