/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Random orders: permutations they are, the same on any number of ranks, and as random as is said.
 */
#include <math.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

static const int64_t lengths[] = {0, 1, 2, 5, 1000, 4096, 4097, 10007};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

static void orders_have_each_number_once(void **state)
{
    (void)state;
    for (int k = 0; k < LENGTHS; k++) {
        ht_scope *scope = ht_scope_open();
        const int64_t n = lengths[k];
        ht_tensor *whole, *part, *sorted = ht_zeros(HT_SHAPE(n), HT_FLOAT64, HT_NONE);
        double *at;

        ht_random_seed(40 + (uint64_t)k);
        whole = ht_astype(ht_randperm(n, HT_INT64, HT_NONE), HT_FLOAT64);
        ht_random_seed(40 + (uint64_t)k);
        part = ht_randperm(n, n < 100 ? HT_UINT8 : HT_INT32, 0);
        ht_test_expect_same(part, whole, 0);
        assert_int_equal(ht_tensor_split(part), 0);
        if (n == 0 || !ht_test_on_host()) {
            ht_scope_close(scope);
            continue;
        }
        at = ht_tensor_mutable_data(sorted);
        for (int64_t i = 0; i < n; i++)
            at[(int64_t)ht_test_values(whole)[i]]++;
        assert_true(ht_item(ht_min(sorted, HT_NONE)) == 1);
        ht_scope_close(scope);
    }
}

/* These numbers are part of the interface: a seed gives them for ever. */
static void orders_are_those_of_the_seed(void **state)
{
    ht_tensor *a, *b;

    (void)state;
    ht_random_seed(1);
    a = ht_randperm(5000, HT_INT64, 0);
    b = ht_randperm(5000, HT_INT64, 0);
    assert_true(ht_item(ht_sum(ht_eq(a, b), HT_NONE)) < 20);
    ht_random_seed(1);
    ht_test_expect_same(ht_astype(ht_randperm(5000, HT_INT64, 0), HT_FLOAT64),
                        ht_astype(a, HT_FLOAT64), 0);
}

/* All 24 orders of 4, chi-square with 23 degrees: 58 is beyond 1 in 10000. */
static void short_orders_are_equally_likely(void **state)
{
    enum { DRAWS = 2400 };
    double counts[256] = {0}, chi = 0;
    int seen = 0;

    (void)state;
    ht_random_seed(7);
    for (int k = 0; k < DRAWS; k++) {
        ht_scope *scope = ht_scope_open();
        const double *p = ht_test_values(ht_astype(ht_randperm(4, HT_INT32, HT_LOCAL), HT_FLOAT64));

        counts[(int)(p[0] + 4 * p[1] + 16 * p[2] + 64 * p[3])]++;
        ht_scope_close(scope);
    }
    for (int i = 0; i < 256; i++) {
        seen += counts[i] > 0;
        chi += counts[i] > 0 ? (counts[i] - 100) * (counts[i] - 100) / 100 : 0;
    }
    assert_int_equal(seen, 24);
    assert_true(chi < 58);
}

/* Statistics of long permutations: first elements over 16 bins (15 degrees: 44 is 1 in 10000),
 * fixed points (1 each on average), and neighbours that stay neighbours (2 each). */
static void long_orders_look_random(void **state)
{
    enum { DRAWS = 320, N = 4100, BINS = 16 };
    double counts[BINS] = {0}, chi = 0, fixed = 0, close = 0;

    (void)state;
    ht_random_seed(9);
    for (int k = 0; k < DRAWS; k++) {
        ht_scope *scope = ht_scope_open();
        const double *p = ht_test_values(ht_astype(ht_randperm(N, HT_INT32, HT_LOCAL), HT_FLOAT64));

        counts[(int)(p[0] * BINS / N)]++;
        for (int i = 0; i < N; i++) {
            fixed += p[i] == i;
            close += i > 0 && fabs(p[i] - p[i - 1]) == 1;
        }
        ht_scope_close(scope);
    }
    for (int i = 0; i < BINS; i++)
        chi += (counts[i] - DRAWS / BINS) * (counts[i] - DRAWS / BINS) / (DRAWS / BINS);
    assert_true(chi < 44);
    assert_true(fabs(fixed - DRAWS) < 5 * sqrt(DRAWS));
    assert_true(fabs(close - 2 * DRAWS) < 5 * sqrt(2 * DRAWS));
}

