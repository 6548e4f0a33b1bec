/* SPDX-License-Identifier: MIT
 *
 * The current operation of this rank, for the watchdog and for ranks that ask. */
#include "core/comm/mpi.h"

struct ht_watch ht__watch;

/* The calls that the thread watches: the program's thread is inside a call that cannot be
 * polled. */
static _Atomic(const char *) guarded;
static atomic_uint guards; /* the number begun so far, to distinguish two of the same name */

const char *ht__watch_guard(const char *what)
{
    const char *outer = atomic_load_explicit(&guarded, memory_order_relaxed);

    atomic_fetch_add_explicit(&guards, 1, memory_order_relaxed);
    atomic_store_explicit(&guarded, outer != NULL ? outer : ht__called(what), memory_order_relaxed);
    return outer;
}

void ht__watch_unguard(const char *outer)
{
    atomic_fetch_add_explicit(&guards, 1, memory_order_relaxed);
    atomic_store_explicit(&guarded, outer, memory_order_relaxed);
}

const char *ht__watch_waits_in(void)
{
    const char *what = atomic_load(&ht__watch.what);

    return what != NULL ? what : atomic_load(&guarded);
}

const char *ht__watch_guarded(unsigned *number)
{
    *number = atomic_load(&guards);
    return atomic_load(&guarded);
}
