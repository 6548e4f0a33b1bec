/* SPDX-License-Identifier: MIT
 *
 * Counting of handles, and accounting of what is alive by kind. */
#include "ht/object.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"

static _Atomic(ht_kind *) kinds;

static void list_kind(ht_kind *kind)
{
    if (atomic_exchange(&kind->listed, true))
        return;
    kind->next = atomic_load(&kinds);
    while (!atomic_compare_exchange_weak(&kinds, &kind->next, kind))
        ;
}

void ht__object_init(void *object, ht_kind *kind)
{
    ht_object *base = object;

    base->kind = kind;
    atomic_init(&base->count, 1);
    atomic_fetch_add_explicit(&kind->live, 1, memory_order_relaxed);
    if (!atomic_load_explicit(&kind->listed, memory_order_relaxed))
        list_kind(kind);
}

void ht__object_fini(void *object)
{
    ht_object *base = object;

    atomic_fetch_sub_explicit(&base->kind->live, 1, memory_order_relaxed);
}

void *ht_retain(void *object)
{
    ht_object *base = object;

    if (base != NULL)
        atomic_fetch_add_explicit(&base->count, 1, memory_order_relaxed);
    return object;
}

void ht_release(void *object)
{
    ht_object *base = object;

    if (base == NULL)
        return;
    if (atomic_fetch_sub_explicit(&base->count, 1, memory_order_release) != 1)
        return;
    atomic_thread_fence(memory_order_acquire);
    base->kind->destroy(object);
}

int64_t ht_live_objects(const char *kind_name)
{
    int64_t live = 0;

    for (ht_kind *kind = atomic_load(&kinds); kind != NULL; kind = kind->next) {
        if (kind_name == NULL || strcmp(kind->name, kind_name) == 0)
            live += atomic_load(&kind->live);
    }
    return live;
}

static ht_log_level leak_level(void)
{
#ifdef HT_DEBUG
    return HT_LOG_ERROR;
#else
    const char *text = getenv("HT_LEAK_CHECK");

    return text != NULL && text[0] == '1' ? HT_LOG_ERROR : HT_LOG_INFO;
#endif
}

int ht__object_report_leaks(void)
{
    ht_log_level level = leak_level();
    int leaked = 0;

    for (ht_kind *kind = atomic_load(&kinds); kind != NULL; kind = kind->next) {
        long long live = atomic_load(&kind->live);

        if (live != 0)
            ht_log_write(level, "ht_finalize: leaked objects: %lld %s", live, kind->name);
        leaked += (int)live;
    }
    return leaked;
}
