/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { N = 9 };

static int split_of(int i)
{
    return i < 0 ? HT_NONE : i;
}

/* For each pair of splits of two vectors. */
static void vectors_meet_in_a_number(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = ht_test_randn(HT_SHAPE(N), HT_FLOAT64, split_of(way % 2 - 1), 1);
        ht_tensor *b = ht_test_randn(HT_SHAPE(N), HT_FLOAT64, split_of(way / 2 - 1), 2);
        const double *x = ht_test_values(a), *y = ht_test_values(b);
        double dot = 0, square = 0, shadow[N];

        for (int i = 0; i < N; i++) {
            dot += x[i] * y[i];
            square += y[i] * y[i];
        }
        for (int i = 0; i < N; i++)
            shadow[i] = dot / square * y[i];
        ht_test_expect(ht_dot(a, b), &dot, 1e-13);
        ht_test_expect(ht_vdot(ht_reshape(a, HT_SHAPE(3, 3)), b), &dot, 1e-13);
        ht_test_expect(ht_vecdot(a, b, HT_NONE, true), &dot, 1e-13);
        ht_test_expect(ht_projection(a, b), shadow, 1e-13);
        ht_scope_close(scope);
    }
}

/* A number is the other operand of a tensor on any number of ranks, and keeps that tensor's dtype.
 */
static void numbers_are_operands_of_products(void **state)
{
    (void)state;
    for (int split = -1; split < 1; split++) {
        ht_tensor *x = ht_arange(0, 5, 1, HT_FLOAT32, split_of(split)), *two = ht_scalar(2), *y;
        ht_tensor *one = ht_full(HT_SHAPE(1), 3, HT_FLOAT32, split_of(split));

        y = ht_dot(two, x);
        ht_test_expect(y, (double[]){0, 2, 4, 6, 8}, 0);
        assert_int_equal(ht_tensor_split(y), split_of(split));
        assert_int_equal(ht_tensor_dtype(y), HT_FLOAT32);
        ht_test_expect(ht_dot(x, ht_scalar(0.5)), (double[]){0, 0.5, 1, 1.5, 2}, 0);
        ht_test_expect(ht_dot(two, two), (double[]){4}, 0);
        ht_test_expect(ht_vdot(two, one), (double[]){6}, 0);
        ht_test_expect(ht_vdot(one, ht_scalar(0.5)), (double[]){1.5}, 0);
        y = ht_vecdot(ht_scalar(0.5), x, 0, false);
        ht_test_expect(y, (double[]){5}, 0);
        assert_int_equal(ht_tensor_dtype(y), HT_FLOAT32);
        ht_test_expect(ht_vecdot(x, two, 0, false), (double[]){20}, 0);
        y = ht_dot(two, ht_arange(0, 3, 1, HT_INT16, split_of(split)));
        assert_int_equal(ht_tensor_dtype(y), HT_INT16);
    }
}

/* One message on one rank and on many, where a number cannot stand. */
static void a_number_in_a_product_is_called_one(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3, 3), HT_FLOAT32, 0), *two = ht_scalar(2);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_vdot(two, x), HT_ERR_SHAPE, "ht_vdot: a has 1 elements, b has 9");
    if (ht_test_size == 1)
        HT_TEST_SKIP("on one rank a number is a tensor without axes");
    HT_TEST_EXPECT_ERROR(ht_matmul(two, x), HT_ERR_COMM,
                         "ht_matmul: a is a number (ht_scalar), expected a tensor like b");
    HT_TEST_EXPECT_ERROR(ht_outer(x, two, HT_NONE), HT_ERR_COMM,
                         "ht_outer: b is a number (ht_scalar), expected a tensor like a");
    HT_TEST_EXPECT_ERROR(ht_solve(x, two), HT_ERR_COMM,
                         ": b is a number (ht_scalar), expected a tensor like a");
}

