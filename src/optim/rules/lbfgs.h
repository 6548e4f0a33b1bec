/* SPDX-License-Identifier: MIT
 *
 * L-BFGS: its memory between steps, and its line search. */
#ifndef HT_OPTIM_RULES_LBFGS_H
#define HT_OPTIM_RULES_LBFGS_H

#include "optim/optim.h"

/* The history of an optimizer. All tensors are vectors of all parameters. */
typedef struct ht_lbfgs {
    double iterations, evaluations; /* so far */
    double t, diagonal;             /* the last step length; the scale of the first Hessian */
    double loss;                    /* before the last iteration */
    ht_tensor *direction, *grad;    /* retained; NULL before the first iteration */
    int count;                      /* of differences */
    ht_tensor **grads, **steps;     /* owned arrays of retained differences, oldest first */
    double *inverse;                /* owned; 1 / (grads . steps) */
    ht_status failure;              /* the first of this step that a number met */
} ht_lbfgs;

/* A point of a line search, at x + t d. */
typedef struct ht_lbfgs_point {
    double t, loss, slope;
    ht_tensor *grad; /* scoped */
} ht_lbfgs_point;

typedef struct ht_lbfgs_search {
    /* Evaluates loss, gradient and slope. */
    ht_status (*at)(struct ht_lbfgs_search *search, double t, ht_lbfgs_point *point);
    int most;       /* tries */
    double longest; /* the largest element of |d| */
} ht_lbfgs_search;

/* lbfgs_line.c: from `start`, whose t is 0, by a first step of t. */
ht_status ht__lbfgs_strong_wolfe(ht_lbfgs_search *search, const ht_lbfgs_point *start, double t,
                                 ht_lbfgs_point *best);

/* lbfgs_memory.c: the element of x, and the sum of a b; NaN after an error, which the memory notes. */
double ht__lbfgs_item(ht_lbfgs *memory, ht_tensor *x);
double ht__lbfgs_dot(ht_lbfgs *memory, ht_tensor *a, ht_tensor *b);

/* Remembers the differences of gradients and of parameters that the last iteration made; the oldest
 * ones go if there are `most` of them. */
ht_status ht__lbfgs_remember(ht_lbfgs *memory, ht_tensor *grads, ht_tensor *steps, int most);

/* The memory as a value for states, its check, its loading, and its end. */
ht_value *ht__lbfgs_save(const void *memory);
ht_status ht__lbfgs_check(const char *what, const ht_optimizer *optimizer, const ht_value *state);
ht_status ht__lbfgs_load(ht_optimizer *optimizer, const ht_value *state);
void ht__lbfgs_clear(void *memory);

#endif
