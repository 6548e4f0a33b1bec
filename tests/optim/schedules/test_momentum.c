/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Schedules that move the momentum to 0 and back, against PyTorch: no state is lost on the way. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>

#include "golden/momentum.h"
#include "ht.h"

enum { STEPS = 12, SIZE = 3 };

static ht_optimizer *sgd(ht_value *p, ht_sgd_options options)
{
    options.size = sizeof options;
    return ht_optim_sgd(p, 0.01, &options);
}

static ht_optimizer *make_sgd(ht_value *p)
{
    return sgd(p, (ht_sgd_options){.momentum = 0.9, .dampening = 0.3});
}

static ht_optimizer *make_nesterov(ht_value *p)
{
    return sgd(p, (ht_sgd_options){.momentum = 0.9, .nesterov = true});
}

static ht_optimizer *make_late(ht_value *p)
{
    return sgd(p, (ht_sgd_options){.dampening = 0.5});
}

static ht_optimizer *make_decayed(ht_value *p)
{
    return sgd(p, (ht_sgd_options){.momentum = 0.9, .weight_decay = 0.1});
}

static ht_optimizer *rmsprop(ht_value *p, double eps, bool centered)
{
    ht_rmsprop_options options = ht_rmsprop_options_default();

    options.momentum = 0.9;
    options.eps = eps;
    options.centered = centered;
    return ht_optim_rmsprop(p, 0.01, &options);
}

static ht_optimizer *make_rmsprop(ht_value *p)
{
    return rmsprop(p, 1e-4, false);
}

static ht_optimizer *make_centered(ht_value *p)
{
    return rmsprop(p, 1e-2, true);
}

static ht_optimizer *make_adam(ht_value *p)
{
    ht_adam_options options = ht_adam_options_default();

    options.eps = 1e-4;
    return ht_optim_adam(p, 0.01, &options);
}

static ht_scheduler *cyclic(ht_optimizer *o, double base, double top)
{
    ht_cyclic_lr_options options = ht_cyclic_lr_options_default();

    options.step_size_up = 2;
    options.base_momentum = base;
    options.max_momentum = top;
    return ht_optim_cyclic_lr(o, 0.01, 0.05, &options);
}

static ht_scheduler *falls_first(ht_optimizer *o)
{
    return cyclic(o, 0, 0.9);
}

static ht_scheduler *rises_first(ht_optimizer *o)
{
    return cyclic(o, 0.9, 0);
}

static ht_scheduler *one_cycle(ht_optimizer *o)
{
    ht_one_cycle_lr_options options = ht_one_cycle_lr_options_default();

    options.pct_start = 0.5;
    options.linear = true;
    options.base_momentum = 0;
    return ht_optim_one_cycle_lr(o, 0.05, 14, &options);
}

static const struct row {
    const char *name;
    ht_optimizer *(*make)(ht_value *p);
    ht_scheduler *(*schedule)(ht_optimizer *o);
    const double *wanted; /* the parameter after each step */
} rows[] = {
    {"SGD", make_sgd, falls_first, golden_sgd},
    {"Nesterov", make_nesterov, falls_first, golden_nesterov},
    {"SGD, late", make_late, rises_first, golden_late},
    {"one cycle", make_decayed, one_cycle, golden_one_cycle},
    {"RMSprop", make_rmsprop, falls_first, golden_rmsprop},
    {"centered RMSprop", make_centered, falls_first, golden_centered},
    {"Adam", make_adam, falls_first, golden_adam},
};

/* A parameter, its optimizer, and its schedule. */
struct training {
    ht_tensor *p;
    ht_optimizer *o;
    ht_scheduler *s;
};

static struct training begin(const struct row *row)
{
    static const double start[SIZE] = {1, -2, 0.5};
    struct training t = {.p = ht_array(start, HT_SHAPE(SIZE), HT_FLOAT64, HT_LOCAL)};

    t.o = row->make(ht_value_tensors(1, &t.p));
    t.s = row->schedule(t.o);
    return t;
}

static void end(struct training *t)
{
    ht_release(t->s);
    ht_release(t->o);
}

static void step(struct training *t, int number)
{
    ht_tensor_set_grad(t->p, ht_sub_scalar(ht_mul_scalar(ht_detach(t->p), 1 + number % 3), 0.5));
    assert_int_equal(ht_optimizer_step(t->o), HT_SUCCESS);
    assert_int_equal(ht_scheduler_step(t->s), HT_SUCCESS);
}

static void assert_wanted(const struct row *row, const struct training *t, int number)
{
    const double *values = ht_test_data(t->p);

    for (int i = 0; i < SIZE; i++) {
        const double wanted = row->wanted[number * SIZE + i];

        if (!(fabs(values[i] - wanted) <= 1e-14))
            fail_msg("%s, step %d: %a, expected %a", row->name, number, values[i], wanted);
    }
}

