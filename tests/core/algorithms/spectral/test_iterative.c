/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "core/algorithms/factor/matrices_test.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* The four conditions of Moore and Penrose. */
static void check_pinv(ht_tensor *a, double roundings)
{
    ht_tensor *y = ht_pinv(a), *left = ht_matmul(y, a), *right = ht_matmul(a, y);
    const int split = ht_tensor_split(a);

    assert_int_equal(ht_tensor_split(y), split == HT_NONE ? HT_NONE : 1 - split);
    expect_near(ht_matmul(a, left), a, roundings);
    expect_near(ht_matmul(y, right), y, roundings);
    expect_near(adjoint(left), left, roundings);
    expect_near(adjoint(right), right, roundings);
    ht_test_expect_same(ht_pinv_ext(a, 1e-4), y, 1e-2);
}

static void pseudo_inverses(void **state)
{
    static const int64_t sizes[][2] = {{9, 4}, {4, 9}, {6, 6}, {30, 3}, {1, 1}, {0, 2}, {3, 30}};

    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (int which = 0; which < 3 * (int)COUNT(matrix_dtypes); which++) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *a = random_matrix(sizes[i][0], sizes[i][1], matrix_dtypes[which / 3],
                                         split_of(which % 3 - 1), 2);

            check_pinv(a, 3000);
            ht_scope_close(scope);
        }
    }
    for (int split = -1; split < 2; split++)
        check_pinv(ht_resplit(ht_matmul(random_matrix(9, 2, HT_FLOAT64, HT_NONE, 1),
                                        random_matrix(2, 8, HT_FLOAT64, HT_NONE, 2)),
                              split_of(split)),
                   3000);
}

/* The residual is orthogonal to the columns; of wide matrices there is none. */
static void least_squares(void **state)
{
    (void)state;
    for (int which = 0; which < 9; which++) {
        const int sa = split_of(which % 3 - 1), sb = split_of(which / 3 - 1);
        ht_tensor *a = random_matrix(20, 4, HT_FLOAT64, sa, 1), *x;
        ht_tensor *b = random_matrix(20, 3, HT_FLOAT64, sb, 2);
        ht_tensor *wide = random_matrix(4, 20, HT_FLOAT64, sa, 1);

        x = ht_lstsq(a, b);
        assert_int_equal(ht_tensor_split(x), sb);
        ht_test_expect_same(ht_matmul(adjoint(a), ht_sub(ht_matmul(a, x), b)),
                            ht_zeros(HT_SHAPE(4, 3), HT_FLOAT64, HT_NONE), 1e-12);
        b = ht_resplit(ht_narrow(ht_resplit(b, HT_NONE), 0, 0, 4), sb);
        x = ht_lstsq(wide, b);
        ht_test_expect_same(ht_matmul(wide, x), b, 1e-12);
        ht_test_expect_same(x, ht_matmul(ht_pinv(wide), b), 1e-12);
        ht_test_expect_same(ht_lstsq_ext(wide, b, 1e-6), x, 1e-12);
    }
    assert_int_equal(ht_tensor_ndim(ht_lstsq(random_matrix(9, 3, HT_FLOAT32, 0, 1),
                                             ht_ones(HT_SHAPE(9), HT_FLOAT32, 0))),
                     1);
}

static void conjugate_gradients(void **state)
{
    (void)state;
    for (int which = 0; which < 3 * (int)COUNT(matrix_dtypes); which++) {
        const ht_dtype dtype = matrix_dtypes[which / 3];
        ht_tensor *x = random_matrix(15, 15, dtype, HT_NONE, 2), *b, *found;
        ht_tensor *a = ht_add(ht_matmul(x, adjoint(x)),
                              ht_mul_scalar(ht_eye(15, 15, dtype, HT_NONE), 20));

        a = ht_resplit(a, split_of(which % 3 - 1));
        b = ht_squeeze(random_matrix(15, 1, dtype, 0, 3), 1);
        found = ht_cg(a, b, NULL);
        assert_int_equal(ht_tensor_split(found), HT_NONE);
        expect_near(found, ht_solve(a, b), 1000);
        expect_near(ht_cg(a, b, found), found, 1000);
        expect_near(ht_cg_ext(a, b, b, 1e-4, 100), found, matrix_eps(dtype) < 1e-10 ? 1e13 : 1e4);
    }
    ht_test_expect(ht_cg(ht_eye(3, 3, HT_FLOAT32, 0), ht_zeros(HT_SHAPE(3), HT_FLOAT32, 0), NULL),
                   (double[3]){0}, 0);
}

