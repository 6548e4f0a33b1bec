/* SPDX-License-Identifier: MIT
 *
 * MPI for the folders that call it (comm, exchange, collective, start): its errors, waiting, the
 * watchdog, counts, element types and operations. */
#ifndef HT_CORE_COMM_MPI_H
#define HT_CORE_COMM_MPI_H

#include "core/comm/comm.h"

/* ---- communicators (comm/comm.c) ------------------------------------------------------------- */
ht_comm *ht__comm_new(const char *what, MPI_Comm parent, bool duplicate); /* takes it otherwise */
ht_comm *ht__comm_world_if_any(void);                                     /* NULL before ht_init */
void ht__comm_start(MPI_Comm world);
void ht__comm_end(void);         /* releases the world, HT_COMM_SELF and the one in use */
void ht__comm_free_all(void);    /* frees every MPI communicator made; collective over the world */
void ht__comm_free(uint64_t id); /* those of one communicator; collective over it */
void ht__comm_release_parts(ht_comm *comm);

/* ---- those split off (comm/children.c) ------------------------------------------------------- */
/* One split: on each rank of the parent, in the same order. */
struct ht_child {
    ht_child *next;
    ht_comm *comm; /* not owned; NULL: released, or this rank is in none */
    uint64_t id;   /* of it; 0: this rank is in none */
};

struct ht_kept_part {
    const char *family; /* a literal */
    int size;
    ht_comm *comm; /* retained; NULL: this rank is in none */
    ht_kept_part *next;
};

/* The status of an MPI call; records what MPI said when it failed. */
ht_status ht__mpi_check(ht_comm *comm, int result, const char *what);

/* Errors on MPI_COMM_WORLD (comm/errors.c), and the test that gets its own back. */
void ht__mpi_errors_start(void);
void ht__mpi_errors_end(void);
int ht__mpi_test(int count, MPI_Request requests[], int *done);

/* `call` runs in a MPI_Finalize of the program's, while MPI can still be called, unless it is
 * forgotten before (comm/mpi_end.c). */
void ht__mpi_end_start(void (*call)(void));
void ht__mpi_end_forget(void);

/* Whether the calling thread may call MPI at all. */
bool ht__mpi_usable(void);

/* ---- topology (comm/topology.c) -------------------------------------------------------------- */
void ht__topology_fill(ht_comm *comm);              /* collective */
int ht__topology_cores(MPI_Comm world, int *ranks); /* of this node; collective */

/* ---- waiting (comm/wait.c) ------------------------------------------------------------------- */
/* `oversubscribed`: more ranks than cores on this node, so that a waiting rank costs another one.
 */
void ht__wait_start(bool oversubscribed);
/* Observed time: seconds between two looks, of which at most `most` count. So no rank is given up
 * because this process was suspended or had to wait for a core. Begins with the first look. */
struct ht_clock {
    double last, elapsed;
};
#define HT_CLOCK_STALL 0.05 /* for looks every millisecond */
double ht__clock_elapsed(struct ht_clock *clock, double most);

/* MPI_Init_thread under the deadline (comm/start.c). */
int ht__mpi_start(int *argc, char ***argv);

void ht__wait_read_timeout(void);
#define HT_TIMEOUT_TEXT        "%s: the other ranks did not arrive within %g s (HT_TIMEOUT)"
#define HT_DEVICE_TIMEOUT_TEXT "%s: the device did not answer within %g s (HT_TIMEOUT)"

/* Polls until it answers done; politely. An operation that moves is polled more eagerly, and its
 * deadline is put off. A deadline that passes ends the job, naming `what`, and what did not come:
 * other ranks, or (device) a device of this rank. */
/* Operations that a waiting thread has to post, and the thread that does (collective/posted.c). */
extern atomic_int ht__held_back;
extern void (*ht__post_held_back)(void);

typedef enum ht_poll { HT_POLL_IDLE, HT_POLL_MOVED, HT_POLL_DONE } ht_poll;
typedef ht_poll ht_poll_fn(void *state);
ht_status ht__wait_until(ht_comm *comm, ht_poll_fn *poll, void *state, const char *what);
ht_status ht__wait_device(ht_comm *comm, ht_poll_fn *poll, void *state, const char *what);
ht_status ht__wait_mpi(ht_comm *comm, int count, MPI_Request requests[], const char *what);
/* `result` is what MPI said when the request was posted. */
ht_status ht__wait_posted(ht_comm *comm, int result, MPI_Request *request, const char *what);

/* ---- watchdog (comm/watchdog.c) -------------------------------------------------------------- */
/* Notes the wait of this rank, for ranks that ask: two stores when it begins or advances. */
static inline void ht__watch_enter(const char *what)
{
    uint64_t moves = atomic_load_explicit(&ht__watch.moves, memory_order_relaxed);

    atomic_store_explicit(&ht__watch.what, what, memory_order_release);
    atomic_store_explicit(&ht__watch.moves, moves + 1, memory_order_relaxed);
}

static inline void ht__watch_leave(void)
{
    atomic_store_explicit(&ht__watch.what, NULL, memory_order_relaxed);
}

void ht__watch_start(MPI_Comm world);                  /* before the first collective call */
void ht__watch_connect(MPI_Comm world);                /* duplicates it; collective */
void ht__watch_meet(ht_comm *world, const char *what); /* a barrier that no other call can meet */
void ht__watch_stop(void);                             /* its thread alone; not collective */
void ht__watch_end(void);

/* comm/watch.c: the call that cannot be polled and that this rank is in, and a number that changes
 * with each; the operation that it waits in, polled or not. NULL: none. */
