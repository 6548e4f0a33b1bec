/* SPDX-License-Identifier: MIT
 *
 * Points in the work of a stream. */
#include <stdlib.h>

#include "backends/cuda/fault/fault.h"

static int event_new(void *stream, void **made)
{
    ht_cuda_device *device = stream;
    ht_cuda_event *e = calloc(1, sizeof *e);
    int error = ht_cuda_use(device->index);

    *made = NULL;
    if (e == NULL) {
        ht_cuda_core->fail("cuda:%d: out of memory on the host", device->index);
        return 1;
    }
    e->device = device;
    if (error == 0)
        error = ht_cuda_event_new(&e->handle);
    if (ht_cuda_check_late(error, device) != 0) {
        free(e);
        return 1;
    }
    *made = e;
    return 0;
}

static void event_free(void *made)
{
    ht_cuda_event *e = made;

    if (e == NULL)
        return;
    ht_cuda_use(e->device->index);
    ht_cuda_event_free(e->handle);
    free(e);
}

static int event_record(void *stream, void *made)
{
    ht_cuda_device *device = stream;
    ht_cuda_event *e = made;
    int error = ht_cuda_use(device->index);

    e->device = device;
    if (error == 0)
        error = ht_cuda_event_record(e->handle, device->stream);
    return ht_cuda_check_late(error, device);
}

static int event_done(void *made)
{
    const ht_cuda_event *e = made;
    int error = ht_cuda_use(e->device->index);

    if (error == 0)
        error = ht_cuda_event_query(e->handle);
    if (ht_cuda_is_not_ready(error))
        return ht_cuda_check_links(e->device) == 0 ? 0 : -1;
    return ht_cuda_check_data(error, e->device) == 0 ? 1 : -1;
}

static int event_wait(void *made)
{
    const ht_cuda_event *e = made;
    int error = ht_cuda_use(e->device->index);

    return ht_cuda_check_data(error != 0 ? error : ht_cuda_event_wait(e->handle), e->device);
}

static int stream_wait(void *stream, void *made)
{
    const ht_cuda_device *device = stream;
    const ht_cuda_event *e = made;
    int error = ht_cuda_use(device->index);

    return ht_cuda_check_late(error != 0 ? error : ht_cuda_stream_after(device->stream, e->handle),
                              device);
}

void ht_cuda_fill_events(ht_backend *backend)
{
    backend->event_new = event_new;
    backend->event_free = event_free;
    backend->event_record = event_record;
    backend->event_done = event_done;
    backend->event_wait = event_wait;
    backend->stream_wait = stream_wait;
}
