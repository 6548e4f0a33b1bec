/* SPDX-License-Identifier: MIT
 *
 * Names that stay valid: names of layers and buckets, which another thread may read after their
 * owner was destroyed. Equal texts are kept once, until the program ends. */
#define _GNU_SOURCE
#include <pthread.h>
#include <search.h>
#include <string.h>

#include "core/base/base.h"

static void *names; /* a tree of texts */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

const char *ht__name(const char *text)
{
    const char *const *found;

    pthread_mutex_lock(&lock);
    found = tfind(text, &names, compare);
    if (found == NULL)
        found = tsearch(ht__strdup(text), &names, compare);
    pthread_mutex_unlock(&lock);
    return found != NULL ? *found : "";
}

uint64_t ht__text_hash(const char *text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash ^ hash >> 32;
}
