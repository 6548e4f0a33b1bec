/* SPDX-License-Identifier: MIT */
/* A program of the core and one that trains, which use most of the library and continue after any
 * failure. They return the first error, whose message is here. For tests in which memory runs out.
 */
#ifndef HT_TEST_PROGRAMS_H
#define HT_TEST_PROGRAMS_H

#include "ht.h"

extern char ht_test_first_message[1024];

/* Tensors on the world. Files are made at, and removed from, `path`. */
ht_status ht_test_core_program(const char *path);

/* A CNN with data parallelism, a loader and a checkpoint; a thread reads ahead or not. */
ht_status ht_test_training_program(const char *path, bool thread);

#endif
