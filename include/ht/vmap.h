/* SPDX-License-Identifier: MIT
 *
 * A function of tensors applied along an axis. Source: heat.vmap. */
#ifndef HT_VMAP_H
#define HT_VMAP_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* One index of each mapped tensor, without that axis, and the others whole: this rank's own, on
 * HT_COMM_SELF; views, not to be written. Returns the result for this index, of the same shape and
 * dtype for each; NULL: an error. It may not communicate: ranks call it as often as they have
 * indices. What it makes dies when it returns. */
typedef ht_tensor *ht_vmap_fn(ht_tensor *const slices[], void *user);

/* y[i] = f(xs[0][i], xs[1][i], ..., user) along the split axes of the tensors, which are of one
 * length; what has no split is passed whole, and one at least has. y is split along its axis 0, in
 * slabs as the first split tensor, and no element travels unless others have other slabs. The long
 * form is told the axes: that of each tensor (HT_NONE: it is passed whole, on every rank), and
 * where that axis stands in y. Tensors that are split elsewhere are moved; where none of the mapped
 * ones is split y is not either, and each rank computes all of it. No gradient: f runs with
 * gradients off. Each index is computed by itself, so that there is no chunk_size; it costs a call
 * of f. Collective, agrees. HT_ERR_SHAPE: lengths or results differ, or there is no index at all,
 * so that nothing is known of the result. */
HT_API ht_tensor *ht_vmap(ht_vmap_fn *f, int count, ht_tensor *const xs[], void *user);
HT_API ht_tensor *ht_vmap_ext(ht_vmap_fn *f, int count, ht_tensor *const xs[], const int in_axes[],
                              int out_axis, void *user);

HT_END_DECLS
#endif
