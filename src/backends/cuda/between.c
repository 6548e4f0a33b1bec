/* SPDX-License-Identifier: MIT
 *
 * Copies from one GPU to another, in the order of the work of both. Memory of one is opened to the
 * other, so that the driver copies directly. Where that cannot be, the driver goes through the
 * host. */
#include "backends/cuda/device.h"

/* Once for each device: opening is slow. */
static void open_to(ht_cuda_device *device, const ht_cuda_device *other)
{
    const uint64_t bit = (uint64_t)1 << other->index % 64;

    if (__atomic_fetch_or(&device->reached, bit, __ATOMIC_RELAXED) & bit)
        return;
    if (ht_cuda_share(device->index, other->index) != 0)
        ht_cuda_launched(); /* clears the runtime's error, so that no launch reports it */
}

static int record(void **event, const ht_cuda_device *device)
{
    int error = ht_cuda_use(device->index);

    if (error == 0)
        error = ht_cuda_event_new(event);
    if (error == 0)
        error = ht_cuda_event_record(*event, device->stream);
    return ht_cuda_check_late(error, device);
}

/* The stream of `later` continues after the work that `earlier` was given so far. 0, or 1 after the
 * error of either was reported. */
static int follow(const ht_cuda_device *later, const ht_cuda_device *earlier)
{
    void *event = NULL;
    int failed = record(&event, earlier), error;

    if (failed == 0) {
        error = ht_cuda_use(later->index);
        failed = ht_cuda_check_late(error != 0 ? error : ht_cuda_stream_after(later->stream, event),
                                    later);
    }
    if (event != NULL)
        ht_cuda_event_free(event);
    return failed;
}

static int copy_between(void *to_stream, void *to, void *from_stream, const void *from,
                        size_t bytes)
{
    ht_cuda_device *target = to_stream, *source = from_stream;

    open_to(source, target);
    open_to(target, source);
    if (follow(target, source) != 0)
        return 1;
    if (ht_cuda_check_late(
            ht_cuda_copy_peer(to, target->index, from, source->index, bytes, target->stream),
            target) != 0)
        return 1;
    return follow(source, target);
}

void ht_cuda_fill_between(ht_backend *backend)
{
    backend->copy_between = copy_between;
}
