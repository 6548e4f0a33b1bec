/* SPDX-License-Identifier: MIT
 *
 * Log-softmax without a kernel. */
#ifndef HT_NN_FUNCTIONAL_SOFTMAX_H
#define HT_NN_FUNCTIONAL_SOFTMAX_H

#include "ht/activations.h"

/* Along any axis of x, the split one too. Scoped. */
ht_tensor *ht__log_softmax_composed(ht_tensor *x, int axis);

#endif
