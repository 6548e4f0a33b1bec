/* SPDX-License-Identifier: MIT
 *
 * The structs and internal calls of the core, for src/core, src/nn, src/optim and src/utils. Public
 * headers never include this one. */
#ifndef HT_CORE_CORE_H
#define HT_CORE_CORE_H

#include <stdatomic.h>

#include "ht/autograd.h"
#include "ht/backend.h"
#include "ht/communication.h"
#include "ht/log.h"
#include "ht/object.h"
#include "ht/tensor.h"
#include "core/base/quarantine.h"

/* ---- errors (error.c) --------------------------------------------------------------------------
 * HT_FAIL: the cause is replicated metadata, so every rank of `comm` fails alike; runs its handler.
 * HT_FAIL_HERE: this rank alone may see it; on more than one rank it ends the job.
 * Both return the code. `comm` may be NULL: the process alone is concerned. Messages start with the
 * name of the public function: "ht_matmul: a is (4, 3), b is (5, 2): inner sizes 3 and 5 differ".
 */
#define HT_FAIL(comm, code, ...)      ht__fail(comm, code, false, __FILE__, __LINE__, __VA_ARGS__)
#define HT_FAIL_HERE(comm, code, ...) ht__fail(comm, code, true, __FILE__, __LINE__, __VA_ARGS__)
ht_status ht__fail(ht_comm *comm, ht_status code, bool here, const char *file, int line,
                   const char *format, ...) HT_PRINTF(6, 7);

/* The path of the layer whose forward this thread is in; NULL, "": none. Messages of HT_FAIL name
 * it: "ht_conv2d in conv1: ...". It never goes away (ht__name). */
extern _Thread_local const char *ht__layer;

/* Whether a public function `what` got NULL for `name`. What an earlier error made NULL was
 * reported with it and passes through; any other is reported here: HT_ERR_ARGUMENT "what: the name
 * is NULL". ht_error_get is the code of both. */
#define HT_IS_NULL(operand, what, name) \
    (ht__alive(operand, what, name) == NULL && ht__fail_null(what, name))
bool ht__fail_null(const char *what, const char *name);

/* HT_ERR_ARGUMENT on `comm` (NULL: the process alone) unless an options struct was filled by its
 * default function, `type` followed by _default. */
