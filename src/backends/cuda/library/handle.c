/* SPDX-License-Identifier: MIT
 *
 * Handles of libraries. One that finds too little memory is made later. */
#include "backends/cuda/library/handle.h"

#include <stdlib.h>

#include "backends/cuda/device.h"

typedef struct ht_cuda_handle {
    const char *name, *users;
    ht_cuda_make_handle *make;
    void (*release)(void *made);
    pthread_mutex_t mutex; /* of what follows */
    void *made;            /* NULL: there is none; read by __atomic functions */
    bool is_missing, is_short;
} ht_cuda_handle;

ht_cuda_handle *ht_cuda_handle_new(const char *name, const char *users, ht_cuda_make_handle *make,
                                   void (*release)(void *made))
{
    ht_cuda_handle *handle = calloc(1, sizeof *handle);

    if (handle == NULL)
        return NULL;
    handle->name = name;
    handle->users = users;
    handle->make = make;
    handle->release = release;
    pthread_mutex_init(&handle->mutex, NULL);
    return handle;
}

void ht_cuda_handle_free(ht_cuda_handle *handle)
{
    if (handle == NULL)
        return;
    if (handle->made != NULL)
        handle->release(handle->made);
    pthread_mutex_destroy(&handle->mutex);
    free(handle);
}

/* The same answer is not logged again. */
static void tell(const ht_cuda_handle *h, const ht_cuda_device *device, const char *missing)
{
    if (h->made != NULL)
        ht_cuda_core->log(2 /* information */, "cuda:%d: %s run by %s", device->index, h->users,
                          h->name);
    else if (h->is_missing)
        ht_cuda_core->log(2, "cuda:%d: %s run without %s%s%s", device->index, h->users, h->name,
                          missing[0] != '\0' ? ": " : "", missing);
    else
        ht_cuda_core->log(1 /* a warning */,
                          "cuda:%d: too little memory for %s: %s run without it until there is "
                          "more",
                          device->index, h->name, h->users);
}

static void *make_now(ht_cuda_handle *h, const ht_cuda_device *device)
{
    char missing[HT_CUDA_MISSING_ROOM] = "";
    const bool was_short = h->is_short;
    void *made = NULL;
    int error = h->make(&made, device->stream, missing);

    if (ht_cuda_try_again(error, device->stream))
        error = h->make(&made, device->stream, missing);
    h->is_short = ht_cuda_is_out_of_memory(error);
    h->is_missing = made == NULL && !h->is_short;
    __atomic_store_n(&h->made, made, __ATOMIC_RELEASE);
    if (error != 0)
        ht_cuda_launched(); /* clears the runtime's error, so that no launch reports it */
    if (!h->is_short || !was_short)
        tell(h, device, missing);
    return made;
}

void *ht_cuda_handle_get(ht_cuda_handle *handle, const ht_cuda_device *device)
{
    void *made = __atomic_load_n(&handle->made, __ATOMIC_ACQUIRE);

    if (made != NULL)
        return made;
    pthread_mutex_lock(&handle->mutex);
    made = handle->made;
    if (made == NULL && !handle->is_missing)
        made = make_now(handle, device);
    pthread_mutex_unlock(&handle->mutex);
    return made;
}
