/* SPDX-License-Identifier: MIT
 *
 * CUDA's runtime (src/backends/cuda/runtime.h) without a GPU: eight devices, whose work waits in
 * queues until somebody waits for it. Here are devices and launches; emulated_streams.cc has the
 * queues, emulated_memory.cc memory and copies, emulated_blas.cc products,
 * emulated_dnn.cc convolutions, emulated_nccl.cc messages between ranks.
 *
 * - EMULATED_RUN=now: does the work at once
 * - EMULATED_ORDER=forward|backward|mixed: of threads and blocks; read at each launch
 * - EMULATED_MEMORY=N: bytes that a device has, 1 GiB by default
 * - EMULATED_CODE=N: a kernel that is launched first from now on takes so many bytes for its code;
 *   EMULATED_HANDLE=N: and so does each handle of cuBLAS and cuDNN
 * - EMULATED_PAUSE=N: a thread waits for N microseconds after a launch, so that others go on
 * - EMULATED_FAULT=N: the N-th kernel of a device accesses an address that is none
 * - EMULATED_COPY_FAULT=N: the N-th copy from now on fails, unless it is one on a device
 * - EMULATED_PINNED=N: there are no more bytes of pinned memory, and copies need none
 * - EMULATED_BLAS=no: there is no cuBLAS; EMULATED_DNN=no: no cuDNN
 * - EMULATED_PLANS=old: a convolution that has no plan yet ends the process
 * - EMULATED_HOST=own: each process is on a host of its own, with devices of its own
 * - EMULATED_DEVICES=N, EMULATED_DRIVER=N: how many devices, and what the driver knows
 * - EMULATED_FLAW=stride|order|link: a fault that a test must find (tests/backends/flaws.sh). An elementwise
 *   kernel steps along axis 0 of its first input by 0; a kernel begins before the one that was
 *   launched right before it; or messages between ranks leave before what they wait for */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <set>

#include "emulate.h"
#include "emulated_runtime.h"

std::recursive_mutex emulated_mutex;
emulated_device emulated_devices[MAX_DEVICES];
thread_local int emulated_current, emulated_last_error;
thread_local bool emulated_in_host_call;
void (*emulated_before_publish)(void);

void emulated_refuse_in_host_call(const char *name)
{
    if (!emulated_in_host_call)
        return;
    fprintf(stderr, "emulated: %s is called in a host function\n", name);
    abort();
}

long emulated_setting(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? atol(text) : otherwise;
}

bool emulated_is(const char *name, const char *value)
{
    const char *text = getenv(name);

    return text != NULL && strcmp(text, value) == 0;
}

bool emulated_has_flaw(const char *which)
{
    return emulated_is("EMULATED_FLAW", which);
}

/* The kernels whose code the devices have. */
static std::set<std::pair<int, const void *>> loaded;

static bool load(int device, const void *code)
{
    const long bytes = emulated_setting("EMULATED_CODE", 0);

    if (bytes == 0 || loaded.count({device, code}) > 0)
        return true;
    if (!emulated_take(device, (size_t)bytes))
        return false;
    loaded.insert({device, code});
    return true;
}

static void launch(void *handle, const void *code, std::function<void()> work)
{
    ALONE;
    stream *s = static_cast<stream *>(handle);
    emulated_device *device = &emulated_devices[s->device];

    if (s->device != emulated_current) {
        emulated_last_error = BAD_STREAM;
        return;
    }
    if (!load(s->device, code)) {
        emulated_last_error = NO_MEMORY;
        return;
    }
    if (++device->kernels == emulated_setting("EMULATED_FAULT", 0))
        emulated_give(s, [=] { device->error = ILLEGAL; });
    else
        emulated_give(s, std::move(work), true);
}

void emulated_launch(void *handle, const void *code, std::function<void()> work)
{
    const long pause = emulated_setting("EMULATED_PAUSE", 0);

    launch(handle, code, std::move(work));
    if (pause > 0)
        usleep((useconds_t)pause);
}

emulated_order emulated_get_order(void)
{
    return emulated_is("EMULATED_ORDER", "backward") ? EMULATED_BACKWARD
           : emulated_is("EMULATED_ORDER", "mixed")  ? EMULATED_MIXED
                                                     : EMULATED_FORWARD;
}

const char *ht_cuda_text(int error)
{
    switch (error) {
    case NOT_STAGED:
        return "invalid argument: the memory is not pinned";
    case NO_MEMORY:
        return "out of memory";
    case COPY_FAILED:
        return "a copy fails, as asked for";
    case NO_DRIVER:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case BAD_DEVICE:
        return "invalid device ordinal";
    case BAD_STREAM:
        return "invalid resource handle";
    case ILLEGAL:
        return "an illegal memory access was encountered";
    default:
        return "no error";
    }
}

bool ht_cuda_is_out_of_memory(int error)
{
    return error == NO_MEMORY;
}

bool ht_cuda_is_not_ready(int error)
{
    return error == NOT_READY;
}

int ht_cuda_count(int *count)
{
    *count = (int)emulated_setting("EMULATED_DEVICES", DEVICES);
    return *count == 0 ? NO_DRIVER : 0;
}

int ht_cuda_versions(int *driver, int *runtime)
{
    *driver = (int)emulated_setting("EMULATED_DRIVER", 13000);
    *runtime = 13000;
    return 0;
}

int ht_cuda_use(int index)
{
    ALONE;
    if (index < 0 || index >= MAX_DEVICES)
        return BAD_DEVICE;
    emulated_current = index;
    return 0;
}

int ht_cuda_get_properties(int index, ht_cuda_properties *properties)
{
    if (index < 0 || index >= MAX_DEVICES)
        return BAD_DEVICE;
    *properties = {(size_t)emulated_setting("EMULATED_MEMORY", 1 << 30), 2, 9, 0, true};
    return 0;
}

int ht_cuda_peek(void)
{
    ALONE;
    return emulated_last_error;
}

int ht_cuda_launched(void)
{
    ALONE;
    const int error = emulated_last_error;

    emulated_last_error = 0;
    return error != 0 ? error : emulated_error_now();
}
