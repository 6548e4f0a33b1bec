/* SPDX-License-Identifier: MIT
 *
 * Numbers in order. A row: name, and the struct that it is given; every dtype has them. Complex
 * numbers go by their real, then by their imaginary parts; NaN is the greatest; -0 equals 0. Where
 * `descending` is set the order is the opposite one. Equal elements stay in the order in which they
 * came.
 *
 * The key of a number is an integer of 128 bits in two words, the higher first, that grows as the
 * number does: in the first word, from its highest bit on, as many as the dtype has; of complex128
 * the real part there, and the imaginary part in the second word. `descending` turns over the bits
 * that the dtype has. */
#ifndef HT_KERNELS_ORDER_H
#define HT_KERNELS_ORDER_H

#include "ht/backend.h"

/* clang-format off */
#define HT_ORDER_KERNELS(X) \
    X(SORT, ht_sort_call) X(MERGE, ht_merge_call) X(PLACE, ht_place_call) X(SEARCH, ht_search_call) \
    X(DIGITS, ht_digits_call)
/* clang-format on */

/* For every element of `loop`, which runs over the first elements of lines (operand 0 output, 1
 * input, 2 int64 or absent): out <- the first `keep` of the `count` elements of the line in order,
 * and operand 2 <- where they stood in it, counted from `first`. Output and input are apart. */
typedef struct ht_sort_call {
    ht_loop loop;
    int64_t count, keep, out_stride, in_stride, index_stride, first;
    bool descending;
} ht_sort_call;

/* Line i of y (lines, count), dense, <- its runs, each in order, one after another in order: run j
 * of line i is in x from begin[i * runs + j] to end[i * runs + j]; of equals those of the lower run
 * come first. y_index and x_index (both or none): a number beside each element. */
typedef struct ht_merge_call {
    ht_kernel_call call;
    ht_kernel_operand begin, end, x, y, x_index, y_index; /* but x and y int64 */
    bool descending;
    int64_t lines, count, runs, size; /* size: elements of x */
} ht_merge_call;

/* For each i < count: place[i] <- the first place from begin[i] on, of the elements up to end[i],
 * which are in order, whose key is not below keys[2 i], keys[2 i + 1]. keys: uint64; begin, end
 * and place: int64. */
typedef struct ht_place_call {
    ht_kernel_call call;
    ht_kernel_operand begin, end, keys, x, place;
    bool descending;
    int64_t count, size; /* size: elements of x */
} ht_place_call;

/* For every element of `loop` (operand 0 int64, operand 1 of the dtype): how many of the `count`
 * elements of operand 2, dense and in ascending order, are less than operand 1; right: or equal. */
typedef struct ht_search_call {
    ht_loop loop;
    bool right;
    int64_t count;
} ht_search_call;

/* How often each digit occurs: counts[(line * targets + t) << bits | d] += the elements of a line
 * of x (lines, count), dense, whose keys begin with the first `used` bits of keys[line * targets +
 * t], which go up along a line, and have d in the next `bits`; of equal beginnings the first t
 * alone is counted for. Not of complex numbers. */
typedef struct ht_digits_call {
    ht_kernel_call call;
    ht_kernel_operand keys, x, counts; /* uint64, of the dtype, int64 */
    int used, bits;
    int64_t lines, count, targets;
} ht_digits_call;

#define HT_KERNEL_ID(name, type) HT_KERNEL_##name,
enum {
    HT_KERNEL_BEFORE_ORDER = HT_KERNELS_ORDER - 1,
    HT_ORDER_KERNELS(HT_KERNEL_ID) HT_KERNELS_ORDER_END
};
#undef HT_KERNEL_ID

#endif
