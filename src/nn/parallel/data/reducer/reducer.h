/* SPDX-License-Identifier: MIT
 *
 * The reducer: averages gradients over ranks, and updates parameters when their turn comes. Every
 * data-parallel wrapper uses one.
 *
 * Gradients lie in buckets (reducer_bucket.c). A backward pass fills them. A bucket whose
 * parameters are all ready is posted, in the same order on all ranks (reducer_pass.c). step()
 * either waits for all buckets and updates, or only marks parameters due. In the latter case the
 * first user of a parameter waits for its bucket and updates it (reducer_update.c).
 *     IDLE -> ACCUMULATING -> IN_FLIGHT -> REDUCED -> APPLIED -> ACCUMULATING ...
 * reducer_unused.c decides which parameters a pass need not wait for. reducer_report.c makes the
 * error if one is missing. */
#ifndef HT_NN_PARALLEL_DATA_REDUCER_REDUCER_H
#define HT_NN_PARALLEL_DATA_REDUCER_REDUCER_H

#include "core/tensor/graph.h"
#include "core/exchange/link.h"
#include "ht/comm_hooks.h"
#include "ht/data_parallel.h"
#include "optim/optim.h"

typedef struct ht_reducer ht_reducer;
struct ht_data_parallel;

typedef enum ht_bucket_state {
    HT_BUCKET_IDLE,         /* no pass yet */
    HT_BUCKET_ACCUMULATING, /* a pass fills it; ready when nothing is missing, then posted in turn
                             */
    HT_BUCKET_IN_FLIGHT,    /* being summed: no code touches it */
    HT_BUCKET_REDUCED,      /* holds the average */
    HT_BUCKET_APPLIED       /* and no update waits for it */
} ht_bucket_state;

typedef struct ht_bucket {
    ht_reducer *reducer; /* not owned */
    ht_bucket_state state;
    ht_dtype dtype;
    ht_device *device;      /* not owned */
    ht_storage *storage;    /* owned; flags, then slots of gradients */
    ht_storage *staging;    /* owned; what the exchange sums: the same one, or one on the host */
    ht_side_copy fetch;     /* of the gradients to there */
    bool fetched;           /* that has begun in this pass, or the average of a link has */
    ht_link *link;          /* not owned; sums the gradients; NULL: the exchange does */
    ht_link_average sum;    /* by the link */
    ht_tensor *all;         /* owned; its elements in a row, for the reducer and its hook */
    ht_guard guard;         /* over all of it, while it is awaited */
    char *flags;            /* in the staging: 1 where this rank has a gradient; one more, in the
                               last bucket of a pass: HT_FLAG_MISSING where one of it has none */
    int64_t elements;       /* flags included */
    int64_t exchanged;      /* of them, by the exchange: all, or a link leaves it the flags */
    int first, count;       /* its parameters in ht_reducer.order */
    int missing;            /* of them, not ready in this pass */
    int due;                /* updates that wait for it */
    ht_exchange_op *op;     /* owned while in flight */
    uint64_t posted_at;     /* on the timeline; 0: not on it */
    ht_grad_bucket *hooked; /* owned; what a communication hook sees of it; NULL: none */
    const char *what;       /* from ht__name; names it when a rank does not come */
} ht_bucket;

static inline bool ht__bucket_is_staged(const ht_bucket *bucket)
{
    return bucket->staging != bucket->storage;
}

/* The meaning of a parameter's flag for this rank; the flags of the ranks are summed. */
#define HT_FLAG_USED    1.0
#define HT_FLAG_MISSING 1048576.0 /* more than there are ranks; exact as float32 */

/* Whether this rank has a gradient for a parameter in this pass. */
typedef enum ht_presence {
    HT_GRAD_AWAITED, /* backward has not come to it */
    HT_GRAD_GIVEN,
    HT_GRAD_NONE,   /* for a reason that is known: zeros stand for it */
    HT_GRAD_MISSING /* without a reason, or of no use: the ranks make an error of it */
} ht_presence;

typedef struct ht_reducer_param ht_reducer_param;

typedef struct ht_reducer_optimizer {
    ht_optimizer *optimizer;   /* retained; keeps the arguments of its updates that are due */
    ht_reducer_param **params; /* owned array; by its entries; NULL: frozen when wrapped */
} ht_reducer_optimizer;

