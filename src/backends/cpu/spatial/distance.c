/* SPDX-License-Identifier: MIT
 *
 * Distances between rows. */
#include "backends/cpu/level.h"
#include "backends/cpu/scratch.h"
#include "ht/kernels/spatial.h"

/* Rows of y that are worked on together, side by side; elements beyond the last one are computed
 * and not stored, so that every element takes the same path. */
enum { BLOCK = 256 };

#define HT_TEMPLATE "backends/cpu/spatial/distance.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_distance)(ht_kernel_table *k)
{
#define FILL(name, dtype) k->at[HT_KERNEL_##name][dtype] = distance_##name##_##dtype;
#define FILL_BOTH(name)   FILL(name, HT_FLOAT32) FILL(name, HT_FLOAT64)
    HT_SPATIAL_KERNELS(FILL_BOTH)
}
