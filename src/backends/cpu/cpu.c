/* SPDX-License-Identifier: MIT
 *
 * The built-in backend: plain memory, the kernels of a SIMD level (simd.c), and those of nn.
 * cpu:0 and the virtual devices cpu:1 ... cpu:15 differ only in their accounting. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backends/cpu/cpu.h"

#define ALIGNMENT 64
#define HUGE_PAGE ((size_t)2 << 20)

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

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_nn(void)
{
    ht__cpu_fill_nn(ht__cpu_level_kernels());
}

const ht_backend *ht__backend_cpu(void)
{
    return &backend;
}

const ht_kernel_table *ht__cpu_kernels(void)
{
    pthread_once(&once, fill_nn);
    return ht__cpu_level_kernels();
}