struct ht_reducer_param {
    ht_reducer *reducer; /* not owned */
    ht_tensor *tensor;   /* retained */
    char *name;          /* owned */
    int bucket, flag;    /* which one, and which of its flags */
    ht_tensor *view;     /* owned; its slot, which waits for the average on any read */
    ht_tensor *inside;   /* owned; the same for what the reducer does with it */
    ht_guard guard;      /* over the parameter, while an update is due; */
    ht_guard own;        /* over a gradient that is not a view; and the states of that update */
    ht_guard states[HT_OPTIMIZER_STATES];
    ht_tensor *grad; /* not owned, to compare: what the gradient was when it became ready */
    uint64_t hook;
    ht_presence presence;
    int64_t updated;           /* elements of an update that is made part by part */
    bool updating;             /* a part is made: it writes guarded memory */
    bool unused;               /* this pass counts on having no gradient for it on this rank */
    bool fired;                /* got a gradient in the first pass: static_graph */
    uint64_t reached;          /* the last walk from an output that met it */
    bool global;               /* the gradient holds an average over the ranks already: */
    double total;              /* of samples of this weight, of all ranks; */
    double weight;             /* this rank's in the gradient, whether they were sent or not */
    double unit;               /* the gradient is a sum over samples divided by this */
    double divisor;            /* the total of the pass under way, from its head */
    unsigned zeroings;         /* of the gradient, before that weight */
    bool averaged;             /* some of it has been sent since then */
    bool kept;                 /* it had been when this pass began; on some rank, once it came */
    ht_reducer_optimizer *due; /* whose step() was called, while the update is still to be made */
    int entry;                 /* its place in that optimizer */
};

/* The head of a pass, summed over the ranks: doubles in a row. Only the first two, unless ranks may
 * be out of data (reducer_join.c). For each parameter the weight follows once more, and with ranks
 * out of data also kept and held, because gradients need not be zeroed at once. */
typedef struct ht_pass_head {
    double weight;  /* of what this rank adds: the most to any parameter */
    double stops;   /* ranks that ask for a stop (data/stop.c) */
    double active;  /* ranks that have data */
    double giving;  /* ranks that have gradients to add, which a mean may divide by */
    double kept;    /* active ranks that add to an average that is there already */
    double held;    /* weight of the ranks out of data in that average */
    double buffers; /* active ranks that renew buffers instead: no gradients follow */
} ht_pass_head;

/* The functions of guards, each with the requested bytes: it waits, and makes the updates due. */
typedef struct ht_bringing {
    void (*parameter)(void *param, int64_t begin, int64_t end, bool in_parts);
    void (*all_of)(void *param, int64_t begin, int64_t end, bool in_parts);
    void (*bucket)(void *bucket, int64_t begin, int64_t end, bool in_parts);
    ht_status (*gradient)(void *param);
} ht_bringing;

/* The last pass that this rank began. doc/data-parallelism.md has the transitions. */
typedef enum ht_pass_state {
    HT_PASS_NONE,    /* there was none */
    HT_PASS_LOCAL,   /* no_sync: its gradients stay on this rank */
    HT_PASS_SYNCED,  /* its gradients are averaged; whether some rank misses one is not known */
    HT_PASS_JUDGED,  /* all ranks have what they need */
    HT_PASS_MISSING, /* some rank does not: all ranks make the error of that */
} ht_pass_state;

/* Whether this rank can complete passes, and why not, as reports send it. The first failure stays.
 */
typedef enum ht_breakage {
    HT_BROKEN_NOT,
    HT_BROKEN_MIDDLE,  /* backward ended in the middle */
    HT_BROKEN_NO_LOSS, /* there was none, or it was refused */
    HT_BROKEN_SPOILT   /* a gradient came that belongs to no pass */
} ht_breakage;

/* Whether ranks may be out of data, and by which of them a mean divides then. */
typedef enum ht_joining { HT_JOINING_OFF, HT_JOINING_ALL, HT_JOINING_ACTIVE } ht_joining;

/* A stop, which ht_data_parallel_request_stop asks for. */
typedef struct ht_stop {
    bool mine;   /* this rank asks for it */
    bool asked;  /* some rank does, in a head that has come to this one */
    bool agreed; /* the same of passes that are over: all ranks know it */
} ht_stop;

