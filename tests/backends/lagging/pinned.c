/* SPDX-License-Identifier: MIT */
/* Memory of host_alloc: its content is copied when the turn of the copy comes. */
#include <pthread.h>
#include <stdlib.h>

#include "lagging.h"

struct pinned {
    struct pinned *next;
    char *at;
    size_t bytes;
};

static struct pinned *all;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

bool lag_is_pinned(const void *at)
{
    bool found = false;

    pthread_mutex_lock(&mutex);
    for (const struct pinned *p = all; p != NULL && !found; p = p->next)
        found = (const char *)at >= p->at && (const char *)at < p->at + p->bytes;
    pthread_mutex_unlock(&mutex);
    return found;
}

void *lag_host_alloc(size_t bytes)
{
    struct pinned *p = malloc(sizeof *p);

    if (p == NULL)
        return NULL;
    pthread_mutex_lock(&mutex);
    *p = (struct pinned){all, malloc(bytes), bytes};
    all = p;
    pthread_mutex_unlock(&mutex);
    return p->at;
}

void lag_host_free(void *memory)
{
    pthread_mutex_lock(&mutex);
    for (struct pinned **at = &all; *at != NULL; at = &(*at)->next) {
        struct pinned *p = *at;

        if (p->at != memory)
            continue;
        *at = p->next;
        free(p->at);
        free(p);
        break;
    }
    pthread_mutex_unlock(&mutex);
}
