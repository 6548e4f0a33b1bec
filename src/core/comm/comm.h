/* SPDX-License-Identifier: MIT
 *
 * Communicators for higher folders: the world, agreement, small messages, deadlines. */
#ifndef HT_CORE_COMM_COMM_H
#define HT_CORE_COMM_COMM_H

#include "core/base/base.h"
#include "ht/communication.h"

/* ---- communicators (comm/) ------------------------------------------------------------------- */
typedef enum ht_purpose {
    HT_PURPOSE_CALLS, /* calls on the communicator itself */
    HT_PURPOSE_REDUCER,
    HT_PURPOSE_HOOK_1, /* later rounds of communication hooks */
    HT_PURPOSE_HOOK_2,
    HT_PURPOSE_LOADER,
    HT_PURPOSE_AVERAGES, /* of parameters; blocking, so that they have one order */
    HT_PURPOSE_REPORT,   /* what went wrong in a pass of the reducer */
    HT_PURPOSE_POSTED,   /* non-blocking collective calls; made with the communicator */
    HT_PURPOSE_RECORDS,  /* and beyond: for each of those above, the records of the calls there */
    HT_PURPOSE_COUNT = 2 * HT_PURPOSE_RECORDS
} ht_purpose;

typedef struct ht_kept_part ht_kept_part;
typedef struct ht_child ht_child;

/* Functions for the engines of the exchange, a folder above this one. */
typedef struct ht_engine_calls {
    bool (*idle)(const ht_comm *comm); /* nothing of this rank is under way or in use there */
    void (*end)(ht_comm *comm);        /* of its engines, which release it. Collective */
} ht_engine_calls;

struct ht_comm {
    ht_object base;
    MPI_Comm
        mpi; /* freed with the duplicates below, by a later split of its parent or ht_finalize */
    int rank, size;
    bool shared; /* by several ranks; with HT_DEBUG_ONE_AS_MANY by one, but HT_COMM_SELF */
    ht_errhandler handler;
    MPI_Comm purpose[HT_PURPOSE_COUNT];    /* private duplicates, made on demand; MPI_COMM_NULL */
    uint64_t compared[HT_PURPOSE_RECORDS]; /* records made */
    unsigned posted;                       /* non-blocking calls, so far */
    struct ht_notes
        *notes;          /* owned; NULL unless HT_DEBUG_COLLECTIVE compares tensors of many ranks */
    ht_kept_part *parts; /* owned; communicators of its ranks that ht__comm_part made */
    uint64_t id;         /* on this rank; those of MPI that belong to it have it, too */
    ht_child *children, *child; /* owned: those split off from it; itself among its parent's */
    int engines;                /* of the exchange, each of which retains it */
    const ht_engine_calls *engine_calls; /* if there are any */
    int nodes, node, local_rank, local_size;
    char name[32];
    uint64_t draws, draws_epoch; /* of random tensors here since the generator was seeded */
};

ht_comm *ht__comm_in_use(const char *what); /* as ht_get_comm, for a public function `what` */

/* The private duplicate for one purpose, cached as long as comm. Collective on first use. */
MPI_Comm ht__comm_private(ht_comm *comm, ht_purpose purpose);

/* As ht_comm_split, for an object that divides its communicator in the same way each time it is made.
 * The part is kept with `comm`, and all such objects share it, because MPI frees a communicator
 * late: one for each object would be a leak. family: a literal; all
 * ranks pass the same one, and the same size. The two decide color and key. Collective on first
 * use. Result: retained. */
ht_comm *ht__comm_part(ht_comm *comm, const char *family, int size, int color, int key);

/* Until the caller passes the returned communicator back, a failure on this rank alone concerns
 * `comm`. This is for operations of its ranks on process-local parts, in which no rank may fail by
 * itself. */
ht_comm *ht__together(ht_comm *comm);
void ht__together_end(ht_comm *outer);

/* Agreement (comm/agree.c): every rank passes its own status (HT_SUCCESS, or the code of
 * an error recorded by ht__error_set). If one failed, all receive the message of the lowest failing
 * rank, the handler runs, and all return its code. `what`: the public function, for messages about
 * ranks that do not come. Collective. */
ht_status ht__agree(const char *what, ht_comm *comm, ht_status mine);

