/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Orthogonal parametrizations give PyTorch's values and gradients. */
#include "golden/parametrizations.h"
#include "nn/nn_test.h"

static double distance(ht_tensor *x, const double *expected)
{
    ht_tensor *y = ht_array(expected, ht_tensor_ndim(x), ht_tensor_shape(x), HT_FLOAT64, HT_LOCAL);

    return ht_item(ht_max(ht_abs(ht_sub(ht_detach(x), y)), HT_NONE));
}

static void fill(const char *name, ht_tensor *x, void *seed)
{
    (void)name;
    ht_copy_(ht_detach(x),
             ht_detach(nn_leaf(++*(int *)seed, ht_tensor_ndim(x), ht_tensor_shape(x), HT_LOCAL)));
}

static ht_module *linear_new(int64_t in_features, int64_t out_features)
{
    ht_module *linear = ht_nn_linear(in_features, out_features);
    int seed = 0;

    ht_module_to_dtype(linear, HT_FLOAT64);
    ht_module_named_parameters(linear, fill, &seed);
    return linear;
}

/* |W^T W - 1|, or of the transposed one if it is wide. */
static double skewness(ht_tensor *w)
{
    const int64_t n = ht_tensor_shape(w)[0], k = ht_tensor_shape(w)[1];
    ht_tensor *t = ht_transpose(w, 0, 1);
    ht_tensor *square = n < k ? ht_matmul(w, t) : ht_matmul(t, w);

    return ht_item(
        ht_norm(ht_sub(square, ht_eye(n < k ? n : k, n < k ? n : k, HT_FLOAT64, HT_LOCAL))));
}

typedef struct expected {
    const double *start, *base, *set, *y, *original;
} expected;

static void check(ht_orthogonal_map map, int64_t in_features, int64_t out_features, expected e)
{
    ht_module *linear = linear_new(in_features, out_features);
    ht_tensor *x = nn_leaf(9, HT_SHAPE(2, in_features), HT_LOCAL), *original, *base, *y;

    assert_int_equal(ht_nn_orthogonal(linear, "weight", map), HT_SUCCESS);
    base = ht_module_find_buffer(linear, "parametrizations.weight.0.base");
    original = ht_module_find_parameter(linear, "parametrizations.weight.original");
    assert_true(skewness(base) < 1e-12);
    assert_true(distance(ht_nn_parametrized(linear, "weight"), e.start) < 1e-12);
    ht_copy_(base, ht_array(e.base, 2, ht_tensor_shape(base), HT_FLOAT64, HT_LOCAL));
    ht_copy_(ht_detach(original),
             ht_array(e.set, 2, ht_tensor_shape(original), HT_FLOAT64, HT_LOCAL));
    assert_true(skewness(ht_nn_parametrized(linear, "weight")) < 1e-12);
    y = ht_forward(linear, x);
    assert_true(distance(y, e.y) < 1e-12);
    ht_backward(ht_sum(ht_mul(ht_mul(y, y), ht_detach(nn_leaf(8, 2, ht_tensor_shape(y), HT_LOCAL))),
                       HT_NONE));
    assert_true(distance(ht_tensor_grad(original), e.original) < 1e-12);
    ht_release(linear);
}

#define EXPECTED(name)                                                   \
    (expected)                                                           \
    {                                                                    \
        name##_start, name##_base, name##_set, name##_y, name##_original \
    }

static void the_cayley_map_is_that_of_pytorch(void **state)
{
    (void)state;
    check(HT_ORTHOGONAL_CAYLEY, 3, 3, EXPECTED(cayley_square));
    check(HT_ORTHOGONAL_CAYLEY, 3, 5, EXPECTED(cayley_tall));
    check(HT_ORTHOGONAL_CAYLEY, 4, 2, EXPECTED(cayley_wide));
}

static void the_exponential_is_that_of_pytorch(void **state)
{
    (void)state;
    check(HT_ORTHOGONAL_MATRIX_EXP, 3, 3, EXPECTED(matrix_exp_square));
    check(HT_ORTHOGONAL_MATRIX_EXP, 3, 5, EXPECTED(matrix_exp_tall));
    check(HT_ORTHOGONAL_MATRIX_EXP, 4, 2, EXPECTED(matrix_exp_wide));
}

static void reflections_are_those_of_pytorch(void **state)
{
    (void)state;
    check(HT_ORTHOGONAL_HOUSEHOLDER, 3, 3, EXPECTED(householder_square));
    check(HT_ORTHOGONAL_HOUSEHOLDER, 3, 5, EXPECTED(householder_tall));
    check(HT_ORTHOGONAL_HOUSEHOLDER, 4, 2, EXPECTED(householder_wide));
}

static void a_clone_has_a_base_of_its_own(void **state)
{
    ht_module *linear = linear_new(3, 3), *copy;

    (void)state;
    ht_nn_orthogonal(linear, "weight", HT_ORTHOGONAL_CAYLEY);
    copy = ht_module_clone(linear);
    ht_fill_(ht_module_find_buffer(copy, "parametrizations.weight.0.base"), 0);
    assert_true(distance(ht_nn_parametrized(linear, "weight"), cayley_square_start) < 1e-12);
    assert_true(ht_item(ht_norm(ht_nn_parametrized(copy, "weight"))) == 0);
    ht_release(linear);
    ht_release(copy);
}

static void other_parameters_are_refused(void **state)
{
    ht_module *linear = linear_new(3, 3);
    ht_tensor *complex_ = ht_ones(HT_SHAPE(2, 2), HT_COMPLEX64, HT_LOCAL);
    ht_module *list = ht_nn_parameter_list(1, &complex_);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_nn_orthogonal(linear, "bias", HT_ORTHOGONAL_CAYLEY), HT_ERR_SHAPE);
    nn_assert_error("ht_nn_orthogonal: bias is (3,), expected a matrix");
    assert_int_equal(ht_nn_orthogonal(linear, "weight", (ht_orthogonal_map)3), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_orthogonal: map is 3, expected 0 to 2");
    assert_int_equal(ht_nn_orthogonal(NULL, "weight", HT_ORTHOGONAL_CAYLEY), HT_ERR_ARGUMENT);
    nn_assert_error("ht_nn_orthogonal: module is NULL");
    assert_int_equal(ht_nn_orthogonal(list, "0", HT_ORTHOGONAL_CAYLEY), HT_ERR_DTYPE);
    nn_assert_error("ht_nn_orthogonal: 0 is complex64, expected float32 or float64");
    ht_nn_weight_norm(linear, "weight", 0);
    assert_int_equal(ht_nn_orthogonal(linear, "weight", HT_ORTHOGONAL_CAYLEY), HT_ERR_STATE);
    nn_assert_error("ht_nn_orthogonal: weight is parametrized, expected a parameter");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(linear);
    ht_release(list);
}

HT_TEST_SUITE(test_orthogonal, cmocka_unit_test(the_cayley_map_is_that_of_pytorch),
              cmocka_unit_test(the_exponential_is_that_of_pytorch),
              cmocka_unit_test(reflections_are_those_of_pytorch),
              cmocka_unit_test(a_clone_has_a_base_of_its_own),
              cmocka_unit_test(other_parameters_are_refused));
