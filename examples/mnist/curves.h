/* SPDX-License-Identifier: MIT
 *
 * How training went, for programs and for eyes: --curves PREFIX. */
#ifndef MNIST_CURVES_H
#define MNIST_CURVES_H

#include "ht.h"
#include "report.h"

/* NULL when it was not asked for. A run that goes on from a checkpoint appends to its tables.
 * Owned. */
ht_run_log *curves_open(const struct options *options);
void curves_epoch(ht_run_log *log, int64_t epoch, const struct epoch_result *result);

#endif
