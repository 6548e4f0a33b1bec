/* SPDX-License-Identifier: MIT
 *
 * Counted objects and the scopes that keep temporary ones. No call here is collective.
 *
 * Owned: the caller releases a handle from a constructor whose comment says "owned".
 * Scoped: a tensor or value that a function returns belongs to the innermost open scope of the
 * calling thread. It dies when that scope closes, unless it was retained. A thread without an open
 * scope works in its root scope, which closes when the thread ends. ht_finalize closes that of its
 * caller.
 * A call that returns an operand itself is the exception. It adds no reference, and the operand
 * stays with the scope or owner that it has.
 * Borrowed: a handle is valid as long as the object that it was asked from.
 * Options, lists and strings that a call takes are read or copied before it returns, unless a
 * comment says otherwise.
 * Any thread may retain and release. A scope has no count: it is closed, neither retained nor
 * released.
 * Functions of the program, such as hooks and closures: their operands are borrowed for the call. A
 * tensor or value that they return is scoped, or the program keeps it alive; the library releases
 * none. Their `user` is not owned, and must live as long as they can be called.
 * doc/ownership.md has the details. */
#ifndef HT_OBJECT_H
#define HT_OBJECT_H

#include "ht/types.h"

HT_BEGIN_DECLS

/* Adds one to the count of the handle object, and returns it; NULL stays NULL. */
HT_API void *ht_retain(void *object);

/* Takes one from the count of the handle object; the last release destroys it.
 *
 * NULL is ignored. After ht_finalize or MPI_Finalize a handle is ignored, too, and the first one is
 * warned about. */
HT_API void ht_release(void *object);

/* Opens a scope on the calling thread: tensors and values made until its close belong to it. */
HT_API ht_scope *ht_scope_open(void);

/* Releases the objects of scope, the last one first, and closes it.
 *
 * Scopes that were opened inside it and are still open are closed, too. This is logged at level
 * debug; debug builds log where they were opened. NULL is ignored.
 *
 * Errors: HT_ERR_STATE (ht_error_get) unless scope is open on the calling thread. */
HT_API void ht_scope_close(ht_scope *scope);

/* Closes scope and hands object, a tensor or value of it, to the next outer scope.
 *
 * scope: NULL closes nothing.
 * Result: object, also after an error; NULL stays NULL.
 * Errors: those of ht_scope_close. */
HT_API void *ht_scope_return(ht_scope *scope, void *object);

/* Hands one reference that the caller owns to the innermost open scope of the calling thread.
 *
 * A tensor that was made on another thread, or retained earlier, becomes temporary again.
 *
 * Result: object; NULL stays NULL. */
HT_API void *ht_scope_adopt(void *object);

/* Returns the number of live objects of one kind on this rank, for tests and the search for leaks.
 *
 * kind: "tensor", "storage", "node", "module" and so on; NULL counts all kinds.
 * Result: 0 for a kind that does not exist. */
HT_API int64_t ht_live_objects(const char *kind);

HT_END_DECLS
#endif
