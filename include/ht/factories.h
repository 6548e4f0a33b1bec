/* SPDX-License-Identifier: MIT
 *
 * Factories: tensors from nothing, from numbers and from host memory. Source: heat.factories.
 *
 * Unless a comment says otherwise, a factory is logically collective: all ranks pass the same
 * arguments.
 *
 * Arguments that the factories share:
 * ndim, shape: the global shape, with up to HT_MAX_NDIM axes. The product of its lengths, leaving
 *   out those that are 0, is below 2^59. HT_SHAPE passes both.
 * dtype: the dtype of the result.
 * split: the axis along which the ranks share the tensor, in canonical slabs (ht_comm_chunk),
 *   unless a comment says otherwise. Negative axes count from the end: -1 is the last axis. With
 *   HT_NONE, which is Heat's None, every rank holds all elements. With HT_LOCAL the tensor is this
 *   rank's own, on HT_COMM_SELF. The call is then not collective: ranks may make different tensors,
 *   or skip the call.
 * device, comm: the device and the communicator of the result.
 *
 * The same meaning of split applies wherever a call makes a tensor from nothing: here, in
 * ht/random.h and in the loaders of ht/io.h.
 *
 * Short calls make tensors on ht_get_comm() and ht_get_device(). Long calls, _ext, take device and
 * comm. Those of ht_full and ht_arange take ht_numbers instead of doubles. In a long call HT_LOCAL
 * is an error; HT_NONE with HT_COMM_SELF makes a tensor of this rank's own.
 *
 * Result: scoped (ht/object.h), with the shape, dtype, split, device and communicator above.
 * Errors: HT_ERR_ARGUMENT if dtype is invalid, split is not an axis, ndim is out of range or
 * a pointer is NULL. HT_ERR_SHAPE if a length is negative or the elements are too many. */
#ifndef HT_FACTORIES_H
#define HT_FACTORIES_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Returns a tensor of shape (ndim axes), dtype and split whose elements are not initialised. */
HT_API ht_tensor *ht_empty(int ndim, const int64_t shape[], ht_dtype dtype, int split);

/* Returns a tensor of shape (ndim axes), dtype and split whose elements are 0. */
HT_API ht_tensor *ht_zeros(int ndim, const int64_t shape[], ht_dtype dtype, int split);

/* Returns a tensor of shape (ndim axes), dtype and split whose elements are 1. */
HT_API ht_tensor *ht_ones(int ndim, const int64_t shape[], ht_dtype dtype, int split);

/* Returns a tensor of shape (ndim axes), dtype and split whose elements are value, converted to
 * dtype (ht/number.h). */
HT_API ht_tensor *ht_full(int ndim, const int64_t shape[], double value, ht_dtype dtype, int split);

/* ht_empty on device and comm, with the same ndim, shape, dtype and split. */
HT_API ht_tensor *ht_empty_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                               ht_device *device, ht_comm *comm);

/* ht_zeros on device and comm, with the same ndim, shape, dtype and split. */
HT_API ht_tensor *ht_zeros_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                               ht_device *device, ht_comm *comm);

/* ht_ones on device and comm, with the same ndim, shape, dtype and split. */
HT_API ht_tensor *ht_ones_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                              ht_device *device, ht_comm *comm);

/* ht_full on device and comm, with an ht_number as value and the same ndim, shape, dtype and split.
 * Errors: HT_ERR_ARGUMENT if value is an integer outside the range of an integer dtype. */
HT_API ht_tensor *ht_full_ext(int ndim, const int64_t shape[], ht_number value, ht_dtype dtype,
                              int split, ht_device *device, ht_comm *comm);

/* Returns value as an operand: ht_pow(x, ht_scalar(2)), ht_sub(ht_scalar(1), x).
 *
 * Combined with a tensor of any device and communicator, it takes the dtype of that tensor unless
 * its kind is higher (ht/number.h). Its value is exact there. A double without a fraction counts as
 * an integer, except -0.0 and values outside int64.
 * Everywhere else it is a tensor without axes on HT_COMM_SELF and "cpu", of int64 or float64. It
 * cannot be written and has no gradients.
 *
 * Not collective. */
HT_API ht_tensor *ht_scalar(double value);

/* ht_scalar of an ht_number: its kind is the kind of value, and a complex one is complex128. Not
 * collective. Errors: HT_ERR_ARGUMENT if the kind of value is invalid. */
HT_API ht_tensor *ht_scalar_ext(ht_number value);

/* Returns a tensor like x whose elements are not initialised.
 *
 * Result: the shape, split, slabs, dtype, device, communicator and order in memory of x. */
HT_API ht_tensor *ht_empty_like(ht_tensor *x);

/* ht_empty_like of x whose elements are 0. */
HT_API ht_tensor *ht_zeros_like(ht_tensor *x);

/* ht_empty_like of x whose elements are 1. */
HT_API ht_tensor *ht_ones_like(ht_tensor *x);

/* ht_empty_like of x whose elements are value, converted to the dtype of x (ht/number.h). */
HT_API ht_tensor *ht_full_like(ht_tensor *x, double value);

/* ht_empty_like of x with another dtype. */
HT_API ht_tensor *ht_empty_like_ext(ht_tensor *x, ht_dtype dtype);

/* ht_zeros_like of x with another dtype. */
HT_API ht_tensor *ht_zeros_like_ext(ht_tensor *x, ht_dtype dtype);

