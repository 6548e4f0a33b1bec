/* SPDX-License-Identifier: MIT
 *
 * Origins of nodes: whether a backward pass can still come to what a forward pass recorded. */
#include "core/tensor/graph.h"

_Thread_local ht_origin *ht__origin_now;

static void destroy(void *object)
{
    ht_origin *origin = object;

    ht_release(origin->outer);
    ht__object_fini(origin);
    ht__free(origin);
}

static ht_kind kind = {.name = "origin", .destroy = destroy};

ht_origin *ht__origin_begin(void)
{
    ht_origin *origin = ht__alloc(sizeof *origin);

    ht__object_init(origin, &kind);
    origin->outer = ht_retain(ht__origin_now);
    origin->thread = pthread_self();
    ht__origin_now = ht_retain(origin);
    return origin;
}

/* Whether an error may have taken the loss. Another thread knows only its own errors. */
static bool in_doubt(const ht_origin *origin)
{
    return ht_error_get(NULL) != HT_SUCCESS || !pthread_equal(origin->thread, pthread_self());
}

void ht__origin_leave(ht_origin *origin)
{
    if (origin != NULL && in_doubt(origin)) {
        for (ht_origin *o = origin; o != NULL; o = o->outer)
            atomic_store_explicit(&o->in_doubt, true, memory_order_relaxed);
    }
    ht_release(origin);
}

/* Whether it is one of this thread, which has not ended. */
static bool is_open(const ht_origin *origin)
{
    const ht_origin *now = ht__origin_now;

    while (now != NULL && now != origin)
        now = now->outer;
    return now == origin;
}

/* Origins inside it were given up in the middle, on this thread. */
void ht__origin_end(ht_origin *origin)
{
    bool more = is_open(origin);

    while (more) {
        ht_origin *last = ht__origin_now;

        more = last != origin;
        ht__origin_now = last->outer;
        ht_release(last);
    }
    ht__origin_leave(origin);
}

bool ht__origin_is_over(const ht_origin *origin)
{
    /* Acquired: what other threads stored before they released it. */
    return atomic_load_explicit(&origin->base.count, memory_order_acquire) == 1 &&
           (ht_error_get(NULL) == HT_SUCCESS ||
            !atomic_load_explicit(&origin->in_doubt, memory_order_relaxed));
}
