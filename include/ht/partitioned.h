/* SPDX-License-Identifier: MIT
 *
 * Distributed tensors exchanged with other libraries: which part of them each rank has, and this
 * rank's part, which stays where it is. Source: heat.DNDarray.__partitioned__,
 * heat.from_partitioned. */
#ifndef HT_PARTITIONED_H
#define HT_PARTITIONED_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

typedef struct ht_partition {
    int64_t start[HT_MAX_NDIM]; /* global index of its first element */
    int64_t shape[HT_MAX_NDIM];
    int location; /* the rank that has it */
} ht_partition;

typedef struct ht_partitioned {
    int ndim;
    ht_dtype dtype;
    int64_t shape[HT_MAX_NDIM];
    int64_t tiling[HT_MAX_NDIM]; /* parts along each axis; all 1: every rank has all of it */
    ht_partition *parts;         /* not owned; one for each rank, in their order */
    ht_tensor *local;            /* borrowed: the data of this rank's part; of others nothing */
    ht_comm *comm;               /* borrowed */
} ht_partitioned;

/* *partitioned <- what x is made of; parts: room for as many as there are ranks, which it then
 * refers to. Its local tensor is that of ht_tensor_local, scoped. Not collective. */
HT_API ht_status ht_tensor_partitioned(ht_tensor *x, ht_partitioned *partitioned,
                                       ht_partition parts[]);

/* The tensor of these parts, which shares each rank's memory (ht_from_dlpack makes a local tensor
 * of somebody else's): divided along one axis at most, in the order of the ranks, without gaps. All
 * ranks describe the same parts. No gradient; split along the axis that is divided, or not at all.
 * Collective, agrees. HT_ERR_SHAPE: parts that are no such division, or a local tensor that is not
 * as its part. */
HT_API ht_tensor *ht_from_partitioned(const ht_partitioned *partitioned);

HT_END_DECLS
#endif
