/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Decompositions, solvers and norms of operands whose squares are out of their dtype's range: each
 * result is that of the same operands near 1, times a power of their scale. */
#include "core/algorithms/factor/matrices_test.h"

#include "ht/statistics.h"

enum { N = 6 };

/* One number of a result, from matrices (N, N): a, positive definite, and g, of any kind. */
typedef double function(ht_tensor *a, ht_tensor *g);

static double number(ht_tensor *x, int64_t i)
{
    assert_non_null(x);
    return ((const double *)ht_test_values(ht_reshape(x, HT_SHAPE(-1))))[i];
}

static double of_qr(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *r;

    (void)a;
    assert_int_equal(ht_qr(g, NULL, &r), HT_SUCCESS);
    return fabs(number(r, N * N - 1));
}

static double of_lu(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *p, *l, *u;

    (void)a;
    assert_int_equal(ht_lu(g, &p, &l, &u), HT_SUCCESS);
    return fabs(number(u, N * N - 1));
}

static double of_cholesky(ht_tensor *a, ht_tensor *g)
{
    (void)g;
    return number(ht_cholesky(a), N * N - 1);
}

static double of_eigh(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *w, *v;

    (void)g;
    assert_int_equal(ht_eigh(a, &w, &v), HT_SUCCESS);
    return number(w, 0);
}

static double of_svd(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *u, *s, *vh;

    (void)a;
    assert_int_equal(ht_svd(g, &u, &s, &vh), HT_SUCCESS);
    return number(s, N - 1);
}

static double of_polar(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *u, *h;

    (void)a;
    assert_int_equal(ht_polar(g, &u, &h), HT_SUCCESS);
    return number(h, N + 1);
}

static double of_polar_u(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *u, *h;

    (void)a;
    assert_int_equal(ht_polar(g, &u, &h), HT_SUCCESS);
    return fabs(number(u, N + 1));
}

static double of_rsvd(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *u, *s, *vh;

    (void)a;
    assert_int_equal(ht_rsvd(g, 2, &u, &s, &vh), HT_SUCCESS);
    return number(s, 0);
}

static double of_reigh(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *w, *v;

    (void)g;
    assert_int_equal(ht_reigh(a, 2, &w, &v), HT_SUCCESS);
    return number(w, 0);
}

static double of_hsvd_rank(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *s;
    double error;

    (void)a;
    assert_int_equal(ht_hsvd_rank(g, 3, NULL, &s, NULL, &error), HT_SUCCESS);
    return number(s, 2);
}

static double of_hsvd_error(ht_tensor *a, ht_tensor *g)
{
    double error;

    (void)a;
    assert_int_equal(ht_hsvd_rank(g, 3, NULL, NULL, NULL, &error), HT_SUCCESS);
    return error;
}

static double of_hsvd_rtol(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *s;
    double error;

    (void)a;
    assert_int_equal(ht_hsvd_rtol(g, 0.4, NULL, &s, NULL, &error), HT_SUCCESS);
    assert_true(error <= 0.4);
    return (double)ht_tensor_size(s);
}

static double of_solve(ht_tensor *a, ht_tensor *g)
{
    return number(ht_solve(a, g), 0);
}

static double of_inv(ht_tensor *a, ht_tensor *g)
{
    (void)g;
    return number(ht_inv(a), 0);
}

static double of_pinv(ht_tensor *a, ht_tensor *g)
{
    (void)a;
    return number(ht_pinv(g), 0);
}

static double of_lstsq(ht_tensor *a, ht_tensor *g)
{
    return number(ht_lstsq(g, a), 0);
}

static double of_slogdet(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *sign, *logarithm;

    (void)g;
    assert_int_equal(ht_slogdet(a, &sign, &logarithm), HT_SUCCESS);
    return exp(number(logarithm, 0) / N);
}

static ht_tensor *first_column(ht_tensor *g)
{
    return ht_getitem(ht_resplit(g, HT_NONE), HT_KEY(HT_ALL, 0));
}

static double of_cg(ht_tensor *a, ht_tensor *g)
{
    return number(ht_cg(a, first_column(g), NULL), 0);
}

static double of_lanczos(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *v, *t;

    assert_int_equal(ht_lanczos(a, 3, first_column(g), &v, &t), HT_SUCCESS);
    return fabs(number(t, 1));
}

