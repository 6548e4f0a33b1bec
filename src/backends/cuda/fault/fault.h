/* SPDX-License-Identifier: MIT
 *
 * An error that a kernel finds in the data: a target outside the classes. A wait or a poll reports
 * it. Until then, steps of optimizers do nothing. A call that finds one while another
 * waits to be reported is reported next. */
#ifndef HT_BACKENDS_CUDA_FAULT_H
#define HT_BACKENDS_CUDA_FAULT_H

#include "backends/cuda/device.h"

#define HT_CUDA_NO_FAULT UINT64_MAX

/* In pinned memory: kernels write it, and the host reads it without waiting. */
typedef struct ht_cuda_bad_target {
    uint64_t call;    /* the number of the call that found it, or 0; written after the others */
    const char *what; /* its public function */
    int64_t row, target, columns;
} ht_cuda_bad_target;

typedef struct ht_cuda_fault {
    unsigned long long first; /* the first bad row of the call that runs, or HT_CUDA_NO_FAULT */
    uint64_t stopped;         /* not 0: steps of optimizers do nothing */
    uint64_t told;            /* the number of the call that the host has reported last */
    ht_cuda_bad_target noted; /* for the host; call is `told` if there is none */
    ht_cuda_bad_target last;
} ht_cuda_fault;

HT_BEGIN_DECLS

/* 0, or an error of the runtime. */
int ht_cuda_fault_open(ht_cuda_device *device);
void ht_cuda_fault_close(ht_cuda_device *device);

/* ht_cuda_check_late, also for an error that was found in the data. */
int ht_cuda_check_data(int error, ht_cuda_device *device);

/* fault.cu: lets later steps run again. */
void ht_cuda_fault_clear(const ht_cuda_device *device, uint64_t reported);

HT_END_DECLS
#endif
