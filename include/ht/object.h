/* SPDX-License-Identifier: MIT
 *
 * Counted objects and the scopes that hold temporary ones.
 *
 * Owned: a handle from a constructor whose comment says "owned" is released by its caller.
 * Scoped: a tensor or value returned by a function belongs to the innermost open scope of the
 * calling thread and dies when that scope closes, unless it was retained. Borrowed: valid as long
 * as the object it was asked from. doc/ownership.md tells the whole story. */
#ifndef HT_OBJECT_H
#define HT_OBJECT_H

#include "ht/types.h"

HT_BEGIN_DECLS

/* Adds one to the count of any handle and returns it; NULL stays NULL. Not collective. */
HT_API void *ht_retain(void *object);

/* Takes one from the count of any handle; the last release destroys the object. NULL is ignored,
 * and so is, with a warning, what is released after ht_finalize or MPI_Finalize. Not collective. */
HT_API void ht_release(void *object);

/* Opens a scope on the calling thread: every tensor and value made until its close lives in it.
 * Not collective. */
HT_API ht_scope *ht_scope_open(void);

/* Releases what the scope holds. Scopes opened inside it and still open are closed too (debug
 * builds log where they were opened). NULL is ignored. Not collective. */
HT_API void ht_scope_close(ht_scope *scope);

/* Closes the scope and hands one tensor or value of it to the scope around it. Returns `object`;
 * NULL stays NULL. Not collective. */
HT_API void *ht_scope_return(ht_scope *scope, void *object);

/* Hands one reference of the caller's to the innermost open scope of the calling thread: how a
 * tensor made on another thread, or retained earlier, becomes temporary again. Returns `object`. */
HT_API void *ht_scope_adopt(void *object);

/* Number of live objects of one kind ("tensor", "storage", "node", "module", ...); of all kinds for
 * NULL. For tests and leak hunting. Not collective. */
HT_API int64_t ht_live_objects(const char *kind);

HT_END_DECLS
#endif
