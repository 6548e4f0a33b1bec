/* SPDX-License-Identifier: MIT
 *
 * The functions of ht/functional.h, a row each: what one is called with. Tests of gradients,
 * splits, dtypes, layouts, bad operands and memory walk through the rows. */
#ifndef HT_NN_FUNCTIONALS_H
#define HT_NN_FUNCTIONALS_H

#include "ht.h"

enum { NN_OPERANDS = 5 };

enum {
    NN_SPLITS = 1,  /* along axis 0 */
    NN_GRAD = 2,    /* has a gradient */
    NN_POSITIVE = 4 /* above 0 */
};

typedef struct nn_operand {
    const char *name; /* as the public header calls it */
    ht_dtype dtype;   /* HT_FLOAT64, or HT_INT32 for class numbers from 0 to 2 */
    int ndim;
    int64_t shape[5];
    unsigned flags;
} nn_operand;

typedef struct nn_functional {
    const char *name;
    ht_tensor *(*call)(ht_tensor *in[], const struct nn_functional *f);
    int count, required; /* operands; the others may be NULL, all of them */
    nn_operand operands[NN_OPERANDS];
    double number; /* the function's parameter */
    int mode;      /* its reduction, axis or flag */
    bool in_place; /* writes the first operand */
    bool variant;  /* a further row of a function, with other parameters or shapes */
} nn_functional;

extern const nn_functional nn_functionals[]; /* ended by a name that is NULL */

/* Operand i of f: numbers in (-1, 1) without pattern, the same for any split and layout, on
 * HT_COMM_WORLD. A leaf that requires gradients, if it has one. */
ht_tensor *nn_operand_of(const nn_functional *f, int i, ht_dtype dtype, int split);

/* Each element of x twice, along a new last axis; the result is the view of every second element.
 * Differentiable. */
ht_tensor *nn_doubled(ht_tensor *x);
ht_tensor *nn_every_second(ht_tensor *doubled);

#endif
