/* SPDX-License-Identifier: MIT
 *
 * Gradients against finite differences: the oracle for every backward function. */
#ifndef HT_GRADCHECK_H
#define HT_GRADCHECK_H

#include "ht.h"

#define HT_GRADCHECK_MAX 6

/* y = f(inputs); inputs are float64 tensors of any split. */
typedef ht_tensor *ht_gradcheck_fn(ht_tensor *inputs[], void *user);

/* Checks the gradients of sum(w y), w fixed random weights, with respect to every input that
 * requires gradients, element by element, against central differences; fails the test where they
 * differ by more than `tolerance` (relative to 1 + |gradient|). Collective like f. */
void ht_gradcheck(ht_gradcheck_fn *f, int count, ht_tensor *inputs[], void *user, double tolerance);

#endif
