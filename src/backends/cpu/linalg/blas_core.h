/* SPDX-License-Identifier: MIT
 *
 * Which of its kernels OpenBLAS runs. */
#ifndef HT_BACKENDS_CPU_LINALG_BLAS_CORE_H
#define HT_BACKENDS_CPU_LINALG_BLAS_CORE_H

#include <stdbool.h>
#include <stddef.h>

/* The core whose kernels should run in place of those of `core`, on a processor with these
 * instructions; NULL: `core` is right. Names are OpenBLAS's. */
const char *ht__blas_core_for(const char *core, bool avx2, bool avx512);

#endif
