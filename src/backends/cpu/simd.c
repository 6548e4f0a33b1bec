/* SPDX-License-Identifier: MIT
 *
 * The SIMD level: the best that this machine has, and its kernels. */
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "core/base/environment.h"

typedef struct simd_level {
    const char *name;
    void (*fill)(ht_kernel_table *kernels);
} simd_level;

/* Best first. */
static const simd_level levels[] = {
#ifdef HT_HAVE_AVX512
    {"avx512", ht__kernels_fill_avx512},
#endif
#ifdef HT_HAVE_AVX2
    {"avx2", ht__kernels_fill_avx2},
#endif
    {"baseline", ht__kernels_fill_baseline},
};

static bool machine_has(const char *level)
{
#ifdef HT_HAVE_AVX512
    if (strcmp(level, "avx512") == 0)
        return HT_RUNS_AVX512;
#endif
#ifdef HT_HAVE_AVX2
    if (strcmp(level, "avx2") == 0)
        return HT_RUNS_AVX2;
#endif
    return strcmp(level, "baseline") == 0;
}

/* HT_SIMD names the highest level wanted; an invalid name is ignored. */
static const simd_level *choose_level(void)
{
    const char *wanted = ht__env_text(HT_ENV_HT_SIMD);
    const size_t count = sizeof levels / sizeof *levels;
    size_t first = 0;

    for (size_t i = 0; wanted != NULL && i < count; i++)
        if (strcmp(levels[i].name, wanted) == 0)
            first = i;
    while (!machine_has(levels[first].name))
        first++;
    return &levels[first];
}

static ht_kernel_table kernels;
static const simd_level *level;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_kernels(void)
{
    level = choose_level();
    level->fill(&kernels);
}

ht_kernel_table *ht__cpu_level_kernels(void)
{
    pthread_once(&once, fill_kernels);
    return &kernels;
}

ht_kernel_fn *ht__cpu_kernel(ht_kernel kernel, ht_dtype dtype)
{
    return ht__cpu_level_kernels()->at[kernel][dtype];
}

const char *ht__cpu_simd_level(void)
{
    ht__cpu_level_kernels();
    return level->name;
}
