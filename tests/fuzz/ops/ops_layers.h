/* SPDX-License-Identifier: MIT
 *
 * What layers and losses share. */
#ifndef HT_FUZZ_OPS_LAYERS_H
#define HT_FUZZ_OPS_LAYERS_H

#include "fuzz/fuzz.h"

/* Layers share their input along axis 0 or not at all; another split may be refused. */
bool may_refuse(const struct run *run, const struct statement *s);
/* Rounded to the dtype, with `err` and `ulps` that the layer itself may be off by. */
struct number narrow(const struct run *run, ht_dtype dtype, struct number a, double err,
                     double ulps);
variable_filter is_real;

#endif
