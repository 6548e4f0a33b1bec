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
    ht__origin_now = origin;
    return origin;
}

void ht__origin_leave(ht_origin *origin)
{
    const bool in_error = origin != NULL && ht_error_get(NULL) != HT_SUCCESS;

    for (ht_origin *o = origin; o != NULL; o = o->outer)
        atomic_store_explicit(&o->in_error, in_error, memory_order_relaxed);
    ht_release(origin);
}

/* What is inside was given up in the middle, on this thread. */
void ht__origin_end(ht_origin *origin)
{
    ht_origin *outer = origin->outer;
    ht_origin *now = ht__origin_now;

    while (now != NULL && now != origin)
        now = now->outer;
    if (now == origin)
        ht__origin_now = outer;
    ht__origin_leave(origin);
}

bool ht__origin_is_over(const ht_origin *origin)
{
    return ht__object_count(origin) == 1 &&
           !atomic_load_explicit(&origin->in_error, memory_order_relaxed);
}
