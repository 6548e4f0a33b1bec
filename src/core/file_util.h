/* SPDX-License-Identifier: MIT
 *
 * Files by their names: what may be read, and what is written in the place of another. */
#ifndef HT_FILE_UTIL_H
#define HT_FILE_UTIL_H

#include "ht/error.h"

enum { HT_PATH_ROOM = 4096 };

/* Whether there is a regular file that can be read: on a FIFO HDF5 and MPI-IO wait for ever, and of
 * a folder they say nothing that helps. An error otherwise, which starts with `what`. Of this rank.
 */
ht_status ht__file_check(const char *what, const char *path);

/* Where a file of this name is to be written: what a symbolic link leads to, else `path`. An error
 * if something is there that is no regular file. Of this rank. */
ht_status ht__file_target(const char *what, const char *path, char target[HT_PATH_ROOM]);

/* Makes the file `part`, which is to replace `path`: with the permissions of that if it is there,
 * before there is anything in it to be read. One that is there stays what it is, unless `fresh`.
 * Returns a descriptor for reading and writing, or -1 and errno. */
int ht__file_create(const char *part, const char *path, bool fresh);

#endif
