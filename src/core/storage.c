/* SPDX-License-Identifier: MIT
 *
 * Storages: counted memory of one device, shared by all views of it. */
#include "core.h"

static void destroy(void *object)
{
    ht_storage *storage = object;

    if (storage->free_external != NULL)
        storage->free_external(storage->user);
    else
        ht__device_free(storage->device, storage->data, storage->capacity);
    ht__object_fini(storage);
    ht__block_free(storage, sizeof *storage);
}

static ht_kind kind = {.name = "storage", .destroy = destroy};

ht_storage *ht__storage_new(ht_device *device, size_t bytes)
{
    size_t capacity = 0;
    void *data = NULL;
    ht_storage *storage;

    if (bytes > 0) {
        data = ht__device_alloc(device, bytes, &capacity);
        if (data == NULL)
            return NULL;
    }
    storage = ht__block_alloc(sizeof *storage);
    ht__object_init(storage, &kind);
    storage->device = device;
    storage->data = data;
    storage->bytes = bytes;
    storage->capacity = capacity;
    return storage;
}
