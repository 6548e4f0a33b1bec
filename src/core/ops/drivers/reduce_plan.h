/* SPDX-License-Identifier: MIT
 *
 * The plan of the reduce driver. */
#ifndef HT_CORE_OPS_DRIVERS_REDUCE_PLAN_H
#define HT_CORE_OPS_DRIVERS_REDUCE_PLAN_H

#include "core/ops/drivers/drivers.h"

/* Sets of axes have a bit for each. */
typedef struct ht_reduce_plan {
    uint32_t reduced;
    bool across; /* ranks hold partial results */
    int ndim, split;
    int64_t count; /* elements that make one of the result */
    int64_t shape[HT_MAX_NDIM];
    int axis_of[HT_MAX_NDIM]; /* axis of the input behind each axis of the output; -1: none */
} ht_reduce_plan;

/* Reduced axes are dropped, but those of `kept` stay with length 1. */
ht_reduce_plan ht__reduce_plan(const ht_body *x, uint32_t reduced, uint32_t kept);

/* The arguments of a kernel other than plan and input. */
typedef struct ht_reduce_job {
    const char *name;
    ht_kernel kernel;
    ht_reduce_op across;
    double divisor;
    ht_tensor *positions; /* positions; NULL: none */
} ht_reduce_job;

/* y from this rank's part of x. */
ht_status ht__reduce_local(const ht_reduce_job *job, const ht_reduce_plan *plan, ht_tensor *x,
                           ht_tensor *y);

/* New memory for a result. */
ht_tensor *ht__reduce_result(const char *what, const ht_body *x, const ht_reduce_plan *plan,
                             ht_dtype dtype);

#endif
