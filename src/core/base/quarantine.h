/* SPDX-License-Identifier: MIT
 *
 * Builds with --enable-debug: the last released objects keep their addresses for a while. A use of
 * such an object is reported with the place where it was released. In other builds these calls do
 * nothing. */
#ifndef HT_CORE_BASE_QUARANTINE_H
#define HT_CORE_BASE_QUARANTINE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef HT_DEBUG

/* Returns `handle`, any pointer. If it is an object that was destroyed, the job ends with a
 * message; `what`: the public function, `name`: its argument. */
const void *ht__alive(const void *handle, const char *what, const char *name);

/* Objects released on this thread are noted with this place until ht__place_leave: the call that
 * returns to `where`. `how`: "it was released". The outermost place counts. Returns whether this is
 * it. */
bool ht__place_enter(const char *how, const void *where);
void ht__place_leave(bool outermost);

/* The memory that the thread frees next is this object's, of a kind of this name. */
void ht__quarantine_expect(const void *object, const char *kind);

/* Whether the memory is kept and overwritten, instead of being freed by the caller. */
bool ht__quarantine(void *memory);

#else

static inline const void *ht__alive(const void *handle, const char *what, const char *name)
{
    (void)what;
    (void)name;
    return handle;
}

static inline bool ht__place_enter(const char *how, const void *where)
{
    (void)how;
    (void)where;
    return false;
}

static inline void ht__place_leave(bool outermost)
{
    (void)outermost;
}

static inline void ht__quarantine_expect(const void *object, const char *kind)
{
    (void)object;
    (void)kind;
}

static inline bool ht__quarantine(void *memory)
{
    (void)memory;
    return false;
}

#endif

/* Where the calling public function returns to. */
#define HT_CALLER __builtin_return_address(0)

#endif
