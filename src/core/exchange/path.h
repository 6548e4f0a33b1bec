/* SPDX-License-Identifier: MIT
 *
 * The inside of the exchange, for the files of this folder only: its structs, its two ways of
 * moving data, and its arithmetic. */
#ifndef HT_CORE_EXCHANGE_PATH_H
#define HT_CORE_EXCHANGE_PATH_H

#include "core/exchange/exchange.h"

typedef struct slot slot;

/* The action of a rank in a step of the plan. Backwards, a rank that took data gives the result
 * back. */
typedef enum step_kind { STEP_GIVE, STEP_TAKE, STEP_SWAP } step_kind;

typedef struct range {
    int64_t begin, end;
} range;

typedef struct exchange_step {
    step_kind kind;
    int peer;
    bool upper;       /* of a swap: this rank keeps the upper half */
    bool far;         /* the peer is on another node */
    range keep, give; /* of a swap, of the halves: places of the pieces that each side ends with */
    range under;      /* of the others: places of the giver and of all that gave to it before */
} exchange_step;

/* Two groups of at most 2^31 members, each with a fold. */
typedef struct exchange_plan {
    int count;
    exchange_step steps[2 * 32];
} exchange_plan;

#define HT_LINE 64 /* bytes that a cache moves at once */

/* Slices of an operation that one rank carries, at most. */
#define HT_SLICES 64

/* How far a slice is: the last use of its block in which it was … */
typedef struct shared_slice {
    _Alignas(HT_LINE) atomic_ullong claimed; /* taken by a rank that sums it */
    atomic_ullong reduced;                   /* summed over the ranks of the node */
    atomic_ullong done;                      /* summed over all ranks */
} shared_slice;

/* First in each rank's part of a block; then its data, then the results of the slices it carries.
 */
typedef struct shared_part {
    _Alignas(HT_LINE) atomic_ullong ready; /* the last use this rank has started */
    atomic_llong filled;                   /* elements of its data that are there in that use */
    shared_slice slices[HT_SLICES];        /* those it carries */
} shared_part;

typedef struct shared_block shared_block;
struct shared_block {
    shared_block *next;
    MPI_Win window;
    size_t bytes;        /* of data, per rank */
    shared_part **parts; /* owned; one per rank of the node */
    const void **data;   /* owned; scratch for the addresses of one operation */
    bool *copied;        /* owned; slices the present operation has copied */
    uint64_t asked;      /* operations started */
    uint64_t uses;       /* operations launched */
    bool in_use;         /* handed out */
    bool released;       /* by all ranks, at the last request for memory */
    bool busy;           /* an operation of this rank is under way in it */
    void *plain;         /* memory of this rank alone, where sharing is not possible */
};

/* An all-reduce, which runs in place, or one of its halves, packed (exchange/half.c). */
typedef enum op_kind { OP_SUM, OP_SCATTER, OP_GATHER } op_kind;

struct ht_exchange_op {
    ht_exchange_op *next; /* among the active by priority, or among the free */
    ht_exchange_op *made; /* the one made before it */
    op_kind kind;
    char *data; /* the caller's */
    int64_t n;
    int64_t filled; /* the first ones are there: n, unless it was opened */
    size_t element;
    ht_dtype dtype;
    ht_dtype wire; /* what travels between nodes */
    double scale;
    int priority;
    atomic_bool done;
    atomic_llong summed; /* this many elements, from the first, hold the sum */
    ht_status status;
    bool timed;           /* it is on the timeline, */
    uint64_t finished_at; /* until then */

    /* halves */
    int64_t part;  /* elements of a rank's part; the last ones may be shorter */
    int64_t piece; /* elements of each part that a segment or slice has; the last one fewer */

    /* messages: segments of the buffer, or the slices that this rank carries */
    int64_t segment; /* elements; of a half, of all parts together */
    int64_t segments, started, finished;
    uint64_t first_segment; /* number of the first one, counted over all operations: gives tags */

