/* SPDX-License-Identifier: MIT
 *
 * Distances between the rows of two matrices, whose arguments are an ht_distance_call. */
#ifndef HT_KERNELS_SPATIAL_H
#define HT_KERNELS_SPATIAL_H

#include "ht/backend.h"

/* out[i][j] of the rows x[i] and y[j], for float32 and float64, with d = x[i] - y[j]:
 *   EUCLIDEAN    sqrt(sum d^2);
 *   MANHATTAN    sum |d|;
 *   GAUSSIAN     exp(factor sum d^2).
 * The expanded kernels take sums of squares of rows as x and y (k = 1). At the beginning out[i][j]
 * is -2 times the scalar product of both rows. A negative out + x[i] + y[j] counts as 0:
 *   EXPANDED_EUCLIDEAN   sqrt(out + x[i] + y[j]);
 *   EXPANDED_GAUSSIAN    exp(factor (out + x[i] + y[j])). */
/* clang-format off */
#define HT_SPATIAL_KERNELS(X) \
    X(EUCLIDEAN) X(MANHATTAN) X(GAUSSIAN) X(EXPANDED_EUCLIDEAN) X(EXPANDED_GAUSSIAN)
/* clang-format on */

typedef struct ht_distance_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, out;
    int64_t m, n, k; /* x is (m, k), y (n, k), both dense */
    int64_t leading; /* elements between rows of out */
    double factor;
} ht_distance_call;

#define HT_KERNEL_ID(name) HT_KERNEL_##name,
enum {
    HT_KERNEL_BEFORE_SPATIAL = HT_KERNELS_SPATIAL - 1,
    HT_SPATIAL_KERNELS(HT_KERNEL_ID) HT_KERNELS_SPATIAL_END
};
#undef HT_KERNEL_ID

#endif
