/* SPDX-License-Identifier: MIT
 *
 * The device's side of errors in the data. */
#include "backends/cuda/fault/targets.h"

/* For the host, which reads the other fields once it finds the number of the call. */
static __forceinline__ __device__ void tell(ht_cuda_fault *fault, const ht_cuda_bad_target &bad)
{
    fault->noted.what = bad.what;
    fault->noted.row = bad.row;
    fault->noted.target = bad.target;
    fault->noted.columns = bad.columns;
    ht_cuda_publish(&fault->noted.call, bad.call);
}

/* After the kernel that read the targets: notes its first fault, for the host unless an earlier one
 * waits to be reported. */
static __global__ void note_fault(ht_cuda_targets t)
{
    ht_cuda_fault *fault = t.fault;
    const int64_t row = (int64_t)fault->first;

    if (fault->first == HT_CUDA_NO_FAULT)
        return;
    fault->first = HT_CUDA_NO_FAULT;
    fault->last = {t.call, t.what, row, t.target[row], t.columns};
    fault->stopped = t.call;
    if (fault->noted.call == ht_cuda_published(&fault->told))
        tell(fault, fault->last);
}

/* Runs after the report of a call's fault: the host then gets a later fault, if there is one. */
static __global__ void clear_fault(ht_cuda_fault *fault, uint64_t reported)
{
    if (fault->stopped == reported)
        fault->stopped = 0;
    else if (fault->noted.call == reported)
        tell(fault, fault->last);
}

void ht_cuda_fault_begin(ht_cuda_device *device, ht_cuda_targets *targets)
{
    pthread_mutex_lock(&device->noting);
    targets->call = ++device->calls;
}

void ht_cuda_fault_end(ht_cuda_device *device, const ht_cuda_targets &targets)
{
    HT_CUDA_LAUNCH(note_fault, 1, 1, device->stream, targets);
    pthread_mutex_unlock(&device->noting);
}

void ht_cuda_fault_clear(const ht_cuda_device *device, uint64_t reported)
{
    HT_CUDA_LAUNCH(clear_fault, 1, 1, device->stream, device->fault, reported);
}
