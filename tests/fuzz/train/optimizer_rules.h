/* SPDX-License-Identifier: MIT
 *
 * The optimizers, each with its formulas in double. */
#ifndef HT_FUZZ_TRAIN_OPTIMIZER_RULES_H
#define HT_FUZZ_TRAIN_OPTIMIZER_RULES_H

#include "fuzz/fuzz.h"

enum { MOST_NUMBERS = 48, MOST_STATES = 3 };

/* One parameter, as (rows, columns), and what its optimizer keeps for each element. */
struct course {
    uint64_t seed;
    double lr, decay, eps;       /* decay of weights */
    bool flag, maximize;         /* flag: amsgrad, nesterov, centered and the like */
    int64_t rows, columns, step; /* step: from 1 on */
    double p[MOST_NUMBERS], g[MOST_NUMBERS], state[MOST_STATES][MOST_NUMBERS], scalar[2];
};

struct rule {
    const char *name;
    ht_optimizer *(*make)(ht_value *parameters, const struct course *c);
    void (*step)(struct course *c); /* g is the gradient, with its sign for maximize */
    double tolerance;               /* 0: that of the dtype */
};
extern const struct rule optimizer_rules[]; /* ended by a NULL name */

#endif
