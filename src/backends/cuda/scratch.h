/* SPDX-License-Identifier: MIT
 *
 * Host code that several kernels share: the threads of a launch, and memory for one call. */
#ifndef HT_BACKENDS_CUDA_SCRATCH_H
#define HT_BACKENDS_CUDA_SCRATCH_H

#include "backends/cuda/device.h"
#include "backends/cuda/launch.h"

/* SHORT_BLOCKS are for kernels with many registers: of more and shorter blocks, the last ones end
 * together, however few a core has at once. */
enum { HT_CUDA_BLOCKS_PER_CORE = 16, HT_CUDA_SHORT_BLOCKS_PER_CORE = 64 };

/* The number of blocks: one thread for each of `work` elements, up to a number of blocks for each
 * core. */
static inline unsigned ht_cuda_blocks_up_to(const ht_cuda_device *device, int64_t work,
                                            int per_core)
{
    const int64_t most = (int64_t)device->cores * per_core;
    const int64_t blocks = (work + HT_CUDA_THREADS - 1) / HT_CUDA_THREADS;

    return (unsigned)(blocks < most ? blocks : most);
}

/* Up to what keeps the device busy. */
static inline unsigned ht_cuda_blocks(const ht_cuda_device *device, int64_t work)
{
    return ht_cuda_blocks_up_to(device, work, HT_CUDA_BLOCKS_PER_CORE);
}

/* Launches a kernel whose first parameter is how many elements there are, a thread for each. */
#define HT_CUDA_LAUNCH_EACH(device, kernel, work, ...)                                            \
    HT_CUDA_LAUNCH(kernel, ht_cuda_blocks(device, work), HT_CUDA_THREADS, (device)->stream, work, \
                   __VA_ARGS__)

/* In such a kernel: the elements of a thread. */
#define HT_CUDA_EACH(i, work)                                                    \
    HT_CUDA_ROLLED                                                               \
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < (work); \
         i += (int64_t)gridDim.x * blockDim.x)

/* Memory for later launches of the call, or NULL after services->fail. It is given back in the
 * order of the stream, after these launches. */
static inline void *ht_cuda_scratch(const ht_cuda_device *device, size_t bytes, const char *what)
{
    void *memory = NULL;
    const int error = ht_cuda_allocate(&memory, bytes, device->stream);

    if (error == 0)
        return memory;
    ht_cuda_launched(); /* clears the runtime's error, so that no launch reports it */
    if (ht_cuda_is_out_of_memory(error))
        ht_cuda_core->fail_as(HT_ERR_MEMORY, "cuda:%d: %zu bytes for a kernel: %s", device->index,
                              bytes, ht_cuda_text(error));
    else
        ht_cuda_check(error, device, what);
    return NULL;
}

static inline void ht_cuda_scratch_free(const ht_cuda_device *device, void *memory)
{
    if (memory != NULL)
        ht_cuda_free(memory, device->stream); /* an error shows at a later call */
}

/* A kernel's call with memory for `count` elements: launch(memory) is 0, or what the call returns. */
template <class type, class function>
static int ht_cuda_with_scratch(ht_cuda_device *device, const ht_kernel_call *call, size_t count,
                                const function &launch)
{
    if (ht_cuda_begin(device, call) != 0)
        return 1;
    type *memory = static_cast<type *>(ht_cuda_scratch(device, count * sizeof(type), call->what));

    if (memory == NULL)
        return 1;
    const int failed = launch(memory);

    if (failed != 0)
        ht_cuda_launched(); /* as in ht_cuda_scratch: the failure was reported */
    ht_cuda_scratch_free(device, memory);
    return failed != 0 ? failed : ht_cuda_end(device, call);
}

#endif
