/* SPDX-License-Identifier: MIT */
/* The kernels of each SIMD level; a level exists where configure defined HT_HAVE_<LEVEL>. */
#ifndef HT_CORE_CPU_KERNELS_H
#define HT_CORE_CPU_KERNELS_H

const char *ht__kernels_baseline_name(void);
const char *ht__kernels_avx2_name(void);
const char *ht__kernels_avx512_name(void);

#endif
