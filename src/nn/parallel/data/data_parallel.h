/* SPDX-License-Identifier: MIT
 *
 * The inside of the data-parallel wrapper: its struct, and the start. */
#ifndef HT_NN_PARALLEL_DATA_DATA_PARALLEL_H
#define HT_NN_PARALLEL_DATA_DATA_PARALLEL_H

#include "nn/module/module.h"
#include "nn/parallel/data/reducer/reducer.h"

typedef struct ht_data_parallel ht_data_parallel;
typedef struct ht_dp_list ht_dp_list;

/* How one optimizer's step comes to the wrapper. */
typedef struct ht_dp_stepping {
    ht_data_parallel *dp; /* not owned */
    int index;            /* of the optimizer */
    ht_optimizer_deferral deferral;
} ht_dp_stepping;

/* A module without children, and the parameters that are its own. */
typedef struct ht_dp_layer {
    ht_module *module;         /* not owned */
    ht_reducer_param **params; /* owned array */
    int count;
    ht_forward_observer observer; /* of the module */
} ht_dp_layer;

/* A forward pass whose backward pass has not begun. */
typedef struct ht_dp_forward {
    uint64_t begin, end; /* the numbers of the nodes that it made: begin < number <= end */
    ht_origin *origin;   /* retained; of these nodes */
    double weight;       /* of this rank's batch */
    int64_t rows[2];     /* where the weight is NAN: those of two inputs, which disagree */
    bool sync;
    bool reached; /* by the backward pass that begins */
    bool lost;    /* the pass of other ranks that begins may be of it, and this one has no loss */
    bool failed;  /* or one that got its result did: the error has taken the loss of both */
    bool superseded; /* by a later one that failed, too */
} ht_dp_forward;

typedef enum ht_join {
    HT_JOIN_NONE,
    HT_JOIN_DISABLED,
    HT_JOIN_SHADOWING,
    HT_JOIN_THROWING
} ht_join;

struct ht_data_parallel {
    ht_dp_list *list;          /* that has it (data/known.c); NULL: none */
    ht_data_parallel *next;    /* in it; not owned */
    ht_module *module;         /* slot 0; owned by it */
    ht_comm *comm;             /* retained */
    ht_optimizer **optimizers; /* owned array of retained ones */
    int optimizer_count;
    ht_dp_stepping *steppings; /* owned; one each */
    ht_reducer *reducer;       /* owned */
    ht_module_guard guard;
    ht_dp_layer **layers; /* owned */
    int layer_count;
    ht_reducer_param **loose; /* owned array; parameters that no layer has for itself */
    int loose_count;
    bool sync;            /* of the forward passes to come, */
    int no_sync;          /* unless this many no_sync regions are open */
    double weight;        /* of the next backward pass, as set; NAN: from the batch */
    int64_t rows[2];      /* of the last forward pass's inputs: the first, and one that differs */
    ht_dp_forward *armed; /* owned; in their order */
    int armed_count, armed_capacity;
    ht_origin *origin;    /* retained; of the forward pass that runs, the innermost; NULL: none */
    bool pass_sync;       /* of the backward pass that begins: what its forward pass decided, */
    double pass_weight;   /* and its weight */
    bool begins;          /* it is one of this wrapper */
    int group;            /* passes of the unfinished group; 0: none */
    int skipped;          /* steps that did nothing in this group */
    ht_tensor **kept;     /* owned array of owned ones; by parameter, its gradient as the unfinished
                           * group of a mean found it; NULL: none */
    bool owed;            /* no step since the last group was complete */
    bool unanswered;      /* the last forward pass failed here, and no backward pass began since */
    bool buffers_current; /* no synchronised pass since buffers, if any, were last broadcast */
    ht_join join;
    bool met;            /* in a throwing join: for a forward pass since the last backward pass */
    int64_t join_passes; /* forward passes in it */
    ht_data_parallel *next_joining;
};

/* ht_data_parallel_backward; errors name the public function `what`. */
ht_status ht__dp_backward(const char *what, ht_data_parallel *dp, ht_tensor *loss);

/* wrapper.c. The struct of a data-parallel wrapper; NULL for another module. */
ht_data_parallel *ht__dp_of(ht_module *module);
/* The same; NULL after an error. */
ht_data_parallel *ht__dp_get(const char *what, ht_module *wrapper);
extern const char ht__dp_type_name[];

/* data/known.c. Between enter and exit, which nest, the wrappers that ran forward on this thread
 * stay; the first of them. One more, again: nothing changes; one fewer, on any thread. */
ht_data_parallel *ht__dp_enter(void);
void ht__dp_exit(void);
ht_data_parallel *ht__dp_known(void);
void ht__dp_get_known(ht_data_parallel *dp);
void ht__dp_leave_known(ht_data_parallel *dp);

/* data/accumulate.c. Whether a forward pass that began now would be synchronised; a
 * backward pass begins: whether it is. Its seed's factor. Whether step() or zero_grad() comes in
 * the middle of a group. Makes gradients that stayed on this rank the mean over its
 * samples, unless they are already. Ends the unfinished group. */
