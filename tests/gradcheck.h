/* SPDX-License-Identifier: MIT
 *
 * Gradients against finite differences: the oracle for every backward function. */
#ifndef HT_GRADCHECK_H
#define HT_GRADCHECK_H

#include "ht.h"

/* ht_gradcheck, which fails the test where gradients differ by more than `tolerance` (relative to
 * 1 + |gradient|). Collective like f. */
void ht_test_gradcheck(ht_gradcheck_fn *f, int count, ht_tensor *inputs[], void *user,
                       double tolerance);

#endif
