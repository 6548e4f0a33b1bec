/* SPDX-License-Identifier: MIT
 *
 * The host's side of errors in the data. */
#include <inttypes.h>

#include "backends/cuda/fault/fault.h"

int ht_cuda_fault_open(ht_cuda_device *device)
{
    void *memory;
    const int error = ht_cuda_host_malloc(&memory, sizeof(ht_cuda_fault));

    if (error != 0)
        return error;
    pthread_mutex_init(&device->noting, NULL);
    device->fault = memory;
    *device->fault = (ht_cuda_fault){.first = HT_CUDA_NO_FAULT};
    return 0;
}

void ht_cuda_fault_close(ht_cuda_device *device)
{
    if (device->fault == NULL)
        return;
    pthread_mutex_destroy(&device->noting);
    ht_cuda_host_free(device->fault);
}

/* The number of the call whose fault waits to be reported, or 0. The rest of it is written then, and
 * stays until it is reported. */
static uint64_t waiting(const ht_cuda_fault *fault)
{
    const uint64_t call = __atomic_load_n(&fault->noted.call, __ATOMIC_ACQUIRE);

    return call != __atomic_load_n(&fault->told, __ATOMIC_RELAXED) ? call : 0;
}

/* Under the mutex. Later work of the stream begins without the fault. */
static void report(const ht_cuda_device *device, uint64_t call)
{
    const ht_cuda_bad_target *bad = &device->fault->noted;

    ht_cuda_core->fail_as(HT_ERR_ARGUMENT,
                          "%s: target %" PRId64 " of row %" PRId64 " is outside the %" PRId64
                          " classes",
                          bad->what, bad->target, bad->row, bad->columns);
    __atomic_store_n(&device->fault->told, call, __ATOMIC_RELEASE);
    ht_cuda_fault_clear(device, call);
}

/* 0, or 1 after it reported a fault, which one of several threads does. */
static int report_waiting(ht_cuda_device *device)
{
    uint64_t call = waiting(device->fault);

    if (call == 0)
        return 0;
    pthread_mutex_lock(&device->noting);
    call = waiting(device->fault);
    if (call != 0)
        report(device, call);
    pthread_mutex_unlock(&device->noting);
    return call != 0;
}

int ht_cuda_check_data(int error, ht_cuda_device *device)
{
    return error == 0 ? report_waiting(device) : ht_cuda_check_late(error, device);
}
