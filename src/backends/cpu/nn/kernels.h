/* SPDX-License-Identifier: MIT
 *
 * The heavy kernels of the cpu backend, as ht__cpu_fill_nn puts them into its table. */
#ifndef HT_BACKENDS_CPU_NN_KERNELS_H
#define HT_BACKENDS_CPU_NN_KERNELS_H

#include "ht/backend.h"

int ht__cpu_gemm(void *stream, const ht_gemm *gemm);

void ht__cpu_fill_conv(ht_kernels *kernels); /* conv.c */

#endif
