/* SPDX-License-Identifier: MIT
 *
 * Loads a library, and finds functions in it. */
#include "backends/cuda/library/library.h"

#include <dlfcn.h>
#include <stdio.h>

/* NULL: there is none; `missing` says why not the last of them. */
static void *open_first(const char *const files[], const char **found, char *missing, size_t room)
{
    for (; *files != NULL; files++) {
        void *library = dlopen(*files, RTLD_NOW | RTLD_LOCAL);

        *found = *files;
        if (library != NULL)
            return library;
        snprintf(missing, room, "%s", dlerror());
    }
    return NULL;
}

bool ht_cuda_library_load(const char *const files[], const ht_cuda_symbol symbols[],
                          void *functions, char *missing, size_t room)
{
    const char *file = NULL;
    void *library = open_first(files, &file, missing, room);

    if (library == NULL)
        return false;
    for (; symbols->name != NULL; symbols++) {
        void *at = dlsym(library, symbols->name);

        *(void **)((char *)functions + symbols->offset) = at;
        if (at == NULL) {
            snprintf(missing, room, "%s has no %s", file, symbols->name);
            return false;
        }
    }
    return true;
}
