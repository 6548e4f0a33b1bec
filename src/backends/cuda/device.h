/* SPDX-License-Identifier: MIT
 *
 * A device as the files of this folder see it: what kernels are given as `stream`. */
#ifndef HT_BACKENDS_CUDA_DEVICE_H
#define HT_BACKENDS_CUDA_DEVICE_H

#include <pthread.h>

#include "backends/cuda/retry.h"
#include "backends/cuda/runtime.h"
#include "ht/backend.h"

HT_BEGIN_DECLS

struct ht_cuda_fault;
struct ht_cuda_handle;
struct ht_cuda_link;
struct ht_cuda_plans;
struct ht_cuda_staging;

typedef struct ht_cuda_device {
    int index, cores;
    void *stream; /* the runtime's: all work of the device, in its order */
    /* Several threads read and write these, by __atomic functions, because C++ has no _Atomic. */
    const char *last; /* the public function whose kernel was launched last, or NULL */
    size_t refused;   /* the bytes that the last allocation asked for in vain, or 0 */
    uint64_t reached; /* a bit for each device whose copies may reach the memory of this one */

    bool waits;                  /* for each kernel: HT_CUDA_SYNC */
    struct ht_cuda_handle *blas; /* library/handle.h */
    struct ht_cuda_plans *plans; /* dnn.h */
    struct ht_cuda_fault *fault; /* fault.h */
    pthread_mutex_t noting;      /* of `calls`, of launches that note a fault, and of reports */
    uint64_t calls;              /* that may note one */
    struct ht_cuda_staging *staging;
    struct ht_cuda_link *links; /* link/link.h; the first of them */
} ht_cuda_device;

/* A point in the work of a stream. The device of the last record is whose error a wait tells. */
typedef struct ht_cuda_event {
    ht_cuda_device *device;
    void *handle; /* the runtime's */
} ht_cuda_event;

/* report.c */
extern const ht_backend_services *ht_cuda_core;

/* 0, or 1 after services->fail. what: the operation that failed. */
int ht_cuda_check(int error, const ht_cuda_device *device, const char *what);

/* The same for an error that work given earlier may have left. */
int ht_cuda_check_late(int error, const ht_cuda_device *device);

/* Before the launches of a call, and after them; 0, or 1 after services->fail. */
int ht_cuda_begin(const ht_cuda_device *device, const ht_kernel_call *call);
int ht_cuda_end(ht_cuda_device *device, const ht_kernel_call *call);

/* link/link.c. Not 0 after services->fail, once, if the messages of a link of the device failed. */
int ht_cuda_check_links(const ht_cuda_device *device);

/* Functions of ht_backend: between.c, memory.c, events.c and link/link.c fill in theirs. */
void ht_cuda_fill_between(ht_backend *backend);
void ht_cuda_fill_memory(ht_backend *backend);
void ht_cuda_fill_events(ht_backend *backend);
void ht_cuda_fill_links(ht_backend *backend);

HT_END_DECLS
#endif
