/* SPDX-License-Identifier: MIT
 *
 * The plan of the broadcasting driver. */
#ifndef HT_CORE_OPS_DRIVERS_BROADCAST_PLAN_H
#define HT_CORE_OPS_DRIVERS_BROADCAST_PLAN_H

#include "core/ops/drivers/drivers.h"

typedef struct ht_broadcast_plan {
    int ndim, split;
    int64_t shape[HT_MAX_NDIM];
    const ht_tensor *first; /* of the operands that are tensors, where there is one; the first of
                               all else: on whose communicator and device it is computed */
    ht_bounds *bounds;      /* borrowed from the operand that sets the split */
    ht_dtype dtype;         /* that it is computed in */
} ht_broadcast_plan;

static inline bool ht__is_number(const ht_tensor *x)
{
    return x->body->number != NULL;
}

/* The name of operand k in messages: a, b, c; a and b if there is a mask, too. */
const char *ht__broadcast_name(const ht_broadcast_op *op, int k);

/* Plans the operands that are not NULL. False after an error: they are on different communicators
 * or devices, do not broadcast, or have a dtype without a kernel. */
bool ht__broadcast_plan(const ht_broadcast_op *op, int count, ht_tensor *const in[],
                        ht_broadcast_plan *plan);
ht_dtype ht__broadcast_dtype(const ht_broadcast_op *op, int k, const ht_broadcast_plan *plan);

/* The operand's own axis that the plan splits; HT_NONE where it has none or broadcasts along it. */
int ht__broadcast_split(const ht_body *x, const ht_broadcast_plan *plan);

/* The operand with a split that fits the plan: replicated, or cut into the plan's slabs. */
ht_tensor *ht__broadcast_align(const char *what, ht_tensor *x, const ht_broadcast_plan *plan);

#endif
