/* SPDX-License-Identifier: MIT */
#include "tensor_check.h"

#include <math.h>
#include <string.h>

#include "ht_test.h"

const double *ht_test_values(ht_tensor *x)
{
    bool was = ht_set_grad_enabled(false);
    ht_tensor *all = ht_contiguous(ht_astype(ht_resplit(x, HT_NONE), HT_FLOAT64));

    ht_set_grad_enabled(was);
    assert_non_null(all);
    return ht_test_data(all);
}

bool ht_test_on_host(void)
{
    return strncmp(ht_device_name(ht_get_device()), "cpu", 3) == 0;
}

const void *ht_test_data(const ht_tensor *x)
{
    ht_tensor *host = (ht_tensor *)(uintptr_t)x;
    bool was;

    if (ht_tensor_data(x) != NULL || ht_tensor_lsize(x) == 0)
        return ht_tensor_data(x);
    was = ht_set_grad_enabled(false);
    host = ht_to_device(host, ht_device_get("cpu"));
    ht_set_grad_enabled(was);
    assert_non_null(host);
    return ht_tensor_data(host);
}

void ht_test_expect(ht_tensor *x, const double *expected, double tolerance)
{
    const double *found;

    assert_non_null(x);
    found = ht_test_values(x);
    for (int64_t i = 0; i < ht_tensor_size(x); i++) {
        bool same = isnan(expected[i])
                        ? isnan(found[i])
                        : found[i] == expected[i] ||
                              fabs(found[i] - expected[i]) <= tolerance * (1 + fabs(expected[i]));

        if (!same)
            fail_msg("element %lld is %.17g, expected %.17g", (long long)i, found[i], expected[i]);
    }
}

void ht_test_expect_same(ht_tensor *a, ht_tensor *b, double tolerance)
{
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(ht_tensor_ndim(a), ht_tensor_ndim(b));
    for (int i = 0; i < ht_tensor_ndim(a); i++)
        assert_int_equal(ht_tensor_shape(a)[i], ht_tensor_shape(b)[i]);
    ht_test_expect(a, ht_test_values(b), tolerance);
}

ht_tensor *ht_test_randn(int ndim, const int64_t shape[], ht_dtype dtype, int split, uint64_t seed)
{
    ht_tensor *x;

    ht_random_seed(seed);
    x = ht_randn(ndim, shape, dtype, split);
    assert_non_null(x);
    return x;
}

void ht_test_errors_begin(void)
{
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    ht_error_clear();
}

void ht_test_errors_end(ht_status code, const char *text)
{
    char first[1024];
    const char *message;
    ht_status found = ht_error_get(&message);

    if (found != code || strstr(message, text) == NULL)
        fail_msg("expected %s with '%s', got %s: %s", ht_status_name(code), text,
                 ht_status_name(found), message);
    memcpy(first, message, sizeof first);
    MPI_Bcast(first, sizeof first, MPI_CHAR, 0, ht_comm_mpi(HT_COMM_WORLD));
    assert_string_equal(first, message);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}
