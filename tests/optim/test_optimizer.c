/* ranks 1 3 */
/* SPDX-License-Identifier: MIT */
/* Optimizers against PyTorch, and what they refuse. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>

#include "golden/optim.h"
#include "ht.h"

enum { STEPS = 10, SIZE = 7 };

static ht_tensor *new_parameter(ht_dtype dtype)
{
    double start[SIZE];
    int64_t shape[] = {SIZE};
    ht_tensor *p;

    for (int i = 0; i < SIZE; i++)
        start[i] = (i * 3 % 7 - 3) / 4.0;
    p = ht_astype(ht_array(start, 1, shape, HT_FLOAT64, HT_LOCAL), dtype);
    assert_int_equal(ht_tensor_set_requires_grad(p, true), HT_SUCCESS);
    return p;
}

static void set_gradient(ht_tensor *p, int step)
{
    double values[SIZE];
    int64_t shape[] = {SIZE};

    for (int i = 0; i < SIZE; i++)
        values[i] = ((i * 7 + step * 5) % 11 - 5) / 8.0;
    ht_tensor_set_grad(
        p, ht_astype(ht_array(values, 1, shape, HT_FLOAT64, HT_LOCAL), ht_tensor_dtype(p)));
}

static void assert_close(ht_tensor *p, const double *expected, double tolerance)
{
    const double *values = ht_test_data(ht_astype(p, HT_FLOAT64));

    for (int i = 0; i < SIZE; i++) {
        if (!(fabs(values[i] - expected[i]) <= tolerance * (1 + fabs(expected[i]))))
            fail_msg("element %d is %.17g, expected %.17g", i, values[i], expected[i]);
    }
}

static ht_optimizer *sgd(ht_value *p, double lr, ht_sgd_options o)
{
    o.size = sizeof o;
    return ht_optim_sgd(p, lr, &o);
}

static ht_optimizer *rmsprop(ht_value *p, double lr, ht_rmsprop_options o)
{
    o.size = sizeof o;
    return ht_optim_rmsprop(p, lr, &o);
}

static ht_optimizer *sgd_plain(ht_value *p)
{
    return ht_optim_sgd(p, 0.1, NULL);
}

static ht_optimizer *sgd_decay(ht_value *p)
{
    return sgd(p, 0.1, (ht_sgd_options){.weight_decay = 0.01});
}

static ht_optimizer *sgd_momentum(ht_value *p)
{
    return sgd(p, 0.05, (ht_sgd_options){.momentum = 0.9, .dampening = 0.3, .weight_decay = 0.01});
}

static ht_optimizer *sgd_nesterov(ht_value *p)
{
    return sgd(p, 0.05, (ht_sgd_options){.momentum = 0.8, .nesterov = true});
}

static ht_optimizer *sgd_maximize(ht_value *p)
{
    return sgd(p, 0.05, (ht_sgd_options){.momentum = 0.9, .maximize = true});
}

static ht_optimizer *adam_plain(ht_value *p)
{
    return ht_optim_adam(p, 0.01, NULL);
}

static const ht_adam_options all_of_adam = {.size = sizeof all_of_adam,
                                            .beta1 = 0.8,
                                            .beta2 = 0.95,
                                            .eps = 1e-5,
                                            .weight_decay = 0.1,
                                            .maximize = true};

static ht_optimizer *adam_options(ht_value *p)
{
    return ht_optim_adam(p, 0.02, &all_of_adam);
}

/* The greatest v is that of an early step. */
static const ht_adam_options amsgrad = {.size = sizeof amsgrad,
                                        .beta1 = 0.8,
                                        .beta2 = 0.6,
                                        .eps = 1e-8,
                                        .weight_decay = 0.1,
                                        .amsgrad = true};

static ht_optimizer *adam_amsgrad(ht_value *p)
{
    return ht_optim_adam(p, 0.02, &amsgrad);
}

static ht_optimizer *adadelta_plain(ht_value *p)
{
    return ht_optim_adadelta(p, 1.0, NULL);
}

static ht_optimizer *adadelta_options(ht_value *p)
{
    const ht_adadelta_options options = {
        .size = sizeof options, .rho = 0.8, .eps = 1e-4, .weight_decay = 0.05};

    return ht_optim_adadelta(p, 0.5, &options);
}

static ht_optimizer *adamw_plain(ht_value *p)
{
    return ht_optim_adamw(p, 0.01, NULL);
}

static ht_optimizer *adamw_options(ht_value *p)
{
    return ht_optim_adamw(p, 0.02, &all_of_adam);
}

