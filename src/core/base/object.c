/* SPDX-License-Identifier: MIT
 *
 * Counts of handles, and accounts of live objects by kind. */
#include "core/base/base.h"
#include "ht/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/environment.h"
#include "ht/log.h"

enum { STAYS = 1 << 30 }; /* a count that does not change */

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
    ht__quarantine_expect(object, base->kind->name);
}

void ht__object_stay(void *object, bool stay)
{
    atomic_store(&((ht_object *)object)->count, stay ? STAYS : 1);
}

void *ht_retain(void *object)
{
    ht_object *base = object;

    if (HT_IS_THERE(object) && ht__object_count(object) != STAYS)
        atomic_fetch_add_explicit(&base->count, 1, memory_order_relaxed);
    return object;
}

/* Devices, streams and communicators, which are needed to destroy objects, no longer exist. */
static void say_too_late(void)
{
    static atomic_bool said;

    if (!atomic_exchange(&said, true))
        ht_log_write(HT_LOG_WARN,
                     "ht_release: called after %s, when no object is left; release objects "
                     "before it",
                     ht__process.ended_by);
}

bool ht__hold(void *object)
{
    ht_object *base = object;
    int holders = atomic_load_explicit(&base->count, memory_order_relaxed);

    while (holders > 0 && !atomic_compare_exchange_weak(&base->count, &holders, holders + 1))
        ;
    return holders > 0;
}

/* Takes one from the count. The only holder needs no atomic subtraction: there is no other handle
 * from which the count could grow meanwhile. */
static bool is_last(ht_object *base)
{
    const int holders = atomic_load_explicit(&base->count, memory_order_acquire);

    if (holders == 1 && !base->kind->listed_uncounted) {
        atomic_store_explicit(&base->count, 0, memory_order_relaxed);
        return true;
    }
    if (holders == STAYS || atomic_fetch_sub_explicit(&base->count, 1, memory_order_release) != 1)
        return false;
    atomic_thread_fence(memory_order_acquire);
    return true;
}

void ht_release(void *object)
{
    ht_object *base = object;
    bool entered;

    if (object != NULL && ht__process.ended) {
        say_too_late();
        return;
    }
    if (!HT_IS_THERE(object))
        return;
    if (!is_last(base))
        return;
    entered = ht__place_enter("it was released", HT_CALLER);
    base->kind->destroy(object);
    ht__place_leave(entered);
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

/* Anything that is left is worth a line; where leaks are looked for, it is an error. */
static ht_log_level leak_level(void)
{
#ifdef HT_DEBUG
    return HT_LOG_ERROR;
#else
    return ht__env_flag(HT_ENV_HT_LEAK_CHECK) ? HT_LOG_ERROR : HT_LOG_WARN;
#endif
}

int ht__object_report_leaks(void)
{
    char list[512] = "";
    size_t at = 0;
    int leaked = 0;

    for (ht_kind *kind = atomic_load(&kinds); kind != NULL; kind = kind->next) {
        long long live = atomic_load(&kind->live);

        if (live != 0 && at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%lld %s", at > 0 ? ", " : "",
                                   live, kind->name);
        leaked += (int)live;
    }
    if (leaked != 0)
        ht_log_write(leak_level(),
                     "ht_finalize: leaked objects: %s; look for an ht_retain or a constructor "
                     "without ht_release, or a scope that was not closed",
                     list);
    return leaked;
}
