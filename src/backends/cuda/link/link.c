/* SPDX-License-Identifier: MIT
 *
 * The links of a device: ht_link_calls (ht/backend.h). Their averages run on a stream of their own.
 * Each begins after the work that the device was given before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/library/nccl.h"
#include "backends/cuda/link/link.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the links of all devices */

/* The boot of this host: containers on it have one, whatever their names. */
static void read_host(char *text, size_t room)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");

    if (file == NULL || fgets(text, (int)room, file) == NULL)
        snprintf(text, room, "host");
    text[strcspn(text, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

/* NCCL tells devices from each other in the same way. */
static int device_text(void *stream, char text[HT_LINK_DEVICE])
{
    const ht_cuda_device *device = stream;
    const char *wanted = getenv("HT_CUDA_NCCL");
    char host[64], bus[HT_CUDA_BUS_ROOM];

    if (wanted != NULL && strcmp(wanted, "0") == 0)
        return 1;
    if (ht_cuda_get_bus(device->index, bus) != 0) {
        ht_cuda_launched(); /* clears the runtime's error, so that no launch reports it */
        return 1;
    }
    read_host(host, sizeof host);
    snprintf(text, HT_LINK_DEVICE, "%s %s", host, bus);
    return 0;
}

static void enter(ht_cuda_link *link)
{
    pthread_mutex_lock(&mutex);
    link->next = link->device->links;
    __atomic_store_n(&link->device->links, link, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
}

static void leave(const ht_cuda_link *link)
{
    ht_cuda_link **at = &link->device->links;

    pthread_mutex_lock(&mutex);
    while (*at != NULL && *at != link)
        at = &(*at)->next;
    if (*at != NULL)
        __atomic_store_n(at, link->next, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
}

/* A copy of a list; NULL: no memory. */
static void *copy_of(const void *list, size_t bytes)
{
    void *copy = malloc(bytes);

    return copy != NULL ? memcpy(copy, list, bytes) : NULL;
}

static void free_lists(const ht_cuda_link *link)
{
    for (int i = 0; i < link->count; i++) {
        free((void *)(uintptr_t)link->levels[i].ranks);
        free((void *)(uintptr_t)link->levels[i].steps);
    }
}

/* Also one that is open in part. Nothing is under way, unless it failed. */
static void close(void *made)
{
    ht_cuda_link *link = made;

    leave(link);
    ht_cuda_use(link->device->index);
    if (link->comm != NULL)
        ht_cuda_nccl_free(link->comm, link->failed);
    if (link->scratch != NULL)
        ht_cuda_free(link->scratch, link->stream);
    if (link->stream != NULL) {
        ht_cuda_stream_wait(link->stream);
        ht_cuda_stream_free(link->stream);
    }
    if (link->given != NULL)
        ht_cuda_event_free(link->given);
    free_lists(link);
    free(link);
}

static int has_library(const ht_cuda_device *device)
{
    char missing[HT_CUDA_NCCL_ROOM] = "";
    int version = 0;

    if (!ht_cuda_nccl_load(&version, missing)) {
        ht_cuda_core->fail("cuda:%d: no NCCL: %s", device->index, missing);
        return 0;
    }
    ht_cuda_core->log(2 /* information */, "cuda:%d: sums over ranks run by NCCL %d.%d.%d",
                      device->index, version / 10000, version / 100 % 100, version % 100);
    return 1;
}

/* NULL: no memory. */
static ht_cuda_link *link_new(ht_cuda_device *device, const ht_link_order *order)
{
    ht_cuda_link *link = calloc(1, sizeof *link);
    bool complete = link != NULL;

    for (int i = 0; complete && i < order->count; i++) {
        ht_link_level *level = &link->levels[i];
        const size_t count = (size_t)order->levels[i].count;

        *level = order->levels[i];
        level->ranks = copy_of(level->ranks, count * sizeof *level->ranks);
        level->steps = copy_of(level->steps, (count - 1) * sizeof *level->steps);
        complete = level->ranks != NULL && level->steps != NULL;
        link->count++;
    }
    if (!complete) {
        if (link != NULL)
            free_lists(link);
        free(link);
        return NULL;
    }
    link->device = device;
    link->rank = order->rank;
    link->size = order->size;
    return link;
}

static int reserve(void *made, size_t bytes)
{
    ht_cuda_link *link = made;
    const size_t wanted = ht_cuda_link_scratch(link, bytes);
    int error = ht_cuda_use(link->device->index);

    if (wanted <= link->bytes)
        return 0;
    if (link->scratch != NULL)
        ht_cuda_free(link->scratch, link->stream);
    link->scratch = NULL;
    link->bytes = 0;
    if (error == 0)
        error = ht_cuda_allocate(&link->scratch, wanted, link->stream);
    if (error == 0)
        link->bytes = wanted;
    ht_cuda_set_work(false);
    return ht_cuda_check(error, link->device, "an average over ranks");
}

static int open(void *stream, const ht_link_order *order, void **made)
{
    ht_cuda_device *device = stream;
    ht_cuda_link *link;
    int error;

    *made = NULL;
    if (order->count > HT_CUDA_LEVELS) {
        ht_cuda_core->fail("cuda:%d: %d levels of ranks, expected at most %d", device->index,
                           order->count, HT_CUDA_LEVELS);
        return 1;
    }
    if (!has_library(device))
        return 1;
    link = link_new(device, order);
    if (link == NULL) {
        ht_cuda_core->fail("cuda:%d: out of memory on the host", device->index);
        return 1;
    }
    *made = link;
    error = ht_cuda_use(device->index);
    if (error == 0)
        error = ht_cuda_stream_new(&link->stream);
    if (error == 0)
        error = ht_cuda_event_new(&link->given);
    if (ht_cuda_check_late(error, device) != 0)
        return 1;
    return reserve(link, ht_cuda_link_trial_bytes(link));
}

static int id(unsigned char made[HT_LINK_ID])
{
    const int error = ht_cuda_nccl_id(made);

    if (error != 0)
        ht_cuda_core->fail("NCCL: %s", ht_cuda_nccl_text(error));
    return error != 0;
}

static int join(void *made, const unsigned char given[HT_LINK_ID])
{
    ht_cuda_link *link = made;
    int error = ht_cuda_use(link->device->index);

    if (ht_cuda_check_late(error, link->device) != 0)
        return 1;
    if (ht_cuda_link_check(link, ht_cuda_nccl_join(&link->comm, given, link->rank, link->size)) !=
        0) {
        link->comm = NULL; /* NCCL has freed it */
        return 1;
    }
    link->failed = ht_cuda_link_try(link) != 0;
    if (!link->failed)
        enter(link);
    return link->failed;
}

static int begin(const ht_cuda_link *link)
{
    int error = ht_cuda_use(link->device->index);

    if (link->failed) {
        ht_cuda_core->fail("cuda:%d: NCCL failed before", link->device->index);
        return 1;
    }
    if (error == 0)
        error = ht_cuda_event_record(link->given, link->device->stream);
    if (error == 0)
        error = ht_cuda_stream_after(link->stream, link->given);
    return ht_cuda_check_late(error, link->device);
}

static int run(ht_cuda_link *link, ht_dtype dtype, void *data, int64_t n, double scale)
{
    if (begin(link) != 0)
        return 1;
    return n > 0 ? ht_cuda_link_average(link, dtype, data, n, scale) : 0;
}

static int average(void *made, ht_dtype dtype, void *data, int64_t n, double scale, void *recorded)
{
    ht_cuda_link *link = made;
    ht_cuda_event *event = recorded;
    int failed;

    pthread_mutex_lock(&mutex); /* a wait in another thread may find an error meanwhile */
    failed = run(link, dtype, data, n, scale);
    pthread_mutex_unlock(&mutex);
    if (failed != 0)
        return failed;
    event->device = link->device;
    return ht_cuda_check_late(ht_cuda_event_record(event->handle, link->stream), link->device);
}

/* Once: the messages end, and so does the device's wait for them. */
static int check(ht_cuda_link *link)
{
    if (link->failed || ht_cuda_link_check(link, ht_cuda_nccl_error(link->comm)) == 0)
        return 0;
    ht_cuda_nccl_free(link->comm, true);
    link->comm = NULL;
    return 1;
}

int ht_cuda_check_links(const ht_cuda_device *device)
{
    int failed = 0;

    if (__atomic_load_n(&device->links, __ATOMIC_RELAXED) == NULL)
        return 0;
    pthread_mutex_lock(&mutex);
    for (ht_cuda_link *link = device->links; link != NULL && failed == 0; link = link->next)
        failed = check(link);
    pthread_mutex_unlock(&mutex);
    return failed;
}

void ht_cuda_fill_links(ht_backend *backend)
{
    static const ht_link_calls calls = {.size = sizeof calls,
                                        .device_text = device_text,
                                        .open = open,
                                        .id = id,
                                        .join = join,
                                        .reserve = reserve,
                                        .average = average,
                                        .close = close};

    backend->link = &calls;
}
