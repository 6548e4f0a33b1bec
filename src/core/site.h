/* SPDX-License-Identifier: MIT
 *
 * Places in a program's code. Sources that include this define _GNU_SOURCE before anything else. */
#ifndef HT_SITE_H
#define HT_SITE_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* The program or library that has this address; NULL: none. info: its name and symbol. */
const struct link_map *ht__site_object(const void *address, Dl_info *info);

/* As addr2line takes it: "train+0x146e". `address` is where a call returns to. */
void ht__site_name(const struct link_map *object, const void *address, char *text, size_t size);

/* "train.c:31" where addr2line is installed and the code was compiled with -g; else its name, or
 * the address alone. Starts a process: for jobs that end. */
void ht__site_line(const void *address, char *text, size_t size);

#endif
