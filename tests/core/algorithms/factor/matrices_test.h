/* SPDX-License-Identifier: MIT
 *
 * Random matrices of every kind, and how far products are from what they should be. */
#ifndef HT_TEST_MATRICES_H
#define HT_TEST_MATRICES_H

#include <math.h>

#include "ht_test.h"
#include "tensor_check.h"

static const ht_dtype matrix_dtypes[] = {HT_FLOAT32, HT_FLOAT64, HT_COMPLEX64, HT_COMPLEX128};

static inline int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

static inline double matrix_eps(ht_dtype dtype)
{
    return dtype == HT_FLOAT32 || dtype == HT_COMPLEX64 ? 0x1p-23 : 0x1p-52;
}

/* Standard normal numbers, and complex ones of such parts. */
static inline ht_tensor *random_matrix(int64_t m, int64_t n, ht_dtype dtype, int split,
                                       uint64_t seed)
{
    const int64_t shape[2] = {m, n};
    ht_tensor *x = ht_astype(ht_test_randn(2, shape, HT_FLOAT64, HT_NONE, seed), dtype);

    if (ht_dtype_is_complex(dtype)) {
        ht_tensor *y = ht_astype(ht_test_randn(2, shape, HT_FLOAT64, HT_NONE, seed + 100), dtype);

        x = ht_add(x, ht_mul_scalar_ext(y, HT_COMPLEX(0, 1)));
    }
    return ht_resplit(x, split);
}

static inline ht_tensor *adjoint(ht_tensor *x)
{
    const int last = ht_tensor_ndim(x) - 1;

    return ht_transpose(ht_conj(x), last - 1, last);
}

/* Fails unless all elements of a - b are within `roundings` roundings of the largest number: that
 * of b, or 1. NaN fails. */
static inline void expect_near(ht_tensor *a, ht_tensor *b, double roundings)
{
    double distance, size;

    assert_non_null(a);
    assert_int_equal(ht_tensor_size(a), ht_tensor_size(b));
    if (ht_tensor_size(a) == 0)
        return;
    distance = ht_item(ht_max(ht_abs(ht_sub(a, b)), HT_NONE));
    size = ht_item(ht_max(ht_abs(b), HT_NONE));
    if (!(distance <= roundings * matrix_eps(ht_tensor_dtype(b)) * (1 + size)))
        fail_msg("%s: %g from %g is more than %g roundings", ht_dtype_name(ht_tensor_dtype(b)),
                 distance, size, roundings);
}

static inline void expect_orthonormal(ht_tensor *q)
{
    const int64_t m = ht_tensor_shape(q)[0], k = ht_tensor_shape(q)[1];

    expect_near(ht_matmul(adjoint(q), q), ht_eye(k, k, ht_tensor_dtype(q), HT_NONE),
                4 * (double)(m + 10));
}

#endif
