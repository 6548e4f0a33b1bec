/* SPDX-License-Identifier: MIT */
/* Files that the tests of loaders make: a folder for all ranks, and data sets whose values name the
 * row they belong to. */
#ifndef HT_TEST_FILES_H
#define HT_TEST_FILES_H

#include <stdint.h>

/* A new folder in TMPDIR, the same for all ranks; `remove` deletes it and the files in it. */
void files_open(void);
void files_remove(void);

/* The path of a file in it; one of a few buffers. */
const char *files_path(const char *name);

enum { ROW_LENGTH = 5 };

/* Made by rank 0, seen by all when the call returns: "x" (rows, ROW_LENGTH) int32 in chunks of
 * `chunk` rows (0: not chunked), deflated, with x[i][j] = 100 i + j, and "y" (labels) uint8 with
 * y[i] = i mod 251. */
void files_make(const char *name, int64_t rows, int64_t labels, int64_t chunk);

#endif
