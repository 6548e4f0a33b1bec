/* SPDX-License-Identifier: MIT
 *
 * Factories. Logically collective: all ranks pass the same arguments. Results are scoped. Source:
 * heat.factories.
 *
 * split is the axis along which the ranks share the tensor. HT_NONE: every rank holds all of it.
 * HT_LOCAL: it is this rank's own, on HT_COMM_SELF, and the call is not collective: ranks may make
 * different ones, or none. So it is wherever a call makes a tensor from nothing: here, in
 * ht/random.h, in ht_load_hdf5. Negative axes count from the end: -1 is the last axis, not "no
 * split" as Heat's None is.
 *
 * Short calls make tensors on ht_get_comm() and ht_get_device(); the long ones, _ext, are told both
 * (there HT_NONE and HT_COMM_SELF make a rank's own), and take an ht_number for a double. */
#ifndef HT_FACTORIES_H
#define HT_FACTORIES_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_empty(int ndim, const int64_t shape[], ht_dtype dtype, int split);
HT_API ht_tensor *ht_zeros(int ndim, const int64_t shape[], ht_dtype dtype, int split);
HT_API ht_tensor *ht_ones(int ndim, const int64_t shape[], ht_dtype dtype, int split);
HT_API ht_tensor *ht_full(int ndim, const int64_t shape[], double value, ht_dtype dtype, int split);
HT_API ht_tensor *ht_empty_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                               ht_device *device, ht_comm *comm);
HT_API ht_tensor *ht_zeros_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                               ht_device *device, ht_comm *comm);
HT_API ht_tensor *ht_ones_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                              ht_device *device, ht_comm *comm);
HT_API ht_tensor *ht_full_ext(int ndim, const int64_t shape[], ht_number value, ht_dtype dtype,
                              int split, ht_device *device, ht_comm *comm);

/* A number as an operand: ht_pow(x, ht_scalar(2)), ht_sub(ht_scalar(1), x). Beside tensors of any
 * device and communicator, it takes their dtype unless its kind is higher, and is exact there
 * (ht/number.h); a whole double counts as an integer. Everywhere else it is a tensor without axes
 * on HT_COMM_SELF and "cpu", of int64, float64 or complex128, that cannot be written and has no
 * gradients. Not collective. */
HT_API ht_tensor *ht_scalar(double value);
HT_API ht_tensor *ht_scalar_ext(ht_number value);

/* Shape, split, device and communicator of x, and its dtype or another one. */
HT_API ht_tensor *ht_empty_like(ht_tensor *x);
HT_API ht_tensor *ht_zeros_like(ht_tensor *x);
HT_API ht_tensor *ht_ones_like(ht_tensor *x);
HT_API ht_tensor *ht_full_like(ht_tensor *x, double value);
HT_API ht_tensor *ht_empty_like_ext(ht_tensor *x, ht_dtype dtype);
HT_API ht_tensor *ht_zeros_like_ext(ht_tensor *x, ht_dtype dtype);
HT_API ht_tensor *ht_ones_like_ext(ht_tensor *x, ht_dtype dtype);
HT_API ht_tensor *ht_full_like_ext(ht_tensor *x, ht_number value, ht_dtype dtype);

/* start, start + step, ... below stop (above, for a negative step); (ceil((stop - start) / step)).
 * Whole numbers are counted in int64, and all are in the range of dtype; others in float64. Not
 * complex. */
HT_API ht_tensor *ht_arange(double start, double stop, double step, ht_dtype dtype, int split);
HT_API ht_tensor *ht_arange_ext(ht_number start, ht_number stop, ht_number step, ht_dtype dtype,
                                int split, ht_device *device, ht_comm *comm);

/* count values from start to stop, both included and met exactly; in between start + i step in
 * float64, as NumPy has them. */
HT_API ht_tensor *ht_linspace(double start, double stop, int64_t count, ht_dtype dtype, int split);
HT_API ht_tensor *ht_linspace_ext(double start, double stop, int64_t count, ht_dtype dtype,
                                  int split, ht_device *device, ht_comm *comm);

/* base^y for y = ht_linspace(start, stop, count), in float64 before it becomes dtype. */
HT_API ht_tensor *ht_logspace(double start, double stop, int64_t count, double base, ht_dtype dtype,
                              int split);
HT_API ht_tensor *ht_logspace_ext(double start, double stop, int64_t count, double base,
                                  ht_dtype dtype, int split, ht_device *device, ht_comm *comm);

/* Ones on the main diagonal of a (rows, columns) tensor. */
HT_API ht_tensor *ht_eye(int64_t rows, int64_t columns, ht_dtype dtype, int split);
HT_API ht_tensor *ht_eye_ext(int64_t rows, int64_t columns, ht_dtype dtype, int split,
                             ht_device *device, ht_comm *comm);

/* A tensor holding a copy of `data`, row-major host memory of the *global* shape, in elements of
 * `dtype` (float for HT_FLOAT32; others are made by ht_astype from what they are); with a split
 * every rank keeps its slab of it. Every rank passes the same data, unless HT_LOCAL makes it its
 * own. */
HT_API ht_tensor *ht_array(const void *data, int ndim, const int64_t shape[], ht_dtype dtype,
                           int split);
HT_API ht_tensor *ht_array_ext(const void *data, int ndim, const int64_t shape[], ht_dtype dtype,
                               int split, ht_device *device, ht_comm *comm);

/* A tensor split along `split` from each rank's part: row-major host memory of shape lshape, in
 * elements of `dtype`; lshapes may differ along the split axis only. Collective, agrees. Source:
 * heat.array(is_split=...). */
HT_API ht_tensor *ht_array_from_local(const void *data, int ndim, const int64_t lshape[],
                                      ht_dtype dtype, int split);
HT_API ht_tensor *ht_array_from_local_ext(const void *data, int ndim, const int64_t lshape[],
                                          ht_dtype dtype, int split, ht_device *device,
                                          ht_comm *comm);

HT_END_DECLS
#endif
