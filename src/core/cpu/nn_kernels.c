/* SPDX-License-Identifier: MIT
 *
 * The heavy kernels of the cpu backend: what comes from BLAS and oneDNN, or from plain code. */
#include "nn_kernels.h"

#include "config.h"
#include "core/cpu/cpu.h"

#ifdef HT_HAVE_OPENBLAS
void openblas_set_num_threads(int threads);
#endif

void ht__cpu_set_threads(int threads)
{
#ifdef HT_HAVE_OPENBLAS
    openblas_set_num_threads(threads);
#else
    (void)threads;
#endif
}

void ht__cpu_fill_nn(ht_kernels *kernels)
{
    kernels->gemm = ht__cpu_gemm;
    ht__cpu_fill_conv(kernels);
}
