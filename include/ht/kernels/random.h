/* SPDX-License-Identifier: MIT
 *
 * Random draws, whose arguments are an ht_random_call. Their bits are specified (doc/design.md,
 * Bits). */
#ifndef HT_KERNELS_RANDOM_H
#define HT_KERNELS_RANDOM_H

#include "ht/backend.h"

#define HT_RANDOM_KERNELS(X) X(RANDOM_UNIFORM) X(RANDOM_NORMAL) X(RANDOM_INTEGER)

/* The distribution of a draw, and the position of a slab's elements in the global tensor.
 *
 * Element (o, i) of (outer, inner) is global element o * inner_global + start + i. A process-local
 * draw has outer 1 and start 0. */
typedef struct ht_random_draw {
    uint64_t seed, draw;
    int64_t outer, inner, inner_global, start;
    double a, b;       /* uniform: [a, b); normal: mean a, deviation b; dropout: probability a */
    int64_t low, high; /* integers: low <= value < high */
} ht_random_draw;

typedef struct ht_random_call {
    ht_kernel_call call;
    ht_kernel_operand out; /* (outer, inner), row-major */
    ht_random_draw draw;
} ht_random_call;

#define HT_KERNEL_ID(name) HT_KERNEL_##name,
enum {
    HT_KERNEL_BEFORE_RANDOM = HT_KERNELS_RANDOM - 1,
    HT_RANDOM_KERNELS(HT_KERNEL_ID) HT_KERNELS_RANDOM_END
};
#undef HT_KERNEL_ID

#endif
