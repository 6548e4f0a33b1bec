/* SPDX-License-Identifier: MIT
 *
 * Tensors exchanged with other libraries without a copy, by the DLPack protocol.
 *
 * dlpack.h is not needed. A program that includes it has the same structs by the same names.
 *
 * Memory alone is exchanged: this rank's part of a tensor, without history or gradients. The other
 * side sees every write. A graph that has saved the tensor does not see writes of the other side;
 * ht_tensor_mutable_data tells the graph of one. A due update (ht/data_parallel.h) is completed
 * before the memory is handed out.
 *
 * No call here is collective. Errors of all: HT_ERR_ARGUMENT for NULL. Source: DLPack 1.1,
 * torch.from_dlpack, numpy.from_dlpack. */
#ifndef HT_DLPACK_H
#define HT_DLPACK_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

struct DLManagedTensor;          /* before version 1.0 */
struct DLManagedTensorVersioned; /* 1.x */

/* Lends this rank's part of x as a DLPack struct of version 1.
 *
 * The call waits for the work on x that its device has queued. Host memory of any backend is
 * kDLCPU. Memory of the backends "cuda", "rocm", "oneapi", "metal", "vulkan" and "opencl" has the
 * type of that name, and any other is kDLExtDev. Strides may be negative. A tensor that cannot be
 * written is marked as read-only; one with a stride of 0 is such a tensor.
 *
 * Result: owned. The receiver calls its deleter once, on any thread. Until then the memory stays,
 *   even if x is released, and its storage counts as live (ht_live_objects). Its address is NULL if
 *   there are no elements. NULL after an error. */
HT_API struct DLManagedTensorVersioned *ht_to_dlpack(ht_tensor *x);

/* ht_to_dlpack of x as the struct without a version, which has no mark for read-only memory.
 * Errors: HT_ERR_ARGUMENT if x cannot be written. */
HT_API struct DLManagedTensor *ht_to_dlpack_unversioned(ht_tensor *x);

/* Returns a tensor of this rank's own, on HT_COMM_SELF, over the memory of another library.
 *
 * Its device belongs to the backend of the DLPack device type. A tensor that is marked as read-only
 * or has a stride of 0 cannot be written. The call waits for nothing: the caller first waits until
 * the work of the other library on the memory is done. torch.from_dlpack takes a stream instead.
 *
 * managed: taken over if the call succeeds; its deleter, unless NULL, is called when the last view
 * is released. After an error it is still the caller's.
 * Result: scoped.
 * Errors: HT_ERR_DTYPE if no dtype has these elements. HT_ERR_STATE unless the major version is 1.
 * HT_ERR_SHAPE if there are more than HT_MAX_NDIM axes, or 2^59 elements or more. HT_ERR_ARGUMENT
 * if there are elements and their address is NULL, or not a multiple of their size. On the host,
 * that is the size of a part if they are complex. HT_ERR_DEVICE if no backend is known for the
 * device type. */
HT_API ht_tensor *ht_from_dlpack(struct DLManagedTensorVersioned *managed);

/* ht_from_dlpack of managed on a device that the caller names, for any other DLPack device type.
 *
 * device: the device whose memory it is; not checked against the DLPack device type. */
HT_API ht_tensor *ht_from_dlpack_ext(struct DLManagedTensorVersioned *managed, ht_device *device);

/* ht_from_dlpack of a managed struct without a version. */
HT_API ht_tensor *ht_from_dlpack_unversioned(struct DLManagedTensor *managed);

HT_END_DECLS
#endif
