/* SPDX-License-Identifier: MIT
 *
 * Application of a function of tensors along an axis. Source: heat.vmap. */
#ifndef HT_VMAP_H
#define HT_VMAP_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* The function of ht_vmap. Returns the result for one index, of the same shape and dtype for each,
 * or NULL for an error.
 *
 * slices: one index of each mapped tensor, without that axis, and all of each other tensor. They
 * are process-local views, on HT_COMM_SELF, and must not be written.
 * user: the argument of ht_vmap.
 * The function must not communicate: ranks call it as often as they have indices. Its tensors are
 * released when it returns. */
typedef ht_tensor *ht_vmap_fn(ht_tensor *const slices[], void *user);

/* y[i] = f(xs[0][i], xs[1][i], ..., user) along the split axes of the tensors.
 *
 * Each index costs one call of f, so chunk_size does not exist. No element travels unless the slabs
 * of split tensors differ.
 * f: not NULL; runs with gradients off.
 * xs: count tensors. The split axes have one length, and at least one tensor is split. f receives
 * all of a tensor without a split.
 * user: passed to f.
 * Collective, agrees. Not differentiable (ht/autograd.h).
 * Result: split along axis 0, in the slabs of the first split tensor. The other axes and the dtype
 * are those of the results of f.
 * Errors: HT_ERR_SHAPE if lengths or results differ, or if f returns a split tensor or 8 axes.
 * HT_ERR_SHAPE if there are no indices at all, because the result is then unknown. HT_ERR_ARGUMENT
 * if count is below 1, no tensor is split, or f returns NULL without an error. An error of f on one
 * rank is the error of all. */
HT_API ht_tensor *ht_vmap(ht_vmap_fn *f, int count, ht_tensor *const xs[], void *user);

/* ht_vmap of f, xs (count) and user along given axes. Tensors that are split along other axes are
 * moved.
 *
 * in_axes: the mapped axis of each tensor. HT_NONE: f receives all of it, on every rank.
 * out_axis: the index of the mapped axis in the result.
 * Collective, agrees. Not differentiable.
 * Result: split along out_axis, in the slabs of the first tensor that is split along its mapped
 * axis; balanced if there is none. If no mapped tensor is split it has no split, and each rank
 * computes all of it.
 * Errors: those of ht_vmap, but no tensor need be split. HT_ERR_ARGUMENT if all in_axes are
 * HT_NONE, one is an axis that its tensor lacks, or out_axis is not an axis of the result. */
HT_API ht_tensor *ht_vmap_ext(ht_vmap_fn *f, int count, ht_tensor *const xs[], const int in_axes[],
                              int out_axis, void *user);

HT_END_DECLS
#endif
