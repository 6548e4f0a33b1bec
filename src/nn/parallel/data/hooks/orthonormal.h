/* SPDX-License-Identifier: MIT
 *
 * Orthonormal columns, for PowerSGD. */
#ifndef HT_NN_PARALLEL_DATA_HOOKS_ORTHONORMAL_H
#define HT_NN_PARALLEL_DATA_HOOKS_ORTHONORMAL_H

#include <stdint.h>

#include "ht/types.h"

/* q (n x r, row-major, float32 or float64) <- orthonormal columns of the same span, made up where
 * there are not enough (r <= n). By Gram and Schmidt, twice, in double. */
void ht__orthonormalize(ht_dtype dtype, void *q, int64_t n, int r);

#endif
