/* SPDX-License-Identifier: MIT
 *
 * Small replicated tensors on the device and communicator of an operand: indices and numbers that a
 * call knows on the host. */
#ifndef HT_NN_FUNCTIONAL_CONSTANTS_H
#define HT_NN_FUNCTIONAL_CONSTANTS_H

#include "ht/tensor.h"

/* `data` as int64, and rounded to the dtype of x, on the device and the ranks of x. Scoped. */
ht_tensor *ht__constant_indices(const ht_tensor *x, int ndim, const int64_t shape[],
                                const int64_t data[]);
ht_tensor *ht__constant_numbers(const ht_tensor *x, int ndim, const int64_t shape[],
                                const double data[]);

#endif
