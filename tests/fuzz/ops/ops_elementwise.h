/* SPDX-License-Identifier: MIT
 *
 * Rows of functions of one operand and of two, and what goes through them. */
#ifndef HT_FUZZ_OPS_ELEMENTWISE_H
#define HT_FUZZ_OPS_ELEMENTWISE_H

#include "fuzz/fuzz.h"

bool not_defined(const struct op *op, ht_dtype dtype);
ht_dtype computed_in(const struct op *op, ht_dtype dtype);
ht_dtype promote_operands(const struct array *a, const struct array *b);
struct number strip(const struct run *run,
                    struct number a); /* of its derivatives, out of a graph */

bool generate_unary(struct run *run, const struct op *op, struct statement *s);
struct outcome call_unary(struct run *run, const struct statement *s);
int reference_unary(struct run *run, const struct statement *s, struct array *out);
bool generate_binary(struct run *run, const struct op *op, struct statement *s);
struct outcome call_binary(struct run *run, const struct statement *s);
int reference_binary(struct run *run, const struct statement *s, struct array *out);
bool generate_scalar(struct run *run, const struct op *op, struct statement *s);
bool meets_partner(struct run *run, const struct variable *x); /* of the last generate_binary */

#define UNARY(name, flags)                                                                         \
    {                                                                                              \
        .format = "ht_" #name "(%t)", .weight = 10, .generate = generate_unary,                    \
        .call = call_unary, .reference = reference_unary, .row.unary = {ht_##name, number_##name}, \
        .rules = (flags)                                                                           \
    }
#define BINARY(name, often, flags)                                                        \
    {                                                                                     \
        .format = "ht_" #name "(%t, %t)", .weight = (often), .generate = generate_binary, \
        .call = call_binary, .reference = reference_binary,                               \
        .row.binary = {ht_##name, number_##name}, .rules = (flags)                        \
    }

#endif
