/* SPDX-License-Identifier: MIT
 *
 * The check that all kinds of dropout share. */
#ifndef HT_NN_FUNCTIONAL_DROPOUT_H
#define HT_NN_FUNCTIONAL_DROPOUT_H

#include "ht/tensor.h"

/* False after HT_ERR_ARGUMENT unless p is a probability. */
bool ht__check_probability(const char *what, const ht_tensor *x, double p);

#endif
