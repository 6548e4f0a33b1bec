/* SPDX-License-Identifier: MIT
 *
 * The device's side of errors in the data. */
#include "backends/cuda/targets.h"

/* After the kernel that read the targets: tells the host of its first fault, unless an earlier one
 * waits to be reported. */
static __global__ void note_fault(ht_cuda_targets t)
{
    if (t.fault->first >> HT_CUDA_ROW_BITS != t.call)
        return;
    t.fault->row = (int64_t)(t.fault->first & ((UINT64_C(1) << HT_CUDA_ROW_BITS) - 1));
    t.fault->target = t.target[t.fault->row];
    t.fault->columns = t.columns;
    t.fault->what = t.what;
    __threadfence_system();
    t.fault->noted = t.call;
}

static __global__ void clear_fault(ht_cuda_fault *fault)
{
    fault->first = HT_CUDA_NO_FAULT;
}

ht_cuda_targets ht_cuda_targets_of(ht_cuda_device *device, const void *target, int64_t columns,
                                   int64_t ignore, const char *what)
{
    device->calls = device->calls % ((UINT64_C(1) << (63 - HT_CUDA_ROW_BITS)) - 1) + 1;
    return {device->fault, device->calls, static_cast<const int64_t *>(target), columns, ignore,
            what};
}

void ht_cuda_note_fault(const ht_cuda_device *device, const ht_cuda_targets &targets)
{
    HT_CUDA_LAUNCH(note_fault, 1, 1, device->stream, targets);
}

void ht_cuda_fault_clear(ht_cuda_device *device)
{
    HT_CUDA_LAUNCH(clear_fault, 1, 1, device->stream, device->fault);
}