struct ht_reducer {
    struct ht_data_parallel *wrapper; /* not owned */
    ht_comm *comm;                    /* retained */
    ht_exchange *exchange;            /* not owned */
    const ht_bringing *bring;         /* not owned */
    ht_reducer_optimizer *optimizers; /* owned */
    int optimizer_count;              /* 0: the program updates */
    ht_data_parallel_options options;
    ht_reducer_param *params; /* owned */
    int count;
    ht_bucket *buckets; /* owned */
    int bucket_count;
    int *order;         /* owned; parameters as they lie in buckets */
    int *seen;          /* owned; parameters in the order they became ready in the first pass */
    int seen_count;     /* -1: buckets have been rebuilt in that order */
    double *order_sent; /* owned; rank 0's order on its way */
    ht_exchange_op *order_op;
    int64_t number; /* in the order of making; the same on all ranks */
    char *label;    /* owned; names the wrapper in messages */
    int64_t newest; /* number of the last wrapper made on its communicator; */
    int64_t began;  /* and that when its last pass began */
    bool shares;    /* its communicator with other wrappers, as ranks agreed at the last one made,
                       or in the head of a pass since */
    int widest;     /* the most parameters of one of them */
    bool waits;     /* ranks wait for each other in its layers, or for its buffers */
    bool links;     /* each rank has a device that may be linked to those of the others */
    bool stays;     /* buckets keep their order: it shares, and one of the sharers waits */
    bool crossed;   /* ranks began passes of different wrappers: nothing more can be sent */
    int passes;     /* synchronised ones so far */
    uint64_t walk;  /* the first walk from an output since the last pass; 0: none */
    bool idle;      /* this rank has nothing to give in this pass */
    bool recorded;  /* static_graph: the first pass of this rank is over */
    bool queued;    /* it has messages to start: it is in the queue of reducer_order.c */
    ht_pass_state pass;
    ht_reducer *next; /* among all that there are (reducer_disjoint.c) */
    ht_reducer *next_queued;
    ht_reducer *next_sent; /* in the queue of reducer_report.c */
    ht_joining joining;
    int lowest;          /* rank with data, in the last head of a join; */
    int sharer;          /* and in the one before the pass: it brings the average that is kept */
    int posted;          /* buckets posted in it, from the first */
    double scale;        /* of the flags in this pass's sums */
    double total;        /* the weight summed over ranks */
    ht_pass_head head;   /* of this rank; when it has come, the sum */
    double *numbers;     /* owned; the head as it travels; the exchange's until it has come */
    int64_t head_length; /* of them; of the last pass */
    int signature;       /* of them come first, and say which wrapper the pass is of */
    bool head_due;       /* it waits for the pass's turn */
    ht_stop stop;
    ht_exchange_op *head_op;
    ht_comm_hook hook; /* NULL: the average */
    void *hook_state;  /* not owned */
    bool own_means;    /* passes that stay on this rank leave the mean over its samples */
    double loss_scale; /* what an optimizer's wrapper multiplied the last loss with; 1: none did */
    ht_exchange *hook_rounds[HT_COMM_HOOK_ROUNDS]; /* not owned; the first is `exchange` */
    ht_status failure;    /* the first, which leaves this reducer of no use; ht__reducer_status */
    char *message;        /* owned; its text */
    ht_breakage broken;   /* what this rank sends is of no use, from some pass on: */
    ht_status cause;      /* why, */
    char *why;            /* owned */
    ht_exchange *reports; /* not owned */
    float *report;        /* owned; of all ranks, the exchange's once it is under way */
    ht_exchange_op *reporting;
};

/* Trainable parameters of `module`; waits: it has layers that wait for all ranks. Collective. NULL
 * after an error. */
ht_reducer *ht__reducer_new(ht_module *module, ht_comm *comm,
                            const ht_data_parallel_options *options, bool waits);
void ht__reducer_free(ht_reducer *reducer); /* drains first */

ht_reducer_param *ht__reducer_find(ht_reducer *reducer, const ht_tensor *parameter);

/* reducer_disjoint.c. Adds its parameters to those that must not share memory; removes them. moving:
 * one of them is to have another body (ht_grad_moving_fn). */
void ht__reducer_enter(ht_reducer *reducer);
void ht__reducer_leave(ht_reducer *reducer);
ht_reducer *ht__reducers_all(void); /* the first, and then `next` */
ht_status ht__reducer_moving(const char *what, const ht_tensor *leaf, const ht_body *to,
                             void *param);

/* reducer_bucket.c: lays buckets out over `order` (kept); gradients move along. Collective. */
ht_status ht__reducer_layout(ht_reducer *reducer);
void ht__reducer_drop_buckets(ht_bucket *buckets, int count);

/* reducer_rebuild.c. send: behind the buckets of the first pass. has, wait: whether nothing of it is
 * under way, and until then. agree: as the second pass begins, when the order is due; whether it
 * changes. end: frees what has been sent. */
