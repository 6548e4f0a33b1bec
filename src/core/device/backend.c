/* SPDX-License-Identifier: MIT
 *
 * The table of backends: cpu is built in, others are modules loaded on first use from the folders
 * of HT_BACKEND_PATH (separated by colons), then from the library's own. Modules stay until exit.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"
#include "core/base/environment.h"
#include "backends/cpu/cpu.h"

#define MAX_BACKENDS 8

static ht_backend loaded[MAX_BACKENDS];
static int loaded_count;

static void service_log(int level, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ht_log_write((ht_log_level)level, "%s", text);
}

static void service_fail(const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ht__error_set(HT_ERR_DEVICE, "%s", text);
}

static const ht_backend_services services = {
    .abi = HT_BACKEND_ABI,
    .size = sizeof services,
    .log = service_log,
    .fail = service_fail,
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

static const ht_backend *load(const char *name)
{
    char path[1024];
    ht_backend *backend = &loaded[loaded_count];
    ht_backend_open_fn *open_backend;
    void *module;

    if (!find_in(ht__env_text(HT_ENV_HT_BACKEND_PATH), name, path, sizeof path) &&
        !find_in(HT_PKGLIBDIR, name, path, sizeof path)) {
        ht__error_set(
            HT_ERR_UNSUPPORTED,
            "ht_device_get: no backend '%s': libht_%s.so is neither in HT_BACKEND_PATH nor "
            "in " HT_PKGLIBDIR,
            name, name);
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
    memset(backend, 0, sizeof *backend);
    if (open_backend(HT_BACKEND_ABI, &services, backend) != 0)
        return NULL;
    if (backend->abi != HT_BACKEND_ABI || backend->size != sizeof *backend) {
        ht__error_set(HT_ERR_UNSUPPORTED,
                      "ht_device_get: %s was compiled for backend interface %u (%zu bytes), this "
                      "library has %u (%zu bytes)",
                      path, backend->abi, backend->size, HT_BACKEND_ABI, sizeof *backend);
        return NULL;
    }
    loaded_count++;
    return backend;
}

const ht_backend *ht__backend_find(const char *name)
{
    if (strcmp(name, "cpu") == 0)
        return ht__backend_cpu();
    for (int i = 0; i < loaded_count; i++) {
        if (strcmp(loaded[i].name, name) == 0)
            return &loaded[i];
    }
    if (loaded_count < MAX_BACKENDS)
        return load(name);
    ht__error_set(HT_ERR_UNSUPPORTED, "ht_device_get: %d backends are loaded already",
                  MAX_BACKENDS);
    return NULL;
}