    /* shared memory */
    shared_block *block; /* NULL: by messages */
    uint64_t use;        /* which use of the block this is */
    int arrived;         /* ranks of the node known to have started */
    int64_t slice;       /* elements of a slice, as of a segment; the last one may be shorter */
    int slices;          /* slice k is carried by rank k % carriers of each node */
    int copied;          /* slices taken over */
    bool launched;       /* ready for the others to read */
    int tried;           /* slices that were looked at for summing */
    int whole;           /* slices, from the first, that are copied */
};

/* Blocks of the engine's own, through which small buffers pass. */
#define HT_SMALL_BLOCKS 2
#define HT_SMALL_BYTES  4096

struct ht_exchange {
    ht_exchange *next; /* list of all, for the end */
    ht_comm *comm;     /* retained */
    ht_purpose purpose;
    MPI_Comm mpi; /* private */
    int rank, size;
    size_t segment_bytes;
    ht_exchange_op *active, *unused;
    ht_exchange_op *made; /* owned: all of them, so that one given up after an error is freed too */
    uint64_t segments_started;
    uint64_t bytes_sent;  /* to other nodes */
    exchange_plan plan;   /* over all ranks */
    exchange_plan across; /* of a carrier: over its counterparts on the other nodes */
    int carriers;         /* as many as the smallest node has ranks: the first of each node */
    int local, local_size;
    int *rank_at; /* owned; the halves' order of ranks: at place p this one. A step moves
                     a contiguous range of it */
    int *places;  /* owned; of the ranks of this node in it */
    int *node_of; /* owned; of each rank */

    struct ht_link *links; /* owned: those asked for so far (link.c) */

    slot **slots; /* owned; segments in flight, by messages */
    int slot_count, slots_busy;
    MPI_Request *requests; /* two per slot */
    int *finished;         /* what MPI_Testsome returns */

    MPI_Comm node; /* the ranks of this node, when they share memory; else MPI_COMM_NULL */
    shared_block *blocks;
    shared_block *small[HT_SMALL_BLOCKS]; /* for small buffers outside; used in turn */
    uint64_t smalls_started;
};

/* ---- all of them (exchange/exchange.c) ------------------------------------------------------- */
extern ht_exchange *ht__engines;

/* Under the lock; whether anything is outstanding. */
bool ht__exchange_move_all(bool *moved);

/* ---- arithmetic (exchange/sum.c) ------------------------------------------------------------- */
/* y += x, n elements. */
void ht__sum_add(ht_dtype dtype, void *y, const void *x, int64_t n);
void ht__sum_scale(ht_dtype dtype, void *y, int64_t n, double scale);

/* float32 and what travels: bfloat16 or float16. Rounded to nearest even; NaN stays NaN. */
void ht__sum_narrow(ht_dtype wire, void *y, const void *x, int64_t n);     /* y <- rounded x */
void ht__sum_widen(ht_dtype wire, void *y, const void *x, int64_t n);      /* y <- x */
void ht__sum_round(ht_dtype wire, void *y, int64_t n);                     /* y <- rounded y */
void ht__sum_add_narrow(ht_dtype wire, void *y, const void *x, int64_t n); /* y <- rounded y + x */

/* More ranks than 2^levels are summed by messages only: bounds the scratch memory of the tree. */
#define HT_SUM_LEVELS 10

/* y <- scale * sum of x[0] ... x[ranks - 1], from element `at` of each, by the tree. */
void ht__sum_tree(ht_dtype dtype, void *y, const void *const x[], int ranks, int64_t at, int64_t n,
                  double scale);

/* ---- who with whom (exchange/plan.c) --------------------------------------------------------- */
void ht__plan_open(ht_exchange *exchange); /* collective */
void ht__plan_end(ht_exchange *exchange);

/* The ranks that are left after the fold, and the one with this number among them. */
static inline int ht__tree_power(int count)
{
    int power = 1;

    while (2 * power <= count)
        power *= 2;
    return power;
}

static inline int ht__tree_holder(int count, int number)
{
    int folded = count - ht__tree_power(count);

    return number < folded ? 2 * number + 1 : number + folded;
}

/* ---- links of devices (exchange/order.c, exchange/link.c) ------------------------------------ */
/* The tree as lists, for code that has the data of several ranks. */
ht_link_order ht__order_new(const ht_exchange *exchange);
void ht__order_free(ht_link_order *order);
void ht__links_end(ht_exchange *exchange);