static void rows_are_permuted_as_randperm_says(void **state)
{
    static const int64_t rows[] = {0, 1, 3, 29, 5000};

    (void)state;
    for (int job = 0; job < 5 * 3 * 2; job++) {
        ht_scope *scope = ht_scope_open();
        const int64_t n = rows[job / 6];
        const int split = split_of(job / 2 % 3 - 1);
        ht_tensor *column = ht_reshape(ht_arange(0, (double)n, 1, HT_FLOAT64, HT_NONE),
                                       HT_SHAPE(n, 1));
        ht_tensor *x = ht_add(ht_mul_scalar(column, 3), ht_arange(0, 3, 1, HT_FLOAT64, HT_NONE));
        ht_tensor *y, *p;

        x = ht_resplit(x, split);
        if (job % 2 == 1 && n > 3) /* uneven, and not dense */
            x = ht_narrow(ht_flip(x, HT_AXES(1)), 0, 1, n - 1);
        ht_random_seed(3);
        p = ht_randperm(ht_tensor_shape(x)[0], HT_INT64, HT_NONE);
        ht_random_seed(3);
        y = ht_permutation(x);
        assert_int_equal(ht_tensor_split(y), split);
        p = ht_add_scalar(ht_astype(p, HT_FLOAT64), job % 2 == 1 && n > 3 ? 1 : 0);
        p = ht_mul_scalar(ht_reshape(p, HT_SHAPE(ht_tensor_shape(x)[0], 1)), 3);
        p = ht_add(p, ht_flip(ht_arange(0, 3, 1, HT_FLOAT64, HT_NONE),
                              job % 2 == 1 && n > 3 ? 1 : 0, (int[]){0}));
        ht_test_expect_same(y, p, 0);
        ht_scope_close(scope);
    }
}

static ht_tensor *permuted(ht_tensor *in[], void *user)
{
    (void)user;
    ht_random_seed(12);
    return ht_mul(ht_permutation(in[0]), in[0]);
}

static void gradients_go_back_to_their_rows(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *x = ht_test_randn(HT_SHAPE(5, 2), HT_FLOAT64, split_of(split), 3);

        ht_tensor_set_requires_grad(x, true);
        ht_test_gradcheck(permuted, 1, &x, NULL, 1e-6);
    }
}

static ht_tensor *drawn(ht_tensor *in[], void *user)
{
    (void)user;
    ht_random_seed(13);
    return ht_normal_ext(in[0], in[1], HT_SHAPE(3, 4), HT_FLOAT64, 0, ht_get_device(),
                         HT_COMM_WORLD);
}

static void normal_numbers_have_means_and_deviations(void **state)
{
    ht_tensor *in[2] = {ht_test_randn(HT_SHAPE(3, 4), HT_FLOAT64, 1, 3),
                        ht_exp(ht_test_randn(HT_SHAPE(4), HT_FLOAT64, 0, 4))};
    ht_tensor *z, *expected;

    (void)state;
    ht_random_seed(13);
    z = ht_randn(HT_SHAPE(3, 4), HT_FLOAT64, 0);
    expected = ht_add(ht_mul(z, in[1]), in[0]);
    ht_test_expect_same(drawn(in, NULL), expected, 0);
    ht_random_seed(13);
    ht_test_expect_same(ht_normal(5, 2, HT_SHAPE(3, 4), HT_FLOAT64, 1),
                        ht_add_scalar(ht_mul_scalar(z, 2), 5), 1e-15);
    in[1] = ht_detach(in[1]);
    ht_tensor_set_requires_grad(in[0], true);
    ht_tensor_set_requires_grad(in[1], true);
    ht_test_gradcheck(drawn, 2, in, NULL, 1e-6);
    in[1] = ht_scalar(0);
    ht_test_expect_same(drawn(in, NULL), in[0], 0);
}

