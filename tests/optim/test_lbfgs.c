/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* L-BFGS against PyTorch on Rosenbrock's function: values, losses, and the number of evaluations,
 * which only the same decisions make. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>

#include "golden/optim.h"
#include "ht.h"

enum { MOST_STEPS = 9 };

/* Two parameters, and the optimizer whose gradients the closure clears. */
struct problem {
    ht_tensor *a, *b;
    ht_optimizer *optimizer;
    double sign;
};

static ht_tensor *rosenbrock(void *user)
{
    struct problem *r = user;
    ht_tensor *parts[] = {r->a, r->b}, *p, *x, *y, *loss;

    assert_int_equal(ht_optimizer_zero_grad(r->optimizer), HT_SUCCESS);
    p = ht_concatenate(2, parts, 0);
    x = ht_narrow(p, 0, 0, 3);
    y = ht_narrow(p, 0, 1, 4);
    loss = ht_add(ht_mul_scalar(ht_square(ht_sub(y, ht_square(x))), 100),
                  ht_square(ht_sub(ht_scalar(1), x)));
    loss = ht_mul_scalar(ht_sum(loss, HT_NONE), r->sign);
    return ht_backward(loss) == HT_SUCCESS ? loss : NULL;
}

static struct problem new_problem(const ht_lbfgs_options *options, double lr)
{
    const int64_t three = 3, one = 1;
    struct problem r = {.a = ht_array((double[]){-1.2, 1, -0.5}, 1, &three, HT_FLOAT64, HT_LOCAL),
                        .b = ht_array((double[]){0.8}, 1, &one, HT_FLOAT64, HT_LOCAL),
                        .sign = options->maximize ? -1 : 1};
    ht_tensor *both[] = {r.a, r.b};

    ht_tensor_set_requires_grad(r.a, true);
    ht_tensor_set_requires_grad(r.b, true);
    r.optimizer = ht_optim_lbfgs(ht_value_tensors(2, both), lr, options);
    return r;
}

static double evaluations(ht_optimizer *o)
{
    return ht_value_as_number(
        ht_value_get(ht_value_get(ht_optimizer_state_dict(o), "memory"), "func_evals"));
}

/* The iterations magnify rounding: if the last digit of the start changes, numbers of PyTorch itself
 * change by up to 6e-9. */
static void check(const char *name, const ht_lbfgs_options *options, double lr, int steps,
                  const double *expected)
{
    struct problem r = new_problem(options, lr);
    double got[4 + MOST_STEPS + 1];

    for (int i = 0; i < steps; i++)
        assert_int_equal(ht_optimizer_step_with(r.optimizer, rosenbrock, &r, &got[4 + i]),
                         HT_SUCCESS);
    for (int i = 0; i < 3; i++)
        got[i] = ((const double *)ht_test_data(r.a))[i];
    got[3] = ((const double *)ht_test_data(r.b))[0];
    got[4 + steps] = evaluations(r.optimizer);
    for (int i = 0; i < 5 + steps; i++) {
        if (!(fabs(got[i] - expected[i]) <= 1e-7 * (1 + fabs(expected[i]))))
            fail_msg("%s: number %d is %.17g, expected %.17g", name, i, got[i], expected[i]);
    }
    assert_int_equal(ht_optimizer_steps(r.optimizer), steps);
    ht_release(r.optimizer);
}

static ht_lbfgs_options searching(void)
{
    ht_lbfgs_options o = ht_lbfgs_options_default();

    o.strong_wolfe = true;
    return o;
}

static void test_golden(void **state)
{
    ht_lbfgs_options o = ht_lbfgs_options_default();

    (void)state;
    o.max_iter = 5;
    check("plain", &o, 0.1, 4, golden_lbfgs_plain);
    o = searching();
    check("wolfe", &o, 1, 3, golden_lbfgs_wolfe);
    o.max_iter = 4;
    o.max_eval = 6;
    o.history_size = 2;
    check("short", &o, 1, 5, golden_lbfgs_short);
    o = searching();
    o.tolerance_grad = 1e-2;
    o.tolerance_change = 1e-3;
    check("tolerant", &o, 1, 9, golden_lbfgs_tolerant);
    o = searching();
    o.maximize = true;
    check("maximize", &o, 0.5, 3, golden_lbfgs_maximize);
}

/* The memory is in the state: a new optimizer goes the same way, to the bit. */
static void test_resumed(void **state)
{
    ht_lbfgs_options o = searching();
    struct problem r, next;

    (void)state;
    o.max_iter = 4;
    r = new_problem(&o, 1);
    next = new_problem(&o, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ht_optimizer_step_with(r.optimizer, rosenbrock, &r, NULL), HT_SUCCESS);
    ht_copy_(ht_detach(next.a), ht_detach(r.a));
    ht_copy_(ht_detach(next.b), ht_detach(r.b));
    assert_int_equal(
        ht_optimizer_load_state_dict(next.optimizer, ht_optimizer_state_dict(r.optimizer)),
        HT_SUCCESS);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ht_optimizer_step_with(r.optimizer, rosenbrock, &r, NULL), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step_with(next.optimizer, rosenbrock, &next, NULL),
                         HT_SUCCESS);
    }
    assert_memory_equal(ht_test_data(r.a), ht_test_data(next.a), 3 * sizeof(double));
    assert_true(evaluations(r.optimizer) == evaluations(next.optimizer));
    ht_release(r.optimizer);
    ht_release(next.optimizer);
}

