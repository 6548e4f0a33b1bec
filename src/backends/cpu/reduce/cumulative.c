/* SPDX-License-Identifier: MIT
 *
 * Cumulative sums and products. */
#include "backends/cpu/level.h"
#include "backends/cpu/reduce/plan.h"

/* Eight sums at once. Where the compiler has no vectors, one after the other: the bits differ then
 * from those of other compilers, not between levels. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector) && __has_builtin(__builtin_convertvector)
#define HT_HAVE_SCAN

typedef double ht_scan __attribute__((vector_size(64)));

#define HT_SCAN_STEPS(v)                                                    \
    do {                                                                    \
        const ht_scan zero = {0};                                           \
                                                                            \
        v += __builtin_shufflevector(zero, v, 0, 8, 9, 10, 11, 12, 13, 14); \
        v += __builtin_shufflevector(zero, v, 0, 0, 8, 9, 10, 11, 12, 13);  \
        v += __builtin_shufflevector(zero, v, 0, 0, 0, 0, 8, 9, 10, 11);    \
    } while (0)
#define HT_SCAN_LAST(v) __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7)
#endif
#endif

#define HT_TEMPLATE "backends/cpu/reduce/cumulative.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) fill_cumulative_##dtype(k);

void HT_LEVEL_NAME(ht__fill_cumulative)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}
