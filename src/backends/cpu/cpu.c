/* SPDX-License-Identifier: MIT
 *
 * The built-in backend: plain memory, and the kernels of the best SIMD level that this machine has.
 * cpu:0 and the virtual devices cpu:1 ... cpu:15 differ only in their accounting. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/kernels.h"
#include "core/base/environment.h"

#define ALIGNMENT 64
#define HUGE_PAGE ((size_t)2 << 20)

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
#if defined HT_HAVE_AVX512 || defined HT_HAVE_AVX2
    if (strcmp(level, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (strcmp(level, "avx2") == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return strcmp(level, "baseline") == 0;
}

/* HT_SIMD names the highest level wanted; a name that is none asks for nothing. */
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

static int device_count(void)
{
    return 16;
}

static int device_open(int index, void **stream)
{
    (void)index;
    *stream = NULL;
    return 0;
}

static void device_close(void *stream)
{
    (void)stream;
}

/* Large blocks get huge pages where the system has them: fewer misses of the address cache. */
static void *memory_alloc(void *stream, size_t bytes)
{
    const bool large = bytes >= 2 * HUGE_PAGE;
    const size_t alignment = large ? HUGE_PAGE : ALIGNMENT;
    void *memory;

    (void)stream;
    if (bytes > SIZE_MAX - alignment)
        return NULL;
    memory = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
#ifdef MADV_HUGEPAGE
    if (memory != NULL && large)
        madvise(memory, bytes, MADV_HUGEPAGE); /* advice: refusal costs speed only */
#endif
    return memory;
}

static void memory_free(void *stream, void *memory)
{
    (void)stream;
    free(memory);
}

static int memory_copy(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind)
{
    (void)stream;
    (void)kind;
    memcpy(to, from, bytes);
    return 0;
}

static int synchronize(void *stream)
{
    (void)stream;
    return 0;
}

static const ht_backend backend = {
    .abi = HT_BACKEND_ABI,
    .size = sizeof(ht_backend),
    .name = "cpu",
    .host_memory = true,
    .prefer_channels_last = true,
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .memory_copy = memory_copy,
    .synchronize = synchronize,
};

static ht_kernel_table kernels;
static const simd_level *level;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_kernels(void)
{
    level = choose_level();
    level->fill(&kernels);
    ht__cpu_fill_nn(&kernels);
}

const ht_backend *ht__backend_cpu(void)
{
    return &backend;
}

const ht_kernel_table *ht__cpu_kernels(void)
{
    pthread_once(&once, fill_kernels);
    return &kernels;
}

ht_kernel_fn *ht__cpu_kernel(ht_kernel kernel, ht_dtype dtype)
{
    return ht__cpu_kernels()->at[kernel][dtype];
}

const char *ht__cpu_simd_level(void)
{
    pthread_once(&once, fill_kernels);
    return level->name;
}
