/* SPDX-License-Identifier: MIT
 *
 * Copies in parallel with the work of a device: to the host, without a wait, and to the device
 * ahead of their use. */
#include "core/device/device.h"

/* Nothing may be written later. */
static int fail(const ht_device *device)
{
    ht__device_wait(device);
    return -1;
}

/* Copies in parallel with the work of the device, if the device can do that. */
static int copy_to_host(const ht_side_copy *copy, void *to, const void *from, size_t bytes)
{
    const ht_backend *backend = copy->device->backend;
    void *stream = copy->device->stream;

    if (backend->side_copy != NULL)
        return backend->side_copy(stream, to, from, bytes, HT_COPY_DEVICE_TO_HOST, NULL,
                                  copy->event);
    if (backend->memory_copy(stream, to, from, bytes, HT_COPY_DEVICE_TO_HOST) != 0)
        return -1;
    return backend->event_record(stream, copy->event);
}

static bool has_event(ht_side_copy *copy)
{
    return copy->event != NULL ||
           copy->device->backend->event_new(copy->device->stream, &copy->event) == 0;
}

int ht__fetch_begin(ht_side_copy *copy, const ht_device *device, void *to, const void *from,
                    size_t bytes)
{
    copy->device = device;
    if (bytes == 0)
        return 0;
    if (device->backend->event_new == NULL)
        return ht__device_get(device, to, from, bytes);
    if (!has_event(copy))
        return -1;
    copy->under_way = copy_to_host(copy, to, from, bytes) == 0;
    return copy->under_way ? 0 : fail(device);
}

int ht__fetch_done(ht_side_copy *copy)
{
    int done = copy->under_way ? copy->device->backend->event_done(copy->event) : 1;

    copy->under_way = done == 0;
    if (done < 0)
        return fail(copy->device);
    return done == 1 && ht__device_poll(copy->device) != 0 ? -1 : done;
}

int ht__fetch_back(const ht_side_copy *copy, void *to, const void *from, size_t bytes)
{
    const ht_backend *backend = copy->device->backend;
    void *stream = copy->device->stream;

    if (backend->side_copy == NULL || copy->event == NULL)
        return ht__device_put(copy->device, to, from, bytes);
    if (backend->side_copy(stream, to, from, bytes, HT_COPY_HOST_TO_DEVICE, copy->event,
                           copy->event) != 0 ||
        backend->stream_wait(stream, copy->event) != 0)
        return fail(copy->device);
    return 0;
}

int ht__ahead_begin(ht_side_copy *copy, const ht_device *device, void *to, const void *from,
                    size_t bytes)
{
    const ht_backend *backend = device->backend;

    copy->device = device;
    if (bytes == 0 || backend->side_copy == NULL)
        return ht__device_put(device, to, from, bytes);
    if (!has_event(copy))
        return -1;
    copy->under_way = backend->side_copy(device->stream, to, from, bytes, HT_COPY_HOST_TO_DEVICE,
                                         NULL, copy->event) == 0;
    return copy->under_way ? 0 : fail(device);
}

int ht__ahead_join(ht_side_copy *copy)
{
    const ht_device *device = copy->device;

    if (!copy->under_way)
        return 0;
    copy->under_way = false;
    return device->backend->stream_wait(device->stream, copy->event) == 0 ? 0 : fail(device);
}

int ht__side_copy_end(ht_side_copy *copy)
{
    const ht_backend *backend = copy->device != NULL ? copy->device->backend : NULL;
    int failed = 0;

    if (copy->under_way && ht__device_wait_event(copy->device, copy->event) != 0)
        failed = fail(copy->device);
    if (copy->event != NULL)
        backend->event_free(copy->event);
    *copy = (ht_side_copy){0};
    return failed;
}