/* ---- what the halves move (exchange/half.c) -------------------------------------------------- */
/* Parts, and pieces so that a segment, or a slice in this block, has about as much as one of an
 * all-reduce. */
void ht__half_cut(const ht_exchange *exchange, ht_exchange_op *op, int64_t segment);
void ht__half_cut_shared(const ht_exchange *exchange, ht_exchange_op *op, int64_t count);

/* Elements of a segment or slice, packed. */
int64_t ht__half_length(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number);

/* Between the caller's data and a packed segment: what this rank brings, and what it gets. */
void ht__half_pack(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number,
                   char *packed);
void ht__half_unpack(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number,
                     const char *packed);

/* A packed slice of what all ranks of the node bring: sums, scaled, or their parts. */
void ht__half_collect(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number,
                      char *packed, double scale);

/* ---- a segment (exchange/segment.c) ---------------------------------------------------------- */
struct slot {
    ht_exchange_op *op; /* NULL: free */
    const exchange_plan *plan;
    int64_t number; /* among the segments of the operation */
    char *data;
    int64_t n;
    int tag;
    int step;      /* of the plan, forwards, then back */
    char *scratch; /* owned; for what comes to be added */
    size_t scratch_bytes;
    char *packed; /* owned; what a half moves, unless it lies in shared memory */
    size_t packed_bytes;
    MPI_Request *requests; /* its two in the engine's; not owned */
};

/* Posts what its step moves: at most two requests. And the action when it has moved. */
int ht__segment_post(ht_exchange *exchange, slot *s);
void ht__segment_complete(const ht_exchange *exchange, const slot *s);

/* ---- messages (exchange/message.c) ----------------------------------------------------------- */
void ht__message_start(ht_exchange *exchange, ht_exchange_op *op);
/* Takes the slices that this rank carries for segments. */
void ht__message_carry(ht_exchange *exchange, ht_exchange_op *op);
bool ht__message_progress(ht_exchange *exchange); /* whether anything moved */
void ht__message_end(ht_exchange *exchange);

/* ---- shared memory (exchange/memory.c, exchange/shared.c) ------------------------------------ */
void ht__memory_open(ht_exchange *exchange);
void ht__memory_end(ht_exchange *exchange);
bool ht__memory_is_idle(const ht_exchange *exchange);
shared_block *ht__block_with(const ht_exchange *exchange, const void *data); /* NULL: none has it */
void *ht__block_memory(const ht_exchange *exchange, const shared_block *block); /* this rank's */
void *ht__part_data(shared_part *part);
void *ht__block_results(const shared_block *block, int local);
size_t ht__block_room(const ht_exchange *exchange, size_t bytes); /* for the results of a rank */

/* False: not in shared memory; else the slices that this rank carries are to be messages. */
bool ht__shared_start(ht_exchange *exchange, ht_exchange_op *op);
bool ht__shared_progress(ht_exchange *exchange, ht_exchange_op *op);

/* The slice with this number among those that this rank carries: its data, n elements, once it is
 * summed over the node; NULL before. And what to do when it is summed over all nodes. */
void *ht__shared_carry(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number,
                       int64_t *n);
void ht__shared_carried(const ht_exchange *exchange, const ht_exchange_op *op, int64_t number);

/* ---- progress thread (exchange/thread.c) ----------------------------------------------------- */
/* Moves everything, under the lock; whether anything is outstanding. */
typedef bool ht_move_fn(bool *moved);
void ht__thread_start(ht_move_fn *move_all); /* if it is wanted, possible and not there */
void ht__thread_stop(void);
void ht__thread_wake(void); /* there is something to do; under the lock */
void ht__gate_lock(void);
bool ht__gate_try(void);
void ht__gate_unlock(void);

/* ---- operations (exchange/op.c) -------------------------------------------------------------- */
ht_exchange_op *ht__exchange_take(ht_exchange *exchange); /* one that is all 0 */
/* Equal priorities are served in the order they were started. */
void ht__exchange_enqueue(ht_exchange *exchange, ht_exchange_op *op);
void ht__exchange_finish(ht_exchange *exchange, ht_exchange_op *op, ht_status status);

#endif