static void check_lanczos(ht_tensor *a, int64_t m, ht_tensor *v0)
{
    const ht_dtype dtype = ht_tensor_dtype(a);
    ht_tensor *v, *t, *projected;

    assert_int_equal(ht_lanczos(a, m, v0, &v, &t), HT_SUCCESS);
    assert_int_equal(ht_tensor_split(v), ht_tensor_split(a) == HT_NONE ? HT_NONE : 0);
    expect_near(ht_matmul(adjoint(v), v), ht_eye(m, m, dtype, HT_NONE), 300);
    projected = ht_matmul(adjoint(v), ht_matmul(a, v));
    expect_near(projected, ht_astype(t, dtype), 3000);
    if (v0 != NULL)
        ht_test_expect_same(ht_squeeze(ht_narrow(v, 1, 0, 1), 1), v0, 1e-6);
}

static void lanczos_makes_matrices_tridiagonal(void **state)
{
    (void)state;
    for (int which = 0; which < 3 * (int)COUNT(matrix_dtypes); which++) {
        const ht_dtype dtype = matrix_dtypes[which / 3];
        ht_tensor *x = random_matrix(12, 12, dtype, HT_NONE, 2), *a, *first;

        a = ht_resplit(ht_add(x, adjoint(x)), split_of(which % 3 - 1));
        first = ht_div_scalar(ht_ones(HT_SHAPE(12), dtype, 0), sqrt(12));
        check_lanczos(a, 12, first);
        check_lanczos(a, 5, NULL);
        check_lanczos(ht_eye(9, 9, dtype, split_of(which % 3 - 1)), 4, NULL);
    }
}

/* By its series; and of a rotation. */
static void exponentials(void **state)
{
    ht_tensor *turn = ht_array((double[]){0, -2, 2, 0}, HT_SHAPE(2, 2), HT_FLOAT64, HT_NONE);

    (void)state;
    for (int which = 0; which < 3 * (int)COUNT(matrix_dtypes); which++) {
        const ht_dtype dtype = matrix_dtypes[which / 3];
        ht_tensor *a = ht_mul_scalar(random_matrix(9, 9, dtype, split_of(which % 3 - 1), 1), 0.4);
        ht_tensor *power = ht_eye(9, 9, dtype, HT_NONE), *sum = power, *y = ht_matrix_exp(a);

        for (int i = 1; i < 40; i++) {
            power = ht_div_scalar(ht_matmul(power, a), i);
            sum = ht_add(sum, power);
        }
        assert_int_equal(ht_tensor_split(y), ht_tensor_split(a));
        expect_near(y, sum, 500);
        y = ht_matrix_exp(ht_mul_scalar(a, 20));
        sum = ht_matrix_exp(ht_mul_scalar(a, -20));
        assert_true(isfinite(ht_item(ht_max(ht_abs(y), HT_NONE))));
    }
    for (int split = -1; split < 2; split++)
        ht_test_expect(ht_matrix_exp(ht_resplit(turn, split_of(split))),
                       (double[]){cos(2), -sin(2), sin(2), cos(2)}, 1e-14);
    for (int split = -1; split < 3; split++) {
        ht_tensor *x = ht_mul_scalar(ht_test_randn(HT_SHAPE(3, 4, 4), HT_FLOAT64, HT_NONE, 2), 3);
        ht_tensor *y = ht_matrix_exp(ht_resplit(x, split_of(split)));

        for (int64_t i = 0; i < 3; i++)
            ht_test_expect_same(ht_squeeze(ht_narrow(ht_resplit(y, HT_NONE), 0, i, i + 1), 0),
                                ht_matrix_exp(ht_squeeze(ht_narrow(x, 0, i, i + 1), 0)), 1e-10);
    }
    assert_int_equal(ht_tensor_size(ht_matrix_exp(ht_zeros(HT_SHAPE(0, 0), HT_FLOAT32, 0))), 0);
}

