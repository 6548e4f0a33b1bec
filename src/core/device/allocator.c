/* SPDX-License-Identifier: MIT
 *
 * The caching allocator of a device. Freed memory is kept by size class and handed out again, so
 * that a training step in its steady state asks the system for nothing. Classes are powers of two
 * with three steps between them: at most a fifth of a block is unused. The memory in use and the
 * free blocks together are at most twice the peak in use, or HELD_ANYWAY. At this limit, blocks of
 * the classes that were not used for longest are given back. A loop over more sizes than fit asks
 * the system each time. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "core/device/device.h"

#define SMALLEST 256
#define CLASSES  160 /* up to 256 B * 2^40 */

#define HELD_ANYWAY ((size_t)64 << 20)

/* The last freed is the first to be taken. */
typedef struct free_blocks {
    void **memory;
    int count, capacity;
    uint64_t used; /* the clock when a block of the class was last taken */
} free_blocks;

typedef struct ht_cache {
    pthread_mutex_t mutex; /* calls of the backend: one at a time */
    atomic_flag taken;     /* what follows: a few instructions at a time */
    free_blocks free[CLASSES];
    uint64_t clock; /* counts the blocks taken */
    ht_device_memory statistics;
} ht_cache;

struct ht_cache *ht__cache_new(void)
{
    ht_cache *cache = ht__alloc(sizeof *cache);

    pthread_mutex_init(&cache->mutex, NULL);
    atomic_flag_clear(&cache->taken);
    return cache;
}

/* A mutex would take two locked instructions and two calls. */
static void lock(ht_cache *cache)
{
    while (atomic_flag_test_and_set_explicit(&cache->taken, memory_order_acquire))
        sched_yield();
}

static void unlock(ht_cache *cache)
{
    atomic_flag_clear_explicit(&cache->taken, memory_order_release);
}

static size_t class_bytes(int class)
{
    size_t base = (size_t)SMALLEST << (class / 4);

    return base + base / 4 * (size_t)(class % 4);
}

static int class_of(size_t bytes)
{
    if (bytes <= SMALLEST)
        return 0;

    int octave = 63 - __builtin_clzll((bytes - 1) / SMALLEST);
    int class = 4 * octave;
    while (class_bytes(class) < bytes)
        class ++;
    return class;
}

/* Under the lock. */
static void *take_cached(ht_cache *cache, int class)
{
    free_blocks *blocks = &cache->free[class];

    if (blocks->count == 0)
        return NULL;
    cache->statistics.cached -= class_bytes(class);
    return blocks->memory[--blocks->count];
}

/* Under the lock. */
static void keep(ht_cache *cache, int class, void *memory)
{
    free_blocks *blocks = &cache->free[class];

    if (blocks->count == blocks->capacity) {
        blocks->capacity = blocks->capacity > 0 ? 2 * blocks->capacity : 16;
        blocks->memory = ht__realloc(blocks->memory,
                                     (size_t)blocks->capacity * sizeof *blocks->memory);
    }
    blocks->memory[blocks->count++] = memory;
    cache->statistics.cached += class_bytes(class);
}

static void *take(ht_cache *cache, int class)
{
    void *memory;

    lock(cache);
    memory = take_cached(cache, class);
    unlock(cache);
    return memory;
}

/* Under the mutex. */
static void empty_cache(ht_device *device)
{
    for (int class = 0; class < CLASSES; class ++) {
        void *memory;

        while ((memory = take(device->cache, class)) != NULL)
            device->backend->memory_free(device->stream, memory);
    }
}

/* Under the lock. The class with free blocks that was not used for longest; -1: none are free. */
static int oldest_class(const ht_cache *cache)
{
    int oldest = -1;

    for (int class = 0; class < CLASSES; class ++) {
        if (cache->free[class].count > 0 &&
            (oldest < 0 || cache->free[class].used < cache->free[oldest].used))
            oldest = class;
    }
    return oldest;
}

/* Under the lock. Whether the cache may hold all it does while `bytes` more are in use. */
static bool may_hold(const ht_device_memory *now, size_t bytes)
{
    size_t in_use = now->in_use + bytes, peak = in_use > now->peak ? in_use : now->peak;

    return in_use + now->cached <= (2 * peak > HELD_ANYWAY ? 2 * peak : HELD_ANYWAY);
}

/* Under the mutex. Makes room for `bytes` more. */
static void trim_cache(ht_device *device, size_t bytes)
{
    ht_cache *cache = device->cache;
    void *memory;

    do {
        int class;

        lock(cache);
        class = may_hold(&cache->statistics, bytes) ? -1 : oldest_class(cache);
        memory = class >= 0 ? take_cached(cache, class) : NULL;
        unlock(cache);
        if (memory != NULL)
            device->backend->memory_free(device->stream, memory);
    } while (memory != NULL);
}

/* Under the lock. */
static void count(ht_device_memory *statistics, size_t bytes)
{
    statistics->allocated++;
    statistics->in_use += bytes;
    if (statistics->in_use > statistics->peak)
        statistics->peak = statistics->in_use;
}

static void *ask_backend(ht_device *device, size_t bytes)
{
    ht_cache *cache = device->cache;
    void *memory;

    pthread_mutex_lock(&cache->mutex);
    trim_cache(device, bytes);
    memory = device->backend->memory_alloc(device->stream, bytes);
    if (memory == NULL) {
        empty_cache(device);
        memory = device->backend->memory_alloc(device->stream, bytes);
    }
    lock(cache);
    cache->statistics.missed++;
    if (memory != NULL)
        count(&cache->statistics, bytes);
    unlock(cache);
    pthread_mutex_unlock(&cache->mutex);
    return memory;
}

void *ht__device_alloc(ht_device *device, size_t bytes, size_t *got)
{
    ht_cache *cache = device->cache;
    int class = class_of(bytes);
    void *memory;

    if (class >= CLASSES || ht__alloc_should_fail())
        return NULL;
    *got = class_bytes(class);
    lock(cache);
    cache->free[class].used = ++cache->clock;
    memory = take_cached(cache, class);
    if (memory != NULL)
        count(&cache->statistics, *got);
    unlock(cache);
    return memory != NULL ? memory : ask_backend(device, *got);
}

void ht__device_free(ht_device *device, void *memory, size_t got)
{
    ht_cache *cache = device->cache;

    if (memory == NULL)
        return;
    lock(cache);
    keep(cache, class_of(got), memory);
    cache->statistics.in_use -= got;
    unlock(cache);
}

void ht_device_empty_cache(ht_device *device)
{
    if (HT_IS_NULL(device, "ht_device_empty_cache", "device"))
        return;
    pthread_mutex_lock(&device->cache->mutex);
    empty_cache(device);
    pthread_mutex_unlock(&device->cache->mutex);
}

ht_status ht_device_get_memory(ht_device *device, ht_device_memory *memory)
{
    if (HT_IS_NULL(device, "ht_device_get_memory", "device") ||
        HT_IS_NULL(memory, "ht_device_get_memory", "memory"))
        return ht_error_get(NULL);
    lock(device->cache);
    *memory = device->cache->statistics;
    unlock(device->cache);
    return HT_SUCCESS;
}

void ht__cache_free(ht_device *device)
{
    ht_device_empty_cache(device);
    pthread_mutex_destroy(&device->cache->mutex);
    for (int class = 0; class < CLASSES; class ++)
        ht__free(device->cache->free[class].memory);
    ht__free(device->cache);
}
