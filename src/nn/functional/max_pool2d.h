/* SPDX-License-Identifier: MIT
 *
 * The maximum over windows of two axes, for other pooling. */
#ifndef HT_NN_FUNCTIONAL_MAX_POOL2D_H
#define HT_NN_FUNCTIONAL_MAX_POOL2D_H

#include "ht/tensor.h"

/* ht_max_pool2d_ext in the words of `what`. places: NULL, or receives where in its image each
 * maximum stands, as int32, -1 for a window of padding. Scoped. */
ht_tensor *ht__max_pool2d(const char *what, ht_tensor *x, const int64_t kernel[2],
                          const int64_t stride[2], const int64_t padding[2],
                          const int64_t dilation[2], ht_tensor **places);

#endif
