/* SPDX-License-Identifier: MIT
 *
 * Functions that the operations of layers and losses share. */
#ifndef HT_FUZZ_OPS_LAYERS_H
#define HT_FUZZ_OPS_LAYERS_H

#include "fuzz/fuzz.h"
#include "fuzz/ops/nn/soft.h"

/* Layers share their input along axis 0 or not at all; another split may be refused. */
bool may_refuse(const struct run *run, const struct statement *s);
/* Whether the statement failed where argument 0 has another split than `axis` or none. */
bool refused_split(const struct run *run, const struct statement *s, int axis);
/* Rounded to the dtype, with `err` and `ulps` that the layer itself may be off by. */
struct number narrow(const struct run *run, ht_dtype dtype, struct number a, double err,
                     double ulps);
variable_filter is_real;
/* Real, and no element is above `limit` or in doubt by more than 1. */
bool is_tame(struct run *run, const struct variable *x, double limit);

/* A choice from 0 to n - 1 of the statement's seed. */
int64_t choice(const struct statement *s, int number, int64_t n);

/* List `list` of the statement's own numbers. */
struct number own_number(const struct statement *s, ht_dtype dtype, int list, int64_t index);
ht_tensor *own_list(const struct statement *s, ht_dtype dtype, int list, int ndim,
                    const int64_t shape[]);

/* Weights: own numbers times argument 1, a scalar, if there is one. Like that the gradient of the
 * scalar depends on those of all weights. */
void pick_scale(struct run *run, struct statement *s);
bool has_good_scale(struct run *run, const struct statement *s);
struct number weight_at(struct run *run, const struct statement *s, int list, int64_t index);
ht_tensor *weights(struct run *run, const struct statement *s, int list, int ndim,
                   const int64_t shape[]);

/* x - log sum exp x along the last axis, for a row and a column of it. */
struct number log_softmax_at(const struct array *x, int64_t row, int64_t column);

#endif
