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

/* Wraps `module` so that a forward pass runs on several devices: y = concatenate(module(x_0), ...,
 * module(x_k)).
 *
 * Tensors of the inputs are cut along axis `dim` into parts of ceil(n / count); n = 0 makes one
 * part. Other inputs are passed unchanged. Inputs without a tensor go to all devices. Copies of the
 * module run on the parts, each in a thread of its device.
 *
 * Outputs are tensors and numbers, or lists and maps of them. All parts have the same kinds, counts
 * and keys, else HT_ERR_ARGUMENT. Tensors are joined along `dim`. Scalars become a vector with one
 * element for each part, with a warning, and numbers one of float64.
 *
 * One backward pass runs through all parts. It adds the sum of their gradients to those of the
 * module, in the same order each time.
 *
 * The first part runs on the module itself, in the calling thread. Its changes of buffers, or of
 * the struct of the module, are kept; those of the other copies are lost. A copy lives as long as
 * the graph of its outputs, or until the pass ends if there is none. So functions that run again
 * (ht_recomputed), hooks and nodes inside may refer to it. Hooks run once for each part, at the
 * same time. The grad mode is the caller's. If parts fail, the error of the first of them is raised
 * after all have ended.
 *
 * A pass with several parts takes one draw on HT_COMM_SELF (ht/random.h). The first part draws from
 * the caller's random numbers; those of each other part depend on the seed, that draw and the part.
 *
 * module: retained. Its parameters and buffers are on the first device.
 * device_ids: indices k of the devices BACKEND:k, all different; read at once. BACKEND holds the
 * parameters of the module, or is that of ht_get_device if the module has none. NULL: all devices
 * of that backend, whatever count is. For the host NULL means no device, because its further
 * devices cpu:1, cpu:2, ... are virtual and taken by name only.
 * count: number of device_ids, 0 to 64. With no device a forward pass is that of the module itself.
 * output_device: index of the device that gets the outputs, also outside of device_ids. HT_NONE:
 * the first of device_ids. -1: the host.
 * dim: axis of every tensor of the inputs and outputs.
 * Not collective: tensors are process-local.
 * Result: owned.
 * Errors: those of ht_device_get for an index: HT_ERR_DEVICE if it is too large, HT_ERR_ARGUMENT if
 * it is negative. HT_ERR_DEVICE for a parameter or buffer on another device (named). HT_ERR_SHAPE
 * for inputs whose lengths give different numbers of parts. HT_ERR_ARGUMENT for a scalar, an input
 * on several ranks, a dim that an input lacks, a repeated device or a count out of range. With more
 * than one device, also the following errors for a module inside (named), when the wrapper is made
 * and in each forward pass. HT_ERR_ARGUMENT for a SyncBatchNorm or a wrapper of
 * ht_nn_data_parallel; that wrapper goes around this one. HT_ERR_UNSUPPORTED for a destroy hook
 * without a clone hook.
 * Source: torch.nn.DataParallel. */
HT_API ht_module *ht_nn_device_parallel(ht_module *module, const int device_ids[], int count,
                                        int output_device, int dim);

/* Runs one forward pass as ht_nn_device_parallel does, without a wrapper.
 *
 * module: not retained.
 * inputs: the arguments of module's forward; not retained.
 * device_ids, count, output_device, dim: as in ht_nn_device_parallel.
 * Not collective.
 * Result: the outputs, scoped; NULL after an error.
 * Errors: those of ht_nn_device_parallel.
 * Source: torch.nn.parallel.data_parallel. */
HT_API ht_value *ht_device_parallel_forward(ht_module *module, ht_value *inputs,
                                            const int device_ids[], int count, int output_device,
                                            int dim);

HT_END_DECLS
#endif