bool ht__reducer_order_is_due(const ht_reducer *reducer);
void ht__reducer_send_order(ht_reducer *reducer);
bool ht__reducer_has_order(const ht_reducer *reducer);
ht_status ht__reducer_wait_order(ht_reducer *reducer);
ht_status ht__reducer_agree_order(ht_reducer *reducer, bool *changes);
void ht__reducer_end_order(ht_reducer *reducer);

/* reducer_staging.c. Memory for a bucket that begins with `flags` bytes of flags; collective.
 * fetch: gradients set out for the staging, or a link begins their average; whether the exchange
 * may begin; the average comes back. A failure in a pass makes what this rank sends of no use. */
ht_status ht__bucket_allocate(ht_bucket *bucket, size_t bytes, size_t flags);
void ht__bucket_fetch(ht_bucket *bucket, double scale);
bool ht__bucket_is_fetched(ht_bucket *bucket);
ht_status ht__bucket_put_back(ht_bucket *bucket);

/* reducer_order.c. Numbers a new wrapper, and agrees on what those of its communicator share.
 * Collective. The number as it travels. Then the queue of passes that have starts to make; who is
 * first on its exchange. */
ht_status ht__reducer_take_number(ht_reducer *reducer);
int ht__reducer_sign(const ht_reducer *reducer);
void ht__reducer_enlist(ht_reducer *reducer);
void ht__reducer_delist(ht_reducer *reducer);
ht_reducer *ht__reducer_turn(const ht_reducer *reducer);
ht_reducer *ht__reducers_queued(void); /* the first; NULL: none */

/* reducer_ready.c. Puts the gradient into its slot, or zeros, and sets the flag; complete does it
 * for all parameters that wait for one. verdict: whether this rank misses any, in the last bucket.
 */
void ht__reducer_mark_ready(ht_reducer_param *param);
void ht__reducer_complete(ht_reducer *reducer);
void ht__reducer_set_verdict(const ht_bucket *bucket);
void ht__bucket_set_flag(const ht_bucket *bucket, int flag, double value);

/* reducer_pass.c. A pass of this rank with `weight` begins; idle: it has nothing to give, and all
 * of it is ready at once. Then each gradient becomes ready by its hook. Its parts: note_zeroing
 * finds out whether the next gradient overwrites, and take_over makes a share of an average that is
 * kept. open does the rest; idle ranks are ready at once. break: a pass of this rank failed;
 * lossless: the loss that would begin one is missing. */
ht_status ht__reducer_begin(ht_reducer *reducer, double weight, bool sync, bool idle);
void ht__reducer_note_zeroing(ht_reducer_param *param);
ht_status ht__reducer_take_over(ht_reducer_param *param);
ht_status ht__reducer_open(ht_reducer *reducer, bool idle, bool head_due);
void ht__reducer_ready(ht_tensor *leaf, void *param);
void ht__reducer_filling(ht_tensor *leaf, int64_t n, void *param); /* its first n elements are */
void ht__reducer_break(ht_reducer *reducer, bool lossless, const ht_error_kept *cause);

/* reducer_unit.c. The unit of gradients in a pass that begins. Changes that of one. Without an
 * exchange: an average that is there counts as the mean of this rank's samples. */
double ht__reducer_unit(ht_reducer *reducer, double weight, bool sync);
ht_status ht__reducer_set_unit(ht_reducer_param *param, double unit);
void ht__reducer_keep_own(ht_reducer_param *param);

/* reducer_post.c. Starts the ready buckets of a pass whose turn it is: whether that was the last of
 * it; and of all passes in their turn. post_all: everything of this pass, and of those before it,
 * which have ended too. scale makes a sum the average. */
bool ht__reducer_post(ht_reducer *reducer);
void ht__reducer_queue(ht_reducer *reducer); /* waits for something else post it, too */
void ht__reducer_post_ready(const ht_reducer *reducer);
void ht__reducer_close(ht_reducer *reducer); /* gradients that are not ready contribute zeros */
void ht__reducer_progress(void *reducer);    /* never waits */
ht_status ht__reducer_post_all(ht_reducer *reducer);
double ht__reducer_scale(const ht_reducer *reducer);
bool ht__reducer_is_even(const ht_bucket *bucket); /* one scale for all of its gradients */

/* reducer_head.c. measure: of the pass that begins. start: the head leaves, if there is one. No
 * bucket leaves before it has come: has_head. */
