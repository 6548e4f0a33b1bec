/* SPDX-License-Identifier: MIT
 *
 * Matrix products of integers, which BLAS does not support. */
#include "backends/cpu/level.h"
#include "backends/cpu/scratch.h"
#include "ht/kernels/nn.h"

/* The type in which sums of products wrap around. */
typedef uint32_t modular_HT_UINT8, modular_HT_INT8, modular_HT_INT16, modular_HT_INT32;
typedef uint64_t modular_HT_INT64;

/* A panel of b that stays in the cache while all rows of a meet it. */
enum { PANEL_ROWS = 128, PANEL_COLUMNS = 512 };

#define HT_TEMPLATE "backends/cpu/linalg/products.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_products)(ht_kernel_table *k)
{
#define FILL(dtype) k->at[HT_KERNEL_GEMM][dtype] = gemm_##dtype;
    FILL(HT_UINT8) FILL(HT_INT8) FILL(HT_INT16) FILL(HT_INT32) FILL(HT_INT64)
}
