/* SPDX-License-Identifier: MIT
 *
 * The device's side of errors in the data. */
#include "backends/cuda/targets.h"

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
    if (fault->noted.call == fault->told) {
        fault->noted = fault->last;
        __threadfence_system();
    }
}

/* After the report of a call's fault: of a later one, the host is told next. */
static __global__ void clear_fault(ht_cuda_fault *fault, uint64_t reported)
{
    if (fault->stopped == reported)
        fault->stopped = 0;
    else if (fault->noted.call == reported)
        fault->noted = fault->last;
    __threadfence_system();
}

ht_cuda_targets ht_cuda_targets_of(ht_cuda_device *device, const void *target, int64_t columns,
                                   int64_t ignore, const char *what)
{
    device->calls++;
    return {device->fault, device->calls, static_cast<const int64_t *>(target),
            columns,       ignore,        what};
}

void ht_cuda_note_fault(const ht_cuda_device *device, const ht_cuda_targets &targets)
{
    HT_CUDA_LAUNCH(note_fault, 1, 1, device->stream, targets);
}

void ht_cuda_fault_clear(ht_cuda_device *device)
{
    HT_CUDA_LAUNCH(clear_fault, 1, 1, device->stream, device->fault, device->fault->told);
}
