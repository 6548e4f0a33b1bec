/* SPDX-License-Identifier: MIT
 *
 * Comparisons of distributed tensors with what one process would say. */
#ifndef HT_TENSOR_CHECK_H
#define HT_TENSOR_CHECK_H

#include "ht.h"

/* All elements of x on every rank, row-major, as doubles; valid while x's scope is open.
 * Collective. */
const double *ht_test_values(ht_tensor *x);

/* Whether new tensors lie in host memory. A test that is about that memory begins with
 * ht_use_device(ht_device_get("cpu")). */
bool ht_test_on_host(void);

/* The first element of the local part, in host memory: x's own, or that of a copy in the scope. */
const void *ht_test_data(const ht_tensor *x);

/* Fails unless every |x - expected| <= tolerance (1 + |expected|); NaN equals NaN. Collective. */
void ht_test_expect(ht_tensor *x, const double *expected, double tolerance);

/* Fails unless a and b have one shape and values within the tolerance. Collective. */
void ht_test_expect_same(ht_tensor *a, ht_tensor *b, double tolerance);

/* Standard normal numbers of the given shape, the same on any rank count and for any split. */
ht_tensor *ht_test_randn(int ndim, const int64_t shape[], ht_dtype dtype, int split, uint64_t seed);

/* Runs `call` with errors returned on the world and HT_COMM_SELF, and fails unless it leaves an
 * error whose message contains `text`, the same on every rank. Collective. */
#define HT_TEST_EXPECT_ERROR(call, code, text) \
    do {                                       \
        ht_test_errors_begin();                \
        (void)(call);                          \
        ht_test_errors_end(code, text);        \
    } while (0)
void ht_test_errors_begin(void);
void ht_test_errors_end(ht_status code, const char *text);

#endif
