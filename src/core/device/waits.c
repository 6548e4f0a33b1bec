/* SPDX-License-Identifier: MIT
 *
 * Waits of the host for a device. Work of a device with links may wait for other ranks. One of them
 * may be gone, so such waits have the deadline of all waits. */
#include <sched.h>
#include <stdio.h>

#include "core/comm/mpi.h"
#include "core/device/device.h"

static void end_at_deadline(struct ht_clock *clock)
{
    const double timeout = ht__wait_timeout();
    char text[512];

    if (timeout <= 0 || ht__clock_elapsed(clock, 1) <= timeout)
        return;
    snprintf(text, sizeof text, HT_DEVICE_TIMEOUT_TEXT, ht__called("waiting for a device"),
             timeout);
    ht__abort(HT_ERR_TIMEOUT, text);
}

int ht__device_wait_event(const ht_device *device, void *event)
{
    struct ht_clock clock = {0};
    int done;

    if (atomic_load_explicit(&device->links, memory_order_relaxed) == 0)
        return device->backend->event_wait(event);
    while ((done = device->backend->event_done(event)) == 0) {
        end_at_deadline(&clock);
        sched_yield();
    }
    return done == 1 ? 0 : -1;
}

static int wait_recorded(const ht_device *device, void *event)
{
    const int failed = device->backend->event_record(device->stream, event);

    return failed != 0 ? failed : ht__device_wait_event(device, event);
}

int ht__device_wait_work(const ht_device *device)
{
    const ht_backend *backend = device->backend;
    void *event;
    int failed;

    if (backend->event_new == NULL)
        return ht__device_wait(device);
    failed = backend->event_new(device->stream, &event);
    if (failed != 0)
        return failed;
    failed = wait_recorded(device, event);
    backend->event_free(event);
    return failed;
}

int ht__device_wait_linked(const ht_device *device)
{
    if (atomic_load_explicit(&device->links, memory_order_relaxed) == 0)
        return 0;
    return ht__device_wait_work(device);
}

/* After an error, too, parallel copies are waited for. */
int ht__device_wait(const ht_device *device)
{
    const ht_backend *backend = device->backend;
    const int before = ht__device_wait_linked(device);
    const int failed = backend->synchronize != NULL ? backend->synchronize(device->stream) : 0;

    return before != 0 ? before : failed;
}
