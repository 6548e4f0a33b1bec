/* SPDX-License-Identifier: MIT
 *
 * What the kernels of one SIMD level share. local.mk compiles each file of kernel_sources once for
 * each level, with the flags of the level and with HT_LEVEL as its name. */
#ifndef HT_BACKENDS_CPU_LEVEL_H
#define HT_BACKENDS_CPU_LEVEL_H

#include <string.h>

#include "backends/cpu/dtypes.h"
#include "backends/cpu/kernels.h"

#define HT_LEVEL_NAME(x) HT_JOIN(HT_JOIN(x, _), HT_LEVEL)

/* Each file fills its entries of the table. */
void HT_LEVEL_NAME(ht__fill_axpby)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_binary)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_convert)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_cumulative)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_dropout)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_max_pool)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_norm)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_random)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_reduce)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_rows)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_unary)(ht_kernels *kernels);
void HT_LEVEL_NAME(ht__fill_update)(ht_kernels *kernels);

#endif
