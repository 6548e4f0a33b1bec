/* SPDX-License-Identifier: MIT
 *
 * One process, several devices: a batch is divided among them, each device runs a copy of the model
 * on its part, and the outputs are joined. Source: torch.nn.DataParallel.
 *
 * Not to be confused with ht_nn_data_parallel (ht/data_parallel.h; heat.nn.DataParallel and torch's
 * DistributedDataParallel), which averages the gradients of many processes, one device each. */
#ifndef HT_DEVICE_PARALLEL_H
#define HT_DEVICE_PARALLEL_H

#include "ht/devices.h"
#include "ht/module.h"

HT_BEGIN_DECLS

/* Wraps `module` (retained) so that a forward pass runs on `count` devices at once: the tensors of
 * the inputs are cut along axis `dim` into parts of ceil(n / count), and everything else is passed
 * on as it is; copies of the module run on the parts, each in a thread of its device; the outputs
 * are joined along `dim`. y = concatenate(module(x_0), ..., module(x_k)).
 *
 * device_ids: indices k of the devices BACKEND:k, all different, of the backend that holds the
 * module's parameters (a module without any: that of ht_get_device). The parameters and buffers are
 * on the first of them. NULL: all devices of that backend; of the host, whose further devices
 * cpu:1, cpu:2, ... are virtual and taken by name only, none. With none (count 0) a forward pass is
 * that of the module itself. output_device: index of the device that gets the outputs; HT_NONE: the
 * first of device_ids; -1: the host.
 *
 * Outputs may be tensors, lists and maps of them; maps of all parts have the same keys. Scalars
 * become a vector with an element for each part, with a warning; NULL stays NULL. One backward pass
 * runs through all parts, and adds the sum of their gradients to those of the module, in the same
 * order each time. The first part runs on the module itself and on the calling thread: what it
 * writes to buffers, or to the module's struct, lasts; the other copies end with the pass. Hooks
 * run once for each part, at the same time. The grad mode is the caller's. An error of a part is
 * raised, the first one's, when all have ended.
 *
 * Owned. Not collective: tensors are process-local. Errors: HT_ERR_DEVICE for a parameter or buffer
 * that is elsewhere (named), HT_ERR_SHAPE for inputs whose lengths give unlike numbers of parts.
 * With more than one device also, when the wrapper is made and in each forward pass, for a module
 * inside (named): HT_ERR_ARGUMENT for a SyncBatchNorm or a wrapper of ht_nn_data_parallel, which
 * goes around this one, HT_ERR_UNSUPPORTED for a destroy hook without a clone hook.
 * Source: torch.nn.DataParallel. */
HT_API ht_module *ht_nn_device_parallel(ht_module *module, const int device_ids[], int count,
                                        int output_device, int dim);

/* One forward pass of `module` in that way, without a wrapper. Scoped. Source:
 * torch.nn.parallel.data_parallel. */
HT_API ht_value *ht_device_parallel_forward(ht_module *module, ht_value *inputs,
                                            const int device_ids[], int count, int output_device,
                                            int dim);

HT_END_DECLS
#endif
