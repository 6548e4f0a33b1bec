/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { V = 4, N = 19, MOST = 2 * V };

/* Steps of 1 / 1024, which float64 can add to a mean of a million. */
static double step(int variable, int k)
{
    return (double)((variable * N + k) * 7919 % 101 % 17 * (variable + 1) % 29) / 1024;
}

static ht_tensor *variables(int count, double mean, int split)
{
    double data[MOST * N];

    for (int i = 0; i < count * N; i++)
        data[i] = mean + step(i / N, i % N);
    return ht_resplit(ht_array(data, HT_SHAPE(count, N), HT_FLOAT64, HT_NONE), split);
}

static void expect_covariances(double *c, int v, double divisor)
{
    for (int i = 0; i < v * v; i++) {
        long double a = 0, b = 0, sum = 0;

        for (int k = 0; k < N; k++) {
            a += step(i / v, k);
            b += step(i % v, k);
        }
        for (int k = 0; k < N; k++)
            sum += (step(i / v, k) - a / N) * (step(i % v, k) - b / N);
        c[i] = (double)sum / divisor;
    }
}

/* In steps, which are about 1. */
static void expect_scaled(ht_tensor *c, const double *expected, int v)
{
    double scaled[MOST * MOST];

    for (int i = 0; i < v * v; i++)
        scaled[i] = expected[i] * 1024 * 1024;
    ht_test_expect(ht_mul_scalar(c, 1024 * 1024), scaled, 1e-12);
}

static int split_of(int i)
{
    return i % 3 == 2 ? HT_NONE : i % 3;
}

static void covariances_are_exact_far_from_zero(void **state)
{
    double c[MOST * MOST], r[MOST * MOST];

    (void)state;
    for (int way = 0; way < 18; way++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *both = variables(V + 2, way < 9 ? 1e6 : 0, split_of(way));
        ht_tensor *m = ht_narrow(both, 0, 0, V), *y = ht_narrow(both, 0, V, V + 2);
        ht_tensor *columns = ht_transpose(m, 0, 1);

        y = ht_resplit(y, split_of(way / 3));
        expect_covariances(c, V, N - 1);
        expect_scaled(ht_cov(m, NULL, true, false), c, V);
        expect_scaled(ht_cov(columns, NULL, false, false), c, V);
        expect_covariances(c, V + 2, N);
        expect_scaled(ht_cov(m, y, true, true), c, V + 2);
        expect_scaled(ht_cov_ext(columns, ht_transpose(y, 0, 1), false, 0), c, V + 2);
        for (int i = 0; i < (V + 2) * (V + 2); i++)
            r[i] = c[i] / sqrt(c[i / (V + 2) * (V + 3)] * c[i % (V + 2) * (V + 3)]);
        ht_test_expect(ht_corrcoef(m, y, true), r, 1e-12);
        ht_scope_close(scope);
    }
}

static void one_axis_is_one_variable(void **state)
{
    double c[4];

    (void)state;
    for (int split = 0; split < 2; split++) {
        ht_tensor *both = variables(2, 1e6, split == 0 ? HT_NONE : 1);
        ht_tensor *a = ht_reshape(ht_narrow(both, 0, 0, 1), HT_SHAPE(N));
        ht_tensor *b = ht_reshape(ht_narrow(both, 0, 1, 2), HT_SHAPE(N)),
                  *y = ht_cov(a, NULL, 1, 0);

        expect_covariances(c, 1, N - 1);
        assert_int_equal(ht_tensor_ndim(y), 0);
        expect_scaled(y, c, 1);
        ht_test_expect(ht_corrcoef(a, NULL, true), &(double){1}, 0);
        expect_covariances(c, 2, N - 3);
        expect_scaled(ht_cov_ext(a, b, false, 3), c, 2);
        assert_int_equal(ht_tensor_dtype(ht_cov(ht_astype(a, HT_INT16), NULL, true, true)),
                         HT_FLOAT32);
    }
}

/* z = a + i b: the real part of its variance is the sum of theirs. */
static void complex_numbers_are_conjugated(void **state)
{
    const double re[3] = {1, 2, 4}, im[3] = {3, -1, 1};
    ht_tensor *z, *c;

    (void)state;
    z = ht_add(ht_array(re, HT_SHAPE(1, 3), HT_FLOAT64, 1),
               ht_mul(ht_array(im, HT_SHAPE(1, 3), HT_FLOAT64, 1),
                      ht_scalar_ext(ht_number_complex(0, 1))));
    z = ht_concatenate(2, (ht_tensor *[]){z, ht_conj(z)}, 0);
    c = ht_cov(z, NULL, true, true);
    ht_test_expect(ht_real(c), (double[]){38. / 9, -10. / 9, -10. / 9, 38. / 9}, 1e-15);
    ht_test_expect(ht_imag(c), (double[]){0, -4. / 3, 4. / 3, 0}, 1e-15);
}

static void nan_and_constants_stay_among_their_variables(void **state)
{
    ht_tensor *x = ht_array((double[]){1, 2, 3, 1, NAN, 3, 5, 5, 5}, HT_SHAPE(3, 3), HT_FLOAT64, 1);

    (void)state;
    ht_test_expect(ht_cov(x, NULL, true, false), (double[]){1, NAN, 0, NAN, NAN, NAN, 0, NAN, 0},
                   0);
    ht_test_expect(ht_corrcoef(x, NULL, true),
                   (double[]){1, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, 0);
}

static void misuse_is_reported(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(2, 3), HT_FLOAT32, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_cov(ht_ones(HT_SHAPE(2, 3, 4), HT_FLOAT32, 0), NULL, true, true),
                         HT_ERR_SHAPE, "ht_cov: m is (2, 3, 4), expected one axis or two");
    HT_TEST_EXPECT_ERROR(ht_cov(x, ht_transpose(x, 0, 1), true, true), HT_ERR_SHAPE,
                         "ht_cov: y has 2 observations, expected as many as m has, 3");
    HT_TEST_EXPECT_ERROR(ht_cov_ext(x, NULL, true, 3), HT_ERR_ARGUMENT,
                         "ht_cov_ext: number of observations is 3, expected more than 3");
    HT_TEST_EXPECT_ERROR(ht_corrcoef(NULL, NULL, true), HT_ERR_ARGUMENT, "ht_corrcoef: m is NULL");
}

static ht_tensor *covariances(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_cov(in[0], in[1], false, false);
}

static ht_tensor *coefficients(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_corrcoef(in[0], in[1], true);
}

static void gradients_are_those_of_differences(void **state)
{
    (void)state;
    for (int job = 0; job < 6; job++) {
        ht_tensor *in[2] = {ht_test_randn(HT_SHAPE(5, 2), HT_FLOAT64, split_of(job), 3),
                            ht_test_randn(HT_SHAPE(5, 2), HT_FLOAT64, split_of(job / 2), 4)};

        ht_tensor_set_requires_grad(in[0], true);
        ht_tensor_set_requires_grad(in[1], true);
        ht_test_gradcheck(job < 3 ? covariances : coefficients, 2, in, NULL, 1e-6);
    }
}

HT_TEST_SUITE(test_covariance, cmocka_unit_test(covariances_are_exact_far_from_zero),
              cmocka_unit_test(one_axis_is_one_variable),
              cmocka_unit_test(complex_numbers_are_conjugated),
              cmocka_unit_test(nan_and_constants_stay_among_their_variables),
              cmocka_unit_test(misuse_is_reported),
              cmocka_unit_test(gradients_are_those_of_differences));
