/* SPDX-License-Identifier: MIT
 *
 * Elements at places in order, for quantiles. */
#ifndef HT_CORE_ALGORITHMS_ORDER_QUANTILE_H
#define HT_CORE_ALGORITHMS_ORDER_QUANTILE_H

#include "core/ops/ops.h"
#include "ht/statistics.h"

enum { HT_SHORT_LINE = 1 << 12 }; /* elements up to which sorting is as quick as counting */

/* The places that are wanted, the same for all lines of n elements. */
typedef struct ht_quantiles {
    const char *what;
    int count; /* of q */
    const double *q;
    double whole; /* q that is the last place: 1 or 100 */
    ht_interpolation method;
    int64_t n, targets;
    int64_t *places; /* owned; of elements in order that are needed, going up; targets */
} ht_quantiles;

/* values (lines of x, targets), the elements at the places. comm NULL: lines are here as a whole;
 * else x is this rank's part of them, and all ranks count together (quantile_count.c). */
ht_status ht__quantiles_count(const ht_quantiles *r, ht_tensor *x, ht_comm *comm, double *values);
/* The same for short lines, each on one rank. */
ht_status ht__quantiles_sort(const ht_quantiles *r, ht_tensor *x, double *values);

#endif
