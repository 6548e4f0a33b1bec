/* SPDX-License-Identifier: MIT
 *
 * Orthogonal columns by rotations, for eigenvalues and singular values of split matrices. */
#ifndef HT_CORE_ALGORITHMS_SPECTRAL_JACOBI_H
#define HT_CORE_ALGORITHMS_SPECTRAL_JACOBI_H

#include "core/algorithms/spectral/spectra.h"

/* x <- x w, v <- v w (NULL: there is none) with a unitary w that makes the columns of x orthogonal,
 * longest first, as far as rounding lets see. Both split by columns, in canonical slabs, row-major,
 * finite; x has no more columns than rows. well_conditioned: no column of x w is much shorter than
 * another. An error on all ranks if 40 sweeps do not suffice. Collective. */
ht_status ht__jacobi(const char *what, ht_tensor *x, ht_tensor *v, bool well_conditioned);

/* Few values that are in order but for rounding, in order; of no split. */
ht_tensor *ht__in_order(const char *what, ht_tensor *values, bool down);

#endif
