/* SPDX-License-Identifier: MIT
 *
 * Want of memory that is not the pool's: for the code of a kernel, which CUDA loads at its first
 * launch, and for libraries. Memory that the pool keeps is given back, and the call is made again. */
#include "backends/cuda/retry.h"

#include "backends/cuda/runtime.h"

/* Whether the thread's call has given the device work: then it cannot begin again. */
static _Thread_local bool has_work;

void ht_cuda_set_work(bool has)
{
    has_work = has;
}

bool ht_cuda_has_work(void)
{
    return has_work;
}

bool ht_cuda_try_again(int error, void *stream)
{
    if (!ht_cuda_is_out_of_memory(error) || ht_cuda_trim(stream) != 0)
        return false;
    ht_cuda_launched(); /* clears the error, so that no launch reports it */
    return true;
}

bool ht_cuda_may_launch(void)
{
    return ht_cuda_peek() == 0;
}

bool ht_cuda_launch_again(void *stream, int launches)
{
    const int error = ht_cuda_peek();

    has_work = has_work || error == 0;
    return launches == 1 && ht_cuda_try_again(error, stream);
}

int ht_cuda_allocate(void **memory, size_t bytes, void *stream)
{
    const int error = ht_cuda_malloc(memory, bytes, stream);

    return ht_cuda_try_again(error, stream) ? ht_cuda_malloc(memory, bytes, stream) : error;
}
