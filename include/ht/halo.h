/* SPDX-License-Identifier: MIT
 *
 * Halos: elements of other ranks next to this rank's part of a tensor, for stencils and windows.
 * Source: heat.DNDarray.get_halo, array_with_halos.
 *
 * before, after: indices along the split axis, from 0 on, the same on all ranks.
 * Halos are process-local scoped tensors with the dtype, the device and the number of axes of x.
 * They reach over parts of any length, and over empty ranks, which receive no halos themselves. At
 * the ends of x halos are shorter. For a tensor without a split they are empty (along axis 0).
 * Collective. Not differentiable.
 * Errors: HT_ERR_ARGUMENT for a width below 0, or if x has no axis. */
#ifndef HT_HALO_H
#define HT_HALO_H

#include "ht/communication.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Receives the halos of widths before and after around this rank's part of x. Collective: one
 * Alltoall, of the halos alone.
 *
 * prev: receives the halo before the part; NULL: not wanted.
 * next: receives the halo after the part; NULL: not wanted. */
HT_API ht_status ht_get_halo(ht_tensor *x, int64_t before, int64_t after, ht_tensor **prev,
                             ht_tensor **next);

/* Begins ht_get_halo of x (before, after, prev, next) and returns at once. Collective.
 *
 * prev, next: set at once, but valid only after ht_wait; NULL: not wanted.
 * Result: an owned request for ht_wait. NULL without an error if x has no split: then the halos are
 * valid at once. */
HT_API ht_request *ht_iget_halo(ht_tensor *x, int64_t before, int64_t after, ht_tensor **prev,
                                ht_tensor **next);

/* Returns this rank's part of x between its halos of widths before and after, as one tensor.
 * Collective.
 *
 * Result: a copy; a view as of ht_tensor_local if x has no split. */
HT_API ht_tensor *ht_array_with_halos(ht_tensor *x, int64_t before, int64_t after);

HT_END_DECLS
#endif
