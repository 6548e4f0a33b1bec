/* SPDX-License-Identifier: MIT
 *
 * What elementwise functions of one operand are, in double: a row each of the table in
 * tests/core/ops/test_elementwise.c, by which kernels, operations and gradients are tested. */
#ifndef HT_TESTS_ELEMENTWISE_H
#define HT_TESTS_ELEMENTWISE_H

#include <complex.h>

#include "ht.h"
#include "ht/kernels/elementwise.h"

typedef struct ht_test_function {
    const char *name; /* of the public function */
    ht_kernel kernel;
    ht_tensor *(*call)(ht_tensor *x);
    double (*value)(double x);
    double (*slope)(double x);
    double complex (*complex_value)(double complex z); /* NULL: not for complex numbers */
    double low, high; /* where gradients are checked: smooth, but for single points */
    bool keeps_dtype; /* of integers, and there is none of bool; else those give float32 */
    ht_tensor *(*in_place)(ht_tensor *x); /* or NULL */
} ht_test_function;

extern const ht_test_function ht_test_functions[]; /* ended by a name that is NULL */

/* Fails the test where a kernel has no row. */
const ht_test_function *ht_test_function_of(ht_kernel kernel, const char *kernel_name);

#endif
