/* SPDX-License-Identifier: MIT
 *
 * Singular values and eigenvalues without their public names, and without a graph. */
#ifndef HT_CORE_ALGORITHMS_SPECTRAL_SPECTRA_H
#define HT_CORE_ALGORITHMS_SPECTRAL_SPECTRA_H

#include "core/algorithms/factor/decompositions.h"

/* Singular values down, x = u diag(s) v^H; u and v where `vectors`. */
typedef struct ht_matrix_svd {
    bool vectors;
    ht_tensor *u, *s, *v;
} ht_matrix_svd;
ht_status ht__svd(const char *what, ht_tensor *x, ht_matrix_svd *to);
ht_status ht__svd_of_split(const char *what, ht_tensor *x, ht_matrix_svd *to);

/* As ht_eigh. */
ht_status ht__eigh(const char *what, ht_tensor *a, ht_tensor **w, ht_tensor **v);

#endif