static void misuse_is_reported(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(2), HT_FLOAT32, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_randperm(-1, HT_INT64, 0), HT_ERR_SHAPE, "ht_randperm");
    HT_TEST_EXPECT_ERROR(ht_randperm(3, HT_FLOAT32, 0), HT_ERR_DTYPE,
                         "ht_randperm: dtype is float32, expected an integer one");
    HT_TEST_EXPECT_ERROR(ht_randperm_ext(300, HT_UINT8, 0, ht_get_device(), HT_COMM_WORLD),
                         HT_ERR_ARGUMENT, "ht_randperm_ext: ");
    HT_TEST_EXPECT_ERROR(ht_permutation(ht_sum(x, HT_NONE)), HT_ERR_SHAPE,
                         "ht_permutation: x is a scalar, expected at least one axis");
    HT_TEST_EXPECT_ERROR(ht_normal(0, -1, HT_SHAPE(2), HT_FLOAT32, 0), HT_ERR_ARGUMENT,
                         "ht_normal: mean is 0 and std is -1");
    HT_TEST_EXPECT_ERROR(
        ht_normal_ext(x, ht_neg(x), HT_SHAPE(2), HT_FLOAT32, 0, ht_get_device(), HT_COMM_WORLD),
        HT_ERR_ARGUMENT, "ht_normal_ext: an element of std is below 0");
    HT_TEST_EXPECT_ERROR(
        ht_normal_ext(x, x, HT_SHAPE(1), HT_FLOAT32, 0, ht_get_device(), HT_COMM_WORLD),
        HT_ERR_SHAPE, "ht_normal_ext: mean is (2,), expected one that broadcasts to (1,)");
}

static void invalid_moments_are_refused(void **state)
{
    static const struct {
        const char *part;
        ht_dtype mean, std;
        int ndim;
        bool shaped;
        ht_status code;
    } rows[] = {
        {"ht_normal_ext: ndim is 1, expected 0 to 8 and a shape", HT_FLOAT32, HT_FLOAT32, 1, false,
         HT_ERR_ARGUMENT},
        {"ht_normal_ext: ndim is 9, expected 0 to 8 and a shape", HT_FLOAT32, HT_FLOAT32, 9, true,
         HT_ERR_ARGUMENT},
        {"ht_normal_ext: ndim is -1, expected 0 to 8 and a shape", HT_FLOAT32, HT_FLOAT32, -1, true,
         HT_ERR_ARGUMENT},
        {"ht_normal_ext: mean is complex64, expected a real dtype", HT_COMPLEX64, HT_FLOAT32, 1,
         true, HT_ERR_DTYPE},
        {"ht_normal_ext: std is complex128, expected a real dtype", HT_FLOAT64, HT_COMPLEX128, 1,
         true, HT_ERR_DTYPE},
    };
    const int64_t shape[] = {2};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ht_tensor *mean = ht_ones(HT_SHAPE(2), rows[i].mean, HT_NONE);
        ht_tensor *std = ht_ones(HT_SHAPE(2), rows[i].std, HT_NONE);

        HT_TEST_EXPECT_ERROR(ht_normal_ext(mean, std, rows[i].ndim, rows[i].shaped ? shape : NULL,
                                           HT_FLOAT64, HT_NONE, ht_get_device(), HT_COMM_WORLD),
                             rows[i].code, rows[i].part);
    }
    HT_TEST_EXPECT_ERROR(ht_normal_ext(ht_scalar_ext(HT_COMPLEX(1, 2)), ht_scalar(1), HT_SHAPE(2),
                                       HT_FLOAT64, HT_NONE, ht_get_device(), HT_COMM_WORLD),
                         HT_ERR_DTYPE, "ht_normal_ext: mean is complex128, expected a real dtype");
}

HT_TEST_SUITE(test_permutation, cmocka_unit_test(orders_have_each_number_once),
              cmocka_unit_test(orders_are_those_of_the_seed),
              cmocka_unit_test(short_orders_are_equally_likely),
              cmocka_unit_test(long_orders_look_random),
              cmocka_unit_test(rows_are_permuted_as_randperm_says),
              cmocka_unit_test(gradients_go_back_to_their_rows),
              cmocka_unit_test(normal_numbers_have_means_and_deviations),
              cmocka_unit_test(misuse_is_reported), cmocka_unit_test(invalid_moments_are_refused));
