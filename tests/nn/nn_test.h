/* SPDX-License-Identifier: MIT */
/* Shared by the tests of nn. */
#ifndef HT_NN_TEST_H
#define HT_NN_TEST_H

#include <math.h>
#include <stdlib.h>

#include "ht_test.h"

#include "ht.h"

/* A float64 tensor on HT_COMM_WORLD of numbers in (-1, 1) without pattern, the same for any split;
 * a leaf that requires gradients. */
static inline ht_tensor *nn_leaf(int seed, int ndim, const int64_t shape[], int split)
{
    int64_t size = 1;
    double *data;
    ht_tensor *x;

    for (int i = 0; i < ndim; i++)
        size *= shape[i];
    data = calloc((size_t)size + 1, sizeof *data);
    for (int64_t i = 0; i < size; i++)
        data[i] = sin(12.9898 * (double)(i + 1) + 78.233 * seed) * 0.5 +
                  sin(4.1414 * (double)(i + 1) * (seed + 1)) * 0.4999;
    x = ht_array(data, ndim, shape, HT_FLOAT64, split);
    free(data);
    ht_tensor_set_requires_grad(x, true);
    return x;
}

/* The message of the last error, which is then forgotten. */
static inline void nn_assert_error(const char *expected)
{
    const char *message;

    ht_error_get(&message);
    assert_string_equal(message, expected);
    ht_error_clear();
}

#endif