/* The function that was called, not the one that it is made of. */
static void errors_of_products_name_the_product(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3), HT_FLOAT32, 0), *y = ht_ones(HT_SHAPE(4), HT_FLOAT32, 0);
    ht_tensor *m = ht_ones(HT_SHAPE(3, 4), HT_FLOAT32, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_vecdot(x, y, 0, false), HT_ERR_SHAPE, "ht_vecdot: ");
    HT_TEST_EXPECT_ERROR(ht_dot(x, y), HT_ERR_SHAPE, "ht_dot: ");
    HT_TEST_EXPECT_ERROR(ht_projection(x, y), HT_ERR_SHAPE, "ht_projection: ");
    HT_TEST_EXPECT_ERROR(
        ht_cross(ht_ones(HT_SHAPE(2, 3), HT_FLOAT32, 0), ht_ones(HT_SHAPE(5, 3), HT_FLOAT32, 0), 1),
        HT_ERR_SHAPE, "ht_cross: ");
    HT_TEST_EXPECT_ERROR(ht_trace(m, 0, 0, 2), HT_ERR_ARGUMENT, "ht_trace: ");
}

static void vdot_conjugates_its_first_operand(void **state)
{
    ht_tensor *a = ht_mul_scalar_ext(ht_ones(HT_SHAPE(3), HT_COMPLEX64, 0), HT_COMPLEX(1, 2)), *c;
    ht_tensor *i = ht_mul_scalar_ext(ht_ones(HT_SHAPE(3), HT_COMPLEX64, 0), HT_COMPLEX(0, 1));

    (void)state;
    c = ht_vdot(a, i);
    ht_test_expect(ht_real(c), (double[]){6}, 1e-6);
    ht_test_expect(ht_imag(c), (double[]){3}, 1e-6);
    ht_test_expect_same(ht_real(ht_vecdot(a, i, 0, false)), ht_real(c), 0);
    c = ht_dot(a, i);
    ht_test_expect(ht_real(c), (double[]){-6}, 1e-6);
    ht_test_expect(ht_imag(ht_projection(a, i)), (double[]){2, 2, 2}, 1e-6);
}

static void vecdot_reduces_along_an_axis(void **state)
{
    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = ht_test_randn(HT_SHAPE(4, 5), HT_FLOAT64, split_of(split), 3);
        ht_tensor *b = ht_test_randn(HT_SHAPE(5), HT_FLOAT64, split == 1 ? 0 : HT_NONE, 4);
        const double *x = ht_test_values(a), *y = ht_test_values(b);
        double rows[4] = {0}, columns[5] = {0};

        for (int i = 0; i < 20; i++) {
            rows[i / 5] += x[i] * y[i % 5];
            columns[i % 5] += x[i] * y[i % 5];
        }
        ht_test_expect(ht_vecdot(a, b, -1, false), rows, 1e-13);
        ht_test_expect(ht_vecdot(b, a, 0, true), columns, 1e-13);
        ht_scope_close(scope);
    }
}

static void outer_products_have_the_requested_split(void **state)
{
    (void)state;
    for (int way = 0; way < 12; way++) {
        ht_scope *scope = ht_scope_open();
        const int split = way / 4 - 1;
        ht_tensor *a = ht_test_randn(HT_SHAPE(2, 3), HT_FLOAT64, split_of(way % 2 - 1), 5), *c;
        ht_tensor *b = ht_test_randn(HT_SHAPE(4), HT_FLOAT64, split_of(way / 2 % 2 - 1), 6);
        const double *x = ht_test_values(a), *y = ht_test_values(b);
        double expected[24];

        for (int i = 0; i < 24; i++)
            expected[i] = x[i / 4] * y[i % 4];
        c = ht_outer(a, b, split_of(split));
        ht_test_expect(c, expected, 0);
        assert_int_equal(ht_tensor_split(c), split >= 0 ? split : way % 4 == 0 ? HT_NONE : 0);
        ht_scope_close(scope);
    }
}

