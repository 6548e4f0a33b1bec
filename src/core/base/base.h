/* SPDX-License-Identifier: MIT
 *
 * The base of all other folders: errors, the process, small memory, counted objects and scopes. */
#ifndef HT_CORE_BASE_BASE_H
#define HT_CORE_BASE_BASE_H

#include <stdatomic.h>

#include "core/base/quarantine.h"
#include "ht/error.h"
#include "ht/number.h"
#include "ht/object.h"
#include "ht/types.h"

/* ---- errors (error.c) ---------------------------------------------------------------------------
 * HT_FAIL: the cause is replicated metadata, so every rank of `comm` fails in the same way; runs
 * its handler.
 * HT_FAIL_HERE: this rank alone may see it; on more than one rank it ends the job.
 * Both return the code. `comm` may be NULL: there is no operand that has one (comm/raise.c).
 * Messages start with the name of the public function:
 * "ht_matmul: a is (4, 3), b is (5, 2): inner sizes 3 and 5 differ".
 */
#define HT_FAIL(comm, code, ...)      ht__fail(comm, code, false, __FILE__, __LINE__, __VA_ARGS__)
#define HT_FAIL_HERE(comm, code, ...) ht__fail(comm, code, true, __FILE__, __LINE__, __VA_ARGS__)
ht_status ht__fail(ht_comm *comm, ht_status code, bool here, const char *file, int line,
                   const char *format, ...) HT_PRINTF(6, 7);

/* The path of the layer whose forward this thread is in; NULL, "": none. Messages of HT_FAIL name
 * it: "ht_conv2d in conv1: ...". It never goes away (ht__name). */
extern _Thread_local const char *ht__layer;

/* Until the end of the block, messages and waits of the thread name the public function `what` in
 * the place of those that it is made of; the outermost function stays. A literal. Not around calls
 * of the program's own functions. */
#define HT_NAMED(what) \
    __attribute__((cleanup(ht__named_end), unused)) const char *const named_ = ht__named(what)
/* Around calls of the program's own functions: their messages name what they call. */
#define HT_UNNAMED() \
    __attribute__((cleanup(ht__named_end), unused)) const char *const named_ = ht__unnamed()
const char *ht__named(const char *what);
const char *ht__unnamed(void);
void ht__named_end(const char *const *outer);

/* `what`, the name of a public function, or the one that a block names in its place. */
const char *ht__called(const char *what);

/* Whether a public function `what` got NULL for `name`. A NULL from an earlier error was reported
 * with that error, and passes through. Any other NULL is reported here: HT_ERR_ARGUMENT "what: the
 * name is NULL". ht_error_get is the code of both. */
#define HT_IS_NULL(operand, what, name) HT_IS_NULL_ON(NULL, operand, what, name)

/* The same, with the error raised on `comm`, the communicator of another operand. */
#define HT_IS_NULL_ON(comm, operand, what, name) \
    (ht__alive(operand, what, name) == NULL && ht__fail_null(comm, what, name))
bool ht__fail_null(ht_comm *comm, const char *what, const char *name);

/* HT_ERR_ARGUMENT on `comm` (NULL: the process alone) unless an options struct was filled by its
 * default function, `type` followed by _default. */
