/* SPDX-License-Identifier: MIT
 *
 * The losses of rows or elements, made into one number. */
#ifndef HT_NN_FUNCTIONAL_LOSSES_LOSSES_H
#define HT_NN_FUNCTIONAL_LOSSES_LOSSES_H

#include "ht/functional.h"

/* False after HT_ERR_ARGUMENT, on x's communicator. */
bool ht__check_reduction(const char *what, const ht_tensor *x, ht_reduction_mode reduction);

/* False after HT_ERR_SHAPE unless the operands `x_name` and `name` have one shape: (N, 1) and (N)
 * would broadcast to (N, N), which is never meant. */
bool ht__check_one_shape(const char *what, const char *x_name, const ht_tensor *x, const char *name,
                         const ht_tensor *other);

/* The losses themselves, their sum, or their mean; the mean of none is 0, not 0 / 0: a rank without
 * rows adds nothing. NULL of NULL. */
ht_tensor *ht__reduce_losses(ht_tensor *losses, ht_reduction_mode reduction);

#endif