/* Axis of the vectors of a, of b and of the result; lengths 3, or 2 for either. */
static void check_cross(int la, int lb, int sa, int sb)
{
    const int last = la == 2 && lb == 2 ? 1 : 3;
    ht_tensor *a = ht_test_randn(HT_SHAPE(la, 5), HT_FLOAT64, split_of(sa), 7);
    ht_tensor *b = ht_test_randn(HT_SHAPE(5, lb), HT_FLOAT64, split_of(sb), 8), *c;
    const double *x = ht_test_values(a), *y = ht_test_values(b);
    double expected[15], u[3] = {0}, v[3] = {0};

    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < la; k++)
            u[k] = x[k * 5 + i];
        for (int k = 0; k < lb; k++)
            v[k] = y[i * lb + k];
        for (int k = 0; k < 3; k++)
            expected[last == 3 ? k * 5 + i : i] = u[(k + 1) % 3] * v[(k + 2) % 3] -
                                                  u[(k + 2) % 3] * v[(k + 1) % 3];
    }
    c = ht_cross_ext(a, b, 0, -1, 0);
    assert_int_equal(ht_tensor_size(c), last * 5);
    ht_test_expect(c, expected, 1e-13);
    if (la == lb)
        ht_test_expect(ht_cross(a, ht_transpose(b, 0, 1), 0), expected, 1e-13);
}

static void cross_products(void **state)
{
    (void)state;
    for (int way = 0; way < 36; way++) {
        ht_scope *scope = ht_scope_open();

        check_cross(2 + way % 2, 2 + way / 2 % 2, way / 4 % 3 - 1, way / 12 - 1);
        ht_scope_close(scope);
    }
}

static void components_keep_the_wider_dtype(void **state)
{
    ht_tensor *a = ht_array((int16_t[]){1, 0, 0, 0, 1, 0}, HT_SHAPE(2, 3), HT_INT16, 0);
    ht_tensor *b = ht_array((int32_t[]){100000, 99999, 1}, HT_SHAPE(3), HT_INT32, HT_NONE), *c;
    ht_tensor *far = ht_array((double[]){1e60, 0, 0}, HT_SHAPE(3), HT_FLOAT64, HT_NONE);

    (void)state;
    c = ht_cross_ext(a, b, -1, -1, -1);
    assert_int_equal(ht_tensor_dtype(c), HT_INT32);
    ht_test_expect(c, (double[]){0, -1, 99999, 1, 0, -100000}, 0);
    c = ht_projection(far, ht_ones(HT_SHAPE(3), HT_FLOAT32, HT_NONE));
    assert_int_equal(ht_tensor_dtype(c), HT_FLOAT64);
    ht_test_expect(ht_div_scalar(c, 1e60), (double[]){1 / 3., 1 / 3., 1 / 3.}, 1e-15);
}

static void trace_sums_diagonals_of_each_split(void **state)
{
    static const int expected_split[3][2] = {{-1, -1}, {-1, 0}, {-1, 0}};

    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_tensor *x = ht_resplit(
                      ht_reshape(ht_arange(0, 12, 1, HT_INT32, HT_NONE), HT_SHAPE(3, 4)),
                      split_of(split)),
                  *y;

        ht_test_expect(ht_trace(x, 0, 0, 1), (double[]){15}, 0);
        ht_test_expect(ht_trace(x, -1, 0, 1), (double[]){13}, 0);
        ht_test_expect(ht_trace(x, 9, 1, 0), (double[]){0}, 0);
        assert_int_equal(ht_tensor_dtype(ht_trace(x, 0, 0, 1)), HT_INT64);
        y = ht_trace(ht_stack(HT_LIST(ht_tensor *, x, x), 2), 0, 0, 1);
        ht_test_expect(y, (double[]){15, 15}, 0);
        assert_int_equal(ht_tensor_split(y), split_of(expected_split[split + 1][1]));
    }
}

static ht_tensor *all_of_them(ht_tensor *in[], void *user)
{
    ht_tensor *a = in[0], *b = in[1], *y;

    (void)user;
    y = ht_add(ht_add(ht_dot(a, b), ht_vdot(a, b)), ht_sum(ht_projection(a, b), HT_NONE));
    y = ht_add(y, ht_trace(ht_outer(a, b, 1), 1, 0, 1));
    return ht_add(y, ht_cross(a, b, 0));
}

static void gradients(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *in[2] = {ht_test_randn(HT_SHAPE(3), HT_FLOAT64, split_of(way % 2 - 1), 1),
                            ht_test_randn(HT_SHAPE(3), HT_FLOAT64, split_of(way / 2 - 1), 2)};

        ht_tensor_set_requires_grad(in[0], true);
        ht_tensor_set_requires_grad(in[1], true);
        ht_test_gradcheck(all_of_them, 2, in, NULL, 1e-6);
        ht_scope_close(scope);
    }
}