void ht__reducer_measure_head(ht_reducer *reducer);
void ht__reducer_start_head(ht_reducer *reducer);
bool ht__reducer_has_head(ht_reducer *reducer);
void ht__reducer_choose_sharer(ht_reducer *reducer); /* of the pass that begins */

/* A head without a pass after it: its sum is in reducer->head. */
ht_status ht__reducer_ask(ht_reducer *reducer, const ht_pass_head *head, const char *what);

/* reducer_join.c. The work of a rank without data while others have some: takes part in what they
 * do next. And the announcement of those that renew buffers; and a gradient counts no more. */
typedef enum ht_shadow { HT_SHADOW_OVER, HT_SHADOW_PASS, HT_SHADOW_BUFFERS } ht_shadow;
ht_status ht__reducer_shadow(ht_reducer *reducer, ht_shadow *shadow);
ht_status ht__reducer_announce_buffers(ht_reducer *reducer);
void ht__reducer_forget(ht_reducer_param *param);

/* reducer_wait.c. For the average of a bucket; judge: before anything of a pass is used. */
ht_status ht__reducer_wait(ht_reducer *reducer, int bucket);
ht_status ht__reducer_judge(ht_reducer *reducer);

/* reducer_failure.c. Keeps the first failure, with its text; gives it again. told: whether the last
 * error is that one, which all ranks have. */
ht_status ht__reducer_fail(ht_reducer *reducer, ht_status status);
ht_status ht__reducer_status(const ht_reducer *reducer);
bool ht__reducer_told(const ht_reducer *reducer);
/* This rank is broken; the first cause is the one that is reported. spoil: the data of this rank
 * will be invalid, in any pass. */
void ht__reducer_set_broken(ht_reducer *reducer, ht_breakage how, const ht_error_kept *cause);
void ht__reducer_spoil(ht_reducer *reducer, const ht_error_kept *cause);

/* reducer_unused.c. walk: remembers what the outputs of a forward pass depend on. expect: at the
 * start of a pass, marks what it will not reach. */
void ht__reducer_walk(ht_reducer *reducer, const ht_value *outputs);
void ht__reducer_expect(ht_reducer *reducer);
ht_presence ht__reducer_presence(const ht_reducer_param *param, bool has_grad);
void ht__reducer_surprise(const ht_reducer_param *param); /* an unexpected gradient */

/* reducer_report.c. sent: all its sums have been started; look: starts the reports of those that
 * have come and miss something; never waits. name_missing makes the error of the reports. */
void ht__reducer_sent(ht_reducer *reducer);
void ht__reducer_unsent(ht_reducer *reducer);
bool ht__reducers_look(void);
ht_status ht__reducer_name_missing(ht_reducer *reducer); /* collective */
void ht__reducer_end_report(ht_reducer *reducer);
double ht__bucket_flag(const ht_bucket *bucket, int flag);
bool ht__bucket_misses(const ht_bucket *bucket, int flag); /* on some rank */

/* reducer_update.c */
extern const ht_bringing ht__reducer_bringing;
ht_status ht__reducer_step(ht_reducer *reducer, int optimizer);
ht_status ht__reducer_settle(ht_reducer_param *param);          /* waits and updates this one */
bool ht__reducer_comes_in_parts(const ht_reducer_param *param); /* its update may be made so */
ht_status ht__reducer_drain(void *reducer);                     /* all of them */

/* reducer_guard.c. watch: sets or clears the guards of a parameter, by its state. */
void ht__reducer_watch(ht_reducer_param *param);
void ht__reducer_unwatch(ht_reducer_param *param);

/* Whether the pass that runs, or ran last, is one that averages gradients. */
static inline bool ht__reducer_is_synced(const ht_reducer *reducer)
{
    return reducer->pass >= HT_PASS_SYNCED;
}

/* Whether what its average is made of has any weight. */
static inline bool ht__reducer_weighs(const ht_reducer_param *param)
{
    return param->reducer->options.averaging != HT_AVERAGE_WEIGHTED || param->divisor > 0;
}

/* Whether the average of its bucket, which has come, gives it a gradient: some rank had one. */
static inline bool ht__reducer_gives(const ht_bucket *bucket, const ht_reducer_param *param)
{
    return ht__bucket_flag(bucket, param->flag) != 0 && ht__reducer_weighs(param);
}

/* Whether the tensor has a gradient of this or an earlier pass. */
static inline bool ht__reducer_has_grad(const ht_reducer_param *param)
{
    const ht_grad_meta *meta = param->tensor->meta;

    return meta->grad != NULL && !meta->overwrite;
}

#endif
