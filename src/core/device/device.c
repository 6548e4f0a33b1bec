/* SPDX-License-Identifier: MIT
 *
 * The table of devices. Names are BACKEND or BACKEND:INDEX. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

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

/* "cuda:1" -> "cuda", 1; "cuda" -> "cuda", 0. */
static bool parse_name(const char *name, char backend[static 16], int *index)
{
    const char *colon = strchr(name, ':');
    size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    char *end = "";

    if (length == 0 || length >= 16)
        return false;
    memcpy(backend, name, length);
    backend[length] = '\0';
    *index = 0;
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

/* NULL after the error was recorded. */
static ht_device *open_device(const ht_backend *backend, int index)
{
    int available = backend->device_count();
    void *stream = NULL;

    if (index >= available || device_count == MAX_DEVICES) {
        ht__error_set(HT_ERR_DEVICE, "ht_device_get: no device %s:%d: backend %s has %d",
                      backend->name, index, backend->name, available);
        return NULL;
    }
    if (backend->device_open(index, &stream) != 0)
        return NULL;

    ht_device *device = ht__alloc(sizeof *device);
    ht__object_init(device, &kind);
    snprintf(device->name, sizeof device->name, "%s:%d", backend->name, index);
    device->index = index;
    device->backend = backend;
    device->stream = stream;
    device->cache = ht__cache_new();
    devices[device_count++] = device;
    return device;
}

static ht_device *get(const char *name)
{
    char backend_name[16];
    const ht_backend *backend;
    ht_device *device;
    int index;

    if (name == NULL || !parse_name(name, backend_name, &index)) {
        ht__error_set(HT_ERR_ARGUMENT,
                      "ht_device_get: '%s' is no device name: expected cpu, cpu:1, "
                      "cuda:0 or the like",
                      name != NULL ? name : "(null)");
        return NULL;
    }
    backend = ht__backend_find(backend_name);
    if (backend == NULL)
        return NULL;
    device = find(backend, index);
    return device != NULL ? device : open_device(backend, index);
}

ht_device *ht_device_get(const char *name)
{
    const char *message;
    ht_device *device;

    pthread_mutex_lock(&mutex);
    device = get(name);
    pthread_mutex_unlock(&mutex);
    if (device == NULL) {
        ht_status cause = ht_error_get(&message);

        HT_FAIL(NULL, cause, "%s", message);
    }
    return device;
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
    if (HT_IS_NULL(device, "ht_use_device", "the device"))
        return ht_error_get(NULL);
    in_use = device;
    return HT_SUCCESS;
}

const char *ht_device_name(const ht_device *device)
{
    return device != NULL ? device->name : "none";
}

ht_status ht_device_synchronize(ht_device *device)
{
    if (HT_IS_NULL(device, "ht_device_synchronize", "the device"))
        return ht_error_get(NULL);
    if (device->backend->synchronize != NULL && device->backend->synchronize(device->stream) != 0)
        return ht__kernel_failed(NULL, "ht_device_synchronize");
    return HT_SUCCESS;
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
