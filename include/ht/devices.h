/* SPDX-License-Identifier: MIT
 *
 * Devices: "cpu" (= "cpu:0"), virtual host devices "cpu:1", "cpu:2", ... with memory accounting of
 * their own, and devices of backend modules, loaded on first use from HT_BACKEND_PATH, then from
 * the library's own folder ("cuda:0" loads libht_cuda.so). */
#ifndef HT_DEVICES_H
#define HT_DEVICES_H

#include "ht/error.h"

HT_BEGIN_DECLS

/* The device with this name; borrowed, lives until ht_finalize. NULL with an error when the backend
 * is missing, refused, or has no such device. Not collective; ranks may pass different names. */
HT_API ht_device *ht_device_get(const char *name);

/* The device new tensors go to; "cpu" at first. Per thread. Source: heat.get_device, use_device. */
HT_API ht_device *ht_get_device(void);
HT_API ht_status ht_use_device(ht_device *device);

HT_API const char *ht_device_name(const ht_device *device);

/* Memory of a device as its caching allocator sees it. Bytes. */
typedef struct ht_device_memory {
    size_t in_use;      /* held by live storages */
    size_t cached;      /* free, kept for reuse */
    size_t peak;        /* highest in_use so far */
    uint64_t allocated; /* storages handed out so far */
    uint64_t missed;    /* of these, how many had to ask the system */
} ht_device_memory;

HT_API ht_status ht_device_get_memory(ht_device *device, ht_device_memory *memory);

/* Gives cached memory back to the system. Not collective. */
HT_API void ht_device_empty_cache(ht_device *device);

/* Kernels so far that the device has not, and that ran on the host, with their operands copied
 * there and back. HT_FALLBACK=error makes the first an error. Not collective. */
HT_API int64_t ht_device_fallbacks(const ht_device *device);

/* Waits until all work queued on the device is done. Not collective. */
HT_API ht_status ht_device_synchronize(ht_device *device);

HT_END_DECLS
#endif
