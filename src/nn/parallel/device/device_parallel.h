/* SPDX-License-Identifier: MIT
 *
 * The steps of a pass over several devices, for device_parallel*.c only. */
#ifndef HT_NN_PARALLEL_DEVICE_DEVICE_PARALLEL_H
#define HT_NN_PARALLEL_DEVICE_DEVICE_PARALLEL_H

#include "nn/module/module.h"

#define HT_MAX_REPLICAS 64

/* Where a pass runs. Copied bitwise with the wrapper: devices live until ht_finalize. */
typedef struct ht_device_layout {
    int count, dim;
    ht_device *devices[HT_MAX_REPLICAS];
    ht_device *output;
} ht_device_layout;

/* Cuts `inputs` into a part for each device, on that device; scoped. Returns how many parts there
 * are, at most the number of devices; 0 after an error. */
int ht__device_scatter(const char *what, ht_value *inputs, const ht_device_layout *layout,
                       ht_value *parts[]);

/* replicas[0] is the module, the others copies on the devices 1 ... count - 1 whose parameters
 * depend on the module's; all are owned by the caller. None after an error. */
ht_status ht__device_replicate(const char *what, ht_module *module, const ht_device_layout *layout,
                               int count, ht_module *replicas[]);

/* outputs[i] = replicas[i](parts[i]), at the same time; scoped. Raises the first error. */
ht_status ht__device_apply(const char *what, const ht_device_layout *layout, int count,
                           ht_module *const replicas[], ht_value *const parts[],
                           ht_value *outputs[]);

/* The outputs joined on the output device; scoped; NULL when all are, or after an error. Their graph
 * retains the copies. */
ht_value *ht__device_gather(const char *what, const ht_device_layout *layout, int count,
                            ht_module *const replicas[], ht_value *const outputs[]);

#endif
