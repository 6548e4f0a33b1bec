/* SPDX-License-Identifier: MIT
 *
 * Quarantine of released objects, whose addresses are not handed out again for a while: a ring of
 * the last ones, and a table that finds them by address. Any pointer can be looked up, because
 * nothing is read through it. Part of builds with --enable-debug only. */
#define _GNU_SOURCE
#include "core/base/base.h"
#include "core/base/quarantine.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/site.h"

enum { KEPT = 1 << 14, LISTS = 1 << 12, POISON = 0xdd };

struct gone {
    void *address; /* owned memory; NULL: not used yet */
    const char *kind, *how;
    const void *where;
    struct gone *next; /* of its list */
};

static struct gone ring[KEPT], *lists[LISTS];
static size_t released; /* in all */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* The entered place of the calling thread. */
static _Thread_local struct {
    const char *how; /* NULL: no place entered */
    const void *where;
} place;
static _Thread_local struct {
    const void *object;
    const char *kind;
} expected;

static struct gone **list_of(const void *address)
{
    return &lists[((uintptr_t)address / 64) % LISTS];
}

static void unlink_entry(struct gone *entry)
{
    struct gone **at = list_of(entry->address);

    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
}

bool ht__place_enter(const char *how, const void *where)
{
    if (place.how != NULL)
        return false;
    place.how = how;
    place.where = where;
    return true;
}

void ht__place_leave(bool outermost)
{
    if (outermost)
        place.how = NULL;
}

void ht__quarantine_expect(const void *object, const char *kind)
{
    expected.object = object;
    expected.kind = kind;
}

bool ht__quarantine(void *memory)
{
    struct gone *entry, **list;
    void *oldest;

    if (memory == NULL || memory != expected.object)
        return false;
    expected.object = NULL;
    memset(memory, POISON, malloc_usable_size(memory));
    pthread_mutex_lock(&mutex);
    entry = &ring[released++ % KEPT];
    oldest = entry->address;
    if (oldest != NULL)
        unlink_entry(entry);
    list = list_of(memory);
    *entry = (struct gone){memory, expected.kind, place.how, place.where, *list};
    *list = entry;
    pthread_mutex_unlock(&mutex);
    free(oldest);
    return true;
}

static _Noreturn void report(const struct gone *gone, const char *what, const char *name)
{
    char site[600] = "an unknown place", text[1024];

    if (gone->how != NULL)
        ht__site_line(gone->where, site, sizeof site);
    snprintf(text, sizeof text, "%s: %s is a %s that no longer exists: %s at %s", what, name,
             gone->kind, gone->how != NULL ? gone->how : "it was released", site);
    ht__abort(HT_ERR_STATE, text);
}

const void *ht__alive(const void *handle, const char *what, const char *name)
{
    const struct gone *entry;
    struct gone found;

    if (handle == NULL)
        return NULL;
    pthread_mutex_lock(&mutex);
    entry = *list_of(handle);
    while (entry != NULL && entry->address != handle)
        entry = entry->next;
    if (entry != NULL)
        found = *entry;
    pthread_mutex_unlock(&mutex);
    if (entry != NULL)
        report(&found, what, name);
    return handle;
}