static void misuse_is_reported(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(4, 3, 2), HT_FLOAT32, 0), *v = ht_ones(HT_SHAPE(4), HT_INT8, 0);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_dot(x, v), HT_ERR_SHAPE,
                         "ht_dot: a is (4, 3, 2), b is (4,), expected at most two axes");
    HT_TEST_EXPECT_ERROR(ht_vdot(x, v), HT_ERR_SHAPE, "ht_vdot: a has 24 elements, b has 4");
    HT_TEST_EXPECT_ERROR(ht_vecdot(v, v, 1, false), HT_ERR_ARGUMENT, "ht_vecdot: axis 1");
    HT_TEST_EXPECT_ERROR(ht_outer(v, v, 2), HT_ERR_ARGUMENT, "ht_outer: split is 2");
    HT_TEST_EXPECT_ERROR(ht_cross(x, x, 0), HT_ERR_SHAPE,
                         "ht_cross: axis 0 of a of shape (4, 3, 2) is 4 long, expected 2 or 3");
    HT_TEST_EXPECT_ERROR(ht_trace(x, 0, 1, 1), HT_ERR_ARGUMENT, "ht_trace: axis 1 is given twice");
    HT_TEST_EXPECT_ERROR(ht_projection(x, v), HT_ERR_SHAPE,
                         "ht_projection: a is (4, 3, 2), b is (4,), expected vectors");
}

/* Products of the vectors' own dtype would be 90,000 (float16 ends at 65,504) and 16 (int8). */
static void products_are_added_before_they_are_rounded(void **state)
{
    static const double left[] = {300, 300}, right[] = {300, -300}, big[] = {300, 400};
    static const int8_t bytes[] = {100, 100};

    (void)state;
    for (int way = -1; way < 1; way++) {
        const int split = split_of(way);
        ht_tensor *a = ht_astype(HT_ARRAY(left, HT_SHAPE(2), split), HT_FLOAT16);
        ht_tensor *b = ht_astype(HT_ARRAY(right, HT_SHAPE(2), split), HT_FLOAT16);
        ht_tensor *c = ht_astype(HT_ARRAY(big, HT_SHAPE(2), split), HT_FLOAT16);
        ht_tensor *i = HT_ARRAY(bytes, HT_SHAPE(2), split);

        assert_int_equal(ht_tensor_dtype(ht_vdot(a, b)), HT_FLOAT16);
        assert_true(ht_item(ht_vdot(a, b)) == 0);
        assert_true(ht_item(ht_vecdot(a, b, 0, false)) == 0);
        assert_int_equal(ht_tensor_dtype(ht_projection(c, c)), HT_FLOAT16);
        ht_test_expect(ht_astype(ht_projection(c, c), HT_FLOAT64), big, 0);
        assert_true(ht_item(ht_vdot(i, i)) == 20000);
        assert_true(ht_item(ht_vecdot(i, i, 0, false)) == 20000);
        ht_test_expect(ht_astype(ht_projection(i, i), HT_FLOAT64), (double[]){100, 100}, 0);
    }
}

HT_TEST_SUITE(test_vector_products, cmocka_unit_test(vectors_meet_in_a_number),
              cmocka_unit_test(numbers_are_operands_of_products),
              cmocka_unit_test(a_number_in_a_product_is_called_one),
              cmocka_unit_test(errors_of_products_name_the_product),
              cmocka_unit_test(vdot_conjugates_its_first_operand),
              cmocka_unit_test(vecdot_reduces_along_an_axis),
              cmocka_unit_test(products_are_added_before_they_are_rounded),
              cmocka_unit_test(outer_products_have_the_requested_split),
              cmocka_unit_test(cross_products), cmocka_unit_test(components_keep_the_wider_dtype),
              cmocka_unit_test(trace_sums_diagonals_of_each_split), cmocka_unit_test(gradients),
              cmocka_unit_test(misuse_is_reported));