/* Another optimizer calls the closure once. */
static void test_closure_of_another_optimizer(void **state)
{
    ht_lbfgs_options o = searching();
    struct problem r = new_problem(&o, 1);
    ht_optimizer *lbfgs = r.optimizer;
    double loss = 0, before = ht_item(ht_detach(r.b));

    (void)state;
    r.optimizer = ht_optim_sgd(ht_value_tensors(1, &r.b), 1e-3, NULL);
    assert_int_equal(ht_optimizer_step_with(r.optimizer, rosenbrock, &r, &loss), HT_SUCCESS);
    assert_true(loss > 0 && ht_item(ht_detach(r.b)) != before);
    ht_release(r.optimizer);
    ht_release(lbfgs);
}

static ht_tensor *no_loss(void *user)
{
    (void)user;
    return NULL;
}

static void test_misuse(void **state)
{
    ht_lbfgs_options o = searching();
    struct problem r = new_problem(&o, 1);
    ht_optimizer *sgd;
    ht_value *map;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_optimizer_step(r.optimizer), HT_ERR_STATE,
                         "LBFGS evaluates the loss, use ht_optimizer_step_with");
    HT_TEST_EXPECT_ERROR(ht_optimizer_step_with(r.optimizer, NULL, NULL, NULL), HT_ERR_ARGUMENT,
                         "ht_optimizer_step_with: closure is NULL");
    HT_TEST_EXPECT_ERROR(ht_optimizer_step_with(r.optimizer, no_loss, NULL, NULL), HT_ERR_ARGUMENT,
                         "ht_optimizer_step_with: the result of the closure is NULL");
    sgd = ht_optim_sgd(ht_value_tensors(1, &r.b), 0.1, NULL);
    HT_TEST_EXPECT_ERROR(ht_optimizer_step_with(sgd, no_loss, NULL, NULL), HT_ERR_ARGUMENT,
                         "ht_optimizer_step_with: the result of the closure is NULL");
    ht_release(sgd);
    assert_int_equal(ht_optimizer_step_with(r.optimizer, rosenbrock, &r, NULL), HT_SUCCESS);
    map = ht_optimizer_state_dict(r.optimizer);
    ht_value_set(ht_value_get(map, "memory"), "d", ht_value_tensor(r.b));
    HT_TEST_EXPECT_ERROR(ht_optimizer_load_state_dict(r.optimizer, map), HT_ERR_FORMAT,
                         "the state has no vector \"d\" of 4 floating elements");
    ht_release(r.optimizer);
}

/* Evaluations are 5/4 of the iterations, which no int holds. */
static void test_many_iterations(void **state)
{
    ht_lbfgs_options o = searching();
    struct problem r;

    (void)state;
    o.max_iter = 2000000000;
    r = new_problem(&o, 1);
    assert_int_equal(ht_optimizer_step_with(r.optimizer, rosenbrock, &r, NULL), HT_SUCCESS);
    assert_true(evaluations(r.optimizer) > 20);
    ht_release(r.optimizer);
}

static ht_tensor *nan_loss(void *user)
{
    struct problem *r = user;
    ht_tensor *loss = ht_mul_scalar(ht_sum(r->a, HT_NONE), NAN);

    return ht_backward(loss) == HT_SUCCESS ? loss : NULL;
}

/* An optimizer loads its own state, also after a loss of NaN; a state without the last direction is
 * refused. */
static void test_states(void **state)
{
    ht_lbfgs_options o = searching();
    struct problem r = new_problem(&o, 1);
    ht_value *map = ht_optimizer_state_dict(r.optimizer);

    (void)state;
    ht_value_set(ht_value_get(map, "memory"), "n_iter", ht_value_number(5));
    HT_TEST_EXPECT_ERROR(ht_optimizer_load_state_dict(r.optimizer, map), HT_ERR_FORMAT,
                         "the state has iterations, but no vector \"d\"");
    assert_int_equal(ht_optimizer_step_with(r.optimizer, nan_loss, &r, NULL), HT_SUCCESS);
    assert_int_equal(
        ht_optimizer_load_state_dict(r.optimizer, ht_optimizer_state_dict(r.optimizer)),
        HT_SUCCESS);
    ht_release(r.optimizer);
}

HT_TEST_SUITE(test_lbfgs, cmocka_unit_test(test_many_iterations), cmocka_unit_test(test_states),
              cmocka_unit_test(test_golden), cmocka_unit_test(test_resumed),
              cmocka_unit_test(test_closure_of_another_optimizer), cmocka_unit_test(test_misuse));
