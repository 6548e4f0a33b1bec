/* SPDX-License-Identifier: MIT
 *
 * The maximum along an axis whose gradient goes to the first of equal elements, as PyTorch's
 * pooling and bags have it. */
#ifndef HT_NN_FUNCTIONAL_FIRST_MAX_H
#define HT_NN_FUNCTIONAL_FIRST_MAX_H

#include "ht/tensor.h"

/* x without `axis`, which is not split and has an element at least. Differentiable; scoped. */
ht_tensor *ht__first_max(ht_tensor *x, int axis);

#endif
