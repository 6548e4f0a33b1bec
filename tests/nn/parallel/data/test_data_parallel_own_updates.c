/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* A wrapper without an optimizer: the program updates, or does something else with the averages. A
 * pass that fails on one rank fails that call on all ranks, and nothing is updated. */
#include "data_parallel_errors.h"
#include "nn/parallel/daso/daso_test.h"

/* A training that this rank may fail in. */
struct training {
    ht_module *net, *dp;
    ht_optimizer *optimizer;
    bool fails;
    double before[VALUES]; /* the parameters */
};

static ht_tensor *loss_of(ht_module *model, bool fails)
{
    ht_tensor *x = fails ? ht_ones(HT_SHAPE(4, IN + 1), HT_FLOAT64, HT_LOCAL)
                         : batch_rows(4 * ht_test_rank, 4);

    return ht_nll_loss(ht_forward(model, x), batch_classes(4 * ht_test_rank, 4), HT_MEAN);
}

static void run_pass(const struct training *t)
{
    ht_status status = ht_backward(loss_of(t->dp, t->fails));

    assert_int_equal(status, t->fails ? HT_ERR_SHAPE : HT_SUCCESS);
    ht_error_clear();
}

static ht_tensor *shift_of(const struct training *t)
{
    return ((struct net *)ht_module_data(t->net))->shift;
}

static ht_status step(struct training *t)
{
    return ht_optimizer_step(t->optimizer);
}

static ht_status clip(struct training *t)
{
    double norm = ht_clip_grad_norm_(ht_module_parameters(t->net), 1, 2, false);

    return isnan(norm) ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status read_gradient(struct training *t)
{
    return ht_tensor_grad(shift_of(t)) == NULL ? ht_error_get(NULL) : HT_SUCCESS;
}

static ht_status replace_gradient(struct training *t)
{
    return ht_tensor_set_grad(shift_of(t), ht_zeros_like(shift_of(t)));
}

static ht_status (*const uses[])(struct training *) = {step, clip, read_gradient, replace_gradient};

static void begin(struct training *t, ht_optimizer *(*optimizer)(ht_module *net))
{
    t->net = new_net(3);
    t->optimizer = optimizer(t->net);
    t->dp = ht_nn_data_parallel(t->net, HT_COMM_WORLD, NULL, false);
    t->fails = ht_test_rank == ht_test_size - 1;
    read_parameters(t->net, t->before);
    set_handlers(HT_ERRORS_RETURN);
}

/* Nothing was updated. */
static void stop(struct training *t)
{
    double after[VALUES];

    ht_release(t->dp);
    set_handlers(HT_ERRORS_ABORT);
    read_parameters(t->net, after);
    assert_memory_equal(t->before, after, sizeof after);
    ht_release(t->net);
    ht_release(t->optimizer);
}

static ht_optimizer *sgd(ht_module *net)
{
    return new_optimizer(net, SGD);
}

static void every_use_of_a_failed_average_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        struct training t;

        begin(&t, sgd);
        run_pass(&t);
        for (int again = 0; again < 2; again++) {
            assert_int_not_equal(uses[i](&t), HT_SUCCESS);
            expect_message("pass 1: no loss on rank");
        }
        stop(&t);
    }
}

static ht_optimizer *lbfgs(ht_module *net)
{
    return ht_optim_lbfgs(ht_module_parameters(net), 1, NULL);
}

static ht_tensor *evaluate(void *user)
{
    struct training *t = user;
    ht_tensor *loss = loss_of(t->dp, t->fails);

    ht_backward(loss);
    return loss;
}

static void a_failed_average_ends_a_search(void **state)
{
    struct training t;

    (void)state;
    begin(&t, lbfgs);
    assert_int_not_equal(ht_optimizer_step_with(t.optimizer, evaluate, &t, NULL), HT_SUCCESS);
    stop(&t);
}

static double squares_of(ht_tensor *x)
{
    return ht_item(ht_sum(ht_square(x), HT_NONE));
}

static void a_failed_average_ends_a_batch_of_daso(void **state)
{
    (void)state;
    set_handlers(HT_ERRORS_RETURN); /* of the communicators that are made */

    ht_module *net = new_net(3);
    ht_tensor *weight = ht_module_find_parameter(net, "fc2.weight");
    struct setting s = set_daso(ht_test_size, net, new_optimizer(net, SGD), 10, 100, NULL);
    struct training t = {.dp = s.model, .fails = ht_test_rank == ht_test_size - 1};
    const double before = squares_of(weight);

    run_pass(&t);
    assert_int_not_equal(ht_daso_step(s.daso), HT_SUCCESS);
    expect_message("pass 1: no loss on rank");
    assert_true(before > 0 && squares_of(weight) == before);
    end(&s);
    set_handlers(HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_data_parallel_own_updates,
              cmocka_unit_test(every_use_of_a_failed_average_is_an_error),
              cmocka_unit_test(a_failed_average_ends_a_search),
              cmocka_unit_test(a_failed_average_ends_a_batch_of_daso));
