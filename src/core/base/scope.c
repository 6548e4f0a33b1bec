/* SPDX-License-Identifier: MIT
 *
 * Scopes: a stack for each thread. Each scope has one reference to every temporary that was made
 * while it was the innermost. The root scope of a thread exists from its first temporary to its
 * end. */
#define _GNU_SOURCE
#include <pthread.h>

#include "core/base/base.h"
#include "core/base/site.h"
#include "ht/log.h"

#define ROOT_WARNING 10000

struct ht_scope {
    ht_scope *outer;
    ht_object **items; /* owned references */
    size_t count, capacity;
#ifdef HT_DEBUG
    const void *opened; /* where the call that did it returns to */
#endif
};

static _Thread_local ht_scope *innermost;
static _Thread_local ht_scope *spare; /* closed scopes keep their arrays for the next ones */
static pthread_key_t thread_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void end_thread(void *unused)
{
    (void)unused;
    ht__scope_thread_end();
}

static void set_up(void)
{
    pthread_key_create(&thread_key, end_thread);
}

static ht_scope *push(void)
{
    ht_scope *scope = spare;

    if (scope != NULL)
        spare = scope->outer;
    else
        scope = ht__alloc(sizeof *scope);
    scope->outer = innermost;
    innermost = scope;
    return scope;
}

static void ensure_root(void)
{
    if (innermost != NULL)
        return;
    pthread_once(&once, set_up);
    pthread_setspecific(thread_key, &innermost);
    push();
}

ht_scope *ht_scope_open(void)
{
    ht_scope *scope;

    ensure_root();
    scope = push();
#ifdef HT_DEBUG
    scope->opened = HT_CALLER;
#endif
    return scope;
}

static void hold(ht_scope *scope, ht_object *object)
{
    if (scope->count == scope->capacity) {
        scope->capacity = scope->capacity > 0 ? 2 * scope->capacity : 64;
        scope->items = ht__realloc(scope->items, scope->capacity * sizeof *scope->items);
    }
    scope->items[scope->count++] = object;
    if (scope->outer == NULL && scope->count == ROOT_WARNING)
        ht_log_write(HT_LOG_WARN,
                     "%d temporaries live in the root scope: open a scope around each step",
                     ROOT_WARNING);
}

void *ht__scoped(void *object)
{
    if (object == NULL)
        return NULL;
    ensure_root();
    hold(innermost, object);
    return object;
}

void *ht_scope_adopt(void *object)
{
    ht__alive(object, "ht_scope_adopt", "object");
    return ht__scoped(object);
}

static void empty(ht_scope *scope)
{
    /* Last made, first released: what a later tensor was made from is still there. */
    while (scope->count > 0) {
        void *last = scope->items[--scope->count];

        ht__alive(last, "ht_scope_close", "what the scope holds");
        ht_release(last);
    }
}

static bool is_open(const ht_scope *scope)
{
    const ht_scope *open = innermost;

    while (open != NULL && open != scope)
        open = open->outer;
    return open != NULL && open->outer != NULL; /* no program closes the root */
}

#ifdef HT_DEBUG
static void log_left_open(const ht_scope *scope)
{
    char opened[600];

    if (ht_log_get_level() < HT_LOG_DEBUG)
        return;
    ht__site_line(scope->opened, opened, sizeof opened);
    ht_log_write(HT_LOG_DEBUG,
                 "ht_scope_close: an inner scope, opened at %s, was left open and is closed now",
                 opened);
}
#else
static void log_left_open(const ht_scope *scope)
{
    (void)scope;
    ht_log_write(HT_LOG_DEBUG, "ht_scope_close: an inner scope was left open and is closed now");
}
#endif

void ht_scope_close(ht_scope *scope)
{
    bool entered;

    if (scope == NULL)
        return;
    if (!is_open(scope)) {
        HT_FAIL(NULL, HT_ERR_STATE,
                "ht_scope_close: scope is closed or of another thread, expected an open one of the "
                "calling thread");
        return;
    }
    entered = ht__place_enter("its scope was closed", HT_CALLER);
    for (bool last = false; !last;) {
        ht_scope *inner = innermost;

        last = inner == scope;
        if (!last)
            log_left_open(inner);
        empty(inner);
        innermost = inner->outer;
        inner->outer = spare;
        spare = inner;
    }
    ht__place_leave(entered);
}

void *ht_scope_return(ht_scope *scope, void *object)
{
    bool entered;

    ht__alive(object, "ht_scope_return", "object");
    ht_retain(object);
    entered = ht__place_enter("its scope was closed", HT_CALLER);
    ht_scope_close(scope);
    ht__place_leave(entered);
    return ht__scoped(object);
}

void *ht__scope_step(ht_scope *step, void *spent, void *made)
{
    ht_retain(made); /* first: it may be the spent one */
    ht_release(spent);
    ht_scope_close(step);
    return made;
}

void ht__scope_thread_end(void)
{
    while (innermost != NULL) {
        ht_scope *scope = innermost;

        empty(scope);
        innermost = scope->outer;
        scope->outer = spare;
        spare = scope;
    }
    while (spare != NULL) {
        ht_scope *scope = spare;

        spare = scope->outer;
        ht__free(scope->items);
        ht__free(scope);
    }
}
