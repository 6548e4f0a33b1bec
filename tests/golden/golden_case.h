/* SPDX-License-Identifier: MIT
 *
 * A call of a differentiable function, with the values and gradients that PyTorch computes; made by
 * golden_cases.py. */
#ifndef HT_TESTS_GOLDEN_CASE_H
#define HT_TESTS_GOLDEN_CASE_H

#include <math.h>

#include "ht.h"

enum { GOLDEN_NUMBERS = 5, GOLDEN_OPERANDS = 4, GOLDEN_AXES = 4 };

enum { GOLDEN_SPLIT = 1, GOLDEN_GRAD = 2, GOLDEN_INDEX = 4 };

typedef struct golden_tensor {
    unsigned flags; /* it may be split along axis 0, has a gradient, consists of int64 */
    int ndim;
    int64_t shape[GOLDEN_AXES];
    const double *data, *grad;
} golden_tensor;

typedef struct golden_case {
    const char *name;
    double number[GOLDEN_NUMBERS]; /* the function's parameters */
    int count;
    golden_tensor operand[GOLDEN_OPERANDS], result;
} golden_case;

typedef struct golden_function {
    const char *name; /* NULL ends a table */
    ht_tensor *(*call)(ht_tensor *in[], const double number[]);
    ht_module *(*layer)(const double number[]); /* or NULL */
} golden_function;

/* Fails unless each case holds for its function, in float64 and float32, unsplit and split, and its
 * layer gives the same; and unless each function has a case. Collective. */
void golden_check(const golden_case cases[], const golden_function functions[]);

#endif
