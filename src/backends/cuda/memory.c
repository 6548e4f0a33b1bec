/* SPDX-License-Identifier: MIT
 *
 * Memory of a device, in the order of its stream: freed memory is reused for later work without a
 * wait. libht keeps blocks by size above this (ht_device_get_memory has its statistics) and gives
 * them back before an allocation fails for good. */
#include "backends/cuda/staging.h"

#define MIB ((size_t)1 << 20)

/* libht asks a second time after it has freed all that it keeps: then the failure is final. */
static void note_refusal(ht_cuda_device *device, size_t bytes)
{
    const bool again = __atomic_load_n(&device->refused, __ATOMIC_RELAXED) == bytes;
    ht_cuda_memory memory;

    __atomic_store_n(&device->refused, again ? 0 : bytes, __ATOMIC_RELAXED);
    if (!again || ht_cuda_get_memory(device->index, &memory) != 0)
        return;
    ht_cuda_core->log(1 /* a warning */,
                      "cuda:%d: out of memory: %zu MiB requested, %zu of %zu MiB free, %zu MiB "
                      "in use by this process (%zu MiB at most), the rest by other processes",
                      device->index, bytes / MIB, memory.available / MIB, memory.total / MIB,
                      memory.used / MIB, memory.peak / MIB);
}

static void *memory_alloc(void *stream, size_t bytes)
{
    ht_cuda_device *device = stream;
    void *memory = NULL;
    int error = ht_cuda_use(device->index);

    if (error == 0)
        error = ht_cuda_allocate(&memory, bytes, device->stream);
    if (error == 0) {
        __atomic_store_n(&device->refused, 0, __ATOMIC_RELAXED);
        return memory;
    }
    ht_cuda_launched(); /* clears the runtime's error, so that no launch reports it */
    if (ht_cuda_is_out_of_memory(error))
        note_refusal(device, bytes);
    else
        ht_cuda_check_late(error, device);
    return NULL;
}

static void memory_free(void *stream, void *memory)
{
    const ht_cuda_device *device = stream;

    ht_cuda_use(device->index);
    ht_cuda_free(memory, device->stream); /* what fails here was reported by a call before */
}

/* The runtime derives the direction of the copy from the addresses. */
static int memory_copy(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind)
{
    const ht_cuda_device *device = stream;
    int error = ht_cuda_use(device->index);

    if (error == 0 && kind == HT_COPY_ON_DEVICE)
        error = ht_cuda_copy(to, from, bytes, device->stream);
    else if (error == 0)
        error = ht_cuda_stage(device, to, from, bytes, kind);
    return ht_cuda_check_late(error, device);
}

static int side_copy(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind,
                     void *first, void *made)
{
    ht_cuda_device *device = stream;
    const ht_cuda_event *after = first;
    ht_cuda_event *event = made;
    int error = ht_cuda_use(device->index);

    event->device = device;
    if (error == 0)
        error = ht_cuda_stage_side_copy(device, to, from, bytes, kind,
                                        after != NULL ? after->handle : NULL, event->handle);
    return ht_cuda_check_late(error, device);
}

static void *host_alloc(size_t bytes)
{
    void *memory;

    if (ht_cuda_host_malloc(&memory, bytes) == 0)
        return memory;
    ht_cuda_launched(); /* clears the error, so that no launch reports it */
    return NULL;
}

static void host_free(void *memory)
{
    ht_cuda_host_free(memory);
}

void ht_cuda_fill_memory(ht_backend *backend)
{
    backend->memory_alloc = memory_alloc;
    backend->memory_free = memory_free;
    backend->memory_copy = memory_copy;
    backend->host_alloc = host_alloc;
    backend->host_free = host_free;
    backend->side_copy = side_copy;
}
