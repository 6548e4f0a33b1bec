/* SPDX-License-Identifier: MIT
 *
 * Tensors exchanged with other libraries without a copy, by the DLPack protocol. dlpack.h need not
 * be there: a program that includes it has the same structs by the same names.
 *
 * What is exchanged is memory, and nothing else: this rank's part, without history or gradients. A
 * write by one side is seen by the other, and by no graph that has saved the tensor
 * (ht_tensor_mutable_data tells it). An update that is put off (ht/data_parallel.h) is brought when
 * the memory is given away. Not collective. Source: DLPack 1.1, torch.from_dlpack,
 * numpy.from_dlpack. */
#ifndef HT_DLPACK_H
#define HT_DLPACK_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

struct DLManagedTensor;          /* before version 1.0 */
struct DLManagedTensorVersioned; /* 1.x */

/* The local part of x, for whoever calls its deleter once, on any thread: until then the memory
 * stays, whatever becomes of x, and its storage is alive (ht_live_objects). Work on it that the
 * device still has to do is awaited. Host memory of any backend is kDLCPU; of backends "cuda",
 * "rocm", "oneapi", "metal", "vulkan", "opencl" it is theirs; else kDLExtDev. Strides may be
 * negative or, marked as read-only, 0. A tensor that cannot be written is refused in the struct
 * without versions, which has no such mark. NULL after an error. */
HT_API struct DLManagedTensorVersioned *ht_to_dlpack(ht_tensor *x);
HT_API struct DLManagedTensor *ht_to_dlpack_unversioned(ht_tensor *x);

/* A tensor of this rank's own, on HT_COMM_SELF, over somebody else's memory; scoped. Its deleter is
 * called when the last view of it is gone, after a success only. The device is that of the backend
 * of its type; `device`: the one whose memory it is, for other types. What is marked as read-only,
 * or has a stride of 0, cannot be written. Errors: HT_ERR_DTYPE for elements that no dtype has,
 * HT_ERR_STATE for another major version than 1, HT_ERR_SHAPE for more than HT_MAX_NDIM axes. */
HT_API ht_tensor *ht_from_dlpack(struct DLManagedTensorVersioned *managed);
HT_API ht_tensor *ht_from_dlpack_ext(struct DLManagedTensorVersioned *managed, ht_device *device);
HT_API ht_tensor *ht_from_dlpack_unversioned(struct DLManagedTensor *managed);

HT_END_DECLS
#endif
