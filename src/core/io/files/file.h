/* SPDX-License-Identifier: MIT
 *
 * Files by name: checks before reading, and files that replace others. */
#ifndef HT_CORE_IO_FILES_FILE_H
#define HT_CORE_IO_FILES_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "ht/error.h"

enum { HT_PATH_ROOM = 4096 };

/* Whether there is a regular file that can be read: on a FIFO HDF5 and MPI-IO wait for ever, and of
 * a folder they say nothing that helps. An error otherwise, which starts with `what`. Not
 * collective.
 */
ht_status ht__file_check(const char *what, const char *path);

/* The target of a name over symbolic links, of any kind; false if it does not exist. Not collective. */
bool ht__file_follow(const char *path, char target[HT_PATH_ROOM]);

/* Where a file of this name is to be written: the target of a symbolic link, else `path`. An error
 * if the target is not a regular file. Not collective. */
ht_status ht__file_target(const char *what, const char *path, char target[HT_PATH_ROOM]);

/* Makes the file `part`, which is to replace `path`: with the permissions of that if it is there,
 * before there is anything in it to be read. Returns a descriptor for reading and writing, or -1
 * and errno: EEXIST if there is anything of this name. */
int ht__file_create(const char *part, const char *path);

/* Gives the open file the space of `bytes` from its beginning on, so that writing there cannot find
 * the disk full. Returns 0 or the system's error; 0 as well where a file system cannot reserve. */
int ht__file_reserve(int file, int64_t bytes);

/* The same for the file of a name. */
int ht__file_reserve_at(const char *path, int64_t bytes);

/* A file that is written under another name and renamed when it is complete. */
typedef struct ht_whole {
    const char *what;             /* the public function; a literal */
    const char *path;             /* as the program says it; not owned */
    char real[HT_PATH_ROOM];      /* where that leads to */
    char part[HT_PATH_ROOM + 32]; /* the file that is written: `real` and a suffix */
} ht_whole;

/* Creates the part, empty, with the permissions of the file that it is to replace. An old file of
 * its name is removed. Not collective. */
ht_status ht__whole_begin(ht_whole *file, const char *what, const char *path, const char *suffix);

/* Puts the part in its place, or removes it if `status` is an error, which is returned. */
ht_status ht__whole_end(const ht_whole *file, ht_status status);

#endif
