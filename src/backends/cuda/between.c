/* SPDX-License-Identifier: MIT
 *
 * Copies from one GPU to another, in the order of the work of both. The driver takes the direct way
 * if there is one. */
#include "backends/cuda/device.h"

/* The stream of `later` goes on behind the work that `earlier` was given so far. */
static int follow(const ht_cuda_device *later, const ht_cuda_device *earlier)
{
    void *event = NULL;
    int error = ht_cuda_use(earlier->index);

    if (error == 0)
        error = ht_cuda_event_new(&event);
    if (error == 0)
        error = ht_cuda_event_record(event, earlier->stream);
    if (error == 0)
        error = ht_cuda_use(later->index);
    if (error == 0)
        error = ht_cuda_stream_after(later->stream, event);
    if (event != NULL)
        ht_cuda_event_free(event);
    return error;
}

static int copy_between(void *to_stream, void *to, void *from_stream, const void *from,
                        size_t bytes)
{
    const ht_cuda_device *target = to_stream, *source = from_stream;
    int error = follow(target, source);

    if (error == 0)
        error = ht_cuda_copy_peer(to, target->index, from, source->index, bytes, target->stream);
    return ht_cuda_check_late(error != 0 ? error : follow(source, target), target);
}

void ht_cuda_fill_between(ht_backend *backend)
{
    backend->copy_between = copy_between;
}
