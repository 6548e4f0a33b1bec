/* SPDX-License-Identifier: MIT
 *
 * Arithmetic of layers: in double, on numbers that the library computes in `dtype`. Each step adds
 * a few units in the last place of the dtype to the error bound. */
#ifndef HT_FUZZ_OPS_SOFT_H
#define HT_FUZZ_OPS_SOFT_H

#include "fuzz/number.h"

struct number exactly(double x);
struct number soft(ht_dtype dtype, struct number r); /* one more step */
struct number soft_add(ht_dtype dtype, struct number a, struct number b);
struct number soft_sub(ht_dtype dtype, struct number a, struct number b);
struct number soft_mul(ht_dtype dtype, struct number a, struct number b);
struct number soft_div(ht_dtype dtype, struct number a, struct number b);
struct number soft_exp(ht_dtype dtype, struct number a);
struct number soft_log(ht_dtype dtype, struct number a);
struct number soft_sqrt(ht_dtype dtype, struct number a);
struct number soft_tanh(ht_dtype dtype, struct number a);
struct number soft_sigmoid(ht_dtype dtype, struct number a);
struct number soft_abs(ht_dtype dtype, struct number a);
struct number soft_relu(ht_dtype dtype, struct number a);
/* a where it is the larger one; unknown if the two are equal, or too close to tell. */
struct number soft_larger(ht_dtype dtype, struct number a, struct number b);
struct number soft_total(ht_dtype dtype, const struct total *total);

#endif