static ht_optimizer *adamw_amsgrad(ht_value *p)
{
    ht_adamw_options options = amsgrad;

    options.maximize = true;
    return ht_optim_adamw(p, 0.02, &options);
}

static ht_optimizer *rmsprop_plain(ht_value *p)
{
    return ht_optim_rmsprop(p, 0.01, NULL);
}

static ht_optimizer *rmsprop_momentum(ht_value *p)
{
    return rmsprop(
        p, 0.02,
        (ht_rmsprop_options){.alpha = 0.9, .eps = 1e-5, .weight_decay = 0.05, .momentum = 0.8});
}

static ht_optimizer *rmsprop_centered(ht_value *p)
{
    return rmsprop(p, 0.01, (ht_rmsprop_options){.alpha = 0.8, .eps = 1e-4, .centered = true});
}

static ht_optimizer *rmsprop_options(ht_value *p)
{
    return rmsprop(p, 0.02,
                   (ht_rmsprop_options){.alpha = 0.9,
                                        .eps = 1e-5,
                                        .weight_decay = 0.05,
                                        .momentum = 0.8,
                                        .centered = true,
                                        .maximize = true});
}

static ht_optimizer *adagrad_plain(ht_value *p)
{
    return ht_optim_adagrad(p, 0.1, NULL);
}

static ht_optimizer *adagrad_options(ht_value *p)
{
    const ht_adagrad_options options = {.size = sizeof options,
                                        .lr_decay = 0.1,
                                        .weight_decay = 0.05,
                                        .initial_accumulator_value = 0.5,
                                        .eps = 1e-5,
                                        .maximize = true};

    return ht_optim_adagrad(p, 0.2, &options);
}

static ht_optimizer *adamax_plain(ht_value *p)
{
    return ht_optim_adamax(p, 0.01, NULL);
}

static ht_optimizer *adamax_options(ht_value *p)
{
    const ht_adamax_options options = {.size = sizeof options,
                                       .beta1 = 0.8,
                                       .beta2 = 0.95,
                                       .eps = 1e-5,
                                       .weight_decay = 0.1,
                                       .maximize = true};

    return ht_optim_adamax(p, 0.02, &options);
}

static ht_optimizer *nadam_plain(ht_value *p)
{
    return ht_optim_nadam(p, 0.002, NULL);
}

static ht_optimizer *nadam_options(ht_value *p)
{
    const ht_nadam_options options = {.size = sizeof options,
                                      .beta1 = 0.8,
                                      .beta2 = 0.95,
                                      .eps = 1e-5,
                                      .weight_decay = 0.1,
                                      .momentum_decay = 0.02,
                                      .maximize = true};

    return ht_optim_nadam(p, 0.02, &options);
}

static ht_optimizer *nadam_decoupled(ht_value *p)
{
    ht_nadam_options options = ht_nadam_options_default();

    options.weight_decay = 0.1;
    options.decoupled_weight_decay = true;
    return ht_optim_nadam(p, 0.02, &options);
}

static ht_optimizer *radam_plain(ht_value *p)
{
    return ht_optim_radam(p, 0.01, NULL);
}

static ht_optimizer *radam_options(ht_value *p)
{
    const ht_radam_options options = {.size = sizeof options,
                                      .beta1 = 0.8,
                                      .beta2 = 0.95,
                                      .eps = 1e-5,
                                      .weight_decay = 0.1,
                                      .maximize = true};

    return ht_optim_radam(p, 0.02, &options);
}

static ht_optimizer *radam_decoupled(ht_value *p)
{
    ht_radam_options options = ht_radam_options_default();

    options.weight_decay = 0.1;
    options.decoupled_weight_decay = true;
    return ht_optim_radam(p, 0.02, &options);
}

static ht_optimizer *rprop_plain(ht_value *p)
{
    return ht_optim_rprop(p, 0.01, NULL);
}

static ht_optimizer *rprop_options(ht_value *p)
{
    ht_rprop_options options = ht_rprop_options_default();

    options.etaminus = 0.4;
    options.etaplus = 1.5;
    options.step_size_min = 0.01;
    options.step_size_max = 0.05;
    options.maximize = true;
    return ht_optim_rprop(p, 0.02, &options);
}

static ht_optimizer *asgd_plain(ht_value *p)
{
    return ht_optim_asgd(p, 0.01, NULL);
}

static ht_optimizer *asgd_options(ht_value *p)
{
    ht_asgd_options options = ht_asgd_options_default();

    options.lambd = 0.05;
    options.alpha = 0.6;
    options.t0 = 3;
    options.weight_decay = 0.1;
    options.maximize = true;
    return ht_optim_asgd(p, 0.2, &options);
}

