/* SPDX-License-Identifier: MIT
 *
 * The cpu backend as the rest of the core sees it. */
#ifndef HT_BACKENDS_CPU_CPU_H
#define HT_BACKENDS_CPU_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/cpu/kernels.h"

const ht_backend *ht__backend_cpu(void); /* the functions, and the kernels */
const ht_kernel_table *ht__cpu_kernels(void);

/* simd.c: the kernels that are compiled for each level; nn's are added. */
ht_kernel_table *ht__cpu_level_kernels(void);
ht_kernel_fn *ht__cpu_kernel(ht_kernel kernel, ht_dtype dtype); /* NULL: there is none */
const char *ht__cpu_simd_level(void); /* "baseline", "avx2" or "avx512": what the kernels use */

/* gemm, convolution and pooling: from BLAS and oneDNN, or plain code. */
void ht__cpu_fill_nn(ht_kernel_table *kernels);

const char *ht__cpu_onednn_version(void); /* "2.6.3", or "none" */

/* False: the address space is limited, to *limit bytes, and BLAS has not got what it needs. */
bool ht__cpu_has_room(int64_t *limit);

/* Makes OpenBLAS run the kernels for this processor if its choice was older ones. The name of the
 * new core, or NULL: its choice stays. Before any other thread calls BLAS or reads the environment.
 */
const char *ht__cpu_choose_blas_core(void);

/* Threads that BLAS and oneDNN use in this rank. */
void ht__cpu_set_threads(int threads);
void ht__cpu_set_own_threads(int threads); /* for the calling thread, where the library has that */

#endif
