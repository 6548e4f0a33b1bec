/* SPDX-License-Identifier: MIT
 *
 * Calls of the kernels of normalisation (ht/kernels/nn.h). */
#ifndef HT_NN_FUNCTIONAL_NORM_NORM_CALL_H
#define HT_NN_FUNCTIONAL_NORM_NORM_CALL_H

#include "ht/kernels/nn.h"
#include "nn/functional/functional.h"

/* A call that reads this rank's part of a row-major x; its channels are `ndim` axes from `axis` on. */
ht_norm_call ht__norm_call(const ht_body *x, int axis, int ndim);

/* (rows, channels) numbers of float64 on the device of x, of this rank alone. Scoped. */
ht_tensor *ht__norm_numbers(const ht_tensor *x, int64_t rows, int64_t channels);

/* The gradient of the parameter that is input `index`: `values` of float64, one for each of its
 * elements, added up over the ranks if x is split. NULL after an error; scoped. */
ht_tensor *ht__norm_parameter_grad(const char *what, ht_node *node, int index, const ht_tensor *x,
                                   ht_tensor *values);

#endif
