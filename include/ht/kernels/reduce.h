/* SPDX-License-Identifier: MIT
 *
 * Reductions, whose arguments are an ht_reduction, and cumulative sums and products, whose
 * arguments are an ht_cumulation.
 *
 * A row of a list has the name of a kernel, and a letter for each operand, the output first.
 * Capitals are written, small letters are read:
 *     S, s   the kernel's dtype;
 *     D, d   float64;
 *     I      int64;
 *     W, w   the accumulator's dtype: complex128 for complex numbers, else float64;
 *     A, a   int64 for integers and bool, else the accumulator's dtype;
 *     T, t   int64 for integers and bool, else the kernel's dtype;
 *     M      float32 for integers and bool, else the kernel's dtype;
 *     R      a record of 4 float64, or 6 for complex numbers.
 *
 * Sums of floating and complex numbers are kept in the accumulator's dtype, and rounded once. */
#ifndef HT_KERNELS_REDUCE_H
#define HT_KERNELS_REDUCE_H

#include "ht/backend.h"

/*   SUM          the sum, int64 for integers and bool, else in the input's dtype;
 *   SUM_WIDE     sum / divisor, in the accumulator's dtype (float64 for integers);
 *   MEAN         SUM_WIDE rounded to the input's dtype, or to float32 for integers and bool;
 *   SPREAD       sum |x - mean|^2 / divisor;
 *   MOMENTS      a record (n, shift, s, q) for each output, from which the spread of several parts
 *                can be merged: s = sum (x - shift), q = sum |x - shift|^2 over n elements. shift
 *                and s are pairs for complex x. A shift near the mean keeps q - |s|^2 / n exact.
 *                Strides of operand 0 are those between the beginnings of records;
 *   PROD         the product, in the accumulator's dtype, or int64 for integers and bool;
 *   SUM_ABS, SUM_SQUARES   sum |x| and sum x^2, for floating dtypes;
 *   MAX, MIN     the extreme; NaN if an element is NaN; -0 is less than 0;
 *   ARGMAX, ARGMIN   the extreme, and in operand 2 its position: row-major inside the reduced axes,
 *                the first of equal elements; -0 equals 0. */
/* clang-format off */
#define HT_REDUCE_KERNELS(X) \
    X(SUM, "Ts") X(SUM_WIDE, "Ws") X(MEAN, "Ms") X(SPREAD, "Ds") X(MOMENTS, "Rs") X(SUM_ABS, "Ds") \
    X(SUM_SQUARES, "Ds") X(PROD, "As") X(MAX, "Ss") X(MIN, "Ss") X(ARGMAX, "SsI") \
    X(ARGMIN, "SsI")
/* clang-format on */

/* `loop` runs over the elements of the output, operand 0; operand 1 is the input. The fields after
 * it describe the reduced axes. Only sums and products may have reduced axes of length 0. */
typedef struct ht_reduction {
    ht_loop loop;
    int ndim; /* reduced axes, merged, innermost last; >= 1 */
    int64_t shape[HT_MAX_NDIM];
    int64_t stride[HT_MAX_NDIM]; /* of the input */
    double divisor;
} ht_reduction;

/* out[i] = start + in[0] + ... + in[i], or the product of these, for each i < count.
 *
 * `loop` runs over the lines: operand 0 is the output, 1 the input, 2 the start. The data of start
 * are absent if every line starts with 0 (sums) or 1 (products). Strides along the axis are
 * negative if it is walked from its end. */
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