/* Their norm asks for up to 1,000 squares. */
static void exponentials_of_badly_scaled_matrices(void **state)
{
    static const struct {
        double a[4], exp[4];
    } cases[] = {
        {{0, 1e6, 0, 0}, {1, 1e6, 0, 1}},
        {{0, 1e20, 0, 0}, {1, 1e20, 0, 1}},
        {{0, 1e300, 0, 0}, {1, 1e300, 0, 1}},
        {{-1e15, 0, 0, 0}, {0, 0, 0, 1}},
        {{0, 1e15, -1e-15, 0},
         {0.54030230586813972, 8.4147098480789651e14, -8.4147098480789651e-16,
          0.54030230586813972}},
    };

    (void)state;
    for (size_t i = 0; i < 3 * (sizeof cases / sizeof *cases); i++) {
        const double *a = cases[i / 3].a, *exp = cases[i / 3].exp;
        ht_tensor *y = ht_matrix_exp(HT_ARRAY(a, HT_SHAPE(2, 2), split_of((int)(i % 3) - 1)));

        for (int k = 0; k < 4; k++)
            assert_true(fabs(ht_item(ht_getitem(y, HT_KEY(k / 2, k % 2))) - exp[k]) <=
                        1e-7 * fabs(exp[k]));
    }
}

static ht_tensor *matrix_exp(ht_tensor *in[], void *user)
{
    (void)user;
    return ht_matrix_exp(in[0]);
}

/* One matrix and a batch, of a norm that is halved and of one that is not. */
static void exponentials_have_gradients(void **state)
{
    static const ht_dtype dtypes[] = {HT_FLOAT64, HT_COMPLEX128};

    (void)state;
    for (int i = 0; i < 2 * 2 * 4; i++) {
        const int batch = i % 4 == 3, split = i % 4 - 1;
        ht_tensor *a = ht_test_randn(3, (int64_t[]){2, 3, 3}, HT_FLOAT64, HT_NONE, 7);

        a = ht_astype(ht_mul_scalar(a, i / 8 == 0 ? 0.5 : 4), dtypes[i / 4 % 2]);
        a = batch ? ht_resplit(a, 0)
                  : ht_resplit(ht_squeeze(ht_narrow(a, 0, 0, 1), 0), split_of(split));
        a = ht_detach(ht_copy(a));
        assert_int_equal(ht_tensor_set_requires_grad(a, true), HT_SUCCESS);
        assert_int_equal(ht_gradcheck(matrix_exp, 1, &a, NULL, NULL), HT_SUCCESS);
    }
}

/* The first matrix of a batch does not depend on the others: large ones, NaN and infinities. */
static void a_matrix_of_a_batch_has_the_exponential_it_has_alone(void **state)
{
    static const double others[] = {-1e12, -1e300, 1e300, NAN, INFINITY};
    static const double sizes[] = {0.25, 25};

    (void)state;
    for (int i = 0; i < 2 * 5 * 2; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *one = ht_mul_scalar(ht_test_randn(HT_SHAPE(3, 3), HT_FLOAT64, HT_NONE, 9),
                                       sizes[i / 10]);
        ht_tensor *other = ht_mul_scalar(ht_eye(3, 3, HT_FLOAT64, HT_NONE), others[i / 2 % 5]);
        ht_tensor *batch = ht_detach(
            ht_resplit(ht_stack(2, (ht_tensor *[]){one, other}, 0), split_of(i % 2 - 1)));
        ht_tensor *alone = ht_matrix_exp(one), *y;

        ht_tensor_set_requires_grad(one, true);
        ht_tensor_set_requires_grad(batch, true);
        y = ht_matrix_exp(batch);
        ht_test_expect_same(ht_getitem(y, HT_KEY(0)), alone, 1e-12);
        assert_int_equal(ht_backward(ht_sum(ht_matrix_exp(one), HT_NONE)), HT_SUCCESS);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        ht_test_expect_same(ht_getitem(ht_tensor_grad(batch), HT_KEY(0)), ht_tensor_grad(one),
                            1e-12);
        ht_scope_close(scope);
    }
}

