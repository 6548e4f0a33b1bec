/* SPDX-License-Identifier: MIT
 *
 * Batch normalisation with statistics over the ranks of a communicator, for the layers. */
#ifndef HT_NN_FUNCTIONAL_NORM_BATCH_NORM_H
#define HT_NN_FUNCTIONAL_NORM_BATCH_NORM_H

#include "nn/functional/functional.h"

typedef struct ht_batch_norm {
    const char *what;        /* the public call, and the layer (ht__layer_name); for messages */
    ht_comm *comm;           /* statistics are over its ranks; not owned */
    int64_t features;        /* of a layer on all ranks of it; 0: errors are the same on them */
    ht_tensor *running_mean; /* (C), or NULL: nothing is tracked; not owned */
    ht_tensor *running_var;
    ht_tensor *weight, *bias; /* (C), or NULL; not owned */
    bool batch_statistics;    /* of this batch, else the running ones */
    bool track;               /* the running ones follow */
    double momentum, eps;
} ht_batch_norm_job;

/* "CALL in LAYER", from ht__name; `call` itself where the path is empty: a root has no name. */
const char *ht__layer_name(const char *call, const char *path);

/* x (N, C, ...) -> the same shape and layout. Collective over job->comm where batch statistics are
 * taken; scoped. */
ht_tensor *ht__batch_norm(ht_tensor *x, const ht_batch_norm_job *job);

/* In its place on a rank that has no x, because of an error: the others get one. */
void ht__batch_norm_missed(const ht_batch_norm_job *job);

#endif
