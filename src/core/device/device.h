/* SPDX-License-Identifier: MIT
 *
 * Devices: their memory, and their threads. */
#ifndef HT_CORE_DEVICE_DEVICE_H
#define HT_CORE_DEVICE_DEVICE_H

#include "backends/cpu/kernels.h"
#include "core/base/base.h"
#include "ht/backend.h"
#include "ht/devices.h"

/* ---- devices and storages (device.c, storage.c) ---------------------------------------------- */
/* A backend, and what the core keeps of it. Lives until exit. */
typedef struct ht_driver {
    ht_backend backend;
    ht_kernel_table kernels;
    bool closed; /* a device is open: no more kernels are added */
} ht_driver;

struct ht_device {
    ht_object base;
    char name[32];
    int index;
    const ht_backend *backend;      /* of its driver */
    const ht_kernel_table *kernels; /* of its driver */
    void *stream;
    atomic_llong fallbacks;   /* kernels that ran on the host instead */
    atomic_int links;         /* with other ranks: its work may wait for theirs */
    struct ht_cache *cache;   /* owned; the caching allocator (allocator.c) */
    struct ht_worker *worker; /* owned; its thread (device/worker.c), NULL until there is work */
    atomic_ushort named_on_host[HT_KERNEL_LIMIT]; /* the dtypes, a bit each, that the log has had */
};

/* Work for one of several devices at once. `run` finds an open scope, the device in use, and the
 * caller's grad mode; what it keeps beyond its end it retains. Its error is kept in the task. */
typedef struct ht_device_task {
    void (*run)(void *user);
    void *user;
    ht_device *device;
    ht_status status;
    char *message; /* owned by the caller; NULL unless status is an error */
    bool grad_enabled;
    int threads; /* compute threads it may use */
    struct ht_device_join *join;
    struct ht_device_task *next;
} ht_device_task;

/* Runs the first task on the calling thread and each other one on the thread of its device; returns
 * when all have ended. Errors are neither reported nor end the job before: the caller raises them.
 * From the thread of a device: one task after another. */
void ht__devices_run(int count, ht_device_task tasks[]);
void ht__device_stop(ht_device *device); /* ends its thread, if there is one */

ht_driver *ht__driver_find(const char *backend); /* NULL after the error was recorded */

/* Bytes from a device into host memory, all there when it returns, and back; 0, or not 0 after the
 * error was recorded. */
int ht__device_get(const ht_device *device, void *to, const void *from, size_t bytes);
int ht__device_put(const ht_device *device, void *to, const void *from, size_t bytes);
int ht__device_wait(const ht_device *device); /* for all its work, and for parallel copies */

/* Waits for an event of the device (waits.c). If its work may wait for other ranks, the wait has
 * the deadline HT_TIMEOUT, which ends the job. 0, or not 0 after the error was recorded. */
int ht__device_wait_event(const ht_device *device, void *event);
int ht__device_wait_work(const ht_device *device); /* given so far; parallel copies may continue */
int ht__device_wait_linked(const ht_device *device); /* the same, if it may wait for other ranks */

/* A copy in parallel with the work of a device: no later work of the device waits for it
 * (side_copy.c). Each function that returns an int returns -1 after the error was recorded: then
 * nothing is pending. */
typedef struct ht_side_copy {
    const ht_device *device; /* not owned */
    void *event;             /* owned; kept for the next one; NULL: there is none yet */
    bool under_way;
} ht_side_copy;

/* To the host, without a wait. Nothing writes `from` before it is done. done: 1, 0, or -1, also for
 * an error in data that has come to light; never waits. back: to where it came from, once it is
 * done; work given since the beginning does not touch that place, and later work follows. */
int ht__fetch_begin(ht_side_copy *copy, const ht_device *device, void *to, const void *from,
                    size_t bytes);
int ht__fetch_done(ht_side_copy *copy);
int ht__fetch_back(const ht_side_copy *copy, void *to, const void *from, size_t bytes);

/* Copies to the device. begin has read `from` when it returns, unless `from` is pinned. Work that
 * the device gets after join finds the values in `to`. */
int ht__ahead_begin(ht_side_copy *copy, const ht_device *device, void *to, const void *from,
                    size_t bytes);
int ht__ahead_join(ht_side_copy *copy);

/* Waits, if need be. -1 may be an error in data, which other ranks do not get. */
int ht__side_copy_end(ht_side_copy *copy);

/* Not 0, with the error recorded, where one in data has come to light; never waits. */
static inline int ht__device_poll(const ht_device *device)
{
    return device->backend->poll != NULL ? device->backend->poll(device->stream) : 0;
}

/* ---- kernels (kernel_names.c, kernels.c, operands.c, fallback.c) --------------------------------
 */
