/* SPDX-License-Identifier: MIT
 *
 * Copies to the host that do not wait. */
#include "core/device/device.h"

static int record(ht_fetch *fetch)
{
    const ht_backend *backend = fetch->device->backend;
    void *stream = fetch->device->stream;

    if (backend->event_new == NULL)
        return ht__device_wait(fetch->device);
    if (fetch->event == NULL && backend->event_new(stream, &fetch->event) != 0)
        return -1;
    fetch->under_way = backend->event_record(stream, fetch->event) == 0;
    return fetch->under_way ? 0 : -1;
}

int ht__fetch_begin(ht_fetch *fetch, const ht_device *device, void *to, const void *from,
                    size_t bytes)
{
    fetch->device = device;
    if (bytes == 0)
        return 0;
    if (device->backend->memory_copy(device->stream, to, from, bytes, HT_COPY_DEVICE_TO_HOST) != 0)
        return -1;
    if (record(fetch) == 0)
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

void ht__fetch_end(ht_fetch *fetch)
{
    if (fetch->under_way)
        fetch->device->backend->event_wait(fetch->event);
    if (fetch->event != NULL)
        fetch->device->backend->event_free(fetch->event);
    *fetch = (ht_fetch){0};
}