/* ht_ones_like of x with another dtype. */
HT_API ht_tensor *ht_ones_like_ext(ht_tensor *x, ht_dtype dtype);

/* ht_full_like of x with another dtype, and with an ht_number as value.
 * Errors: HT_ERR_ARGUMENT if value is an integer outside the range of an integer dtype. */
HT_API ht_tensor *ht_full_like_ext(ht_tensor *x, ht_number value, ht_dtype dtype);

/* Returns the numbers start, start + step, ... that are below stop; above it for a negative step.
 *
 * Integers are counted in int64: start, step and stop without a fraction, or with a fraction in
 * stop alone. Others are computed in float64 as start + i step, and are converted to dtype as those
 * of ht_linspace.
 *
 * Result: (max(0, ceil((stop - start) / step))) of dtype and split.
 * Errors: HT_ERR_ARGUMENT if step is 0, or if the length is not finite or not below 2^59. It is
 * also returned if an integer of the sequence is outside the range of an integer dtype. */
HT_API ht_tensor *ht_arange(double start, double stop, double step, ht_dtype dtype, int split);

/* ht_arange on device and comm, with the same dtype and split and with ht_numbers as start, stop
 * and step: the integers of int64 are exact.
 * Errors: also HT_ERR_ARGUMENT if one of the three is complex. */
HT_API ht_tensor *ht_arange_ext(ht_number start, ht_number stop, ht_number step, ht_dtype dtype,
                                int split, ht_device *device, ht_comm *comm);

/* Returns count values at equal distances from start to stop, both included.
 *
 * Both ends are exact if count is at least 2; a count of 1 gives start. Values between them are
 * start + i step in float64, the same as NumPy's. They are converted to dtype as by ht_astype: an
 * integer dtype drops fractions, and brings values outside its range to the nearest one inside.
 *
 * count: at least 0.
 * Result: (count) of dtype and split.
 * Errors: HT_ERR_SHAPE if count is negative. */
HT_API ht_tensor *ht_linspace(double start, double stop, int64_t count, ht_dtype dtype, int split);

/* ht_linspace on device and comm, with the same start, stop, count, dtype and split. */
HT_API ht_tensor *ht_linspace_ext(double start, double stop, int64_t count, ht_dtype dtype,
                                  int split, ht_device *device, ht_comm *comm);

/* Returns base^y for y = ht_linspace(start, stop, count), computed in float64 and then converted to
 * dtype. ht_linspace converts its values in the same way.
 *
 * Result: (count) of dtype and split.
 * Errors: HT_ERR_SHAPE if count is negative. */
HT_API ht_tensor *ht_logspace(double start, double stop, int64_t count, double base, ht_dtype dtype,
                              int split);

/* ht_logspace on device and comm, with the same start, stop, count, base, dtype and split. */
HT_API ht_tensor *ht_logspace_ext(double start, double stop, int64_t count, double base,
                                  ht_dtype dtype, int split, ht_device *device, ht_comm *comm);

/* Returns a (rows, columns) tensor of dtype and split with 1 on the main diagonal and 0
 * elsewhere. */
HT_API ht_tensor *ht_eye(int64_t rows, int64_t columns, ht_dtype dtype, int split);

/* ht_eye on device and comm, with the same rows, columns, dtype and split. */
HT_API ht_tensor *ht_eye_ext(int64_t rows, int64_t columns, ht_dtype dtype, int split,
                             ht_device *device, ht_comm *comm);

/* Returns a tensor with a copy of the elements at data.
 *
 * data: row-major host memory of the *global* shape, in elements of dtype (float for HT_FLOAT32);
 *   ht_astype converts them afterwards. May be NULL if there are no elements. Every rank passes the
 *   same data, unless HT_LOCAL makes the tensor its own.
 * ndim, shape: the global shape.
 * split: with a split, every rank keeps its slab of data. */
HT_API ht_tensor *ht_array(const void *data, int ndim, const int64_t shape[], ht_dtype dtype,
                           int split);

/* ht_array on device and comm, with the same data, ndim, shape, dtype and split. */
HT_API ht_tensor *ht_array_ext(const void *data, int ndim, const int64_t shape[], ht_dtype dtype,
                               int split, ht_device *device, ht_comm *comm);

/* Returns the tensor that the parts of all ranks make, one after another along split.
 *
 * data: this rank's part, row-major in host memory, in elements of dtype; NULL if it is empty.
 * ndim, lshape: the shape of that part; ranks may differ along split alone.
 * dtype, split: the same on all ranks; split is an axis.
 * Collective, agrees.
 * Result: split along split; its slabs are the parts.
 * Errors: HT_ERR_SHAPE if parts differ along another axis or in ndim, HT_ERR_DTYPE if they differ
 * in dtype, HT_ERR_ARGUMENT if they differ in split, or for HT_NONE and HT_LOCAL.
 * Source: heat.array(is_split=...). */
HT_API ht_tensor *ht_array_from_local(const void *data, int ndim, const int64_t lshape[],
                                      ht_dtype dtype, int split);

/* ht_array_from_local on device and comm, with the same data, ndim, lshape, dtype and split.
 * Collective over comm, agrees. */
HT_API ht_tensor *ht_array_from_local_ext(const void *data, int ndim, const int64_t lshape[],
                                          ht_dtype dtype, int split, ht_device *device,
                                          ht_comm *comm);

HT_END_DECLS
#endif
