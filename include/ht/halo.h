/* SPDX-License-Identifier: MIT
 *
 * Halos: what other ranks hold next to this rank's part of a tensor, for stencils and windows.
 * Process-local tensors, in the dtype and on the device of x. Halos reach over parts of any length,
 * and over ranks that hold nothing; these get none themselves, and at the ends of x halos are
 * shorter. Of a tensor without a split they are empty (along axis 0). before and after: how many
 * indices along the split axis, the same on all ranks; HT_ERR_ARGUMENT below 0, or where x has no
 * axis. Not differentiable. Source: heat.DNDarray.get_halo, array_with_halos. */
#ifndef HT_HALO_H
#define HT_HALO_H

#include "ht/communication.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Into *prev and *next (NULL: not wanted) the halos before and after this rank's part. Collective:
 * one Alltoall, of the halos alone. The other begins it and returns at once: owned, for ht_wait
 * (NULL where x has no split); what the halos hold is there after that. */
HT_API ht_status ht_get_halo(ht_tensor *x, int64_t before, int64_t after, ht_tensor **prev,
                             ht_tensor **next);
HT_API ht_request *ht_iget_halo(ht_tensor *x, int64_t before, int64_t after, ht_tensor **prev,
                                ht_tensor **next);

/* This rank's part between its halos, as one. A copy, unless x has no split. Collective. */
HT_API ht_tensor *ht_array_with_halos(ht_tensor *x, int64_t before, int64_t after);

HT_END_DECLS
#endif
