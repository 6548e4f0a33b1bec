/* SPDX-License-Identifier: MIT
 *
 * The table of devices. Names are BACKEND or BACKEND:INDEX. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/comm/mpi.h"
#include "core/device/device.h"

#define MAX_DEVICES 64

static ht_device *devices[MAX_DEVICES];
static int device_count;
static ht_device *cpu;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local ht_device *in_use;

static void destroy(void *object)
{
    ht_device *device = object;

    ht__cache_free(device);
    device->backend->device_close(device->stream);
    ht__object_fini(device);
    ht__free(device);
}

static ht_kind kind = {.name = "device", .destroy = destroy};

/* "cuda:1" -> "cuda", 1; "cuda" -> "cuda", -1. */
static bool parse_name(const char *name, char backend[static 16], int *index)
{
    const char *colon = strchr(name, ':');
    size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    char *end = "";

    if (length == 0 || length >= 16)
        return false;
    memcpy(backend, name, length);
    backend[length] = '\0';
    *index = -1;
    if (colon != NULL) {
        long number = strtol(colon + 1, &end, 10);

        if (end == colon + 1 || number < 0 || number > 9999)
            return false;
        *index = (int)number;
    }
    return *end == '\0';
}

static ht_device *find(const ht_backend *backend, int index)
{
    for (int i = 0; i < device_count; i++) {
        if (devices[i]->backend == backend && devices[i]->index == index)
            return devices[i];
    }
    return NULL;
}

/* The ranks of a node share its devices evenly. Further devices of the host are virtual: they are
 * asked for by name. -1 after the error was recorded. */
static int own_index(const ht_backend *backend)
{
    const ht_comm *world = ht__comm_world_if_any();
    int count = backend->host_memory ? 1 : backend->device_count(), local_rank = 0;

    if (count <= 1)
        return 0;
    if (world == NULL) {
        ht__error_set(HT_ERR_STATE,
                      "ht_device_get: name is '%s' before ht_init, expected an explicit index such "
                      "as '%s:0': ranks are unknown before ht_init",
                      backend->name, backend->name);
        return -1;
    }
    ht_comm_topology(world, NULL, NULL, &local_rank, NULL);
    return local_rank % count;
}

/* NULL after the error was recorded. */
static ht_device *open_device(ht_driver *driver, int index)
{
    const ht_backend *backend = &driver->backend;
    int available = backend->device_count();
    void *stream = NULL;

    if (index >= available || device_count == MAX_DEVICES) {
        ht__error_set(HT_ERR_DEVICE, "ht_device_get: no device %s:%d: backend %s has %d",
                      backend->name, index, backend->name, available);
        return NULL;
    }
    if (backend->device_open(index, &stream) != 0)
        return NULL;
    driver->closed = true;

    ht_device *device = ht__alloc(sizeof *device);
    ht__object_init(device, &kind);
    snprintf(device->name, sizeof device->name, "%s:%d", backend->name, index);
    device->index = index;
    device->backend = backend;
    device->kernels = &driver->kernels;
    device->stream = stream;
    device->cache = ht__cache_new();
    devices[device_count++] = device;
    return device;
}

static ht_device *get(const char *name)
{
    char backend_name[16];
    ht_driver *driver;
    ht_device *device;
    int index;

    if (name == NULL || !parse_name(name, backend_name, &index)) {
        ht__error_set(HT_ERR_ARGUMENT,
                      "ht_device_get: name is '%s', expected cpu, cpu:1, cuda:0 or the like",
                      name != NULL ? name : "(null)");
        return NULL;
    }
    driver = ht__driver_find(backend_name);
    if (driver == NULL)
        return NULL;
    if (index < 0)
        index = own_index(&driver->backend);
    if (index < 0)
        return NULL;
    device = find(&driver->backend, index);
    return device != NULL ? device : open_device(driver, index);
}

ht_device *ht_device_get(const char *name)
{
    const char *message;
    ht_error_kept before;
    ht_device *device;
    ht_status cause;

    ht__error_set_aside(&before); /* it is not the cause */
    pthread_mutex_lock(&mutex);
    device = get(name);
    pthread_mutex_unlock(&mutex);
    if (device != NULL) {
        ht_error_clear(); /* of what its module tried and went without */
        ht__error_put_back(&before);
        return device;
    }
    cause = ht_error_get(&message);
    if (cause != HT_SUCCESS)
        HT_FAIL(NULL, cause, "%s", message);
    else
        HT_FAIL(NULL, HT_ERR_DEVICE,
                "ht_device_get: the backend of '%s' failed to open it and gave no reason", name);
    return NULL;
}

ht_device *ht__device_cpu(void)
{
    if (cpu == NULL)
        cpu = ht_device_get("cpu:0");
    return cpu;
}

ht_device *ht_get_device(void)
{
    return in_use != NULL ? in_use : ht__device_cpu();
}

ht_status ht_use_device(ht_device *device)
{
    if (HT_IS_NULL(device, "ht_use_device", "device"))
        return ht_error_get(NULL);
    in_use = device;
    return HT_SUCCESS;
}

const char *ht_device_name(const ht_device *device)
{
    return device != NULL ? device->name : "none";
}

/* The copy itself may wait for earlier work, without a deadline. */
static int start_get(const ht_device *device, void *to, const void *from, size_t bytes)
{
    const int failed = ht__device_wait_linked(device);

    if (failed != 0 || bytes == 0)
        return failed;
    return device->backend->memory_copy(device->stream, to, from, bytes, HT_COPY_DEVICE_TO_HOST);
}

int ht__device_get(const ht_device *device, void *to, const void *from, size_t bytes)
{
    int failed = start_get(device, to, from, bytes);

    if (failed == 0)
        failed = ht__device_wait_work(device);
    if (failed != 0)
        ht__device_wait(device); /* nothing may be written later */
    return failed;
}

int ht__device_put(const ht_device *device, void *to, const void *from, size_t bytes)
{
    return bytes > 0 ? device->backend->memory_copy(device->stream, to, from, bytes,
                                                    HT_COPY_HOST_TO_DEVICE)
                     : 0;
}

ht_status ht_device_synchronize(ht_device *device)
{
    if (HT_IS_NULL(device, "ht_device_synchronize", "device"))
        return ht_error_get(NULL);
    if (ht__device_wait(device) != 0) /* the device knows not of which communicator's tensors */
        return ht__kernel_failed(ht_comm_world(), "ht_device_synchronize");
    return HT_SUCCESS;
}

int64_t ht_device_fallbacks(const ht_device *device)
{
    return HT_IS_THERE(device) ? atomic_load_explicit(&((ht_device *)(uintptr_t)device)->fallbacks,
                                                      memory_order_relaxed)
                               : 0;
}

void ht__devices_finalize(void)
{
    /* Before any device goes: what a thread lets go of may lie on another one's. */
    for (int i = 0; i < device_count; i++)
        ht__device_stop(devices[i]);
    pthread_mutex_lock(&mutex);
    while (device_count > 0)
        ht_release(devices[--device_count]);
    cpu = in_use = NULL;
    pthread_mutex_unlock(&mutex);
}