static ht_optimizer *adafactor_vector(ht_value *p)
{
    return ht_optim_adafactor(p, 0.05, NULL);
}

/* The functions of the same names in tests/golden/make_optim.py. */
#define ROW(name)           \
    {                       \
        name, golden_##name \
    }
static const struct {
    ht_optimizer *(*make)(ht_value *p);
    const double *expected;
} cases[] = {
    ROW(sgd_plain),       ROW(sgd_decay),        ROW(sgd_momentum),     ROW(sgd_nesterov),
    ROW(sgd_maximize),    ROW(adam_plain),       ROW(adam_options),     ROW(adam_amsgrad),
    ROW(adadelta_plain),  ROW(adadelta_options), ROW(adamw_plain),      ROW(adamw_options),
    ROW(adamw_amsgrad),   ROW(rmsprop_plain),    ROW(rmsprop_momentum), ROW(rmsprop_centered),
    ROW(rmsprop_options), ROW(adagrad_plain),    ROW(adagrad_options),  ROW(adamax_plain),
    ROW(adamax_options),  ROW(nadam_plain),      ROW(nadam_options),    ROW(nadam_decoupled),
    ROW(radam_plain),     ROW(radam_options),    ROW(radam_decoupled),  ROW(rprop_plain),
    ROW(rprop_options),   ROW(asgd_plain),       ROW(asgd_options),     ROW(adafactor_vector)};

/* Ten steps of each optimizer, in both dtypes, against PyTorch's. */
static void test_golden(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int single = 0; single < 2; single++) {
            ht_tensor *p = new_parameter(single ? HT_FLOAT32 : HT_FLOAT64);
            ht_optimizer *optimizer = cases[i].make(ht_value_tensors(1, &p));

            for (int step = 0; step < STEPS; step++) {
                set_gradient(p, step);
                assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
            }
            assert_close(p, cases[i].expected, single ? 2e-6 : 1e-14);
            assert_int_equal(ht_optimizer_steps(optimizer), STEPS);
            ht_release(optimizer);
        }
    }
}

/* A parameter whose memory is not row-major is updated in place all the same. */
static void test_strided_parameter(void **state)
{
    double start[] = {1, 2, 3, 4, 5, 6};
    int64_t shape[] = {2, 3};
    ht_tensor *base = ht_array(start, 2, shape, HT_FLOAT64, HT_LOCAL);
    ht_tensor *p = ht_transpose(base, 0, 1);
    ht_optimizer *optimizer = ht_optim_sgd(ht_value_tensors(1, &p), 0.5, NULL);
    const double *values;

    (void)state;
    ht_tensor_set_requires_grad(p, true);
    ht_tensor_set_grad(p, ht_ones_like(p));
    assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
    values = ht_test_data(base);
    for (int i = 0; i < 6; i++)
        assert_true(values[i] == start[i] - 0.5);
    ht_release(optimizer);
}

static void test_zero_grad_and_absent_gradients(void **state)
{
    ht_tensor *p = new_parameter(HT_FLOAT64), *idle = new_parameter(HT_FLOAT64);
    ht_tensor *both[] = {p, idle}, *before = ht_copy(p);
    ht_optimizer *optimizer = ht_optim_sgd(ht_value_tensors(2, both), 0.1, NULL);

    (void)state;
    /* Before there is any gradient it must not make the first one be forgotten. */
    ht_optimizer_zero_grad(optimizer);
    ht_backward(ht_sum(p, HT_NONE));
    assert_non_null(ht_tensor_grad(p));
    ht_optimizer_zero_grad(optimizer);
    assert_null(ht_tensor_grad(p));
    ht_optimizer_step(optimizer);
    assert_close(p, ht_test_data(before), 0);

    /* The next backward pass replaces what zero_grad left in memory. */
    ht_backward(ht_sum(ht_mul(p, p), HT_NONE));
    assert_close(ht_tensor_grad(p), ht_test_data(ht_add(before, before)), 0);
    ht_optimizer_step(optimizer);
    assert_close(idle, ht_test_data(before), 0);
    ht_release(optimizer);
}

