/* SPDX-License-Identifier: MIT
 *
 * Inputs of layers that take several tensors. */
#ifndef HT_NN_MODULE_INPUTS_H
#define HT_NN_MODULE_INPUTS_H

#include "ht/value.h"

/* in[] <- the tensors of `inputs`: `required` to `count` of them as a list, or one alone; those
 * that are not there become NULL. False after HT_ERR_ARGUMENT. */
bool ht__inputs(const char *what, const ht_value *inputs, int required, int count, ht_tensor *in[]);

/* y as a value; NULL stays NULL. */
ht_value *ht__output(ht_tensor *y);

#endif
