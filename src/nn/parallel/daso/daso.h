/* SPDX-License-Identifier: MIT
 *
 * The inside of DASO: daso.c runs a step, and daso/exchange.c the exchanges that are due after
 * it. */
#ifndef HT_NN_PARALLEL_DASO_DASO_H
#define HT_NN_PARALLEL_DASO_DASO_H

#include "core/exchange/exchange.h"
#include "nn/parallel/daso/schedule.h"
#include "optim/flat_tensors.h"
#include "optim/optim.h"

/* The groups that exchange. The ranks with index k on their nodes are group k. There are as many
 * groups as the smallest node has ranks: those beyond never send, and a node counts by all its
 * ranks. */
typedef struct ht_daso_groups {
    ht_comm *node;        /* owned */
    ht_comm *group;       /* owned; one rank of each node, node by node; NULL: not in a group */
    int count;            /* of groups */
    int nodes;            /* in each */
    int place;            /* of this rank in its node: its group, if that is below `count` */
    double weight;        /* ranks of this node over the mean of all nodes */
    ht_exchange *between; /* not owned; the group's; NULL: not in a group */
    double *node_of;      /* owned; of each rank */
} ht_daso_groups;

/* The data that a group has sent, until they are received. All ranks know them; those of the group
 * have the operations. */
typedef struct ht_daso_flight {
    bool outstanding;
    int group;
    int64_t update;       /* the last one that is in it */
    ht_exchange_op **ops; /* owned; a chunk each; NULL once they are over */
    int op_count;
} ht_daso_flight;

struct ht_daso {
    ht_object base;
    ht_optimizer *optimizer; /* retained */
    ht_comm *comm;           /* retained */
    ht_exchange *everyone;   /* not owned */
    ht_daso_options options; /* its scheduler is retained */
    ht_daso_groups groups;
    ht_daso_schedule schedule;
    ht_module *model;         /* retained; NULL: not set */
    ht_module *wrapper;       /* retained; averages inside the node; NULL: the program does */
    ht_optim_wrapper *scaler; /* retained; updates; NULL: step() does */
    int64_t scaled;           /* its losses at the last step */
    int64_t stepped;          /* steps of the optimizer after the last one; -1: not known */
    int64_t extra;            /* batches in a row before which the program stepped it, too; from 2
                                 on it counts as reported */
    bool skips_sync;          /* gradients of the next batch stay on their ranks */
    int64_t batch, batches;   /* the next one, of how many; 0: not known */
    int64_t updates;          /* so far */
    int64_t sends;            /* so far: whose turn it is */

    ht_flat_tensors *flat;   /* owned; parameters, then buffers, then state tensors */
    int parameters, states;  /* parts of it: to send; before the state tensors, */
    int shared;              /* to average in blocking exchanges */
    ht_tensor *values;       /* owned; its view of the parameters */
    ht_flat_tensors *agreed; /* owned; last values common to all ranks; NULL: unused */
    ht_tensor *outer;        /* owned; momentum of outer steps; NULL: there are none */
    ht_tensor *travelling;   /* owned; parameters on their way between nodes */
    ht_daso_flight flight;
    ht_daso_report report;
    const ht_error_kept *failure; /* not owned; of this rank, which its data report; NULL: none */
};

/* The phase and skips, as a line of the log. */
void ht__daso_tell(const ht_daso *daso);

/* daso/groups.c. Collective over `comm`. False after an error. */
bool ht__daso_groups_init(ht_daso_groups *groups, ht_comm *comm);
void ht__daso_groups_fini(ht_daso_groups *groups);

/* daso/options.c. Collective over `comm`, agrees. */
ht_status ht__daso_check_options(const char *what, const ht_optimizer *optimizer, ht_comm *comm,
                                 const ht_daso_options *options, int64_t total_epochs);

/* daso/model.c. The model, all ranks having the same values. NULL wrapper: there is none. `what`
 * names the caller. Agrees. */
ht_status ht__daso_adopt(const char *what, ht_daso *daso, ht_module *model, ht_module *wrapper);
/* Sets the number of batches of an epoch, the same on all ranks. `what` names the caller.
 * Collective. */
ht_status ht__daso_set_batches(const char *what, ht_daso *daso, int64_t batches);
/* Waits for pending exchanges; the wrapper averages inside nodes again. */
void ht__daso_drop_model(ht_daso *daso);
/* Whether the batch that comes is averaged inside nodes. */
ht_status ht__daso_prepare(ht_daso *daso);

/* daso/buffers.c. For daso->model, from the values it has; HT_ERR_SHAPE, on all ranks, where they
 * have models of different sizes. Collective. fini waits for pending exchanges. */
ht_status ht__daso_buffers_init(const char *what, ht_daso *daso);
void ht__daso_buffers_fini(ht_daso *daso);

/* With exchange_momentum: the optimizer's state tensors take their places. They are others
 * once a state was loaded, and more once a momentum has begun. averaged: as of
 * ht__daso_agree_states. Collective. */
ht_status ht__daso_renew_states(const char *what, ht_daso *daso, bool averaged);

/* daso/state_optimizer.c. Makes the state tensors of the optimizer that updates use, and those that
 * another rank has. averaged: the ranks are about to take their means, so that the next update uses
 * a tensor that an update of any rank has used. Collective, agrees. Then the tensors that there
 * are, at the end of the list. */
ht_status ht__daso_agree_states(const char *what, ht_daso *daso, bool averaged);
void ht__daso_list_states(const ht_optimizer *optimizer, ht_value *list);

/* Whether blocking exchanges travel in 16 bits. */
static inline bool ht__daso_rounds(const ht_daso *daso)
{
    return daso->options.downcast_type != HT_FLOAT32 && daso->flat->all->body->dtype == HT_FLOAT32;
}

/* daso/layout.c. The nodes of a state's ranks against this job's; the text of both. */
typedef char ht_daso_layout_text[128];
bool ht__daso_same_layout(const ht_daso *daso, const double *nodes, int64_t ranks);
void ht__daso_describe_layouts(const ht_daso *daso, const double *nodes, int64_t ranks,
                               ht_daso_layout_text theirs, ht_daso_layout_text ours);

/* daso/failure.c. answer: begins the pass that other ranks begin, if a forward pass has failed here
 * and no backward pass followed. check: the error of a backward pass that has failed here; waits: or
 * on another rank of the node. averages: the pass of the current batch, whose loss has this number,
 * is averaged in the node. fail, after an error in the batch of loss number `loss`: takes part
 * in exchanges until all ranks have the error, and returns it. */
void ht__daso_answer(const ht_daso *daso);
ht_status ht__daso_check_pass(const ht_daso *daso, bool waits);
bool ht__daso_averages(const ht_daso *daso, int64_t loss);
ht_status ht__daso_fail(ht_daso *daso, int64_t loss);

/* daso/exchange.c. The actions due after the batch; receives pending exchanges. Filled into
 * daso->report. */
ht_status ht__daso_exchange(ht_daso *daso);
ht_status ht__daso_receive(ht_daso *daso);

#endif