static void test_golden(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct training t = begin(&rows[r]);

        for (int number = 0; number < STEPS; number++) {
            step(&t, number);
            assert_wanted(&rows[r], &t, number);
        }
        end(&t);
    }
}

/* Each state goes over to an optimizer that has made other steps: where the momentum is 0, where it
 * has just begun, and all between. */
static void test_resumed(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        for (int from = 0; from <= 8; from++) {
            struct training t = begin(&rows[r]), next = begin(&rows[r]);

            for (int number = 0; number < from; number++)
                step(&t, number);
            for (int number = 0; number < 3; number++)
                step(&next, number);
            ht_copy_(next.p, t.p);
            assert_int_equal(ht_optimizer_load_state_dict(next.o, ht_optimizer_state_dict(t.o)),
                             HT_SUCCESS);
            assert_int_equal(ht_scheduler_load_state_dict(next.s, ht_scheduler_state_dict(t.s)),
                             HT_SUCCESS);
            for (int number = from; number < STEPS; number++) {
                step(&next, number);
                assert_wanted(&rows[r], &next, number);
            }
            end(&t);
            end(&next);
        }
    }
}

/* At a momentum of 0 the buffer is there, and in the state. A value that is not a tensor is
 * refused. */
static void test_a_buffer_at_rest(void **state)
{
    struct training t = begin(&rows[0]);
    ht_tensor *buffer;
    ht_value *saved, *entry;
    double before[SIZE];

    (void)state;
    step(&t, 0);
    step(&t, 1);
    buffer = ht_optimizer_state(t.o, 0, "momentum_buffer");
    memcpy(before, ht_test_data(buffer), sizeof before);
    step(&t, 2);
    assert_ptr_equal(ht_optimizer_state(t.o, 0, "momentum_buffer"), buffer);
    assert_memory_equal(ht_test_data(buffer), before, sizeof before);
    saved = ht_optimizer_state_dict(t.o);
    entry = ht_value_at(ht_value_get(saved, "state"), 0);
    assert_non_null(ht_value_as_tensor(ht_value_get(entry, "momentum_buffer")));
    ht_value_set(entry, "momentum_buffer", ht_value_number(1));
    HT_TEST_EXPECT_ERROR(ht_optimizer_load_state_dict(t.o, saved), HT_ERR_FORMAT,
                         "the state of parameter 0 has no tensor \"momentum_buffer\"");
    end(&t);
}

/* One step of both parameters with gradients of 1. */
static ht_status step_of_ones(ht_optimizer *o, ht_tensor *p[2])
{
    for (int i = 0; i < 2; i++)
        ht_tensor_set_grad(p[i], ht_ones_like(ht_detach(p[i])));
    return ht_optimizer_step(o);
}

/* A step that is refused has made a buffer that no update has used. Saved and loaded, it still is
 * new: the first momentum is the gradient, undamped, as in PyTorch. */
static void test_a_buffer_that_was_not_used(void **state)
{
    ht_tensor *p[2] = {ht_ones(HT_SHAPE(2), HT_FLOAT64, HT_LOCAL),
                       ht_ones(HT_SHAPE(2), HT_FLOAT64, HT_LOCAL)};
    ht_optimizer *o = sgd(ht_value_tensors(1, p), (ht_sgd_options){.dampening = 0.5});
    ht_sgd_options later = {.size = sizeof later, .momentum = 0.9};
    ht_value *saved;

    (void)state;
    ht_optim_sgd_add_param_group(o, ht_value_tensors(1, p + 1), 0.01, &later);
    assert_int_equal(step_of_ones(o, p), HT_SUCCESS);
    saved = ht_optimizer_state_dict(o);
    ht_value_set(ht_value_at(ht_value_get(saved, "param_groups"), 0), "momentum",
                 ht_value_number(0.9));
    assert_int_equal(ht_optimizer_load_state_dict(o, saved), HT_SUCCESS);
    for (int i = 0; i < 2; i++) {
        ht_tensor_set_grad(p[1], NULL);
        ht_tensor_set_(p[1], ht_ones(HT_SHAPE(2), i == 0 ? HT_FLOAT32 : HT_FLOAT64, HT_LOCAL));
        if (i == 0) {
            ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
            assert_int_equal(step_of_ones(o, p), HT_ERR_STATE);
            ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
            ht_error_clear();
        }
    }
    assert_int_equal(ht_optimizer_load_state_dict(o, ht_optimizer_state_dict(o)), HT_SUCCESS);
    assert_int_equal(step_of_ones(o, p), HT_SUCCESS);
    ht_test_expect(p[0], (double[]){0.98, 0.98}, 1e-15);
    ht_test_expect(ht_optimizer_state(o, 0, "momentum_buffer"), (double[]){1, 1}, 0);
    ht_release(o);
}

HT_TEST_SUITE(test_momentum, cmocka_unit_test(test_golden), cmocka_unit_test(test_resumed),
              cmocka_unit_test(test_a_buffer_at_rest),
              cmocka_unit_test(test_a_buffer_that_was_not_used));