/* The gradient is linear in its seed: a power of two changes no bit. */
static void the_size_of_a_seed_costs_an_exponential_no_digits(void **state)
{
    ht_tensor *a = ht_test_randn(HT_SHAPE(8, 8), HT_FLOAT32, HT_NONE, 7);
    ht_tensor *seed = ht_test_randn(HT_SHAPE(8, 8), HT_FLOAT32, HT_NONE, 8), *gradient[2];

    (void)state;
    ht_tensor_set_requires_grad(a, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ht_backward_ext(ht_matrix_exp(a), seed, false), HT_SUCCESS);
        gradient[i] = ht_copy(ht_tensor_grad(a));
        ht_tensor_set_grad(a, NULL);
        seed = ht_mul_scalar(seed, 0x1p40);
    }
    ht_test_expect_same(gradient[1], ht_mul_scalar(gradient[0], 0x1p40), 0);
}

static void condest_is_near_the_condition_number(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *x = random_matrix(20, 8, HT_FLOAT64, split_of(split), 6), *s;
        double found, exact;

        assert_int_equal(ht_svd(x, NULL, &s, NULL), HT_SUCCESS);
        exact = ht_test_values(s)[0] / ht_test_values(s)[7];
        assert_int_equal(ht_condest(x, &found), HT_SUCCESS);
        assert_true(found > 0.7 * exact && found < 1.0001 * exact);
        assert_int_equal(ht_condest(ht_zeros(HT_SHAPE(5, 3), HT_FLOAT32, split_of(split)), &found),
                         HT_SUCCESS);
        assert_true(isinf(found));
    }
}

static void bad_arguments_are_reported(void **state)
{
    ht_tensor *eye = ht_eye(3, 3, HT_FLOAT32, 0), *four = ht_ones(HT_SHAPE(4), HT_FLOAT32, 0);
    ht_tensor *v = NULL, *t = NULL;
    double found;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_cg(eye, four, NULL), HT_ERR_SHAPE,
                         "ht_cg: a is (3, 3), b is (4,), expected a vector with an element for "
                         "each row of a");
    HT_TEST_EXPECT_ERROR(ht_cg_ext(eye, ht_narrow(four, 0, 0, 3), NULL, NAN, 3), HT_ERR_ARGUMENT,
                         "ht_cg_ext: tolerance is nan");
    HT_TEST_EXPECT_ERROR(ht_lstsq(eye, four), HT_ERR_SHAPE, "ht_lstsq: a is (3, 3), b is (4, 1)");
    HT_TEST_EXPECT_ERROR(ht_lanczos(eye, 4, NULL, &v, &t), HT_ERR_ARGUMENT,
                         "ht_lanczos: m is 4 and a is (3, 3)");
    HT_TEST_EXPECT_ERROR(ht_lanczos(ht_zeros(HT_SHAPE(2, 3, 3), HT_FLOAT32, 0), 2, NULL, &v, &t),
                         HT_ERR_SHAPE, "ht_lanczos: a is (2, 3, 3), expected one matrix");
    HT_TEST_EXPECT_ERROR(ht_lanczos(eye, 2, four, &v, &t), HT_ERR_SHAPE,
                         "ht_lanczos: a is (3, 3), v0 is (4,)");
    HT_TEST_EXPECT_ERROR(ht_matrix_exp(four), HT_ERR_SHAPE,
                         "ht_matrix_exp: a is (4,), expected a square matrix");
    HT_TEST_EXPECT_ERROR(ht_condest(ht_zeros(HT_SHAPE(2, 3), HT_FLOAT32, 0), &found), HT_ERR_SHAPE,
                         "ht_condest: x is (2, 3), expected one matrix (m, n) with m >= n >= 1");
    assert_null(v);
}

