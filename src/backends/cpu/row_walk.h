/* SPDX-License-Identifier: MIT
 *
 * The outer axes of an ht_loop: a kernel handles one row (the innermost axis) at a time.
 *
 *     row_walk walk;
 *     for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 2, sizes))
 *         ... walk.at[k] is the first element of operand k in this row ... */
#ifndef HT_BACKENDS_CPU_ROW_WALK_H
#define HT_BACKENDS_CPU_ROW_WALK_H

#include "ht/backend.h"

typedef struct row_walk {
    const ht_loop *loop;
    char *at[HT_LOOP_OPERANDS];
    int64_t index[HT_MAX_NDIM];
} row_walk;

/* False when there is no element at all. */
static inline bool row_walk_begin(row_walk *walk, const ht_loop *loop)
{
    walk->loop = loop;
    for (int k = 0; k < HT_LOOP_OPERANDS; k++)
        walk->at[k] = loop->operand[k].data != NULL ? loop->operand[k].data
                                                    : (char *)loop->value[k].bytes;
    for (int axis = 0; axis < loop->ndim; axis++) {
        if (loop->shape[axis] == 0)
            return false;
        walk->index[axis] = 0;
    }
    return true;
}

/* To the next row; false after the last. size[k] is the bytes of an element of operand k. */
static inline bool row_walk_next(row_walk *walk, int operands, const size_t size[])
{
    const ht_loop *loop = walk->loop;

    for (int axis = loop->ndim - 2; axis >= 0; axis--) {
        bool last = ++walk->index[axis] == loop->shape[axis];
        int64_t steps = last ? 1 - loop->shape[axis] : 1;

        for (int k = 0; k < operands; k++)
            walk->at[k] += steps * loop->stride[k][axis] * (int64_t)size[k];
        if (!last)
            return true;
        walk->index[axis] = 0;
    }
    return false;
}

/* The parameters of a kernel: all of ht_loop.param, loaded once, before the rows. */
/* clang-format off */
#define ROW_PARAMS(loop) { \
    (PARAM)(loop)->param[0], (PARAM)(loop)->param[1], \
    (PARAM)(loop)->param[2], (PARAM)(loop)->param[3] }
/* clang-format on */

static inline int64_t row_length(const ht_loop *loop)
{
    return loop->shape[loop->ndim - 1];
}

static inline int64_t row_stride(const ht_loop *loop, int operand)
{
    return loop->stride[operand][loop->ndim - 1];
}

#endif
