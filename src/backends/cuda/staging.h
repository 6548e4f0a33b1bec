/* SPDX-License-Identifier: MIT
 *
 * Copies in parallel with the stream of a device: by separate streams, and through pinned pieces if
 * memory of the host is not pinned. */
#ifndef HT_BACKENDS_CUDA_STAGING_H
#define HT_BACKENDS_CUDA_STAGING_H

#include "backends/cuda/device.h"

/* NULL: no memory on the host. A device has one before it is opened. */
struct ht_cuda_staging *ht_cuda_staging_new(void);
void ht_cuda_staging_free(const ht_cuda_device *device); /* also one that is open in part; waits */

/* Each returns 0, or an error of the runtime. wait: for all parallel copies; after an error, too,
 * they no longer write anything. */
int ht_cuda_staging_open(const ht_cuda_device *device);
int ht_cuda_staging_wait(const ht_cuda_device *device);

/* memory_copy between a device and memory of the host. */
int ht_cuda_stage(const ht_cuda_device *device, void *to, const void *from, size_t bytes,
                  ht_copy_kind kind);

/* side_copy; the events are the runtime's. */
int ht_cuda_stage_side_copy(const ht_cuda_device *device, void *to, const void *from, size_t bytes,
                            ht_copy_kind kind, void *after, void *event);

#endif
