/* SPDX-License-Identifier: MIT
 *
 * Tensors: attributes, element access, copies and moves.
 *
 * A tensor has a global shape and at most one split axis. With a split, each rank of the tensor's
 * communicator holds a slab: a contiguous, possibly empty part along that axis. Without a split,
 * each rank holds all elements (the tensor is replicated).
 *
 * A scalar is a tensor without axes. Every axis is outside of it (HT_ERR_ARGUMENT), unless a
 * comment says that it counts as (1). PyTorch mostly takes 0 and -1 as its axis.
 *
 * In a Result, the split of x ("split as x") means its axis and its slabs. Balanced means the slabs
 * of ht_comm_chunk instead (ht_balance). A result is on the device of its operands unless a comment
 * says otherwise.
 *
 * Attributes are not collective. That of NULL is 0, NULL or false, and no error, unless its comment
 * names another value. Arrays that an attribute returns are borrowed from the tensor.
 *
 * Tensors that functions return are scoped, except x itself (ht/object.h). A NULL operand is
 * HT_ERR_ARGUMENT unless an earlier error made it NULL (ht/error.h). */
#ifndef HT_TENSOR_H
#define HT_TENSOR_H

#include "ht/communication.h"
#include "ht/devices.h"
#include "ht/number.h"
#include "ht/shape.h"

HT_BEGIN_DECLS

/* Returns the number of axes of x, 0 to HT_MAX_NDIM. */
HT_API int ht_tensor_ndim(const ht_tensor *x);

/* Returns the global shape of x, one length per axis; borrowed. */
HT_API const int64_t *ht_tensor_shape(const ht_tensor *x);

/* Returns the shape of this rank's part of x, one length per axis; borrowed. */
HT_API const int64_t *ht_tensor_lshape(const ht_tensor *x);

/* Returns the strides of this rank's part of x in elements, one per axis; borrowed. */
HT_API const int64_t *ht_tensor_stride(const ht_tensor *x);

/* Returns the number of elements of x on all ranks together. A replicated x counts once. */
HT_API int64_t ht_tensor_size(const ht_tensor *x);

/* Returns the number of elements of this rank's part of x. */
HT_API int64_t ht_tensor_lsize(const ht_tensor *x);

/* Returns the bytes of the elements of this rank's part of x. */
HT_API int64_t ht_tensor_nbytes(const ht_tensor *x);

/* Returns the split axis of x, or HT_NONE if x is replicated or NULL. */
HT_API int ht_tensor_split(const ht_tensor *x);

/* Returns the dtype of x; HT_DTYPE_COUNT for NULL. */
HT_API ht_dtype ht_tensor_dtype(const ht_tensor *x);

/* Returns the device that holds the memory of x; borrowed. */
HT_API ht_device *ht_tensor_device(const ht_tensor *x);

/* Returns the communicator whose ranks share x; borrowed. */
HT_API ht_comm *ht_tensor_comm(const ht_tensor *x);

/* Returns whether the slabs of x are those of ht_comm_chunk; true for a replicated x and for
 * NULL. */
HT_API bool ht_tensor_is_balanced(const ht_tensor *x);

/* Returns whether x is stored row-major without gaps on all ranks; every rank gets the same
 * answer.
 *
 * The strides of axes of (global) length 1 do not matter, as in PyTorch. The length of a slab does
 * not count: a transposed matrix is not contiguous, even if each rank holds one row of it. */
HT_API bool ht_tensor_is_contiguous(const ht_tensor *x);

/* Returns whether x has 4 axes and is stored channels-last (N, H, W, C) without gaps on all ranks;
 * every rank gets the same answer. */
HT_API bool ht_tensor_is_channels_last(const ht_tensor *x);

/* Returns the global index of the first row of this rank's slab of x along the split axis; 0
 * without a split. */
HT_API int64_t ht_tensor_offset(const ht_tensor *x);

/* Returns the bytes of all elements of x on all ranks together. A replicated x counts once. */
HT_API int64_t ht_tensor_gnbytes(const ht_tensor *x);

/* Writes the shape of each rank's part of x to map.
 *
 * map: the caller's array of ranks * ndim lengths; the shape of rank r begins at map[r * ndim].
 * Not collective.
 * Errors: HT_ERR_ARGUMENT if x or map is NULL. */
HT_API ht_status ht_tensor_lshape_map(const ht_tensor *x, int64_t map[]);

/* Writes the length and the first index of each rank's slab of x along the split axis.
 *
 * counts: the caller's array; counts[r] is the length of rank r's slab.
 * displs: the caller's array; displs[r] is the global index at which that slab begins.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT if x has no split, or if x, counts or displs is NULL. */
HT_API ht_status ht_tensor_counts_displs(const ht_tensor *x, int64_t counts[], int64_t displs[]);

/* Returns the address of the first element of this rank's part of x, for reading.
 *
 * Updates of that memory that are still pending are completed first. The address is valid until x
 * is released or written in place.
 *
 * Not collective.
 * Result: NULL, without an error, if the part is empty or is not in host memory, or x is NULL. */
HT_API const void *ht_tensor_data(const ht_tensor *x);

/* Returns the address of ht_tensor_data for writing.
 *
 * It raises the version of the storage of x. A backward pass that needs the old values then reports
 * an error. A read-only x (ht_broadcast_to, ht_scalar) is not refused, but must not be written.
 *
 * Not collective.
 * Result: NULL, without an error, where ht_tensor_data gives NULL, and for a NULL x. */
