/* SPDX-License-Identifier: MIT
 *
 * A call that the device's own kernel did not run: it runs on the host, or is an error. */
#include <stdatomic.h>

#include "backends/cpu/cpu.h"
#include "core/device/device.h"
#include "ht/log.h"

/* Not where the device's own is the host's, as on cpu: what that refuses, it refuses again. */
static bool host_has_another(const ht_device *device, ht_kernel kernel, ht_dtype dtype)
{
    ht_kernel_fn *run = ht__cpu_kernel(kernel, dtype);

    return run != NULL && run != device->kernels->at[kernel][dtype];
}

/* Why a kernel that the host has does not run there. */
static const char *why_not_on_host(const ht_device *device, ht_kernel kernel, ht_dtype dtype)
{
    return host_has_another(device, kernel, dtype)
               ? " (HT_FALLBACK=error forbids running it on the host)"
               : "";
}

ht_status ht__kernel_missing(ht_comm *comm, const ht_device *device, ht_kernel kernel,
                             ht_dtype dtype, const char *what)
{
    if (ht__cpu_kernel(kernel, dtype) == NULL)
        return HT_FAIL(comm, HT_ERR_DTYPE, "%s: not defined for %s", what, ht_dtype_name(dtype));
    return HT_FAIL(comm, HT_ERR_UNSUPPORTED, "%s: %s has no kernel %s for %s%s", what, device->name,
                   ht__kernel_name(kernel), ht_dtype_name(dtype),
                   why_not_on_host(device, kernel, dtype));
}

/* Some ranks may see that alone. */
static ht_status refused(ht_comm *comm, const ht_device *device, const ht_kernel_call *call)
{
    return HT_FAIL_HERE(comm, HT_ERR_UNSUPPORTED, "%s: kernel %s of %s refuses this %s call%s",
                        call->what, ht__kernel_name(call->kernel), device->name,
                        ht_dtype_name(call->dtype),
                        why_not_on_host(device, call->kernel, call->dtype));
}

_Static_assert(HT_DTYPE_COUNT <= 16, "a dtype has no bit in ht_device's named_on_host");

/* Once for each device, kernel and dtype; not before the log wants it. */
static bool is_to_be_named(ht_device *device, const ht_kernel_call *call)
{
    const unsigned short bit = (unsigned short)(1u << call->dtype);

    return ht_log_get_level() >= HT_LOG_INFO &&
           (atomic_fetch_or_explicit(&device->named_on_host[call->kernel], bit,
                                     memory_order_relaxed) &
            bit) == 0;
}

static void count(ht_device *device, const ht_kernel_call *call)
{
    atomic_fetch_add_explicit(&device->fallbacks, 1, memory_order_relaxed);
    if (is_to_be_named(device, call))
        ht_log_write(HT_LOG_INFO, "%s: kernel %s of %s for %s runs on the host", call->what,
                     ht__kernel_name(call->kernel), device->name, ht_dtype_name(call->dtype));
}

bool ht__kernel_on_host(const ht_device *device, ht_kernel kernel, ht_dtype dtype)
{
    return !ht__fallback_is_error && host_has_another(device, kernel, dtype);
}

/* A kernel that needs memory for itself, of a device of which libht keeps some. */
static bool found_no_memory(ht_device *device)
{
    ht_device_memory memory;

    return !device->backend->host_memory && ht_error_get(NULL) == HT_ERR_MEMORY &&
           ht_device_get_memory(device, &memory) == HT_SUCCESS && memory.cached > 0;
}

ht_status ht__launch_not_done(ht_comm *comm, ht_device *device, const ht_kernel_call *call,
                              int answer)
{
    if (answer != HT_KERNEL_REFUSED && found_no_memory(device)) {
        ht_error_clear();
        ht_device_empty_cache(device);
        answer = device->kernels->at[call->kernel][call->dtype](device->stream, call);
        if (answer == 0)
            return HT_SUCCESS;
    }
    if (answer != HT_KERNEL_REFUSED)
        return ht__kernel_failed(comm, call->what);
    if (ht__kernel_on_host(device, call->kernel, call->dtype)) {
        count(device, call);
        return ht__run_on_host(comm, device, call, ht__cpu_kernel(call->kernel, call->dtype));
    }
    if (device->kernels->at[call->kernel][call->dtype] != NULL)
        return refused(comm, device, call);
    return ht__kernel_missing(comm, device, call->kernel, call->dtype, call->what);
}
