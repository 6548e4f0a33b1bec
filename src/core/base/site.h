/* SPDX-License-Identifier: MIT
 *
 * Places in a program's code. Sources that include this define _GNU_SOURCE before anything else. */
#ifndef HT_CORE_BASE_SITE_H
#define HT_CORE_BASE_SITE_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* The program or library that has this address; NULL: none. info: its name and symbol. */
const struct link_map *ht__site_object(const void *address, Dl_info *info);

/* As addr2line takes it: "train+0x146e". `address` is where a call returns to. */
void ht__site_name(const struct link_map *object, const void *address, char *text, size_t size);

/* From a backtrace of a thread inside the library: the public function (its symbol) and where the
 * program calls it, as ht__site_name; "" if unknown. */
void ht__site_find(void *const frames[], int count, char *caller, size_t caller_size, char *site,
                   size_t site_size);

/* "train.c:31" for what ht__site_name gave, here or on another rank that runs the same program;
 * else that itself. Starts a process: for jobs that end. */
void ht__site_resolve(const char *site, char *text, size_t size);

/* "train.c:31" where addr2line is installed and the code was compiled with -g; else its name, or
 * the address alone. Starts a process: for jobs that end. */
void ht__site_line(const void *address, char *text, size_t size);

#endif
