/* SPDX-License-Identifier: MIT
 *
 * The kernels on images of each SIMD level, apart from kernels.h, which is slow to compile. */
#ifndef HT_CORE_CPU_IMAGE_KERNELS_H
#define HT_CORE_CPU_IMAGE_KERNELS_H

#include "ht/backend.h"

/* Fill max_pool_forward and max_pool_backward. */
void ht__image_kernels_fill_baseline(ht_kernels *kernels);
void ht__image_kernels_fill_avx2(ht_kernels *kernels);
void ht__image_kernels_fill_avx512(ht_kernels *kernels);

#endif
