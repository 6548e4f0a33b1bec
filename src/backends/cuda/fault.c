/* SPDX-License-Identifier: MIT
 *
 * The host's side of errors in the data. */
#include <inttypes.h>

#include "backends/cuda/fault.h"

int ht_cuda_fault_open(ht_cuda_device *device)
{
    void *memory;
    const int error = ht_cuda_host_malloc(&memory, sizeof(ht_cuda_fault));

    if (error != 0)
        return error;
    device->fault = memory;
    *device->fault = (ht_cuda_fault){.first = HT_CUDA_NO_FAULT};
    return 0;
}

void ht_cuda_fault_close(ht_cuda_device *device)
{
    if (device->fault != NULL)
        ht_cuda_host_free(device->fault);
}

/* 0, or 1 after it reported a fault: then later work of the stream begins without one. */
static int report(ht_cuda_device *device)
{
    volatile ht_cuda_fault *fault = device->fault;
    const volatile ht_cuda_bad_target *bad = &fault->noted;

    if (bad->call == fault->told)
        return 0;
    ht_cuda_core->fail_as(HT_ERR_ARGUMENT,
                          "%s: target %" PRId64 " of row %" PRId64 " is outside the %" PRId64
                          " classes",
                          bad->what, bad->target, bad->row, bad->columns);
    fault->told = bad->call;
    ht_cuda_fault_clear(device);
    return 1;
}

int ht_cuda_check_data(int error, ht_cuda_device *device)
{
    return error == 0 ? report(device) : ht_cuda_check_late(error, device);
}
