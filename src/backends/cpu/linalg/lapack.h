/* SPDX-License-Identifier: MIT
 *
 * Factorisations, which ht__cpu_fill_nn adds to its table. */
#ifndef HT_BACKENDS_CPU_LINALG_LAPACK_H
#define HT_BACKENDS_CPU_LINALG_LAPACK_H

#include "backends/cpu/kernels.h"

void ht__cpu_fill_lapack(ht_kernel_table *kernels);

#endif
