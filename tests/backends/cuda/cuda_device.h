/* SPDX-License-Identifier: MIT
 *
 * For the tests of the CUDA module: cuda:0 is emulated in this folder where there is a C++
 * compiler. It is a GPU where HT_BACKEND_PATH leads to a module that found one. */
#ifndef HT_TESTS_BACKENDS_CUDA_CUDA_DEVICE_H
#define HT_TESTS_BACKENDS_CUDA_CUDA_DEVICE_H

#include "core/device/device.h"
#include "ht_test.h"

/* NULL: there is no such module here, or it found no device. */
static inline ht_device *cuda_device(void)
{
    if (ht__driver_find("cuda") != NULL)
        return ht_device_get("cuda:0");
    ht_error_clear();
    return NULL;
}

/* Whether it is emulated_runtime.cc, and no GPU. */
static inline bool cuda_is_emulated(const ht_device *device)
{
    size_t memory;
    int cores;

    device->backend->device_properties(device->index, &memory, &cores);
    return cores == 2 && memory == (size_t)1 << 30;
}

/* Memory of the device for the tests of a file, until cuda_close. */
static void *cuda_rooms[8];
static int cuda_room_count;

static inline void *cuda_room(const ht_device *device, size_t bytes)
{
    void *room = device->backend->memory_alloc(device->stream, bytes);

    assert_non_null(room);
    cuda_rooms[cuda_room_count++] = room;
    return room;
}

static inline int cuda_close(void **state)
{
    (void)state;
    while (cuda_room_count > 0) {
        const ht_device *device = cuda_device();

        device->backend->memory_free(device->stream, cuda_rooms[--cuda_room_count]);
    }
    return 0;
}

/* The thread orders of the emulated device, one after the other; another device knows one. */
static const char *const cuda_orders[] = {"forward", "backward", "mixed"};

#endif