static void test_state_and_lr(void **state)
{
    ht_tensor *p = new_parameter(HT_FLOAT64);
    ht_optimizer *optimizer = ht_optim_adam(ht_value_tensors(1, &p), 0.01, NULL);

    (void)state;
    assert_int_equal(ht_optimizer_parameter_count(optimizer), 1);
    assert_ptr_equal(ht_optimizer_parameter(optimizer, 0), p);
    assert_null(ht_optimizer_state(optimizer, 0, "exp_avg"));
    set_gradient(p, 0);
    ht_optimizer_step(optimizer);
    assert_non_null(ht_optimizer_state(optimizer, 0, "exp_avg"));
    assert_null(ht_optimizer_state(optimizer, 0, "momentum_buffer"));
    ht_optimizer_set_lr(optimizer, 0.5);
    assert_true(ht_optimizer_lr(optimizer) == 0.5);
    ht_release(optimizer);
}

/* The variance of equal gradients is 0 up to rounding, on either side: no step may become NaN. */
static void test_centered_rmsprop_of_equal_gradients(void **state)
{
    const ht_rmsprop_options options = {.alpha = 0.9, .eps = 1e-3, .centered = true};
    ht_tensor *p = new_parameter(HT_FLOAT32);
    ht_optimizer *optimizer = rmsprop(ht_value_tensors(1, &p), 1e-9, options);
    const float *values = ht_test_data(p);

    (void)state;
    set_gradient(p, 3);
    ht_tensor_set_grad(p, ht_div_scalar(ht_tensor_grad(p), 7));
    for (int step = 0; step < 1000; step++)
        ht_optimizer_step(optimizer);
    for (int i = 0; i < SIZE; i++)
        assert_true(isfinite(values[i]));
    assert_non_null(ht_optimizer_state(optimizer, 0, "grad_avg"));
    assert_null(ht_optimizer_state(optimizer, 0, "momentum_buffer"));
    ht_release(optimizer);
}

static void test_misuse(void **state)
{
    ht_tensor *p = new_parameter(HT_FLOAT64), *twice[] = {p, p};
    ht_tensor *integers = ht_astype(ht_detach(p), HT_INT32);
    ht_tensor *shared = ht_broadcast_to(ht_detach(p), HT_SHAPE(5, ht_tensor_shape(p)[0]));
    ht_adam_options unset = {0}, wrong = ht_adam_options_default();
    ht_rmsprop_options no_mean = ht_rmsprop_options_default();
    ht_adamw_options growing = ht_adamw_options_default();
    ht_adagrad_options in_debt = ht_adagrad_options_default();
    ht_rprop_options rising = ht_rprop_options_default();

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_optim_adam(ht_value_tensors(1, &p), 0.1, &unset));
    assert_message("not initialised (size is 0");
    wrong.beta2 = no_mean.alpha = 1;
    growing.weight_decay = -1;
    assert_null(ht_optim_adam(ht_value_tensors(1, &p), 0.1, &wrong));
    assert_message("beta2 is 1, expected 0 <= beta2 < 1");
    assert_null(ht_optim_rmsprop(ht_value_tensors(1, &p), 0.1, &no_mean));
    assert_message("alpha is 1, expected 0 <= alpha < 1");
    assert_null(ht_optim_adamw(ht_value_tensors(1, &p), 0.1, &growing));
    assert_message("weight_decay is -1, expected a finite value of at least 0");
    rising.etaplus = 1;
    assert_null(ht_optim_rprop(ht_value_tensors(1, &p), 0.1, &rising));
    assert_message("etaminus is 0.5 and etaplus 1, expected 0 < etaminus < 1 < etaplus");
    in_debt.initial_accumulator_value = -1;
    assert_null(ht_optim_adagrad(ht_value_tensors(1, &p), 0.1, &in_debt));
    assert_message("initial_accumulator_value is -1, expected a finite value of at least 0");
    assert_null(ht_optim_sgd(ht_value_tensors(1, &p), -1, NULL));
    assert_message("lr is -1, expected a finite value of at least 0");
    assert_null(ht_optim_sgd(ht_value_tensors(2, twice), 1, NULL));
    assert_message("parameter 1 is in the list twice");
    assert_null(ht_optim_sgd(ht_value_tensors(1, &integers), 1, NULL));
    assert_message("parameter 0 is int32, expected float32 or float64");
    assert_null(ht_optim_sgd(ht_value_tensors(1, &shared), 1, NULL));
    assert_message("parameter 0 is a read-only view");
    assert_null(ht_optim_sgd(ht_value_list(), 1, NULL));
    assert_message("parameters is empty, expected");
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_optimizer, cmocka_unit_test(test_golden),
              cmocka_unit_test(test_strided_parameter),
              cmocka_unit_test(test_zero_grad_and_absent_gradients),
              cmocka_unit_test(test_state_and_lr),
              cmocka_unit_test(test_centered_rmsprop_of_equal_gradients),
              cmocka_unit_test(test_misuse));