#define HT_CHECK_OPTIONS(comm, what, options, type) \
    ht__check_options(comm, what, #type "_default", (options)->size, sizeof(type))
ht_status ht__check_options(ht_comm *comm, const char *what, const char *filler, size_t size,
                            size_t expected);

/* Whether an attribute's function got a handle. */
#define HT_IS_THERE(handle) (ht__alive(handle, __func__, #handle) != NULL)

/* Until the caller gives back what this returned, a failure on this rank alone concerns `comm`: for
 * operations of its ranks on process-local parts, in which no rank may fail by itself. */
ht_comm *ht__together(ht_comm *comm);
void ht__together_end(ht_comm *outer);

/* A kernel returned non-zero: raises what the backend recorded, prefixed with `what`. */
ht_status ht__kernel_failed(ht_comm *comm, const char *what);

/* The backend has no kernel for this: HT_ERR_UNSUPPORTED naming device and dtype. */
ht_status ht__kernel_missing(const char *what, const ht_tensor *x);

/* Records an error without running a handler: the first half of the agreement below. */
ht_status ht__error_set(ht_status code, const char *format, ...) HT_PRINTF(2, 3);
ht_status ht__error_last(const char **message); /* as ht_error_get */

/* The same for a NULL: what an earlier error made NULL keeps its report (HT_IS_NULL). */
ht_status ht__error_set_null(const char *what, const char *name);

/* For a function that takes an error left by what it calls for its own: the one that the program
 * has not cleared yet is set aside meanwhile, and put back unless there is another. */
#define HT_MESSAGE_LENGTH 1024
typedef struct ht_error_kept {
    ht_status code;
    char message[HT_MESSAGE_LENGTH]; /* nothing unless there is an error */
} ht_error_kept;
void ht__error_set_aside(ht_error_kept *kept);
void ht__error_put_back(const ht_error_kept *kept);

/* While errors of this thread are held they are recorded as ever, but no handler runs: whoever
 * holds them raises them later. Returns whether they were. */
bool ht__error_hold(bool hold);

/* Agreement (comm/agree.c): every rank passes its own status (HT_SUCCESS, or the code of
 * an error recorded by ht__error_set). If one failed, all receive the message of the lowest failing
 * rank, the handler runs, and all return its code. `what`: the public function, for messages about
 * ranks that do not come. Collective. */
ht_status ht__agree(const char *what, ht_comm *comm, ht_status mine);

/* What an *agrees* function checks by itself stands between these two, and returns in between only
 * there: errors are recorded and raised nowhere; the end agrees on `mine`, of the public function
 * `what`. Nothing that communicates may stand between them. */
bool ht__agree_begin(void);
ht_status ht__agree_end(const char *what, ht_comm *comm, bool begun, ht_status mine);

/* Ends the job after ranks that fail alike have found each other (comm/abort.c). */
_Noreturn void ht__abort(ht_status code, const char *message);

/* Puts the watchdog's deadline (comm/watchdog.c) over a collective call that cannot be
 * polled, until the end that is given what the start returned. `what`: a literal. */
const char *ht__watch_guard(const char *what);
void ht__watch_unguard(const char *outer);
/* What this rank is at in its own code, for ranks that miss it: one store. Neither it nor the name
 * of a wait may ever go away: a literal, or from ht__name. */
const char *ht__name(const char *text); /* name.c: a copy that stays; the same for equal texts */
extern struct ht_watch {
    _Atomic(const char *) where; /* NULL: nowhere yet */
    _Atomic(const char *) what;  /* the wait it is in; NULL: none */
    _Atomic uint64_t moves;      /* changes when a wait begins or gets on */
    _Atomic uint64_t operations; /* collective ones of the whole world that it has begun */
} ht__watch;
static inline void ht__watch_at(const char *where)
{
    atomic_store_explicit(&ht__watch.where, where, memory_order_release);
}

bool ht__watch_running(void); /* whether a thread guards: MPI_THREAD_MULTIPLE and HT_TIMEOUT */

/* An argument that may be HT_NONE, by mistake: that name, or the number. As the next. */
const char *ht__int_str(int value);

/* Formats a shape as "(4, 3)" into one of a few buffers of the thread. */
const char *ht__shape_str(int ndim, const int64_t shape[]);

/* ---- the process (process.c) -------------------------------------------------------------------
 * What it is in a job, said by those above who know. */
extern struct ht_process {
    int rank, size; /* in the world; 0 and 1 before ht_init */
    int threads;    /* that compute: OMP_NUM_THREADS, or cores of the node / ranks on it */
    bool initialized;
    /* An error was recorded; may end the job. NULL: ends the process. `here`: see HT_FAIL_HERE. */
    void (*raised)(ht_comm *comm, ht_status code, bool here, const char *message);
    void (*end)(ht_status code, const char *message); /* does not return. NULL: exit */
} ht__process;

/* ---- small memory (memory.c) -------------------------------------------------------------------
 * Headers and nodes. There is nothing sensible to do without them: running out ends the job with
 * its message, so these never return NULL. Tensor memory is asked from storages, which do fail. */
void *ht__alloc(size_t bytes); /* zeroed */
void *ht__realloc(void *memory, size_t bytes);
void ht__free(void *memory);
char *ht__strdup(const char *text);

/* Fault injection: the n-th allocation from now on fails on that rank, or the n-th of memory for
 * tensors. Returns what was left of the n before: 0 or less if it has failed. At the start as
 * HT_DEBUG_FAIL_ALLOC=rank:n or rank:n:tensors says. */
long ht__alloc_fail(long rank, long n, bool tensors);
bool ht__alloc_should_fail(void); /* asked by each allocation for a tensor or a kernel */

/* Fixed-size blocks from a free list of the thread: tensor headers, bodies, nodes. Zeroed. */
void *ht__block_alloc(size_t bytes);
void ht__block_free(void *block, size_t bytes);

/* ---- objects and scopes (object.c, scope.c) ----------------------------------------------------
 */
typedef struct ht_kind {
    const char *name;
    void (*destroy)(void *object); /* count has reached zero; frees the memory too */
    atomic_llong live;
    struct ht_kind *next; /* list of kinds seen so far, for leak reports */
    atomic_bool listed;
} ht_kind;

typedef struct ht_object {
    ht_kind *kind;
    atomic_int count;
} ht_object;

void ht__object_init(void *object, ht_kind *kind); /* count 1 */
void ht__object_fini(void *object);                /* called by destroy: leak accounting */
static inline int ht__object_count(const void *object)
{
    return atomic_load_explicit(&((const ht_object *)object)->count, memory_order_relaxed);
}
/* `call` runs when the library ends, before anything of the core does; once per call. For parts
 * above the core that have threads. */
void ht__at_finalize(void (*call)(void));
void ht__run_at_finalize(void);

int ht__object_report_leaks(void); /* logs what is alive; returns the number of objects */

void *ht__scoped(void *object);  /* gives one reference to the innermost scope; returns object */
void ht__scope_thread_end(void); /* releases the root scope of the calling thread */

/* ---- devices and storages (device.c, storage.c) ------------------------------------------------
 */
struct ht_device {
    ht_object base;
    char name[32];
    int index;
    const ht_backend *backend; /* lives until exit */
    void *stream;
    struct ht_cache *cache;   /* owned; the caching allocator (allocator.c) */
    struct ht_worker *worker; /* owned; its thread (device/worker.c), NULL until there is work */
};

/* Work for one of several devices at once. `run` finds an open scope, the device in use, and the
 * caller's grad mode; what it keeps beyond its end it retains. Its error is kept in the task. */
typedef struct ht_device_task {
    void (*run)(void *user);
    void *user;
    ht_device *device;
    ht_status status;
    char *message; /* owned by the caller; NULL unless status is an error */
    bool grad_enabled;
    int threads; /* compute threads it may use */
    struct ht_device_join *join;
    struct ht_device_task *next;
} ht_device_task;

/* Runs the first task on the calling thread and each other one on the thread of its device; returns
 * when all have ended. Errors are neither reported nor end the job before: the caller raises them.
 * From the thread of a device: one task after another. */
void ht__devices_run(int count, ht_device_task tasks[]);
void ht__device_stop(ht_device *device); /* ends its thread, if there is one */

const ht_backend *ht__backend_find(const char *name); /* NULL after the error was recorded */
struct ht_cache *ht__cache_new(void);
void ht__cache_free(ht_device *device);
void *ht__device_alloc(ht_device *device, size_t bytes, size_t *got); /* NULL: out of memory */
void ht__device_free(ht_device *device, void *memory, size_t got);
ht_device *ht__device_cpu(void);
void ht__devices_finalize(void);

/* The address and the version are storage.c's: whoever wants one of them gets it there, and what
 * the elements still wait for has been brought first. */
typedef struct ht_storage {
    ht_object base;
    ht_device *device; /* not owned: devices live until ht_finalize */
    unsigned history;  /* writes in place that changed what a graph knows of tensors in it */
} ht_storage;

ht_storage *ht__storage_new(ht_device *device,
                            size_t bytes); /* NULL: out of memory, no error set */
/* Memory of somebody else's, who gets `user` back at the end; free NULL: keeps it all along. */
ht_storage *ht__storage_lend(ht_device *device, void *memory, void (*free)(void *user), void *user);
void ht__storage_touch(ht_storage *storage); /* an in-place write: raises the version */

/* The address as it is, for who made the storage and knows what state its memory is in: the
 * exchange that sums a bucket, a buffer that nobody else has seen. */
void *ht__storage_raw(const ht_storage *storage);

/* Somebody has not written yet what these bytes of a storage are to hold (a deferred update, an
 * average on its way): bring is called before anyone gets their address or version, with the bytes
 * begin ... end - 1 that are asked for; in_parts: the rest may come later. It takes the guard away,
 * or writes through bodies that are `inside`. A storage's end takes its guards away. */
typedef struct ht_guard {
    void (*bring)(void *user, int64_t begin, int64_t end, bool in_parts);
    void *user;
    int64_t begin, end;
    ht_storage *storage; /* not owned; NULL: not set */
    struct ht_guard *next, *asked_before;
    bool asked; /* bring runs */
} ht_guard;

/* ---- communicators (comm/) ----------------------------------------------------------
 */
typedef enum ht_purpose {
    HT_PURPOSE_CALLS, /* what is called on the communicator itself */
    HT_PURPOSE_REDUCER,
    HT_PURPOSE_HOOK_1, /* later rounds of communication hooks */
    HT_PURPOSE_HOOK_2,
    HT_PURPOSE_LOADER,
    HT_PURPOSE_DASO,
    HT_PURPOSE_REPORT,  /* what went wrong in a pass of the reducer */
    HT_PURPOSE_POSTED,  /* collective calls that wait for nobody; made with the communicator */
    HT_PURPOSE_RECORDS, /* and beyond: for each of those above, the records of what is done there */
    HT_PURPOSE_COUNT = 2 * HT_PURPOSE_RECORDS
} ht_purpose;

struct ht_comm {
    ht_object base;
    MPI_Comm mpi; /* freed, with the duplicates below, by ht_finalize */
    int rank, size;
    bool shared; /* by several ranks; with HT_DEBUG_ONE_AS_MANY by one, but HT_COMM_SELF */
    ht_errhandler handler;
    MPI_Comm purpose[HT_PURPOSE_COUNT];    /* private duplicates, made on demand; MPI_COMM_NULL */
    uint64_t compared[HT_PURPOSE_RECORDS]; /* records made */
    unsigned posted;                       /* calls that wait for nobody, so far */
    struct ht_notes
        *notes; /* owned; NULL unless HT_DEBUG_COLLECTIVE compares tensors of many ranks */
    int nodes, node, local_rank, local_size;
    char name[32];
    uint64_t draws, draws_epoch; /* of random tensors here since the generator was seeded */
};

ht_comm *ht__comm_in_use(const char *what); /* as ht_get_comm, for a public function `what` */

/* The private duplicate for one purpose, cached until ht_finalize. Collective on first use. */
MPI_Comm ht__comm_private(ht_comm *comm, ht_purpose purpose);

/* Same communicator, or both of one rank alone: operands may meet. */
bool ht__comm_compatible(const ht_comm *a, const ht_comm *b);

/* HT_DEBUG_COLLECTIVE=1 (comm/compare.c): what all ranks pass alike to a collective
 * operation, 0 where nothing has to be alike. Called before it; the first difference ends the job.
 */
typedef struct ht_body ht_body;
typedef struct ht_call {
    const char *what;
    int kind, root; /* kind: which of those that share a function */
    ht_reduce_op op;
    ht_dtype dtype, wire;
    int64_t count, rows;   /* rows: of the whole that is gathered */
    const ht_tensor *part; /* whose local shape a message shows; NULL: none */
    ht_purpose on;         /* it has an order of its own among the operations there */
    bool later;            /* it does not wait for the others, and nor does the comparison */
    bool refused; /* this rank's arguments are wrong: there is nothing to compare but what */
} ht_call;
extern bool ht__compare_on;
void ht__compare_call(ht_comm *comm, const ht_call *call);

/* The same for calls that are collective only logically (collective/compare.c): a tensor
 * is made, or written in place. Between pause(1) and pause(-1) ranks need not do the same. */
void ht__compare_tensor(const ht_body *body, bool written);
void ht__compare_pause(int step);

/* A collective operation begins; called by the program's thread only. */
static inline void ht__begin(ht_comm *comm, ht_call call)
{
    if (comm->size == ht__process.size)
        atomic_store_explicit(&ht__watch.operations,
                              atomic_load_explicit(&ht__watch.operations, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    if (ht__compare_on)
        ht__compare_call(comm, &call);
}

/* The public calls without their names, for tensors of the library's own making: what they hold is
 * alike on all ranks, so that nobody asks. */
ht_status ht__comm_bcast(ht_comm *comm, ht_tensor *buffer, int root);
ht_status ht__comm_reduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op,
                          int root);
ht_status ht__comm_allreduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);

/* Small host buffers, for metadata. Collective. `what` names the operation in a timeout message. */
ht_status ht__comm_allreduce_i64(ht_comm *comm, int64_t *values, int count, ht_reduce_op op,
                                 const char *what);
ht_status ht__comm_allgather_i64(ht_comm *comm, const int64_t *mine, int count, int64_t *all,
                                 const char *what);
ht_status ht__comm_allgather_f64(ht_comm *comm, const double *mine, int count, double *all,
                                 const char *what);
ht_status ht__comm_bcast_bytes(ht_comm *comm, void *data, size_t bytes, int root, const char *what);

/* x <- the sum of the ranks' x / divisor, in place (collective/sum.c): of all ranks, or of those
 * before or after this one (0 where there is none; the divisor does not count there). Added in the
 * order of the ranks, from the last for those after, whatever the size. x is of the dtype in which
 * partial sums are kept: int64, float32 (added up in float64), float64, complex. Its local part is
 * of one size everywhere. Collective. */
typedef enum ht_sum_of { HT_SUM_ALL, HT_SUM_BEFORE, HT_SUM_AFTER } ht_sum_of;
ht_status ht__comm_sum(ht_comm *comm, ht_tensor *x, ht_sum_of which, double divisor,
                       const char *what);

/* What to add to this rank's ht__timeline_now() for rank 0's, in ns, and how wrong that may be.
 * Collective; nothing else may be under way between the ranks. */
ht_status ht__comm_clock_offset(ht_comm *world, int64_t *offset, int64_t *error);

/* What this thread does for the other ranks while it waits for one; never waits, says whether
 * anything moved. NULL: nothing. */
typedef bool ht_serve_fn(void);
void ht__wait_set_serve(ht_serve_fn *serve);

/* One Alltoall of blocks between local parts: block r of `send` is elements send_start[r] ...
 * send_start[r + 1] of its local axis `send_axis`, block r of `recv` likewise; any strides. */
ht_status ht__comm_alltoall_axis(ht_comm *comm, ht_tensor *send, int send_axis,
                                 const int64_t *send_start, ht_tensor *recv, int recv_axis,
                                 const int64_t *recv_start, const char *what);

/* ---- tensors (tensor.c, body.c) ----------------------------------------------------------------
 */
/* Where the slabs of a split that is not the canonical one begin: rank r holds start[r] ...
 * start[r + 1]. The same on all ranks, so that nobody has to ask. */
typedef struct ht_bounds {
    ht_object base;
    int64_t start[]; /* size of the communicator + 1 */
} ht_bounds;

ht_bounds *ht__bounds_new(int ranks); /* owned; to be filled by the caller */

struct ht_body {
    ht_object base;
    ht_storage *storage; /* owned; NULL only in the metadata that nodes keep of their inputs */
    ht_comm *comm;       /* retained */
    ht_dtype dtype;
    int ndim;
    int split;           /* axis or HT_NONE */
    bool read_only;      /* broadcast view */
    bool inside;         /* its owner's, and views of it: no guard is asked */
    ht_bounds *bounds;   /* owned; NULL: no split, or the slabs of ht_comm_chunk */
    int64_t offset;      /* of the first element in the storage */
    int64_t lsize;       /* elements of the local part */
    int64_t split_start; /* first global index of this rank's slab */
    int64_t shape[HT_MAX_NDIM];
    int64_t lshape[HT_MAX_NDIM];
    int64_t stride[HT_MAX_NDIM]; /* of the local part */
};

/* The first n elements of the gradient that is being written in place are there. */
typedef void ht_grad_filling_fn(ht_tensor *leaf, int64_t n, void *user);

typedef struct ht_hook {
    uint64_t id;
    uint64_t of; /* the node that had made the value it was given for, by its sequence; 0: a leaf */
    ht_tensor_hook_fn *gradient; /* one of the two */
    ht_grad_ready_fn *ready;
    ht_grad_filling_fn *filling; /* of an early hook; may be NULL */
    bool early; /* leaves the leaf as it is: the rest of its node may still need it */
    void *user;
} ht_hook;

/* What autograd knows of a tensor; made when first needed. */
typedef struct ht_grad_meta {
    ht_object base;
    bool requires_grad; /* leaf */
    ht_tensor *grad;    /* owned */
    bool overwrite;     /* the next accumulation replaces: zero_grad without freeing */
    unsigned zeroings;  /* so far, by the program: a gradient may be overwritten without one */
    ht_hook *hooks;
    int hook_count;
    ht_tensor *leaf; /* not owned; the handle this belongs to, NULL once that is gone */
    atomic_int uses; /* edges of live graphs that lead here */
    bool arrived;    /* got a gradient in the running pass; ready hooks wait for its other uses */
    const int *unfinished; /* not owned; not 0: the gradient is this rank's part of one, to which
                              more passes are to add before it is used. NULL: never */
    /* The gradient is being averaged, or an update with it is due: called before anyone is told
     * whether there is one, or gives another. NULL: neither. */
    void (*coming)(void *user);
    void *coming_user;
} ht_grad_meta;

static inline void ht__grad_await(const ht_grad_meta *meta)
{
    if (meta->coming != NULL)
        meta->coming(meta->coming_user);
}

struct ht_tensor {
    ht_object base;
    ht_body *body;      /* owned */
    ht_node *node;      /* owned; the operation that made it, NULL for leaves */
    ht_grad_meta *meta; /* owned; NULL while autograd knows nothing of it */
    bool view;          /* shares another tensor's storage */
    unsigned history;   /* of its storage, that the node belongs to (history.c) */
    ht_tensor *root;    /* owned; made while recording: what it is a view of, no view itself */
};

int ht__dtype_kind(ht_dtype dtype); /* 0 bool, 1 integer, 2 floating, 3 complex */
static inline bool ht__dtype_is_exact(ht_dtype dtype)
{
    return ht__dtype_kind(dtype) <= 1;
}

/* Bodies with new row-major memory; `what` names the public function. NULL after
 * HT_FAIL_HERE(HT_ERR_MEMORY). `bounds` is retained; NULL: canonical slabs. */
ht_body *ht__body_new(const char *what, ht_comm *comm, ht_device *device, ht_dtype dtype, int ndim,
                      const int64_t shape[], int split, ht_bounds *bounds);

/* Shape, distribution and memory order of `like` (a dense one: else row-major), new memory. */
ht_body *ht__body_new_as(const char *what, const ht_body *like, ht_dtype dtype);

/* A copy of the metadata that shares the storage; to be edited before it is used, then settled:
 * settle recomputes the local shape, size and slab from shape, split, bounds and comm. */
ht_body *ht__body_view(const ht_body *of);
ht_body *ht__body_metadata(const ht_body *of); /* without the storage: keeps no memory alive */
void ht__body_settle(ht_body *body);
void ht__strides_row_major(int ndim, const int64_t shape[], int64_t stride[]);

/* Address of the first local element: of all, or for who reads a dense body's elements one after
 * another, of the first n. */
void *ht__body_data(const ht_body *body);
void *ht__body_first(const ht_body *body, int64_t n);
void ht__body_await(const ht_body *body);                 /* the guards, without the address */
unsigned ht__body_version(const ht_body *body);           /* of its storage */
void ht__guard_set(ht_guard *guard, const ht_body *body); /* over its elements; again: anew */
void ht__guard_clear(ht_guard *guard);
bool ht__body_is_contiguous(const ht_body *body);
bool ht__body_is_channels_last(const ht_body *body);
bool ht__body_same_slabs(const ht_body *a, const ht_body *b); /* equal splits and bounds */

/* What lies in the slots behind the last axis means nothing: shapes are compared here alone. */
bool ht__same_shape(int ndim, const int64_t shape[], int other_ndim, const int64_t other[]);
bool ht__body_same_shape(const ht_body *a, const ht_body *b);

/* The bytes of its storage that the elements lie in; at least one, for an empty tensor may be asked
 * for too. */
void ht__body_extent(const ht_body *body, int64_t *begin, int64_t *end);

/* Whether writing one element after another to a may change elements of b that are still to be
 * read: they share memory, and not element by element. May be wrong about strided ones that
 * interlock. */
bool ht__body_overlaps(const ht_body *a, const ht_body *b);

/* Whether the elements of both correspond one by one on every rank, as those of a gradient or an
 * optimizer's state and its tensor: shape, dtype, device (where both have memory), communicator and
 * slabs. And what a message says of all that, in one of a few buffers of the thread. */
bool ht__body_fits(const ht_body *a, const ht_body *b);
const char *ht__body_str(const ht_body *body);

int64_t ht__body_start(const ht_body *body,
                       int rank); /* first index of a rank's slab; size: the end */

static inline const ht_backend *ht__backend_of(const ht_tensor *x)
{
    return x->body->storage->device->backend;
}

static inline void *ht__stream_of(const ht_tensor *x)
{
    return x->body->storage->device->stream;
}

ht_tensor *ht__tensor_new(ht_body *body);  /* takes the body; scoped; NULL stays NULL */
ht_tensor *ht__tensor_view(ht_body *body); /* as ht__tensor_new, marked as a view */
ht_tensor *ht__empty(const char *what, const ht_body *like,
                     ht_dtype dtype); /* scoped, layout too */

/* On the communicator and the device in use, for a public factory `what`. Scoped. */
ht_tensor *ht__new_here(const char *what, int ndim, const int64_t shape[], ht_dtype dtype,
                        int split);

/* Checks that arguments may meet in one operation: same device, compatible communicators. */
bool ht__check_together(const char *what, const ht_tensor *a, const ht_tensor *b);
bool ht__check_axis(const char *what, const ht_tensor *x, int *axis); /* wraps negative axes */
bool ht__shape_counts(int ndim,
                      const int64_t shape[]); /* no negative length, up to 2^59 elements */
bool ht__check_shape(const char *what, ht_comm *comm, int ndim, const int64_t shape[], int *split);

/* The values of x (its local part) as row-major `dtype` in host memory, where ht__body_data is an
 * address: x itself where it is that, else a copy that no graph knows. NULL, and NULL operands
 * alike, after an error. Scoped. */
ht_tensor *ht__on_host(ht_tensor *x, ht_dtype dtype);

/* What a state holds as a count: a whole number from 0 on, below 1e15. Else *count is 0. */
bool ht__value_whole(const ht_value *value, int64_t *count);

/* A list or map, and NULL where one of its items, however deep, could not be made: without it a
 * state would be another one. Items are set first, and that is asked at the end. */
ht_value *ht__value_complete(ht_value *value);

#include "core/ops/drivers.h"

/* ---- autograd (autograd/) --------------------------------------------------------------------
 * A backward function gives each gradient as a global tensor of any split; the engine fits it to
 * its operand: sums over the axes the operand was broadcast along, resplits, converts. A kernel
 * that computes this rank's *partial sum* for a replicated operand calls ht__sum_partial itself. */
ht_grad_meta *ht__grad_meta(ht_tensor *x); /* made on demand */
/* zero_grad, of whatever: the next gradient begins anew. Nothing in the middle of an accumulation,
 * whose wrapper counts passes (`unfinished`). */
void ht__grad_zero(ht_tensor *x);
bool ht__needs_grad(const ht_tensor *x); /* leaf that requires it, or made by a node */
const ht_body *ht__node_input(const ht_node *node, int index); /* metadata only; borrowed */
ht_tensor *ht__grad_fit(ht_tensor *grad, const ht_body *operand);

/* partial: process-local sums of each rank of `of`'s communicator when `of` is split; returns their
 * sum over the ranks as a tensor of that communicator (partial itself when there is nothing to
 * sum). Parts are float32 or wider: of 16 bits they would lose digits. */
ht_tensor *ht__sum_partial(const char *what, ht_tensor *partial, const ht_body *of);

/* The dtype in which parts of a sum of products are kept. */
static inline ht_dtype ht__product_dtype(ht_dtype dtype)
{
    return ht_dtype_size(dtype) < sizeof(float) ? HT_FLOAT32 : dtype;
}

/* The memory a kernel may write the gradient of a leaf to directly: the leaf's own gradient, when
 * it is to be overwritten, contiguous and unhooked. NULL: make a new tensor. The caller returns it
 * as grad_inputs[index]. */
ht_tensor *ht__grad_target(ht_node *node, int index);

/* A ready hook that only reads: it may run before the node that made the gradient has ended, and
 * `filling` (or NULL) while it makes it. */
uint64_t ht__register_early_hook(ht_tensor *leaf, ht_grad_ready_fn *hook,
                                 ht_grad_filling_fn *filling, void *user);

/* For a node's backward that still has much to do: the gradient of a leaf that is in grad_inputs
 * goes to it now, if all its hooks are early ones, and is NULL there afterwards. */
void ht__backward_early(ht_node *node, int index, ht_tensor *grad_inputs[]);

/* For a node's backward that makes a large gradient piece by piece: its first n elements are there.
 * Who waits for them may take them, where nothing else will be added and `grad` is the leaf's own.
 */
void ht__backward_filling(ht_node *node, int index, const ht_tensor *grad, int64_t n);

/* Every leaf that requires a gradient and `root` depends on, maybe more than once. Walks of the
 * same number visit a node once in all; on one thread. */
typedef void ht_leaf_visit_fn(const ht_grad_meta *leaf, void *user);
uint64_t ht__graph_new_walk(void); /* larger than any before */
void ht__graph_walk(ht_tensor *root, uint64_t walk, ht_leaf_visit_fn *visit, void *user);

/* Every node that `root` depends on, by its number in the order of creation, until one is answered
 * with false. last_number: of all nodes so far. */
typedef bool ht_node_visit_fn(uint64_t number, void *user);
void ht__graph_walk_nodes(ht_tensor *root, ht_node_visit_fn *visit, void *user);
uint64_t ht__node_last_number(void);

void ht__autograd_start(void);

/* Work between the nodes of a backward pass: the reducer's progress. Per thread; NULL: none. */
typedef void ht_progress_fn(void *user);
void ht__backward_set_progress(ht_progress_fn *progress, void *user);

/* Asked at the start of every backward pass of this thread: what to multiply its seed by (weighted
 * averaging). At 0 the pass does nothing, so that no 0 x NaN can arise; negative: an error was
 * recorded. NULL: 1. */
typedef double ht_seed_scale_fn(ht_tensor *root, void *user);
void ht__backward_set_seed_scale(ht_seed_scale_fn *scale, void *user);

/* Called when a backward pass of this thread fails in the middle, or cannot begin because an error
 * made its loss NULL. NULL: nobody. */
void ht__backward_set_failed(void (*failed)(bool begun, void *user), void *user);
bool ht__backward_running(void); /* on this thread */

/* The backward of this node exchanges something with other ranks, and waits for them. `abandon` is
 * called in its place, with gradients off, when the pass has failed before it came there: once, of
 * the node whose turn is next, for what the others wait for is to tell them. `told`: the node that
 * runs has an error that all ranks know. */
void ht__node_set_abandon(ht_node *node, void (*abandon)(ht_node *node));
void ht__backward_told(void);

/* The same where there is no loss to begin a pass with: of the forward pass that made the nodes
 * begin + 1 ... end, the newest. */
void ht__abandon_nodes(uint64_t begin, uint64_t end);

#endif