HT_API void *ht_tensor_mutable_data(ht_tensor *x);

/* Writes the one element of x to *value on every rank.
 *
 * value: receives the element as a double, which rounds integers beyond 2^53; unchanged after an
 *   error.
 * Collective if x is split, else not collective: one rank alone may read a replicated x.
 * Errors: HT_ERR_SHAPE unless x has one element; HT_ERR_DTYPE if x is complex; HT_ERR_ARGUMENT if x
 * or value is NULL. */
HT_API ht_status ht_tensor_item(ht_tensor *x, double *value);

/* ht_tensor_item without rounding and for complex x: *value is an ht_number of the kind of x. Bool
 * gives an INTEGER, 0 or 1. */
HT_API ht_status ht_tensor_item_ext(ht_tensor *x, ht_number *value);

/* Returns the one element of x as ht_tensor_item does, with its errors; NaN after an error.
 * Collective if x is split. */
HT_API double ht_item(ht_tensor *x);

/* Returns the one element of x as ht_tensor_item_ext does; NaN after an error. Collective if x is
 * split. */
HT_API ht_number ht_item_ext(ht_tensor *x);

/* Returns x converted to dtype, or x itself if it has that dtype already.
 *
 * A floating number loses its fraction in an integer dtype. Outside the range it becomes the
 * nearest integer inside, and NaN becomes 0. An integer keeps its low bits in a narrower integer
 * dtype. A complex number loses its imaginary part. Bool is x != 0.
 *
 * Logically collective. Differentiable; integers and bool have no gradient, so the history of x
 * ends there.
 * Result: the shape and split of x.
 * Errors: HT_ERR_ARGUMENT if dtype is invalid. */
HT_API ht_tensor *ht_astype(ht_tensor *x, ht_dtype dtype);

/* Returns a row-major copy of x in new memory.
 *
 * Logically collective. Differentiable.
 * Result: the shape, dtype and split of x. */
HT_API ht_tensor *ht_copy(ht_tensor *x);

/* Returns x itself if ht_tensor_is_contiguous(x), else ht_copy(x).
 *
 * All ranks return the same of the two.
 *
 * Logically collective. Differentiable.
 * Result: the shape, dtype and split of x. */
HT_API ht_tensor *ht_contiguous(ht_tensor *x);

/* Returns x itself if ht_tensor_is_channels_last(x), else a copy that is stored channels-last.
 *
 * x: (N, C, H, W).
 * Logically collective. Differentiable.
 * Result: the shape, dtype and split of x.
 * Errors: HT_ERR_SHAPE unless x has 4 axes. */
HT_API ht_tensor *ht_channels_last(ht_tensor *x);

/* Returns a copy of x on device, or x itself if it is there already.
 *
 * A copy between two devices whose memory the host cannot reach passes through host memory.
 *
 * Logically collective. Differentiable.
 * Result: the shape, dtype and split of x. */
HT_API ht_tensor *ht_to_device(ht_tensor *x, ht_device *device);

/* Replaces the elements of x by those of y, converted to the dtype of x.
 *
 * A write through a view is recorded, too. It reaches the history of the tensor that x is a view
 * of, and of other views of that tensor.
 *
 * y: broadcast to the shape of x and resplit to the slabs of x; may overlap x, or be a number
 *   (ht_scalar).
 * Logically collective; collective if y has to be resplit. Differentiable in y.
 * Errors: HT_ERR_SHAPE if y does not broadcast to x. HT_ERR_STATE if x is read-only. While
 * gradients are recorded, HT_ERR_STATE if x is a leaf that requires gradients or a view of one
 * (ht_set_grad_enabled). It is also returned if y needs a gradient and x is a view that was cut off
 * by ht_detach or by gradients being off. */
HT_API ht_status ht_copy_(ht_tensor *x, ht_tensor *y);

/* Sets every element of x to value, converted to the dtype of x as ht/number.h says.
 *
 * While gradients are recorded, x loses its history.
 *
 * Logically collective.
 * Errors: HT_ERR_STATE where ht_copy_ refuses x. */
HT_API ht_status ht_fill_(ht_tensor *x, double value);

/* ht_fill_ of x with an ht_number as the value, which nothing rounds first. An integer outside the
 * range of an integer dtype is HT_ERR_ARGUMENT. Logically collective. */
HT_API ht_status ht_fill_ext_(ht_tensor *x, ht_number value);

/* Makes x share the body of y: shape, dtype, split, communicator, device and memory.
 *
 * A gradient of x that does not fit the new body is dropped. A graph that was recorded before can
 * no longer give x a gradient.
 *
 * Logically collective.
 * Errors: HT_ERR_STATE if x is a view, or the result of an operation in a graph. HT_ERR_ARGUMENT if
 * y cannot be written. HT_ERR_DTYPE if x requires gradients and y is of integers or bool. If a
 * data-parallel wrapper updates x, HT_ERR_STATE unless x and y agree in all but memory; that memory
 * must not hold another parameter of a wrapper. */
HT_API ht_status ht_tensor_set_(ht_tensor *x, ht_tensor *y);

/* Returns this rank's part of x as a process-local tensor on HT_COMM_SELF.
 *
 * The result shares the memory of x, and has its dtype. Like a result of ht_detach, it has no
 * history.
 *
 * Not collective. */
HT_API ht_tensor *ht_tensor_local(ht_tensor *x);

HT_END_DECLS
#endif
