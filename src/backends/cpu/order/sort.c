/* SPDX-License-Identifier: MIT
 *
 * Sorting of records. A record is the key of a number, and its place if that is wanted, in the
 * smallest size that fits both. */
#include <stdlib.h>

#include "backends/cpu/level.h"
#include "backends/cpu/order/key.h"
#include "backends/cpu/row_walk.h"
#include "backends/cpu/scratch.h"
#include "ht/kernels/order.h"

enum {
    ORDER_INSERTED = 16, /* records that insertion is quickest for */
    ORDER_MERGED = 1024, /* and merging; counts of digits cost a few thousand steps */
    ORDER_DIGIT = 8,
    ORDER_DIGITS = 4, /* of 32 bits */
    ORDER_DIGIT_MASK = (1 << ORDER_DIGIT) - 1
};

/* Records from which `keep` are selected at a time. */
#define ORDER_SELECTED(keep) (2 * (keep) + ORDER_MERGED)

/* Keys of two words. */
#define ORDER_WIDE_HT_COMPLEX128 1

typedef struct pair {
    uint64_t key;
    int64_t place;
} pair;

typedef struct wide {
    order_words key;
    int64_t place;
} wide;

#define REC         uint32_t
#define FN(x)       x##_32
#define LOWER(a, b) ((a) < (b))
#define GROUP(r, g) ((uint32_t)(r))
#include "backends/cpu/order/radix.inc.c"

#define REC         uint64_t
#define FN(x)       x##_64
#define LOWER(a, b) ((a) < (b))
#define GROUP(r, g) ((uint32_t)((r) >> 32 * (g)))
#include "backends/cpu/order/radix.inc.c"

#define REC         pair
#define FN(x)       x##_pair
#define LOWER(a, b) ((a).key < (b).key)
#define GROUP(r, g) ((uint32_t)((r).key >> 32 * (g)))
#include "backends/cpu/order/radix.inc.c"

#define REC         wide
#define FN(x)       x##_wide
#define LOWER(a, b) order_words_less((a).key, (b).key)
#define GROUP(r, g) ((uint32_t)(((g) > 1 ? (r).key.high : (r).key.low) >> 32 * ((g)&1)))
#include "backends/cpu/order/radix.inc.c"

#define HT_TEMPLATE "backends/cpu/order/sort.inc.c"
#include "backends/cpu/foreach_dtype.h"

#define FILL(dtype, name, bytes) k->at[HT_KERNEL_SORT][dtype] = order_SORT_##dtype;

void HT_LEVEL_NAME(ht__fill_sort)(ht_kernel_table *k)
{
    HT_DTYPE_LIST(FILL)
}
