/* SPDX-License-Identifier: MIT
 *
 * The losses of rows, before they are reduced. */
#ifndef HT_NN_FUNCTIONAL_LOSSES_NLL_H
#define HT_NN_FUNCTIONAL_LOSSES_NLL_H

#include "ht/losses.h"

#define HT_IGNORE_NOTHING INT64_MIN

/* -rows[i][target[i]] of rows (N, C) and int64 targets (N), 0 where the target is `ignore`; a
 * target that is neither this nor a class is an error. Like the rows' axis 0; scoped. */
ht_tensor *ht__nll_of_rows(const char *what, ht_tensor *rows, ht_tensor *target, int64_t ignore);

/* The same of log_softmax(logits) with logits (N, C). */
ht_tensor *ht__cross_entropy_of_rows(ht_tensor *logits, ht_tensor *target, int64_t ignore);

#endif
