/* SPDX-License-Identifier: MIT
 *
 * Errors of the runtime, in the form in which the core gets them. An error of a kernel shows at a
 * later call, which cannot tell whose it is: with HT_CUDA_SYNC=1 the host waits for each kernel,
 * and the message names the operation. */
#include "backends/cuda/device.h"

const ht_backend_services *ht_cuda_core;

int ht_cuda_check(int error, const ht_cuda_device *device, const char *what)
{
    if (error == 0)
        return 0;
    /* libht empties its cache then, and calls again. */
    if (ht_cuda_is_out_of_memory(error) && !ht_cuda_has_work())
        ht_cuda_core->fail_as(HT_ERR_MEMORY, "%s: cuda:%d: %s", what, device->index,
                              ht_cuda_text(error));
    else
        ht_cuda_core->fail("%s: cuda:%d: %s", what, device->index, ht_cuda_text(error));
    ht_cuda_launched(); /* clears the runtime's error, so that no launch reports it again */
    return 1;
}

int ht_cuda_check_late(int error, const ht_cuda_device *device)
{
    const char *last = __atomic_load_n(&device->last, __ATOMIC_RELAXED);

    if (error == 0)
        return 0;
    if (last == NULL)
        ht_cuda_core->fail("cuda:%d: %s", device->index, ht_cuda_text(error));
    else
        ht_cuda_core->fail("cuda:%d: %s, in %s or before it%s", device->index, ht_cuda_text(error),
                           last, device->waits ? "" : "; HT_CUDA_SYNC=1 names the operation");
    ht_cuda_launched();
    return 1;
}

int ht_cuda_begin(const ht_cuda_device *device, const ht_kernel_call *call)
{
    ht_cuda_set_work(false);
    return ht_cuda_check(ht_cuda_use(device->index), device, call->what);
}

int ht_cuda_end(ht_cuda_device *device, const ht_kernel_call *call)
{
    int error = ht_cuda_launched();

    __atomic_store_n(&device->last, call->what, __ATOMIC_RELAXED);
    if (error == 0 && device->waits)
        error = ht_cuda_stream_wait(device->stream);
    return ht_cuda_check(error, device, call->what);
}
