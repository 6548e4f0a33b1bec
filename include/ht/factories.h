/* SPDX-License-Identifier: MIT
 *
 * Factories. Short calls make tensors on ht_get_comm() and ht_get_device(); the _on calls say both.
 * Logically collective: all ranks pass the same arguments. Results are scoped. Source:
 * heat.factories.
 *
 * split is the axis along which the ranks share the tensor; HT_NONE: every rank holds all of it.
 * Negative axes count from the end: -1 is the last axis, not "no split" as Heat's None is. */
#ifndef HT_FACTORIES_H
#define HT_FACTORIES_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_empty(int ndim, const int64_t shape[], ht_dtype dtype, int split);
HT_API ht_tensor *ht_zeros(int ndim, const int64_t shape[], ht_dtype dtype, int split);
HT_API ht_tensor *ht_ones(int ndim, const int64_t shape[], ht_dtype dtype, int split);
HT_API ht_tensor *ht_full(int ndim, const int64_t shape[], double value, ht_dtype dtype, int split);
HT_API ht_tensor *ht_full_i64(int ndim, const int64_t shape[], int64_t value, ht_dtype dtype,
                              int split); /* see ht_tensor_item_i64 */
HT_API ht_tensor *ht_empty_on(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                              ht_device *device, ht_comm *comm);
HT_API ht_tensor *ht_full_on(int ndim, const int64_t shape[], double value, ht_dtype dtype,
                             int split, ht_device *device, ht_comm *comm);

/* Shape, dtype, split, device and communicator of x. */
HT_API ht_tensor *ht_empty_like(ht_tensor *x);
HT_API ht_tensor *ht_zeros_like(ht_tensor *x);
HT_API ht_tensor *ht_ones_like(ht_tensor *x);
HT_API ht_tensor *ht_full_like(ht_tensor *x, double value);
HT_API ht_tensor *ht_full_like_i64(ht_tensor *x, int64_t value);

/* start, start + step, ... below stop (above, for a negative step); (ceil((stop - start) / step)).
 */
HT_API ht_tensor *ht_arange(double start, double stop, double step, ht_dtype dtype, int split);
HT_API ht_tensor *ht_arange_i64(int64_t start, int64_t stop, int64_t step, ht_dtype dtype,
                                int split);

/* count values from start to stop, both included and met exactly; in between start + i step in
 * float64, as NumPy has them. */
HT_API ht_tensor *ht_linspace(double start, double stop, int64_t count, ht_dtype dtype, int split);

/* Ones on the main diagonal of a (rows, columns) tensor. */
HT_API ht_tensor *ht_eye(int64_t rows, int64_t columns, ht_dtype dtype, int split);

/* A tensor holding a copy of `data`, row-major host memory of the *global* shape; with a split
 * every rank keeps its slab of it. Every rank passes the same data. */
HT_API ht_tensor *ht_array(const void *data, int ndim, const int64_t shape[], ht_dtype dtype,
                           int split);

/* A process-local tensor on HT_COMM_SELF holding a copy of `data`. Not collective. */
HT_API ht_tensor *ht_array_local(const void *data, int ndim, const int64_t shape[], ht_dtype dtype);

/* A tensor split along `split` from each rank's part: row-major host memory of shape lshape, which
 * may differ along the split axis only. Collective, agrees. Source: heat.array(is_split=...). */
HT_API ht_tensor *ht_array_from_local(const void *data, int ndim, const int64_t lshape[],
                                      ht_dtype dtype, int split, ht_comm *comm);

HT_END_DECLS
#endif
