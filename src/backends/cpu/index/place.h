/* SPDX-License-Identifier: MIT
 *
 * The place in x of a row of indices. For C, and for kernels of other devices. */
#ifndef HT_BACKENDS_CPU_INDEX_PLACE_H
#define HT_BACKENDS_CPU_INDEX_PLACE_H

#include "core/base/half.h" /* HT_INLINE */
#include "ht/kernels/index.h"

/* In elements from the beginning of x to the place of a row; false: x does not have it here. */
HT_INLINE bool ht__find_place(const ht_index_call *c, int64_t row, int64_t *offset)
{
    *offset = 0;
    for (int k = 0; k < c->axes; k++) {
        const ht_indexed_axis *axis = &c->axis[k];
        int64_t at = ((const int64_t *)axis->at.data)[row * axis->at_step];

        at += (at < 0 ? axis->length : 0) - axis->start;
        if ((uint64_t)at >= (uint64_t)axis->count)
            return false;
        *offset += at * axis->stride;
    }
    return true;
}

#endif
