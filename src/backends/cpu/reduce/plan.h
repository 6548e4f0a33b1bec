/* SPDX-License-Identifier: MIT
 *
 * How a reduction walks its input. There are three ways:
 * - A block of outputs is folded together, one reduced element after the other. This is chosen if
 *   the outputs lie nearer to each other than the reduced elements, or if the latter are few.
 * - A few adjacent outputs, in rows without gaps, are folded over lanes of accumulators for several
 *   rows at once, which are merged at the end.
 * - Each output is folded by itself, over these lanes. */
#ifndef HT_BACKENDS_CPU_REDUCE_PLAN_H
#define HT_BACKENDS_CPU_REDUCE_PLAN_H

#include <stdlib.h>

#include "backends/cpu/row_walk.h"
#include "ht/kernels/reduce.h"

#define HT_REDUCE_BLOCK   1024 /* accumulators stay in the first cache */
#define HT_REDUCE_LANES   64   /* enough to hide the latency of an addition */
#define HT_REDUCE_WIDE    128  /* lanes of several outputs */
#define HT_REDUCE_SHORT   32   /* lanes of one output with few elements */
#define HT_REDUCE_SHIFTED 512  /* outputs with several accumulators each */

/* The dtype in which a sum is stored. */
enum { HT_SUM_TOTAL, HT_SUM_WIDE, HT_SUM_MEAN };

static inline int64_t reduce_count(const ht_reduction *r)
{
    int64_t count = 1;

    for (int axis = 0; axis < r->ndim; axis++)
        count *= r->shape[axis];
    return count;
}

static inline bool reduce_by_blocks(const ht_reduction *r)
{
    if (reduce_count(r) <= HT_REDUCE_LANES)
        return true;
    return row_length(&r->loop) >= 8 &&
           llabs(row_stride(&r->loop, 1)) < llabs(r->stride[r->ndim - 1]);
}

/* How many outputs are folded side by side, over HT_REDUCE_WIDE lanes; 0: none. */
static inline int64_t reduce_narrow(const ht_reduction *r)
{
    const int64_t m = row_length(&r->loop);

    if (m < 2 || m > HT_REDUCE_WIDE / 2 || row_stride(&r->loop, 1) != 1 ||
        r->stride[r->ndim - 1] != m || reduce_count(r) <= HT_REDUCE_LANES)
        return 0;
    return m;
}

/* How many outputs are folded together. */
static inline int64_t reduce_block(const ht_reduction *r)
{
    const int64_t narrow = reduce_narrow(r);

    return narrow > 0 ? narrow : reduce_by_blocks(r) ? HT_REDUCE_BLOCK : 1;
}

/* The reduced axes as a loop over one operand, whose first element is set for each walk. */
static inline ht_loop reduce_inner(const ht_reduction *r)
{
    ht_loop inner = {.ndim = r->ndim};

    for (int axis = 0; axis < r->ndim; axis++) {
        inner.shape[axis] = r->shape[axis];
        inner.stride[0][axis] = r->stride[axis];
    }
    return inner;
}

#endif
