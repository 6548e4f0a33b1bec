/* SPDX-License-Identifier: MIT */
/* The kernels of each SIMD level; a level exists where configure defined HT_HAVE_<LEVEL>. Each call
 * fills every entry of the table but products and convolutions. */
#ifndef HT_BACKENDS_CPU_KERNELS_H
#define HT_BACKENDS_CPU_KERNELS_H

#include "ht/backend.h"

/* NULL: there is none. */
typedef struct ht_kernel_table {
    ht_kernel_fn *at[HT_KERNEL_LIMIT][HT_DTYPE_COUNT];
} ht_kernel_table;

void ht__kernels_fill_baseline(ht_kernel_table *kernels);
void ht__kernels_fill_avx2(ht_kernel_table *kernels);
void ht__kernels_fill_avx512(ht_kernel_table *kernels);

/* Record an error (kernel_errors.c); not 0. */
int ht__kernel_bad_dtype(const char *what, ht_dtype dtype);
int ht__kernel_bad_target(int64_t row, int64_t target, int64_t columns);

#endif