const char *ht__kernel_name(ht_kernel kernel);
ht_kernel ht__kernel_find(const char *name);
int ht__kernel_add(ht_driver *driver, ht_kernel kernel, ht_dtype dtype, ht_kernel_fn *run);
void ht__call_operands(ht_kernel_call *call, ht_operand_visit_fn *visit, void *user);

typedef enum ht_access { HT_READ, HT_WRITE } ht_access; /* HT_WRITE: the kernel may read, too */

/* The operand of `bytes` bytes; absent where data is NULL. */
static inline ht_kernel_operand ht__operand_bytes(const void *data, int64_t bytes, ht_access access)
{
    return (ht_kernel_operand){
        .data = (void *)(uintptr_t)data, .end = bytes, .written = access == HT_WRITE};
}

/* Elements between the first one and the lowest and highest that steps along axes lead to. */
typedef struct ht_reach {
    int64_t low, high; /* low: 0 or below */
    bool nothing;      /* an axis has no elements */
} ht_reach;

static inline void ht__reach_along(ht_reach *reach, int64_t length, int64_t stride)
{
    const int64_t far = (length - 1) * stride;

    *(far < 0 ? &reach->low : &reach->high) += far;
    reach->nothing |= length == 0;
}

/* The operand whose first element, of `size` bytes, is at `data`. */
static inline ht_kernel_operand ht__operand_reaching(const void *data, const ht_reach *reach,
                                                     int64_t size, ht_access access)
{
    return (ht_kernel_operand){.data = (void *)(uintptr_t)data,
                               .begin = reach->nothing ? 0 : reach->low * size,
                               .end = reach->nothing ? 0 : (reach->high + 1) * size,
                               .written = access == HT_WRITE};
}

/* Runs a kernel: on the device, or on the host where that has none for these arguments. arguments:
 * of the kernel's struct, with its operands and call.operands, the number of those directly behind
 * the call. This fills the rest of `call`, but not its table. An error is one of this rank; of what
 * no kernel serves, one of all. */
#define HT_LAUNCH(comm, device, kernel_, dtype_, arguments, what_)                         \
    ht__launch(comm, device,                                                               \
               ht__call_fill((ht_kernel_call *)(arguments), (uint32_t)sizeof *(arguments), \
                             kernel_, dtype_, what_))

static inline ht_kernel_call *ht__call_fill(ht_kernel_call *call, uint32_t bytes, ht_kernel kernel,
                                            ht_dtype dtype, const char *what)
{
    call->bytes = bytes;
    call->kernel = kernel;
    call->dtype = dtype;
    call->what = what;
    return call;
}

ht_status ht__launch_not_done(ht_comm *comm, ht_device *device, const ht_kernel_call *call,
                              int answer);
static inline ht_status ht__launch(ht_comm *comm, ht_device *device, const ht_kernel_call *call)
{
    ht_kernel_fn *run = device->kernels->at[call->kernel][call->dtype];
    int answer = run != NULL ? run(device->stream, call) : HT_KERNEL_REFUSED;

    return answer == 0 ? HT_SUCCESS : ht__launch_not_done(comm, device, call, answer);
}

/* Whether a kernel runs for a device, on it or on the host; so that an operation can be refused
 * before it has begun. */
bool ht__kernel_on_host(const ht_device *device, ht_kernel kernel, ht_dtype dtype);
static inline bool ht__kernel_on_device(const ht_device *device, ht_kernel kernel, ht_dtype dtype)
{
    return device->kernels->at[kernel][dtype] != NULL;
}
static inline bool ht__kernel_is_there(const ht_device *device, ht_kernel kernel, ht_dtype dtype)
{
    return ht__kernel_on_device(device, kernel, dtype) || ht__kernel_on_host(device, kernel, dtype);
}

/* The same on all ranks: HT_ERR_DTYPE if the host lacks the kernel too, because its kernels define
 * the dtypes of an operation; otherwise HT_ERR_UNSUPPORTED. */
ht_status ht__kernel_missing(ht_comm *comm, const ht_device *device, ht_kernel kernel,
                             ht_dtype dtype, const char *what);

/* On the host, for `device`, with the host's `run`. */
ht_status ht__run_on_host(ht_comm *comm, ht_device *device, const ht_kernel_call *call,
                          ht_kernel_fn *run);
extern bool ht__fallback_is_error; /* HT_FALLBACK=error, of rank 0 */

struct ht_cache *ht__cache_new(void);
void ht__cache_free(ht_device *device);
void *ht__device_alloc(ht_device *device, size_t bytes, size_t *got); /* NULL: out of memory */
void ht__device_free(ht_device *device, void *memory, size_t got);
ht_device *ht__device_cpu(void);
void ht__devices_finalize(void);

#endif
