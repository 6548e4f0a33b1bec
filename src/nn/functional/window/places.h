/* SPDX-License-Identifier: MIT
 *
 * Elements of planes by their places. A plane has the elements of one sample and channel: those of
 * x (N, C, ...) along its other axes, numbered from 0 in row-major order. */
#ifndef HT_NN_FUNCTIONAL_WINDOW_PLACES_H
#define HT_NN_FUNCTIONAL_WINDOW_PLACES_H

#include "nn/functional/functional.h"

/* The elements of x (N, C, ...) at `places` (N, C, ...), int64 in the slabs of x and within its
 * planes; in the shape of places. Differentiable; scoped. */
ht_tensor *ht__take_places(const char *what, ht_tensor *x, ht_tensor *places);

/* Zeros of a shape (N, C, ...), to which the elements of x go, each to its place. The last one of a
 * place stays. Places are those of ht__take_places, in the shape of x. Differentiable; scoped. */
ht_tensor *ht__put_places(const char *what, ht_tensor *x, ht_tensor *places, const int64_t shape[]);

/* The number of elements of a plane of this shape. */
int64_t ht__plane_length(int ndim, const int64_t shape[]);

#endif
