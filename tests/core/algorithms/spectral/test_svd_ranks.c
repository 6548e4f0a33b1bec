/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* SVD of split matrices of any rank, with values that are equal, 0, or differ much. */
#include "core/algorithms/factor/matrices_test.h"

static const double roundings = 200, widest = 1e4; /* widest: through the inverse of values */

/* (m, n) with orthonormal columns. */
static ht_tensor *orthonormal(int64_t m, int64_t n, ht_dtype dtype, uint64_t seed)
{
    ht_tensor *q, *r;

    assert_int_equal(ht_qr(random_matrix(m, n, dtype, HT_NONE, seed), &q, &r), HT_SUCCESS);
    return q;
}

typedef double spectrum(int64_t i, int64_t n);

static double equal(int64_t i, int64_t n)
{
    (void)i;
    (void)n;
    return 1;
}

static double graded(int64_t i, int64_t n)
{
    return pow(10, -16 * (double)i / (double)n);
}

static double clustered(int64_t i, int64_t n)
{
    return i < n / 3 ? 1 : i < 2 * n / 3 ? 1e-3 : 1e-15;
}

/* The n singular values, of which `rank` are not 0. */
static ht_tensor *values_of(spectrum *f, int64_t n, int64_t rank)
{
    double s[100];

    for (int64_t i = 0; i < n; i++)
        s[i] = i < rank ? f(i, n) : 0;
    return ht_array(s, 1, &n, HT_FLOAT64, HT_NONE);
}

static void check(ht_tensor *x, ht_tensor *s, double scale, int split)
{
    const ht_dtype dtype = ht_tensor_dtype(x);
    ht_tensor *u, *found, *alone, *vh;

    x = ht_resplit(ht_astype(ht_mul_scalar(ht_astype(x, HT_COMPLEX128), scale), dtype), split);
    assert_int_equal(ht_svd(x, &u, &found, &vh), HT_SUCCESS);
    assert_int_equal(ht_svd(x, NULL, &alone, NULL), HT_SUCCESS);
    expect_orthonormal(u);
    expect_orthonormal(adjoint(vh));
    s = ht_astype(s, ht_tensor_dtype(found));
    expect_near(ht_mul_scalar(found, 1 / scale), s, roundings);
    expect_near(ht_mul_scalar(alone, 1 / scale), s, roundings);
    x = ht_mul_scalar(x, 1 / scale);
    expect_near(ht_matmul(ht_mul(u, ht_mul_scalar(found, 1 / scale)), vh), x, roundings);
}

static void matrices_of_every_rank(void **state)
{
    static const struct {
        ht_dtype dtype;
        double scale;
    } cases[] = {{HT_FLOAT32, 1},         {HT_FLOAT32, 0x1p-100}, {HT_FLOAT32, 0x1p110},
                 {HT_FLOAT64, 1},         {HT_FLOAT64, 0x1p-660}, {HT_FLOAT64, 0x1p660},
                 {HT_COMPLEX64, 0x1p100}, {HT_COMPLEX128, 1}};
    static const int64_t n = 90, ranks[] = {0, 1, 2, 30, 45, 89, 90};
    static spectrum *const spectra[] = {equal, graded, clustered};

    (void)state;
    for (int i = 0; i < 8 * 3; i++) {
        const ht_dtype dtype = cases[i / 3].dtype;
        const ht_dtype wide = ht_dtype_is_complex(dtype) ? HT_COMPLEX128 : HT_FLOAT64;
        const int64_t rank = ranks[i % 7];
        ht_scope *scope = ht_scope_open();
        ht_tensor *s = values_of(spectra[i % 3], n, rank);
        ht_tensor *x = ht_matmul(ht_mul(orthonormal(n, n, wide, 1), s),
                                 adjoint(orthonormal(n, n, wide, 2)));

        check(ht_astype(x, dtype), s, cases[i / 3].scale, i % 2);
        ht_scope_close(scope);
    }
}

/* 0, 1, 2, ... in rows of a matrix. */
static void functions_of_a_matrix_of_rank_2(void **state)
{
    static const int64_t n = 96;
    static const ht_dtype dtypes[] = {HT_FLOAT32, HT_FLOAT64};

    (void)state;
    for (int i = 0; i < 2 * 2; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = ht_reshape(ht_arange(0, n * n, 1, HT_FLOAT64, HT_NONE), HT_SHAPE(n, n));
        ht_tensor *x, *p, *h, *b;

        a = ht_div_scalar(ht_astype(a, dtypes[i / 2]), (double)(n * n));
        x = ht_resplit(a, i % 2);
        b = ht_matmul(a, ht_ones(HT_SHAPE(n, 1), dtypes[i / 2], HT_NONE));
        p = ht_pinv(x);
        expect_near(ht_matmul(ht_matmul(a, p), a), a, widest);
        expect_near(ht_matmul(a, ht_lstsq(x, b)), b, widest);
        assert_int_equal(ht_polar(x, &p, &h), HT_SUCCESS);
        expect_orthonormal(p);
        expect_near(ht_matmul(p, h), a, widest);
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_svd_ranks, cmocka_unit_test(matrices_of_every_rank),
              cmocka_unit_test(functions_of_a_matrix_of_rank_2));
