/* SPDX-License-Identifier: MIT
 *
 * The mask and the dropout of attention. For C, and for kernels of other devices. */
#ifndef HT_BACKENDS_CPU_NN_ATTENTION_H
#define HT_BACKENDS_CPU_NN_ATTENTION_H

#include "core/base/half.h" /* HT_INLINE */
#include "ht/kernels/nn.h"

/* The first element of mask that belongs to row `row` of matrix b. */
HT_INLINE int64_t ht__mask_offset(const ht_attention_call *a, int64_t b, int64_t row)
{
    int64_t offset = row * a->mask_stride[a->leads];

    for (int axis = a->leads - 1; axis >= 0; axis--) {
        offset += b % a->lead[axis] * a->mask_stride[axis];
        b /= a->lead[axis];
    }
    return offset;
}

/* The factor of a weight that dropout keeps. */
HT_INLINE double ht__keep_scale(const ht_random_draw *draw)
{
    return draw->a < 1 ? 1 / (1 - draw->a) : 0;
}

#endif
