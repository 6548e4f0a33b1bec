/* SPDX-License-Identifier: MIT
 *
 * How the ranks train together (--parallel): all average gradients after each batch (dp), or those
 * of a node do, and nodes average parameters now and then: by DASO, or plainly after a fixed number
 * of steps (hierarchical). */
#ifndef MNIST_PARALLEL_H
#define MNIST_PARALLEL_H

#include "ht.h"
#include "options.h"

struct parallel {
    const struct options *options;      /* not owned */
    ht_module *model;                   /* owned; wraps the net */
    ht_optimizer *optimizer;            /* not owned */
    ht_daso *daso;                      /* owned; NULL: another way */
    ht_hierarchical_averager *averager; /* likewise */
    ht_comm *node;                      /* owned; the ranks of this node; NULL: not needed */
    ht_daso_report shown;               /* what the last line about DASO said; epoch -1: none yet */
    /* DASO: whether a rank is to stop, agreed a few steps later without waiting. */
    ht_request *asking; /* owned */
    ht_tensor *asked;   /* owned */
    int64_t steps;
};

/* `steps`: of an epoch. Collective. */
void parallel_open(struct parallel *parallel, const struct options *options, ht_module *net,
                   ht_optimizer *optimizer, int64_t steps);
void parallel_close(struct parallel *parallel);

/* Backward pass and update; loss NULL: no rows on this rank. Collective. */
void parallel_step(struct parallel *parallel, ht_tensor *loss);

/* After a step: whether all ranks stop here, since one of them was told to (`wanted`, on this one)
 * some steps ago. With hierarchical averaging only between epochs, where the others never do. */
bool parallel_stops(struct parallel *parallel, bool wanted);
bool parallel_stops_between_epochs(struct parallel *parallel, bool wanted);

/* The last step of an epoch is done: afterwards all ranks hold the same. Collective. */
void parallel_finish_steps(struct parallel *parallel);

/* `loss`: the epoch's, over all ranks. Collective. */
void parallel_end_epoch(struct parallel *parallel, double loss);

/* A line on rank 0 where DASO's phase, skips or wait are others than in the line before. */
void parallel_tell(struct parallel *parallel);

bool parallel_cools_down(const struct parallel *parallel); /* DASO's last phase */

/* Puts the state for --save beyond model and optimizer into `state`; and back, after these. NULL,
 * or the fault. Collective. */
void parallel_save(struct parallel *parallel, ht_value *state);
const char *parallel_resume(struct parallel *parallel, const ht_value *state);

#endif
