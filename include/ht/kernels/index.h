/* SPDX-License-Identifier: MIT
 *
 * Rows that an index names. A row: name, and the struct that the kernel is given. */
#ifndef HT_KERNELS_INDEX_H
#define HT_KERNELS_INDEX_H

#include "ht/backend.h"

/*   TAKE      row i of the one operand <- the place in x that index i names
 *   PUT       that place <- row i, one row after another, so that of several the last stays
 *   PUT_ADD   the same, added to what is there
 *   NONZERO   the places of the elements of a mask that are not 0 */
#define HT_INDEX_KERNELS(X) \
    X(TAKE, ht_index_call)  \
    X(PUT, ht_index_call) X(PUT_ADD, ht_index_call) X(NONZERO, ht_nonzero_call)

/* Along one axis of x: index i, int64, is at[i * at_step], from -length to length - 1; x has
 * `count` from `start` on here. */
typedef struct ht_indexed_axis {
    ht_kernel_operand at;
    int64_t at_step, length, start, count;
    int64_t stride; /* of x */
} ht_indexed_axis;

/* `loop` runs over the elements of a row: operand 0 what is written, 1 what is read; x is the one
 * that it points to the beginning of (1 of TAKE, else 0), the other one has rows `row_step` apart.
 * A place that x does not have here is left out. The call's table is `axis`. */
typedef struct ht_index_call {
    ht_loop loop;
    int64_t rows, row_step;
    int axes;
    ht_indexed_axis axis[HT_MAX_NDIM];
} ht_index_call;

/* Of bool: row k of `at` (count, ndim) <- the indices of the k-th of `count` that are set, in
 * row-major order, each with `start` of its axis added. */
typedef struct ht_nonzero_call {
    ht_kernel_call call;
    ht_kernel_operand mask, at; /* at: int64 */
    int ndim;
    int64_t shape[HT_MAX_NDIM], stride[HT_MAX_NDIM], start[HT_MAX_NDIM];
    int64_t count;
} ht_nonzero_call;

#define HT_KERNEL_ID(name, type) HT_KERNEL_##name,
enum {
    HT_KERNEL_BEFORE_INDEX = HT_KERNELS_INDEX - 1,
    HT_INDEX_KERNELS(HT_KERNEL_ID) HT_KERNELS_INDEX_END
};
#undef HT_KERNEL_ID

#endif
