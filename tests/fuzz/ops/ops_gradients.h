/* SPDX-License-Identifier: MIT
 *
 * Leaves, for the two files of operations on them. */
#ifndef HT_FUZZ_OPS_GRADIENTS_H
#define HT_FUZZ_OPS_GRADIENTS_H

#include "fuzz/fuzz.h"

int components(ht_dtype dtype); /* real ones of an element */
variable_filter is_leaf;
struct leaf *leaf_of(struct run *run, const struct statement *s);
bool generate_leaf(struct run *run, const struct op *op, struct statement *s);
struct array shape_of(const struct statement *s); /* no memory */
ht_tensor *data_tensor(const struct statement *s, const struct array *like, int split,
                       uint64_t seed);
void give_duals(const struct array *x, int slot); /* its elements depend on themselves */
void end_graphs(struct run *run);

#endif
