/* SPDX-License-Identifier: MIT
 *
 * A training job: what it works on, and how far it is. */
#ifndef MNIST_JOB_H
#define MNIST_JOB_H

#include "ht.h"
#include "images.h"
#include "options.h"
#include "parallel.h"
#include "report.h"

/* Within the run, and within an epoch that has begun. */
struct progress {
    int64_t epoch, step; /* that are done; step 0: the epoch has not begun */
    int64_t total;       /* steps of all epochs */
    double loss, rows;   /* sums over the steps, of this rank; after a resume rank 0 has them all */
    double seconds;      /* of training, before this process */
};

struct job {
    struct options options;
    struct images images;
    struct report report;
    struct progress progress;
    bool stopped; /* by a signal, and saved */
    bool failed;  /* something that was asked for could not be written */
    ht_module *net;
    struct parallel parallel; /* wraps it */
    ht_optimizer *optimizer;
    ht_scheduler *scheduler;
};

/* Sums (or the like) over all ranks, in place. */
void sum_over_ranks(double values[], int64_t count, ht_reduce_op op);

/* Writes everything that the job needs to go on to --save. */
void job_save(struct job *job);

/* Goes on from --resume. Returns NULL, or the fault. */
const char *job_resume(struct job *job);

/* The parameters in --load. */
void job_load_parameters(struct job *job);

#endif