bool ht__dp_syncs(const ht_data_parallel *dp);
ht_status ht__dp_count_pass(ht_data_parallel *dp, bool *sync);
double ht__dp_seed_scale(const ht_data_parallel *dp);
bool ht__dp_waits(ht_data_parallel *dp, bool to_step);
ht_status ht__dp_average_own(ht_data_parallel *dp);
void ht__dp_forget_kept(ht_data_parallel *dp);
ht_status ht__dp_flush(ht_data_parallel *dp);

/* data/armed.c. Begins a forward pass, whose backward pass of this weight will begin by itself. The
 * pass makes no more nodes, and the outer one (dp->origin before; NULL: none) continues. Ends it.
 * The pass that runs; NULL if it has no backward pass. The wrapper ends. */
void ht__dp_arm(ht_data_parallel *dp, bool sync, double weight);
void ht__dp_close(ht_data_parallel *dp, ht_origin *outer);
void ht__dp_armed(ht_data_parallel *dp);
ht_dp_forward *ht__dp_open(ht_data_parallel *dp);
void ht__dp_forget(ht_data_parallel *dp);

/* data/dropped.c. Forgets waiting forward passes: those of a wrapper for which is_one is true, and
 * returns whether there was one; all of a wrapper; those of any wrapper whose graph the program has
 * dropped. */
bool ht__dp_forget_those(ht_data_parallel *dp, bool (*is_one)(const ht_dp_forward *forward));
void ht__dp_disarm(ht_data_parallel *dp);
void ht__dp_disarm_dropped(void);

static inline bool ht__dp_has_made(const ht_dp_forward *forward, uint64_t number)
{
    return number > forward->begin && number <= forward->end;
}

/* data/lost.c. Begins a pass on a rank without rows. Begins one on a rank that cannot use its loss,
 * and reports that to all. Begins one on a rank that lost its loss by an error: of this wrapper, or
 * of all that the loss may belong to. Whether a waiting forward pass has failed. */
ht_status ht__dp_begin_idle(ht_data_parallel *dp);
ht_status ht__dp_begin_broken(ht_data_parallel *dp);
ht_status ht__dp_begin_counted(ht_data_parallel *dp, bool sync); /* the same, counted already */
ht_status ht__dp_begin_lost(ht_data_parallel *dp);
void ht__dp_all_lost(void);
bool ht__dp_any_failed(void);

/* data/failed.c. The forward pass that has not ended has failed; or it misses its inputs. */
void ht__dp_failed(ht_data_parallel *dp, const ht_value *inputs);
void ht__dp_missed(ht_data_parallel *dp);

/* data/join.c. Throwing: whether all ranks have data, before a forward pass. is_refused: the last
 * error is that they have not: no rank made the forward pass, so no rank begins a backward pass.
 * Shadowing: tells ranks out of data that buffers are renewed; whose count. leave: the end, however
 * it came. */
ht_status ht__dp_meet(ht_data_parallel *dp, bool going);
bool ht__dp_is_refused(void);
ht_status ht__dp_join_buffers(ht_data_parallel *dp, int *root);
void ht__dp_leave_join(ht_data_parallel *dp);

/* data/data_parallel.c. As ht_nn_data_parallel_ext, in the name of the public function `what`. */
ht_module *ht__dp_wrap(const char *what, ht_module *module, ht_comm *comm, ht_optimizer *optimizer,
                       const ht_data_parallel_options *options);

/* data/options.c. Records the error, and leaves it to ht__dp_check to report it. */
ht_status ht__dp_check_options(const ht_data_parallel_options *options);

/* data/start.c. Whether all ranks can wrap their modules, and bring the same; `status` is
 * what this rank knows already. Then rank 0's state goes to all. Collective, agrees. */
ht_status ht__dp_check(ht_module *module, ht_comm *comm, const ht_data_parallel_options *options,
                       ht_status status);
ht_status ht__dp_broadcast_state(ht_module *module, ht_comm *comm, int count,
                                 ht_optimizer *const optimizers[], int root);
ht_status ht__dp_broadcast_buffers(ht_module *module, ht_comm *comm, int root);

/* data/buffers.c. Before a forward pass: broadcasts rank 0's buffers if a synchronised pass has
 * changed them. If ranks wait for each other in the forward pass, the error of the last pass comes
 * first. left_out: for a forward pass that this rank left out, unless it was dropped or lost. share:
 * always broadcasts, because any training forward pass may have written buffers, on other ranks
 * alone. Collective. */
ht_status ht__dp_renew_buffers(ht_data_parallel *dp, bool left_out);
ht_status ht__dp_share_buffers(ht_module *wrapper);

/* data/layers.c. Finds the owner of each parameter, and sets the layers' work before forward; then
 * takes it away again. A layer whose passes need every rank (SyncBatchNorm over several); NULL:
 * there is none. */
void ht__dp_hook_layers(ht_data_parallel *dp);
void ht__dp_unhook_layers(ht_data_parallel *dp);
const ht_module *ht__dp_collective_layer(const ht_data_parallel *dp);

#endif
