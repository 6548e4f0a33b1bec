/* SPDX-License-Identifier: MIT
 *
 * Copies beside the work of a device: to the host, where nobody waits, and ahead of their use. */
#include "core/device/device.h"

/* Copies beside the work of the device, if the device can do that. */
static int copy(ht_fetch *fetch, void *to, const void *from, size_t bytes)
{
    const ht_backend *backend = fetch->device->backend;
    void *stream = fetch->device->stream;

    if (backend->copy_beside != NULL)
        return backend->copy_beside(stream, to, from, bytes, HT_COPY_DEVICE_TO_HOST, NULL,
                                    fetch->event);
    if (backend->memory_copy(stream, to, from, bytes, HT_COPY_DEVICE_TO_HOST) != 0)
        return -1;
    return backend->event_record(stream, fetch->event);
}

static bool has_event(ht_fetch *fetch)
{
    return fetch->event != NULL ||
           fetch->device->backend->event_new(fetch->device->stream, &fetch->event) == 0;
}

int ht__fetch_begin(ht_fetch *fetch, const ht_device *device, void *to, const void *from,
                    size_t bytes)
{
    fetch->device = device;
    if (bytes == 0)
        return 0;
    if (device->backend->event_new == NULL)
        return ht__device_get(device, to, from, bytes);
    if (!has_event(fetch))
        return -1;
    fetch->under_way = copy(fetch, to, from, bytes) == 0;
    if (fetch->under_way)
        return 0;
    ht__device_wait(device); /* nothing may be written later */
    return -1;
}

int ht__fetch_done(ht_fetch *fetch)
{
    int done = fetch->under_way ? fetch->device->backend->event_done(fetch->event) : 1;

    fetch->under_way = done == 0;
    if (done < 0)
        ht__device_wait(fetch->device);
    return done == 1 && ht__device_poll(fetch->device) != 0 ? -1 : done;
}

int ht__fetch_back(ht_fetch *fetch, void *to, const void *from, size_t bytes)
{
    const ht_backend *backend = fetch->device->backend;
    void *stream = fetch->device->stream;

    if (backend->copy_beside == NULL || fetch->event == NULL)
        return ht__device_put(fetch->device, to, from, bytes);
    if (backend->copy_beside(stream, to, from, bytes, HT_COPY_HOST_TO_DEVICE, fetch->event,
                             fetch->event) != 0)
        return -1;
    return backend->stream_wait(stream, fetch->event);
}

void ht__fetch_end(ht_fetch *fetch)
{
    if (fetch->under_way)
        fetch->device->backend->event_wait(fetch->event);
    if (fetch->event != NULL)
        fetch->device->backend->event_free(fetch->event);
    *fetch = (ht_fetch){0};
}

int ht__ahead_begin(ht_fetch *ahead, const ht_device *device, void *to, const void *from,
                    size_t bytes)
{
    const ht_backend *backend = device->backend;

    ahead->device = device;
    if (bytes == 0 || backend->copy_beside == NULL)
        return ht__device_put(device, to, from, bytes);
    if (!has_event(ahead))
        return -1;
    ahead->under_way = backend->copy_beside(device->stream, to, from, bytes, HT_COPY_HOST_TO_DEVICE,
                                            NULL, ahead->event) == 0;
    if (ahead->under_way)
        return 0;
    ht__device_wait(device); /* nothing may be written later */
    return -1;
}

int ht__ahead_join(ht_fetch *ahead)
{
    if (!ahead->under_way)
        return 0;
    ahead->under_way = false;
    return ahead->device->backend->stream_wait(ahead->device->stream, ahead->event);
}
