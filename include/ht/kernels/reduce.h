/* SPDX-License-Identifier: MIT
 *
 * Reductions, given an ht_reduction, and cumulative sums, given an ht_cumulation. A row: name, and
 * what the operands are, the output first:
 *     S, s   of the kernel's dtype                   D, d   float64        I   int64
 *     W, w   the accumulator's: float64, of complex numbers complex128
 *     T, t   S, but int64 for integers and bool      M      S, but float32 for integers and bool
 *     A, a   the accumulator's, but int64 for integers and bool
 *     R      a record of 4 float64, of complex numbers 6
 * capitals are written, the others read.
 *
 * Sums of floating and complex numbers are kept in the accumulator's dtype, and rounded once. */
#ifndef HT_KERNELS_REDUCE_H
#define HT_KERNELS_REDUCE_H

#include "ht/backend.h"

/*   SUM          in int64 for integers and bool, else in the input's dtype
 *   SUM_WIDE     in the accumulator's dtype, float64 for integers too, over `divisor`
 *   MEAN         that rounded to the input's dtype, float32 for integers and bool
 *   SPREAD       the sum of |x - mean|^2 over `divisor`
 *   MOMENTS      that for merging with others: for each output the record (n, shift, s, q) with
 *                s = sum (x - shift) and q = sum |x - shift|^2 of n elements; shift and s are pairs
 *                for complex x. A shift near the mean keeps q - |s|^2 / n exact. Strides of operand
 *                0 are between beginnings of records
 *   PROD         in the accumulator's dtype, int64 for integers and bool
 *   SUM_ABS, SUM_SQUARES   of floating dtypes
 *   MAX, MIN     NaN where there is one; of zeros -0 is the smaller
 *   ARGMAX, ARGMIN   the extreme, and in operand 2 its position: row-major inside the reduced axes,
 *                the first of equals, zeros being equal */
/* clang-format off */
#define HT_REDUCE_KERNELS(X) \
    X(SUM, "Ts") X(SUM_WIDE, "Ws") X(MEAN, "Ms") X(SPREAD, "Ds") X(MOMENTS, "Rs") X(SUM_ABS, "Ds") \
    X(SUM_SQUARES, "Ds") X(PROD, "As") X(MAX, "Ss") X(MIN, "Ss") X(ARGMAX, "SsI") \
    X(ARGMIN, "SsI")
/* clang-format on */

/* `loop` runs over the output elements: operand 0 the output, 1 the input. The reduced axes stand
 * beside it; their lengths may be 0 for sums and products only. */
typedef struct ht_reduction {
    ht_loop loop;
    int ndim; /* reduced axes, merged, innermost last; >= 1 */
    int64_t shape[HT_MAX_NDIM];
    int64_t stride[HT_MAX_NDIM]; /* of the input */
    double divisor;
} ht_reduction;

/* For every element of `loop` (operand 0 output, 1 input, 2 start), along `count` steps of the
 * given strides: out[i] = start + in[0] + ... + in[i], or the product of these. The data of start
 * are absent where every line starts with 0, or 1. Strides of the axis are negative where it is
 * walked from its end. */
#define HT_CUMULATIVE_KERNELS(X) X(CUMSUM, "Tsa") X(CUMPROD, "Tsa")

typedef struct ht_cumulation {
    ht_loop loop;
    int64_t count, out_stride, in_stride;
} ht_cumulation;

#define HT_KERNEL_ID(name, operands) HT_KERNEL_##name,
enum {
    HT_KERNEL_BEFORE_REDUCE = HT_KERNELS_REDUCE - 1,
    HT_REDUCE_KERNELS(HT_KERNEL_ID) HT_CUMULATIVE_KERNELS(HT_KERNEL_ID) HT_KERNELS_REDUCE_END
};
#undef HT_KERNEL_ID

#endif
