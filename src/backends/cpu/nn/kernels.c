/* SPDX-License-Identifier: MIT
 *
 * The heavy kernels of the cpu backend, by BLAS and oneDNN or by plain code. */
#include "core/base/base.h"
#include "backends/cpu/nn/kernels.h"

#include <cblas.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "config.h"
#include "backends/cpu/cpu.h"
#include "backends/cpu/linalg/lapack.h"

#ifdef HT_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

/* oneDNN has no function for that: it follows OpenMP, whose runtime it loads where it uses it. */
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

#ifdef HT_HAVE_OPENBLAS
static bool is_room(size_t bytes)
{
    void *probe = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (probe == MAP_FAILED)
        return false;
    munmap(probe, bytes);
    return true;
}

/* OpenBLAS allocates this much address space for each thread on the thread's first product. A
 * thread that does not get it tries for ever. So it is allocated here, by a product of all threads,
 * or never. */
static bool take_room(void)
{
    enum { BLAS_BYTES = 128 << 20, N = 256 };
    float *x;

    if (!is_room((size_t)openblas_get_num_threads() * BLAS_BYTES))
        return false;
    x = ht__alloc((size_t)2 * N * N * sizeof *x);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, x, N, x, N, 0, x + N * N, N);
    ht__free(x);
    return true;
}
#endif

bool ht__cpu_has_room(int64_t *limit)
{
    struct rlimit space;

    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
        return true;
    *limit = (int64_t)space.rlim_cur;
#ifdef HT_HAVE_OPENBLAS
    return take_room();
#else
    return true;
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

void ht__cpu_fill_nn(ht_kernel_table *kernels)
{
    ht__cpu_fill_gemm(kernels);
    ht__cpu_fill_lapack(kernels);
    ht__cpu_fill_fft(kernels);
    ht__cpu_fill_conv(kernels);
}