/* The checks of an *agrees* function stand between these two calls, and it returns in between only
 * there. Errors are recorded, not raised; the end agrees on `mine`, of the public function `what`.
 * No communication may happen between them. */
bool ht__agree_begin(void);
ht_status ht__agree_end(const char *what, ht_comm *comm, bool begun, ht_status mine);

/* Puts the watchdog's deadline (comm/watchdog.c) over a collective call that cannot be
 * polled, until the end that is given what the start returned. `what`: a literal. */
const char *ht__watch_guard(const char *what);
void ht__watch_unguard(const char *outer);
double ht__wait_timeout(void); /* the deadline in seconds; 0: none */
/* Notes the place of this rank in its own code, for ranks that miss it: one store. The place, and
 * the name of a wait, must stay valid for ever: a literal, or from ht__name. */

extern struct ht_watch {
    _Atomic(const char *) where; /* NULL: nowhere yet */
    _Atomic(const char *) what;  /* the wait it is in; NULL: none */
    _Atomic uint64_t moves;      /* changes when a wait begins or gets on */
    _Atomic uint64_t operations; /* collective calls of the world that it has begun */
} ht__watch;
static inline void ht__watch_at(const char *where)
{
    atomic_store_explicit(&ht__watch.where, where, memory_order_release);
}

bool ht__watch_running(void); /* whether a thread guards: MPI_THREAD_MULTIPLE and HT_TIMEOUT */

/* HT_DEBUG_COLLECTIVE=1 (comm/compare.c): the arguments of a collective operation that all ranks
 * share, 0 if there are none. Called before it; the first difference ends the job.
 */
/* The two sides of a call that does not wait, for a rank without an operand. */
typedef enum ht_sides {
    HT_SIDES_ALIKE,     /* `count` elements each, or one tensor that is both */
    HT_SIDES_ALLGATHER, /* a part is sent, the complete tensor received */
    HT_SIDES_GATHER,    /* by the root alone */
    HT_SIDES_SCATTER,   /* the root's complete tensor is sent, a part received */
    HT_SIDES_DEAL       /* rows to all and rows from all; `count` elements each */
} ht_sides;

typedef struct ht_call {
    const char *what;
    int kind, root; /* kind: which of those that share a function */
    ht_reduce_op op;
    ht_dtype dtype, wire;
    int64_t count, rows; /* rows: of the gathered tensor */
    ht_sides sides;
    /* Rows of each rank's part, the same on all ranks; NULL: those of ht_comm_chunk. For a deal:
     * those sent to each rank, then those that come from each; the parts of other pairs do not
     * matter. */
    const int64_t *counts;
    int ndim;
    const int64_t *lshape; /* of the local part that a message shows; NULL: none */
    ht_purpose on;         /* its operations have a separate order there */
    bool later;            /* it does not wait for the others, and nor does the comparison */
    bool refused; /* this rank's arguments are wrong: there is nothing to compare but what */
} ht_call;
extern bool ht__compare_on;
int64_t ht__call_key(const ht_comm *comm, const ht_call *call); /* of the counts; 0: no such */
void ht__compare_call(ht_comm *comm, const ht_call *call);

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

/* Small host buffers, for metadata. Collective. `what` names the operation in a timeout message. */
ht_status ht__comm_allreduce_i64(ht_comm *comm, int64_t *values, int count, ht_reduce_op op,
                                 const char *what);
ht_status ht__comm_allgather_i64(ht_comm *comm, const int64_t *mine, int count, int64_t *all,
                                 const char *what);
ht_status ht__comm_allgather_f64(ht_comm *comm, const double *mine, int count, double *all,
                                 const char *what);
/* recv[r] <- send[this rank] of rank r. */
ht_status ht__comm_alltoall_i64(ht_comm *comm, const int64_t *send, int64_t *recv,
                                const char *what);
ht_status ht__comm_bcast_bytes(ht_comm *comm, void *data, size_t bytes, int root, const char *what);

/* The number of ns to add to this rank's ht__timeline_now() to get rank 0's, and the possible error
 * of that number. Collective; nothing else may be under way between the ranks. */
ht_status ht__comm_clock_offset(ht_comm *world, int64_t *offset, int64_t *error);

/* Serves other ranks while this thread waits for one. It never waits, and returns whether anything
 * moved. NULL: nothing. */
typedef bool ht_serve_fn(void);
void ht__wait_set_serve(ht_serve_fn *serve);

#endif
