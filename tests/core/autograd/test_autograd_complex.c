/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Gradients of real functions of complex numbers, as PyTorch has them: dL/d(Re z) + i dL/d(Im z),
 * so that a step against one descends. Each against central differences in both parts. */
#include <math.h>

#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

static const int64_t square[2] = {3, 3}, other[2] = {3, 2};

typedef ht_tensor *function(ht_tensor *a, ht_tensor *b);

static ht_tensor *complex_of(const int64_t shape[2], int split, double base)
{
    double values[2 * 9];

    for (int i = 0; i < 18; i++)
        values[i] = 0.3 + base * sin(1.7 * i + base);
    return ht_array(values, 2, shape, HT_COMPLEX128, split);
}

static ht_tensor *call(ht_tensor *in[], void *user)
{
    return (*(function *const *)user)(in[0], in[1]);
}

static void check(function *f, ht_tensor *a, ht_tensor *b)
{
    ht_tensor *in[2] = {a, b};

    for (int k = 0; k < 2; k++)
        ht_tensor_set_requires_grad(in[k], true);
    ht_test_gradcheck(call, 2, in, &f, 1e-6);
}

static ht_tensor *rational(ht_tensor *a, ht_tensor *b)
{
    return ht_div(ht_mul(ht_sub(a, b), a), ht_add_scalar(ht_mul(b, b), 2));
}

static ht_tensor *functions(ht_tensor *a, ht_tensor *b)
{
    return ht_add(ht_mul(ht_exp(a), ht_tanh(b)), ht_add(ht_log(b), ht_sqrt(a)));
}

static ht_tensor *sums(ht_tensor *a, ht_tensor *b)
{
    return ht_add(ht_mul(ht_sum(a, 0), ht_mean(b, 1)), ht_mul(ht_cumsum(a, 0), ht_neg(b)));
}

static ht_tensor *spread(ht_tensor *a, ht_tensor *b)
{
    ht_tensor *v = ht_mul(ht_var(ht_mul(a, b), 0), ht_std(a, HT_NONE));

    return ht_mul(ht_astype(v, HT_COMPLEX128), ht_sum(b, 0));
}

static ht_tensor *mixed(ht_tensor *a, ht_tensor *b)
{
    ht_tensor *re = ht_astype(a, HT_FLOAT64);

    return ht_add(ht_mul(re, b), ht_div(b, ht_add_scalar(ht_mul(re, re), 1)));
}

static ht_tensor *product(ht_tensor *a, ht_tensor *b)
{
    return ht_matmul(ht_transpose(ht_mul(a, a), 0, 1), b);
}

static void gradients_are_those_of_both_parts(void **state)
{
    function *const all[] = {rational, functions, sums, spread, mixed};

    (void)state;
    for (int split = -1; split < 2; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = complex_of(square, split < 0 ? HT_NONE : split, 0.25);

        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            check(all[i], a, complex_of(square, HT_NONE, 0.2));
        check(product, a, complex_of(other, split < 0 ? HT_NONE : 0, 0.3));
        ht_scope_close(scope);
    }
}

/* Re(i z) = -Im z: the gradient is -i. */
static void a_step_against_the_gradient_descends(void **state)
{
    ht_tensor *z = ht_array((double[]){1, 2}, 0, NULL, HT_COMPLEX128, HT_NONE);
    ht_tensor *i = ht_array((double[]){0, 1}, 0, NULL, HT_COMPLEX128, HT_NONE);
    const double *grad;

    (void)state;
    ht_tensor_set_requires_grad(z, true);
    assert_int_equal(ht_backward(ht_astype(ht_mul(i, z), HT_FLOAT64)), HT_SUCCESS);
    grad = ht_test_data(ht_tensor_grad(z));
    assert_true(grad[0] == 0 && grad[1] == -1);
}

static void a_loss_is_real(void **state)
{
    ht_tensor *z = complex_of(square, HT_NONE, 0.5);

    (void)state;
    ht_tensor_set_requires_grad(z, true);
    HT_TEST_EXPECT_ERROR(ht_backward(ht_sum(z, HT_NONE)), HT_ERR_DTYPE, "expected a real dtype");
}

HT_TEST_SUITE(test_autograd_complex, cmocka_unit_test(gradients_are_those_of_both_parts),
              cmocka_unit_test(a_step_against_the_gradient_descends),
              cmocka_unit_test(a_loss_is_real));