const char *ht__watch_guarded(unsigned *number);
const char *ht__watch_waits_in(void);

/* Asks the ranks that are marked and writes "; rank 1 ..." for each; NULL: asks all others and
 * writes those that do not answer. Nothing where no thread could ask. */
void ht__watch_describe(char *text, size_t room, const bool *whom);

/* ---- questions of the watchdog (comm/watchdog_ask.c), under its lock ------------------------- */
void ht__ask_start(MPI_Comm world);
void ht__ask_connect(MPI_Comm own); /* takes it */
void ht__ask_end(void);
void ht__ask_answer(void); /* those that have come */
void ht__ask_describe(char *text, size_t room, const bool *whom);

/* Writes "; rank 1 ..." for each that does not wait in `what`; false: a rank below this one waits,
 * and is the one to speak. */
bool ht__ask_who_waits_elsewhere(const char *what, char *text, size_t room);

/* ---- HT_DEBUG_COLLECTIVE (comm/compare.c, compare_call.c; what all use of it is in comm.h) ------------------- */
void ht__compare_start(MPI_Comm world); /* collective */
/* Sends this rank's record of a call; finish compares it when all have come (came: false: a rank did
 * not). NULL: the call does not wait, and a later wait compares it. */
typedef struct ht_comparison ht_comparison;
ht_comparison *ht__compare_post(ht_comm *comm, const ht_call *call, MPI_Request **request);
void ht__compare_finish(ht_comparison *it, bool came);
bool ht__compare_posted(void); /* whether all that was posted is compared */
void ht__compare_settle(void); /* before an error of MPI that it may explain */
void ht__compare_end(ht_comm *world);

/* ---- its notes of tensors, which are made above (tensor/notes.c) ----------------------------- */
typedef struct ht_note_calls {
    struct ht_notes *(*make)(void); /* of a communicator; ht__free */
    uint64_t (*sum)(const ht_comm *comm);
    void (*clear)(ht_comm *comm);
    /* Ends the job with the first that differ, unless some ranks have only fewer of them and that
     * is not asked for. Collective; world_ranks: of the communicator's ranks. */
    void (*differ)(ht_comm *comm, MPI_Comm wire, const int *world_ranks, bool fewer);
} ht_note_calls;
extern const ht_note_calls *ht__notes;
void ht__notes_start(void); /* before there is a communicator */

/* ---- abort (comm/abort.c) -------------------------------------------------------------------- */
void ht__abort_start(MPI_Comm world); /* duplicates it; collective */
void ht__end_job(ht_status code, const char *message);
void ht__abort_end(void);

/* Waits for the end that another rank is preparing. */
_Noreturn void ht__abort_wait(void);

/* ---- element types (comm/type.c) ------------------------------------------------------------- */
void ht__types_start(void);
void ht__types_end(void);
MPI_Datatype ht__mpi_type(ht_dtype dtype);
MPI_Op ht__mpi_op(ht_reduce_op op, ht_dtype dtype); /* MPI_OP_NULL: not for this dtype */
const char *ht__op_name(ht_reduce_op op);

/* ---- counts (comm/count.c) ------------------------------------------------------------------- */
int64_t ht__count_limit(void);
void ht__count_set_limit(int64_t limit); /* for tests; 0: INT_MAX again */

/* `count` copies of `of` at steps of `stride` bytes; uncommitted. */
MPI_Datatype ht__type_repeat(int64_t count, int64_t stride, MPI_Datatype of);

/* `count` contiguous elements. Freed when the communication is over, because Open MPI 4 never
 * releases a type that is freed before. */
typedef struct ht_message {
    MPI_Datatype type;
    int count;
    bool derived;
} ht_message;
ht_message ht__message(int64_t count, ht_dtype dtype);
void ht__message_free(ht_message *message);

bool ht__check_comm(const char *what, const ht_comm *comm);

/* ---- small integers (comm/meta.c): parts of an operation that has begun ---------------------- */
ht_status ht__meta_max(ht_comm *comm, int64_t *values, int count, const char *what);
ht_status ht__meta_gather(ht_comm *comm, const int64_t *mine, int count, int64_t *all,
                          const char *what);
/* On a separate wire, a few bytes. */
ht_status ht__meta_gather_bytes(ht_comm *comm, MPI_Comm wire, const void *mine, size_t bytes,
                                void *all, const char *what);

/* ---- agreement (comm/agree.c) ---------------------------------------------------------------- */
/* The second half of ht__agree: rank `from` is the lowest that failed. */
ht_status ht__agree_failed(ht_comm *comm, const char *what, int from, ht_status mine);

/* Whether all ranks begin the same call with the same values, and none of them failed. */
ht_status ht__agree_call(ht_comm *comm, const ht_call *call, ht_status mine);

/* ---- the arguments of a call, in numbers (comm/header.c) ------------------------------------ */
enum { HT_HEADER_VALUES = 15 };
typedef struct ht_header {
    int64_t value[HT_HEADER_VALUES]; /* of one rank; the largest of all ranks tell what follows */
} ht_header;
ht_header ht__header(const ht_comm *comm, const ht_call *call, ht_status mine);
int ht__header_failed(const ht_comm *comm, const ht_header *header); /* lowest rank; size: none */
bool ht__header_call(const ht_header *header, ht_call *call);        /* false: all ranks failed */

/* Records which field differs between the ranks that did not fail, without raising it. */
ht_status ht__header_compare(const char *what, const ht_header *header);

#endif
