/* SPDX-License-Identifier: MIT
 *
 * The heavy kernels of the cpu backend, which ht__cpu_fill_nn adds to its table. */
#ifndef HT_BACKENDS_CPU_NN_KERNELS_H
#define HT_BACKENDS_CPU_NN_KERNELS_H

#include "backends/cpu/kernels.h"
#include "ht/kernels/nn.h"

/* One product of the batch; of call.dtype. */
int ht__cpu_gemm(const ht_gemm_call *gemm);

void ht__cpu_fill_gemm(ht_kernel_table *kernels); /* linalg/gemm.c */

void ht__cpu_fill_fft(ht_kernel_table *kernels); /* fft/fft.c */

void ht__cpu_fill_conv(ht_kernel_table *kernels); /* conv.c */

#endif
