/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Values that travel in 16 bits or not, and the origin of differences and outer steps. */
#include "daso_test.h"

/* One batch an epoch, in the warm-up or cycling: the mean of what ranks have is rounded there, and
 * not here. */
static void test_16_bits_in_blocking_phases_only(void **state)
{
    static const ht_dtype wires[] = {HT_BFLOAT16, HT_FLOAT16, HT_FLOAT32};

    (void)state;
    for (int w = 0; w < 3; w++) {
        for (int warmup = 0; warmup < 2; warmup++) {
            ht_daso_options o = options_of(warmup, 0, wires[w]);
            struct setting s = set_points(1, HT_FLOAT32, 1, 1, &o);
            bool rounds = warmup == 1 && wires[w] != HT_FLOAT32 && ht_test_size > 1;
            double error;

            ht_fill_(points_of(&s)->first, 1.3 + ht_test_rank / 7.0);
            assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
            error = fabs(value_of(points_of(&s)->first) - 1.3 - (ht_test_size - 1) / 14.0);
            assert_true(rounds ? error > 1e-6 && error < 1e-2 : error < 3e-7);
            end(&s);
        }
    }
}

/* The mean that ends a cycling epoch is what the first difference of the cool-down counts from: of
 * 0.3 + 2^-12, 16 bits would keep no more than 0.3. */
static void test_differences_count_from_the_last_mean(void **state)
{
    ht_daso_options o = options_of(0, 1, HT_BFLOAT16);
    struct setting s = set_points(1, HT_FLOAT32, 1, 1, &o);

    (void)state;
    ht_fill_(points_of(&s)->first, 1.3);
    for (int epoch = 0; epoch < 9; epoch++) {
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
        ht_daso_epoch_loss_logic(s.daso, 1, true);
    }
    assert_int_equal(ht_daso_get_report(s.daso).phase, HT_DASO_COOLDOWN);
    ht_fill_(points_of(&s)->first, 1.3 + ldexp(1, -12));
    ht_daso_step(s.daso);
    assert_true(fabs(value_of(points_of(&s)->first) - 1.3 - ldexp(1, -12)) < 1e-6);
    end(&s);
}

/* In the warm-up the mean is taken as it is. */
static void test_outer_steps_in_cycling_epochs_only(void **state)
{
    ht_daso_options o = options_of(1, 0, HT_FLOAT32);
    struct setting s;

    (void)state;
    o.outer_lr = 0.5;
    o.outer_momentum = 0;
    s = set_points(1, HT_FLOAT64, 1, 1, &o);
    ht_fill_(points_of(&s)->first, 3);
    ht_daso_step(s.daso);
    assert_true(fabs(value_of(points_of(&s)->first) - 3) < 1e-12);
    ht_daso_epoch_loss_logic(s.daso, 1, true);
    ht_fill_(points_of(&s)->first, 5);
    ht_daso_step(s.daso);
    assert_true(fabs(value_of(points_of(&s)->first) - 4) < 1e-12);
    end(&s);
}

/* Groups take turns, and begin with the first after a reset. */
static void groups_take_turns_again_after_a_reset(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(2, HT_FLOAT64, 1, 100, &o);

    (void)state;
    for (int run = 0; run < 2; run++) {
        for (int batch = 0; batch < 5; batch++) {
            ht_daso_step(s.daso);
            if (batch % 4 == 0)
                assert_int_equal(ht_daso_get_report(s.daso).sent, batch / 4 % s.daso->groups.count);
        }
        s.daso->sends = 1;
        assert_int_equal(ht_daso_reset(s.daso), HT_SUCCESS);
    }
    end(&s);
}

/* A schedule moves the momentum to 0 and back: the buffer is averaged all the while. */
static void test_momentum_through_zero(void **state)
{
    ht_daso_options o = options_of(1, 1, HT_FLOAT32);
    ht_sgd_options sgd = ht_sgd_options_default();
    ht_cyclic_lr_options cyclic = ht_cyclic_lr_options_default();
    ht_module *net = new_points(HT_FLOAT64, 1);
    ht_scheduler *schedule;
    struct setting s;

    (void)state;
    o.exchange_momentum = true;
    sgd.momentum = 0.9;
    cyclic.step_size_up = 2;
    cyclic.base_momentum = 0;
    s = set_daso(1, net, ht_optim_sgd(trainable(net), 0.05, &sgd), 3, 10, &o);
    schedule = ht_optim_cyclic_lr(s.optimizer, 0.01, 0.05, &cyclic);
    for (int batch = 0; batch < 10; batch++) {
        ht_tensor *p = points_of(&s)->first;
        double mine, root;

        ht_tensor_set_grad(p, ht_full(p->body->ndim, p->body->shape, batch + ht_test_rank + 1,
                                      HT_FLOAT64, HT_LOCAL));
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
        root = mine = value_of(ht_optimizer_state(s.optimizer, 0, "momentum_buffer"));
        MPI_Bcast(&root, 1, MPI_DOUBLE, 0, ht_comm_mpi(s.comm));
        assert_true(mine == root && mine > 0);
        assert_int_equal(ht_scheduler_step(schedule), HT_SUCCESS);
    }
    ht_release(schedule);
    end(&s);
}

HT_TEST_SUITE(test_daso_exchange, cmocka_unit_test(test_16_bits_in_blocking_phases_only),
              cmocka_unit_test(test_momentum_through_zero),
              cmocka_unit_test(test_differences_count_from_the_last_mean),
              cmocka_unit_test(test_outer_steps_in_cycling_epochs_only),
              cmocka_unit_test(groups_take_turns_again_after_a_reset));
