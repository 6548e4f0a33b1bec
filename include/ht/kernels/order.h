/* SPDX-License-Identifier: MIT
 *
 * Sorting and searching, for every dtype. A row of the list has the name of a kernel and the struct
 * of its arguments.
 *
 * Complex numbers are ordered by their real parts, then by their imaginary parts. NaN is the
 * greatest, and -0 equals 0. `descending` reverses the order. Equal elements keep their order.
 *
 * The key of a number is an integer of 128 bits that grows with the number. It is stored in two
 * words, the higher one first. The bits of the dtype stand in the first word, from its highest bit
 * on. For complex128 the first word has the real part, and the second one the imaginary part.
 * `descending` inverts the bits that the dtype has. */
#ifndef HT_KERNELS_ORDER_H
#define HT_KERNELS_ORDER_H

#include "ht/backend.h"

/* clang-format off */
#define HT_ORDER_KERNELS(X) \
    X(SORT, ht_sort_call) X(MERGE, ht_merge_call) X(PLACE, ht_place_call) X(SEARCH, ht_search_call) \
    X(DIGITS, ht_digits_call)
/* clang-format on */

/* Writes the first `keep` of the `count` elements of each line, in order.
 *
 * `loop` runs over the first elements of the lines: operand 0 is the output, operand 1 the input.
 * They do not overlap. Operand 2, int64 unless absent, gets the positions of the elements in their
 * line, counted from `first`. */
typedef struct ht_sort_call {
    ht_loop loop;
    int64_t count, keep, out_stride, in_stride, index_stride, first;
    bool descending;
} ht_sort_call;

/* Merges the runs of each line: line i of y (lines, count), dense, has the elements of its runs in
 * order.
 *
 * Run j of line i is in x from begin[i * runs + j] to end[i * runs + j], in order. Equal
 * elements of a lower run come before those of a higher one. x_index and y_index, both present or
 * both absent, have a number for each element, which moves with it. */
typedef struct ht_merge_call {
    ht_kernel_call call;
    ht_kernel_operand begin, end, x, y, x_index, y_index; /* int64, except x and y */
    bool descending;
    int64_t lines, count, runs, size; /* size: elements of x */
} ht_merge_call;

/* Finds keys in parts of x: place[i] <- the first index whose key is at least (keys[2 i],
 * keys[2 i + 1]), for each i < count.
 *
 * Elements of x from begin[i] to end[i] are searched; they are in order. place[i] is end[i] if all
 * keys are less. keys is uint64; begin, end and place are int64. */
typedef struct ht_place_call {
    ht_kernel_call call;
    ht_kernel_operand begin, end, keys, x, place;
    bool descending;
    int64_t count, size; /* size: elements of x */
} ht_place_call;

/* Counts, for each element of `loop`, the elements of operand 2 that are less than operand 1; if
 * `right`, less or equal.
 *
 * Operand 0 is the count, int64. Operand 2 has `count` elements, dense and in ascending order. */
typedef struct ht_search_call {
    ht_loop loop;
    bool right;
    int64_t count;
} ht_search_call;

/* Counts digits of keys. For each element of the line, counts[(line * targets + t) << bits | d]
 * grows by 1 if its key has these bits:
 *     the first `used` bits are those of keys[line * targets + t],
 *     the next `bits` bits are d.
 * x is dense (lines, count). keys ascend along a line. For equal beginnings of keys only the first
 * t counts. Complex dtypes do not have this kernel. */
typedef struct ht_digits_call {
    ht_kernel_call call;
    ht_kernel_operand keys, x, counts; /* uint64, the dtype, int64 */
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
