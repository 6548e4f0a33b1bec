/* SPDX-License-Identifier: MIT
 *
 * The calls of runtime.h by CUDA's runtime. */
#include <cuda_runtime_api.h>

#include "backends/cuda/runtime.h"

const char *ht_cuda_text(int error)
{
    return cudaGetErrorString((cudaError_t)error);
}

bool ht_cuda_is_out_of_memory(int error)
{
    return error == cudaErrorMemoryAllocation;
}

bool ht_cuda_is_not_ready(int error)
{
    return error == cudaErrorNotReady;
}

int ht_cuda_count(int *count)
{
    *count = 0; /* an error leaves it as it is */
    return (int)cudaGetDeviceCount(count);
}

int ht_cuda_versions(int *driver, int *runtime)
{
    int error = (int)cudaDriverGetVersion(driver);

    return error != 0 ? error : (int)cudaRuntimeGetVersion(runtime);
}

int ht_cuda_use(int index)
{
    return (int)cudaSetDevice(index);
}

int ht_cuda_get_properties(int index, ht_cuda_properties *properties)
{
    struct cudaDeviceProp all;
    int pools = 0, error = (int)cudaGetDeviceProperties(&all, index);

    if (error == 0)
        error = (int)cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, index);
    if (error != 0)
        return error;
    *properties = (ht_cuda_properties){all.totalGlobalMem, all.multiProcessorCount, all.major,
                                       all.minor, pools != 0};
    return 0;
}

int ht_cuda_get_memory(int index, ht_cuda_memory *memory)
{
    cudaMemPool_t pool;
    int error = (int)cudaMemGetInfo(&memory->available, &memory->total);

    if (error == 0)
        error = (int)cudaDeviceGetDefaultMemPool(&pool, index);
    if (error == 0)
        error = (int)cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &memory->used);
    if (error == 0)
        error = (int)cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &memory->peak);
    return error;
}

int ht_cuda_launched(void)
{
    return (int)cudaGetLastError();
}

int ht_cuda_peek(void)
{
    return (int)cudaPeekAtLastError();
}

int ht_cuda_stream_new(void **stream)
{
    return (int)cudaStreamCreateWithFlags((cudaStream_t *)stream, cudaStreamNonBlocking);
}

int ht_cuda_stream_free(void *stream)
{
    return (int)cudaStreamDestroy(stream);
}

int ht_cuda_stream_wait(void *stream)
{
    return (int)cudaStreamSynchronize(stream);
}

/* CUDA keeps this answer as if it were an error of the thread. */
static int answer(cudaError_t error)
{
    if (error == cudaErrorNotReady)
        cudaGetLastError(); /* so that no launch reports it */
    return (int)error;
}

int ht_cuda_stream_query(void *stream)
{
    return answer(cudaStreamQuery(stream));
}

int ht_cuda_stream_after(void *stream, void *event)
{
    return (int)cudaStreamWaitEvent(stream, event, 0);
}

int ht_cuda_host_call(void *stream, void (*run)(void *user), void *user)
{
    return (int)cudaLaunchHostFunc(stream, run, user);
}

int ht_cuda_event_new(void **event)
{
    return (int)cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming);
}

int ht_cuda_event_free(void *event)
{
    return (int)cudaEventDestroy(event);
}

int ht_cuda_event_record(void *event, void *stream)
{
    return (int)cudaEventRecord(event, stream);
}

int ht_cuda_event_query(void *event)
{
    return answer(cudaEventQuery(event));
}

int ht_cuda_event_wait(void *event)
{
    return (int)cudaEventSynchronize(event);
}

int ht_cuda_keep_memory(int index, uint64_t bytes)
{
    cudaMemPool_t pool;
    uint64_t kept = 0;
    int error = (int)cudaDeviceGetDefaultMemPool(&pool, index);

    if (error == 0)
        error = (int)cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept);
    if (error == 0 && kept < bytes)
        error = (int)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes);
    return error;
}

int ht_cuda_trim(void *stream)
{
    cudaMemPool_t pool;
    int index, error = (int)cudaStreamSynchronize(stream);

    if (error == 0)
        error = (int)cudaGetDevice(&index);
    if (error == 0)
        error = (int)cudaDeviceGetDefaultMemPool(&pool, index);
    return error != 0 ? error : (int)cudaMemPoolTrimTo(pool, 0);
}

int ht_cuda_malloc(void **memory, size_t bytes, void *stream)
{
    return (int)cudaMallocAsync(memory, bytes, stream);
}

int ht_cuda_free(void *memory, void *stream)
{
    return (int)cudaFreeAsync(memory, stream);
}

int ht_cuda_copy(void *to, const void *from, size_t bytes, void *stream)
{
    return (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}

int ht_cuda_copy_peer(void *to, int to_index, const void *from, int from_index, size_t bytes,
                      void *stream)
{
    return (int)cudaMemcpyPeerAsync(to, to_index, from, from_index, bytes, stream);
}

/* Memory of pools is opened by the pool: cudaDeviceEnablePeerAccess does not count for it. */
int ht_cuda_share(int index, int other)
{
    const struct cudaMemAccessDesc access = {
        .location = {.type = cudaMemLocationTypeDevice, .id = other},
        .flags = cudaMemAccessFlagsProtReadWrite};
    cudaMemPool_t pool;
    int linked = 0, error = (int)cudaDeviceCanAccessPeer(&linked, other, index);

    if (error != 0 || !linked)
        return error;
    error = (int)cudaDeviceGetDefaultMemPool(&pool, index);
    return error != 0 ? error : (int)cudaMemPoolSetAccess(pool, &access, 1);
}

int ht_cuda_get_bus(int index, char text[HT_CUDA_BUS_ROOM])
{
    return (int)cudaDeviceGetPCIBusId(text, HT_CUDA_BUS_ROOM, index);
}

int ht_cuda_host_malloc(void **memory, size_t bytes)
{
    return (int)cudaHostAlloc(memory, bytes, cudaHostAllocPortable);
}

int ht_cuda_host_free(void *memory)
{
    return (int)cudaFreeHost(memory);
}

bool ht_cuda_is_pinned(const void *memory)
{
    struct cudaPointerAttributes attributes;

    if (cudaPointerGetAttributes(&attributes, memory) == cudaSuccess)
        return attributes.type == cudaMemoryTypeHost;
    cudaGetLastError(); /* so that no launch reports it */
    return false;
}
