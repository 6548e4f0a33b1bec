/* SPDX-License-Identifier: MIT
 *
 * The heavy kernels of the cpu backend: what comes from BLAS and oneDNN, or from plain code. */
#include "nn_kernels.h"

#include <stdio.h>

#include "config.h"
#include "core/cpu/cpu.h"

#ifdef HT_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

#ifdef HT_HAVE_OPENBLAS
void openblas_set_num_threads(int threads);
#endif

/* oneDNN has no call of its own: it follows OpenMP, whose runtime it brings along where it uses it.
 */
#ifdef HT_HAVE_ONEDNN
extern void omp_set_num_threads(int threads) __attribute__((weak));
#endif

void ht__cpu_set_own_threads(int threads)
{
    (void)threads;
#ifdef HT_HAVE_ONEDNN
    if (omp_set_num_threads != NULL)
        omp_set_num_threads(threads);
#endif
}

void ht__cpu_set_threads(int threads)
{
#ifdef HT_HAVE_OPENBLAS
    openblas_set_num_threads(threads);
#endif
    ht__cpu_set_own_threads(threads);
}

const char *ht__cpu_onednn_version(void)
{
#ifdef HT_HAVE_ONEDNN
    static char text[32];
    const dnnl_version_t *version = dnnl_version();

    snprintf(text, sizeof text, "%d.%d.%d", version->major, version->minor, version->patch);
    return text;
#else
    return "none";
#endif
}

void ht__cpu_fill_nn(ht_kernels *kernels)
{
    kernels->gemm = ht__cpu_gemm;
    ht__cpu_fill_conv(kernels);
}
