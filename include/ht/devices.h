/* SPDX-License-Identifier: MIT
 *
 * Devices. No call here is collective; ranks may use different devices.
 *
 * "cpu" is "cpu:0". "cpu:1", "cpu:2", ... are virtual host devices, each with separate memory
 * accounting. Other names are devices of backend modules: "cuda:0" loads libht_cuda.so. A module is
 * loaded on first use, from the folders in HT_BACKEND_PATH (with colons between them) or from the
 * library's own folder.
 *
 * Errors: HT_ERR_ARGUMENT for NULL (ht_error_get), unless a comment says otherwise. */
#ifndef HT_DEVICES_H
#define HT_DEVICES_H

#include "ht/error.h"

HT_BEGIN_DECLS

/* Returns the device of this name.
 *
 * name: BACKEND or BACKEND:INDEX. Without an index, rank r of a node (HT_RANKS_PER_NODE) gets index
 * r modulo the number of devices, and index 0 of devices in the host's memory. Ranks may pass
 * different names.
 * Not collective.
 * Result: borrowed; lives until ht_finalize.
 * Errors: NULL, with HT_ERR_ARGUMENT if name is malformed or NULL, HT_ERR_UNSUPPORTED if the
 * backend is missing or cannot be loaded, and HT_ERR_DEVICE if it has no such device. HT_ERR_STATE
 * for several devices and no index before ht_init. A backend that refuses to start gives its error
 * code. */
HT_API ht_device *ht_device_get(const char *name);

/* Returns the device on which the calling thread makes new tensors; "cpu" at first.
 *
 * It works before ht_init, too. Heat has one such device for all threads.
 * Result: borrowed; lives until ht_finalize.
 * Source: heat.get_device. */
HT_API ht_device *ht_get_device(void);

/* Makes device the one on which the calling thread makes new tensors. Source: heat.use_device.
 *
 * Errors: HT_ERR_ARGUMENT for NULL. */
HT_API ht_status ht_use_device(ht_device *device);

/* Returns the full name of device, "cpu:0"; borrowed; "none" for NULL. */
HT_API const char *ht_device_name(const ht_device *device);

/* The memory of a device in its caching allocator, in bytes. */
typedef struct ht_device_memory {
    size_t in_use;      /* used by live storages */
    size_t cached;      /* free, kept for reuse; in_use + cached <= max(2 peak, 64 MiB) */
    size_t peak;        /* highest in_use so far */
    uint64_t allocated; /* number of storages handed out so far */
    uint64_t missed;    /* number of them that the system had to provide */
} ht_device_memory;

/* Writes the use of the memory of device to *memory. */
HT_API ht_status ht_device_get_memory(ht_device *device, ht_device_memory *memory);

/* Gives the cached memory of device back to the system. */
HT_API void ht_device_empty_cache(ht_device *device);

/* Returns how many kernels have run on the host because device lacks them.
 *
 * Their operands are copied to the host and back. With HT_FALLBACK=error the first such kernel is
 * an error. 0 for NULL, without an error. */
HT_API int64_t ht_device_fallbacks(const ht_device *device);

/* Waits until all work queued on device is done.
 *
 * Errors: that of the work, HT_ERR_DEVICE if it gives no code. If HT_COMM_WORLD has several ranks,
 * it ends the job (ht/error.h). */
HT_API ht_status ht_device_synchronize(ht_device *device);

HT_END_DECLS
#endif
