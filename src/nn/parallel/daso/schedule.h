/* SPDX-License-Identifier: MIT
 *
 * DASO's decisions, without any communication: how often nodes exchange parameters in an epoch, and
 * which exchanges are due after one batch. All ranks make the same decisions from the same loss. */
#ifndef HT_NN_PARALLEL_DASO_SCHEDULE_H
#define HT_NN_PARALLEL_DASO_SCHEDULE_H

#include "ht/daso.h"

typedef struct ht_daso_schedule {
    int64_t total_epochs, warmup_epochs, cooldown_epochs;
    int64_t max_global_skips, skip_reduction_factor, local_skip_factor;
    ht_plateau_detector *detector; /* owned */
    int64_t epoch;                 /* the one that runs, from 0 */
    ht_daso_phase phase;           /* of that epoch, */
    int64_t global_skip; /* batches from one global exchange to the next; 0: blocking, after each */
    int64_t local_skip;  /* batches from one local averaging of gradients to the next; 0 is 1 */
    int64_t wait;        /* batches from sending to receiving */
} ht_daso_schedule;

/* The action of batch `batch` of `batches` after its update. */
typedef struct ht_daso_actions {
    bool receive;  /* and merge pending exchanges */
    bool send;     /* then, without waiting */
    bool blocking; /* or the mean over all ranks, at once */
} ht_daso_actions;

/* The settings are in place; begins epoch 0. */
void ht__daso_schedule_reset(ht_daso_schedule *schedule);

/* The epoch and the skips come from a state, perhaps of a run with other phases: finds the phase,
 * and skips that belong to it. */
void ht__daso_schedule_resume(ht_daso_schedule *schedule);

/* The epoch has ended, with this mean loss: decides about the next. */
void ht__daso_schedule_epoch(ht_daso_schedule *schedule, double loss);

ht_daso_actions ht__daso_schedule_actions(const ht_daso_schedule *schedule, int64_t batch,
                                          int64_t batches);

/* Whether gradients of this batch are averaged inside the nodes. */
bool ht__daso_schedule_local_sync(const ht_daso_schedule *schedule, int64_t batch, int64_t batches);

#endif
