/* SPDX-License-Identifier: MIT
 *
 * Exchange of split tensors with other libraries: a description of the part of each rank, and
 * this rank's part, which is not copied. Source: heat.DNDarray.__partitioned__,
 * heat.from_partitioned. */
#ifndef HT_PARTITIONED_H
#define HT_PARTITIONED_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* The part of one rank. */
typedef struct ht_partition {
    int64_t start[HT_MAX_NDIM]; /* global index of its first element */
    int64_t shape[HT_MAX_NDIM];
    int location; /* rank that has this part */
} ht_partition;

/* A split tensor, described by the parts of its ranks. */
typedef struct ht_partitioned {
    int ndim;
    ht_dtype dtype;
    int64_t shape[HT_MAX_NDIM];
    int64_t tiling[HT_MAX_NDIM]; /* parts along each axis; all 1: every rank has all of it */
    ht_partition *parts;         /* not owned; one for each rank, in rank order */
    ht_tensor *local;            /* borrowed; this rank's part alone */
    ht_comm *comm;               /* borrowed */
} ht_partitioned;

/* Describes x: *partitioned <- its shape, dtype, parts and local part.
 *
 * partitioned: receives the description. Its `local` is ht_tensor_local(x), scoped.
 * parts: room for one part for each rank, to which the description then refers.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT if partitioned or parts is NULL. */
HT_API ht_status ht_tensor_partitioned(ht_tensor *x, ht_partitioned *partitioned,
                                       ht_partition parts[]);

/* Returns the tensor that partitioned describes. It shares each rank's memory.
 *
 * partitioned: the same parts on all ranks. They divide one axis at most, in the order of the
 * ranks, without gaps. ht_from_dlpack makes `local` from memory of another library.
 * Collective over its comm, agrees. Not differentiable.
 * Result: scoped, split along the divided axis in the slabs of the parts, or without a split; on
 * one rank without a split. It is read-only if `local` is.
 * Errors: HT_ERR_SHAPE if the parts are not such a division, or if `local` has another shape than
 * its part. HT_ERR_DTYPE if it has another dtype. HT_ERR_ARGUMENT if ranks describe different
 * parts, if parts, local or comm is NULL, and for an ndim out of range. */
HT_API ht_tensor *ht_from_partitioned(const ht_partitioned *partitioned);

HT_END_DECLS
#endif