static void the_wider_dtype_decides(void **state)
{
    ht_tensor *g = random_matrix(5, 5, HT_FLOAT64, HT_NONE, 3), *x, *v, *t;
    ht_tensor *a = ht_astype(ht_add(ht_matmul(g, adjoint(g)), ht_eye(5, 5, HT_FLOAT64, HT_NONE)),
                             HT_FLOAT32);
    ht_tensor *b = ht_getitem(random_matrix(5, 1, HT_COMPLEX128, HT_NONE, 4), HT_KEY(HT_ALL, 0));
    ht_tensor *rest;

    (void)state;
    x = ht_cg(a, ht_real(b), NULL);
    assert_int_equal(ht_tensor_dtype(x), HT_FLOAT64);
    rest = ht_sub(ht_matmul(ht_astype(a, HT_FLOAT64), x), ht_real(b));
    assert_true(ht_item(ht_norm(rest)) <= 1e-13 * ht_item(ht_norm(ht_real(b))));
    HT_TEST_EXPECT_ERROR(ht_cg(a, ht_astype(ht_real(b), HT_FLOAT16), NULL), HT_ERR_DTYPE,
                         "ht_cg: b is float16, expected float32 or wider");
    assert_int_equal(ht_lanczos(a, 3, b, &v, &t), HT_SUCCESS);
    assert_int_equal(ht_tensor_dtype(v), HT_COMPLEX128);
    rest = ht_sub(ht_mul(ht_getitem(v, HT_KEY(HT_ALL, 0)), ht_norm(b)), b);
    assert_true(ht_item(ht_norm(rest)) <= 1e-14 * ht_item(ht_norm(b)));
}

/* 2^24 + 1 is not a float32: integers combined with float64 must not become that first. */
static void integers_with_float64_keep_their_digits(void **state)
{
    const int64_t large[2] = {16777217, 16777219};
    ht_tensor *eye = ht_eye(2, 2, HT_FLOAT64, HT_NONE),
              *ones = ht_ones(HT_SHAPE(2), HT_FLOAT64, HT_NONE);
    ht_tensor *n = ht_array(large, HT_SHAPE(2), HT_INT64, HT_NONE);
    ht_tensor *diagonal = ht_diag(n, 0), *v, *t, *u, *s, *vh;
    ht_tensor *x[] = {ht_solve(eye, n),
                      ht_solve_triangular(eye, n, true),
                      ht_lstsq(eye, n),
                      ht_cg(eye, n, NULL),
                      ht_cg_ext(eye, ones, n, 1, 0),
                      ht_solve(diagonal, ht_mul(n, ones))};
    const size_t last = sizeof x / sizeof *x - 1;

    (void)state;
    for (size_t i = 0; i <= last; i++) {
        assert_int_equal(ht_tensor_dtype(x[i]), HT_FLOAT64);
        assert_true(ht_item(ht_max(ht_abs(ht_sub(x[i], i < last ? n : ones)), HT_NONE)) <= 1e-7);
    }
    assert_int_equal(ht_lanczos(diagonal, 2, ones, &v, &t), HT_SUCCESS);
    assert_true(fabs(ht_item(ht_trace(t, 0, 0, 1)) - (16777217. + 16777219.)) <= 1e-6);
    assert_int_equal(ht_isvd(ht_expand_dims(n, 1), eye, ones, eye, 0, &u, &s, &vh), HT_SUCCESS);
    assert_true(fabs(ht_item(ht_norm(ht_getitem(ht_matmul(ht_mul(u, s), vh), HT_KEY(HT_ALL, 2)))) -
                     ht_item(ht_norm(ht_astype(n, HT_FLOAT64)))) <= 1e-6);
}

HT_TEST_SUITE(test_iterative, cmocka_unit_test(the_wider_dtype_decides),
              cmocka_unit_test(integers_with_float64_keep_their_digits),
              cmocka_unit_test(pseudo_inverses), cmocka_unit_test(least_squares),
              cmocka_unit_test(conjugate_gradients),
              cmocka_unit_test(lanczos_makes_matrices_tridiagonal), cmocka_unit_test(exponentials),
              cmocka_unit_test(exponentials_of_badly_scaled_matrices),
              cmocka_unit_test(exponentials_have_gradients),
              cmocka_unit_test(a_matrix_of_a_batch_has_the_exponential_it_has_alone),
              cmocka_unit_test(the_size_of_a_seed_costs_an_exponential_no_digits),
              cmocka_unit_test(condest_is_near_the_condition_number),
              cmocka_unit_test(bad_arguments_are_reported));
