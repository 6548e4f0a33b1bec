/* SPDX-License-Identifier: MIT
 *
 * Slabs of a tensor that visit every rank. */
#ifndef HT_CORE_ALGORITHMS_PARTS_RING_H
#define HT_CORE_ALGORITHMS_PARTS_RING_H

#include "core/collective/collective.h"

/* The work of a rank on the indices start ... stop - 1 of the split axis; slab is process-local. */
typedef ht_status ht_ring_fn(void *user, ht_tensor *slab, int64_t start, int64_t stop);

/* Gives every rank all slabs of x, which is split: its own first and at once, those of others in
 * panels (ring.c). The last axis of x has no gaps. Collective. */
ht_status ht__ring(ht_tensor *x, ht_ring_fn *fn, void *user, const char *what);

#endif
