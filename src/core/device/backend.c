/* SPDX-License-Identifier: MIT
 *
 * The table of backends: cpu is built in, others are modules loaded on first use from the folders
 * of HT_BACKEND_PATH (separated by colons), then from the library's own. Modules stay until exit.
 */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/device/device.h"
#include "core/base/environment.h"
#include "backends/cpu/cpu.h"
#include "ht/log.h"

#define MAX_BACKENDS 8

static ht_driver drivers[MAX_BACKENDS];
static int driver_count;

static void service_log(int level, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ht_log_write((ht_log_level)level, "%s", text);
}

/* A late error names the operation that made it, and not the one that the program calls now. */
static void record(ht_status kind, const char *format, va_list arguments)
{
    HT_UNNAMED();
    char text[1024];

    vsnprintf(text, sizeof text, format, arguments);
    ht__error_set(kind, "%s", text);
}

static void service_fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    record(HT_ERR_DEVICE, format, arguments);
    va_end(arguments);
}

static void service_fail_as(ht_status kind, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    record(kind, format, arguments);
    va_end(arguments);
}

static ht_status service_take_error(char *text, size_t room)
{
    const char *message;
    ht_status kind = ht_error_get(&message);

    snprintf(text, room, "%s", message);
    ht_error_clear();
    return kind;
}

/* The backend is the first of its driver's fields: a module is given the address of both. */
static int service_add(ht_backend *backend, ht_kernel kernel, ht_dtype dtype, ht_kernel_fn *run)
{
    return ht__kernel_add((ht_driver *)backend, kernel, dtype, run);
}

static const ht_backend_services services = {
    .abi = HT_BACKEND_ABI,
    .size = sizeof services,
    .log = service_log,
    .fail = service_fail,
    .fail_as = service_fail_as,
    .take_error = service_take_error,
    .kernel = ht__kernel_find,
    .add = service_add,
    .host_kernel = ht__cpu_kernel,
    .operands = ht__call_operands,
};

/* The first folder of a colon-separated list that has the module, as a path. */
static bool find_in(const char *folders, const char *name, char *path, size_t room)
{
    while (folders != NULL && *folders != '\0') {
        int length = (int)strcspn(folders, ":");

        snprintf(path, room, "%.*s/libht_%s.so", length, folders, name);
        if (access(path, R_OK) == 0)
            return true;
        folders += length;
        folders += *folders == ':';
    }
    return false;
}

/* The folder of modules that are installed with this library, wherever that is: libht/ in its
 * folder. For the library with checks, which lies in libht/ itself, it is the folder above. */
static void own_folders(char *folders, size_t room)
{
    Dl_info info;
    int length;

    folders[0] = '\0';
    if (dladdr(&services, &info) == 0 || strrchr(info.dli_fname, '/') == NULL)
        return;
    length = (int)(strrchr(info.dli_fname, '/') - info.dli_fname);
    snprintf(folders, room, "%.*s/libht:%.*s/..", length, info.dli_fname, length, info.dli_fname);
}

/* All, or none and nothing that needs them. */
static bool events_are_complete(const ht_backend *backend)
{
    int count = (backend->event_new != NULL) + (backend->event_free != NULL) +
                (backend->event_record != NULL) + (backend->event_done != NULL) +
                (backend->event_wait != NULL) + (backend->stream_wait != NULL);

    return count == 6 || (count == 0 && backend->side_copy == NULL);
}

/* Those without which nothing works; NULL: all are there. */
static const char *missing_function(const ht_backend *backend)
{
    if (backend->device_count == NULL)
        return "device_count";
    if (backend->device_open == NULL || backend->device_close == NULL)
        return "device_open or device_close";
    if (backend->memory_alloc == NULL || backend->memory_free == NULL)
        return "memory_alloc or memory_free";
    if (backend->memory_copy == NULL)
        return "memory_copy";
    return events_are_complete(backend) ? NULL : "complete set of functions for events";
}

/* A module may know less of the table than this library: the rest stays NULL. */
static bool is_usable(const ht_backend *backend, const char *name, const char *path)
{
    if (backend->abi != HT_BACKEND_ABI || backend->size == 0 || backend->size > sizeof *backend)
        ht__error_set(HT_ERR_UNSUPPORTED,
                      "ht_device_get: %s was compiled for backend interface %u (%zu bytes), this "
                      "library has %u (up to %zu bytes)",
                      path, backend->abi, backend->size, HT_BACKEND_ABI, sizeof *backend);
    else if (backend->name == NULL || strcmp(backend->name, name) != 0)
        ht__error_set(HT_ERR_UNSUPPORTED,
                      "ht_device_get: the backend of %s is named '%s', expected '%s'", path,
                      backend->name != NULL ? backend->name : "(null)", name);
    else if (missing_function(backend) != NULL)
        ht__error_set(HT_ERR_UNSUPPORTED, "ht_device_get: %s has no %s", path,
                      missing_function(backend));
    else
        return true;
    return false;
}

static ht_driver *load(const char *name)
{
    char path[1024], own[2100];
    ht_driver *driver = &drivers[driver_count];
    ht_backend_open_fn *open_backend;
    void *module;

    own_folders(own, sizeof own);
    if (!find_in(ht__env_text(HT_ENV_HT_BACKEND_PATH), name, path, sizeof path) &&
        !find_in(own, name, path, sizeof path) && !find_in(HT_PKGLIBDIR, name, path, sizeof path)) {
        ht__error_set(
            HT_ERR_UNSUPPORTED,
            "ht_device_get: no backend '%s': libht_%s.so is neither in HT_BACKEND_PATH nor "
            "in %s:" HT_PKGLIBDIR,
            name, name, own);
        return NULL;
    }
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) {
        ht__error_set(HT_ERR_UNSUPPORTED, "ht_device_get: cannot load %s: %s", path, dlerror());
        return NULL;
    }
    *(void **)&open_backend = dlsym(module, "ht_backend_open");
    if (open_backend == NULL) {
        ht__error_set(HT_ERR_UNSUPPORTED, "ht_device_get: %s exports no ht_backend_open", path);
        return NULL;
    }
    memset(driver, 0, sizeof *driver);
    driver->backend.name = name; /* for messages, until the module says it */
    if (open_backend(HT_BACKEND_ABI, &services, &driver->backend) != 0 ||
        !is_usable(&driver->backend, name, path))
        return NULL;
    driver_count++;
    return driver;
}

static ht_driver *cpu_driver(void)
{
    static ht_driver cpu;

    if (!cpu.closed) {
        cpu.backend = *ht__backend_cpu();
        cpu.kernels = *ht__cpu_kernels();
        cpu.closed = true;
    }
    return &cpu;
}

ht_driver *ht__driver_find(const char *backend)
{
    if (strcmp(backend, "cpu") == 0)
        return cpu_driver();
    for (int i = 0; i < driver_count; i++) {
        if (strcmp(drivers[i].backend.name, backend) == 0)
            return &drivers[i];
    }
    if (driver_count < MAX_BACKENDS)
        return load(backend);
    ht__error_set(HT_ERR_UNSUPPORTED, "ht_device_get: %d backends are loaded, which is the limit",
                  MAX_BACKENDS);
    return NULL;
}