#define HT_CHECK_OPTIONS(comm, what, options, type) \
    ht__check_options(comm, what, #type "_default", (options)->size, sizeof(type))
ht_status ht__check_options(ht_comm *comm, const char *what, const char *filler, size_t size,
                            size_t expected);

/* Whether an attribute's function got a handle. */
#define HT_IS_THERE(handle) (ht__alive(handle, __func__, #handle) != NULL)

/* A kernel returned non-zero: raises what the backend recorded, prefixed with `what`. */
ht_status ht__kernel_failed(ht_comm *comm, const char *what);

/* Records an error without running a handler: the first half of the agreement below. */
ht_status ht__error_set(ht_status code, const char *format, ...) HT_PRINTF(2, 3);
ht_status ht__error_last(const char **message); /* as ht_error_get */

/* The same for a NULL: what an earlier error made NULL keeps its report (HT_IS_NULL). */
ht_status ht__error_set_null(const char *what, const char *name);

/* For a function that adopts an error left by a function it calls: the error that the program has
 * not cleared yet is set aside meanwhile. It is restored unless there is another. */
#define HT_MESSAGE_LENGTH 1024
typedef struct ht_error_kept {
    ht_status code;
    uint64_t number;
    char message[HT_MESSAGE_LENGTH]; /* nothing unless there is an error */
} ht_error_kept;
void ht__error_set_aside(ht_error_kept *kept);
void ht__error_put_back(const ht_error_kept *kept);
uint64_t ht__error_number(void); /* distinguishes this thread's errors; 0: none */

/* While errors of this thread are held they are recorded as ever, but no handler runs: their holder
 * raises them later. Returns whether they were. */
bool ht__error_hold(bool hold);

/* A copy of the text that stays for ever, the same for equal texts (name.c). */
const char *ht__name(const char *text);

/* For hash tables of texts. */
uint64_t ht__text_hash(const char *text);

/* An argument that may be HT_NONE, by mistake: that name, or the number. As the next. */
const char *ht__int_str(int value);

/* Formats a shape as "(4, 3)" into one of a few buffers of the thread. */
const char *ht__shape_str(int ndim, const int64_t shape[]);

/* ---- the process (process.c) --------------------------------------------------------------------
 * What it is in a job, said by those above who know. */
extern struct ht_process {
    int rank, size; /* in the world; 0 and 1 before ht_init */
    int threads;    /* that compute: OMP_NUM_THREADS, or cores of the node / ranks on it */
    bool initialized;
    /* ht_finalize has returned, or the program has finalised MPI: the remaining objects cannot be
     * destroyed. */
    bool ended;
    const char *ended_by; /* which of the two; a literal */
    /* An error was recorded; may end the job. NULL: ends the process. `here`: see HT_FAIL_HERE. */
    void (*raised)(ht_comm *comm, ht_status code, bool here, const char *message);
    void (*end)(ht_status code, const char *message); /* does not return. NULL: exit */
} ht__process;

/* Ends the process, in a job after ranks with the same failure have found each other. */
_Noreturn void ht__abort(ht_status code, const char *message);

/* ---- small memory (memory.c) --------------------------------------------------------------------
 * Headers and nodes. There is nothing sensible to do without them: running out ends the job with
 * its message, so these never return NULL. Tensor memory is asked from storages, which do fail. */
void *ht__alloc(size_t bytes); /* zeroed */
void *ht__realloc(void *memory, size_t bytes);
void ht__free(void *memory);
char *ht__strdup(const char *text);

/* Fault injection: the n-th allocation from now on fails on that rank, or the n-th of memory for
 * tensors. Returns the rest of the n before: 0 or less if it has failed. At the start as
 * HT_DEBUG_FAIL_ALLOC=rank:n or rank:n:tensors says. */
long ht__alloc_fail(long rank, long n, bool tensors);
bool ht__alloc_should_fail(void); /* asked by each allocation for a tensor or a kernel */

/* Fixed-size blocks from a free list of the thread: tensor headers, bodies, nodes. Zeroed, or with
 * the bytes of another one. */
void *ht__block_alloc(size_t bytes);
void *ht__block_copy(const void *of, size_t bytes);
void ht__block_free(void *block, size_t bytes);

/* ---- objects and scopes (object.c, scope.c) -------------------------------------------------- */
typedef struct ht_kind {
    const char *name;
    void (*destroy)(void *object); /* count has reached zero; frees the memory too */
    bool listed_uncounted;         /* a list that does not count may have one: see ht__hold */
    atomic_llong live;
    struct ht_kind *next; /* list of kinds seen so far, for leak reports */
    atomic_bool listed;
} ht_kind;

typedef struct ht_object {
    ht_kind *kind;
    atomic_int count;
} ht_object;

void ht__object_init(void *object, ht_kind *kind); /* count 1 */
/* As ht_retain, of an object that another thread may be about to destroy, found in a list that it
 * leaves under a lock before its memory is freed. Under that lock; false: it is on its way out. */
bool ht__hold(void *object);
void ht__object_fini(void *object); /* called by destroy: leak accounting */

/* While an object stays, retaining and releasing do not count its references. Set and unset by its
 * owner, who has the only count that is left then. */
void ht__object_stay(void *object, bool stay);
static inline int ht__object_count(const void *object)
{
    return atomic_load_explicit(&((const ht_object *)object)->count, memory_order_relaxed);
}
/* `call` runs when the library ends, before anything of the core does; once per call. For parts
 * above the core that have threads. */
void ht__at_finalize(void (*call)(void));
void ht__run_at_finalize(void);

int ht__object_report_leaks(void); /* logs the live objects; returns the number of objects */

void *ht__scoped(void *object);  /* gives one reference to the innermost scope; returns object */
void ht__scope_thread_end(void); /* releases the root scope of the calling thread */

/* x <- the result of an expression, which is evaluated in a separate scope that releases all other
 * tensors; the old x is released. x is owned before, or NULL, and owned after. For chains of large
 * tensors. */
#define HT_STEP(x, expression)                      \
    do {                                            \
        ht_scope *step_ = ht_scope_open();          \
        (x) = ht__scope_step(step_, x, expression); \
    } while (0)
void *ht__scope_step(ht_scope *step, void *spent, void *made); /* closes the step; returns made */

int ht__dtype_kind(ht_dtype dtype);      /* 0 bool, 1 integer, 2 floating, 3 complex */
ht_dtype ht__dtype_real(ht_dtype dtype); /* that of the parts of a complex one; others themselves */
static inline bool ht__dtype_is_exact(ht_dtype dtype)
{
    return ht__dtype_kind(dtype) <= 1;
}

/* The widest of its kind, which holds its numbers without a bit less. */
static inline ht_dtype ht__dtype_widest(ht_dtype dtype)
{
    if (ht_dtype_is_complex(dtype))
        return HT_COMPLEX128;
    return ht_dtype_is_floating(dtype) ? HT_FLOAT64 : HT_INT64;
}

/* The least or the greatest number of a dtype that is not complex: of floating ones an infinity. */
ht_number ht__dtype_end(ht_dtype dtype, bool greatest);

/* Not of an integer that would wrap around; reals are brought into the range, and a bool asks only
 * whether a number is 0. */
bool ht__dtype_takes(ht_dtype dtype, ht_number value);

#endif
