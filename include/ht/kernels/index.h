/* SPDX-License-Identifier: MIT
 *
 * Reading and writing rows of a tensor by index. A row of the list has the name of a kernel and the
 * struct of its arguments. */
#ifndef HT_KERNELS_INDEX_H
#define HT_KERNELS_INDEX_H

#include "ht/backend.h"

/*   TAKE      copies the row of x at index i to row i of the other operand;
 *   PUT       copies row i to the row of x at index i, in order, so that the last one
 *             of equal indices counts;
 *   PUT_ADD   adds row i to the row of x at index i;
 *   NONZERO   lists the indices at which a mask is not 0;
 *   RESAMPLE_FORWARD and _BACKWARD  give weighted sums of elements along an axis. */
#define HT_INDEX_KERNELS(X)     \
    X(TAKE, ht_index_call)      \
    X(PUT, ht_index_call)       \
    X(PUT_ADD, ht_index_call)   \
    X(NONZERO, ht_nonzero_call) \
    X(RESAMPLE_FORWARD, ht_resample_call) X(RESAMPLE_BACKWARD, ht_resample_call)

/* The indices along one axis of x. Index i is at[i * at_step], int64, from -length to length - 1.
 * This rank has the indices start ... start + count - 1 of the axis. */
typedef struct ht_indexed_axis {
    ht_kernel_operand at;
    int64_t at_step, length, start, count;
    int64_t stride; /* of x */
} ht_indexed_axis;

/* `loop` runs over the elements of a row: operand 0 is written, operand 1 is read.
 *
 * x is operand 1 for TAKE, else operand 0; the loop points to the beginning of x. The rows of the
 * other operand are `row_step` apart. An index that this rank does not have is skipped. `axis` is
 * the call's table. */
typedef struct ht_index_call {
    ht_loop loop;
    int64_t rows, row_step;
    int axes;
    ht_indexed_axis axis[HT_MAX_NDIM];
} ht_index_call;

/* Row k of `at` (count, ndim) <- the indices of the k-th element of `mask` that is set.
 *
 * mask is bool, and has `count` set elements, in row-major order. start[a] is added to indices
 * along axis a. */
typedef struct ht_nonzero_call {
    ht_kernel_call call;
    ht_kernel_operand mask, at; /* at: int64 */
    int ndim;
    int64_t shape[HT_MAX_NDIM], stride[HT_MAX_NDIM], start[HT_MAX_NDIM];
    int64_t count;
} ht_nonzero_call;

/* y[i][j][k] = sum_t weight[t][j] x[i][at[t][j]][k] for x (outer, in, inner) and y (outer, out,
 * inner), both contiguous. at (taps, out) is int64, from 0 to in - 1; weight (taps, out) is float64.
 *   RESAMPLE_FORWARD   writes y from x;
 *   RESAMPLE_BACKWARD  writes the gradient x from the gradient y. */
typedef struct ht_resample_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, at, weight;
    int64_t outer, in, out, inner, taps;
} ht_resample_call;
enum { HT_RESAMPLE_OPERANDS = 4 };

#define HT_KERNEL_ID(name, type) HT_KERNEL_##name,
enum {
    HT_KERNEL_BEFORE_INDEX = HT_KERNELS_INDEX - 1,
    HT_INDEX_KERNELS(HT_KERNEL_ID) HT_KERNELS_INDEX_END
};
#undef HT_KERNEL_ID

#endif
