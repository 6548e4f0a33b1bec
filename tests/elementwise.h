/* SPDX-License-Identifier: MIT
 *
 * Elementwise functions of one operand, in double: a row each of the table in
 * tests/core/ops/elementwise/test_elementwise.c, by which kernels, operations and gradients are
 * tested. */
#ifndef HT_TESTS_ELEMENTWISE_H
#define HT_TESTS_ELEMENTWISE_H

#include <complex.h>

#include "ht.h"
#include "ht/kernels/elementwise.h"

typedef enum ht_test_result {
    HT_TEST_FLOATING, /* integers and bool give float32 */
    HT_TEST_SAME,     /* the operand's dtype */
    HT_TEST_TRUTH     /* bool */
} ht_test_result;

typedef struct ht_test_function {
    const char *name; /* of the public function */
    ht_kernel kernel;
    ht_tensor *(*call)(ht_tensor *x); /* NULL: the kernel alone is tested by this row */
    double (*value)(double x);
    double (*slope)(double x);                         /* NULL: there is no gradient */
    double complex (*complex_value)(double complex z); /* NULL: not for complex numbers */
    double low, high; /* where gradients are checked: smooth, but for single points */
    ht_test_result result;
    bool real;                           /* complex numbers give the dtype of their parts */
    bool no_floats;                      /* for integers and bool alone */
    bool only_floats;                    /* not for integers and bool */
    bool takes_bool;                     /* of those that keep the dtype; others refuse it */
    double (*bool_value)(double x);      /* NULL: as that of others */
    ht_status (*in_place)(ht_tensor *x); /* or NULL */
    double param[HT_LOOP_PARAMS];        /* of the kernel */
    ht_kernel grad;                      /* the kernel g f'(x), or 0 */
    ht_module *(*layer)(void);           /* or NULL */
} ht_test_function;

extern const ht_test_function ht_test_functions[]; /* ended by a name that is NULL */

/* The row whose gradient this kernel is, or NULL. */
const ht_test_function *ht_test_function_of_grad(ht_kernel kernel);

/* Fails the test where a kernel has no row. */
const ht_test_function *ht_test_function_of(ht_kernel kernel, const char *kernel_name);

#endif