static double of_condest(ht_tensor *a, ht_tensor *g)
{
    double condition;

    (void)a;
    ht_random_seed(1);
    assert_int_equal(ht_condest(g, &condition), HT_SUCCESS);
    return condition;
}

static double of_norm(ht_tensor *a, ht_tensor *g)
{
    (void)a;
    return number(ht_norm(g), 0);
}

static double of_norm_3(ht_tensor *a, ht_tensor *g)
{
    (void)a;
    return number(ht_vector_norm(g, 3, HT_NONE, false), 0);
}

static double of_norm_along(ht_tensor *a, ht_tensor *g)
{
    (void)a;
    return number(ht_vector_norm(g, 2.5, 0, false), 1);
}

static double of_norm_below(ht_tensor *a, ht_tensor *g)
{
    (void)a;
    return number(ht_vector_norm(g, -3, 1, true), 1);
}

static double of_norm_1(ht_tensor *a, ht_tensor *g)
{
    (void)a;
    return number(ht_matrix_norm(g, 1, 0, 1, false), 0);
}

static double of_norm_fro(ht_tensor *a, ht_tensor *g)
{
    (void)a;
    return number(ht_matrix_norm(g, HT_NORM_FRO, 0, 1, false), 0);
}

static const struct {
    const char *name;
    function *f;
    double power; /* of the scale */
} rows[] = {
    {"qr", of_qr, 1},
    {"lu", of_lu, 1},
    {"cholesky", of_cholesky, 0.5},
    {"eigh", of_eigh, 1},
    {"svd", of_svd, 1},
    {"polar, h", of_polar, 1},
    {"polar, u", of_polar_u, 0},
    {"rsvd", of_rsvd, 1},
    {"reigh", of_reigh, 1},
    {"hsvd_rank", of_hsvd_rank, 1},
    {"hsvd_rank, error", of_hsvd_error, 0},
    {"hsvd_rtol", of_hsvd_rtol, 0},
    {"solve", of_solve, 0},
    {"inv", of_inv, -1},
    {"pinv", of_pinv, -1},
    {"lstsq", of_lstsq, 0},
    {"slogdet", of_slogdet, 1},
    {"cg", of_cg, 0},
    {"lanczos", of_lanczos, 1},
    {"condest", of_condest, 0},
    {"norm", of_norm, 1},
    {"norm of order 3", of_norm_3, 1},
    {"norm of order 2.5 along an axis", of_norm_along, 1},
    {"norm of order -3", of_norm_below, 1},
    {"matrix norm of order 1", of_norm_1, 1},
    {"Frobenius norm", of_norm_fro, 1},
};

static void results_follow_the_scale(void **state)
{
    static const struct {
        ht_dtype dtype;
        double scale, tolerance;
    } cases[] = {{HT_FLOAT32, 0x1p-80, 1e-3},
                 {HT_FLOAT32, 0x1p80, 1e-3},
                 {HT_FLOAT64, 0x1p-660, 1e-9},
                 {HT_FLOAT64, 0x1p660, 1e-9}};

    (void)state;
    for (int c = 0; c < 4 * 3; c++) {
        const int split = split_of(c / 4 - 1);
        const double scale = cases[c % 4].scale;
        ht_scope *scope = ht_scope_open();
        ht_tensor *g = random_matrix(N, N, cases[c % 4].dtype, split, 7);
        ht_tensor *a = ht_resplit(
            ht_add(ht_matmul(g, adjoint(g)), ht_eye(N, N, HT_FLOAT32, HT_NONE)), split);
        ht_tensor *scaled_a = ht_mul_scalar(a, scale), *scaled_g = ht_mul_scalar(g, scale);

        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            const double near = rows[i].f(a, g);
            const double expected = near * pow(scale, rows[i].power);
            const double found = rows[i].f(scaled_a, scaled_g);

            if (!(fabs(found - expected) <= cases[c % 4].tolerance * fabs(expected)))
                fail_msg("%s of %s, scale %g, split %d: %g, expected %g", rows[i].name,
                         ht_dtype_name(cases[c % 4].dtype), scale, split, found, expected);
        }
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_scales, cmocka_unit_test(results_follow_the_scale));
