/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Graphs without a wrapper next to those of wrappers: a pass does not touch them, and a lost loss
 * is reported in them. */
#include "data_parallel_errors.h"

/* A model in which ranks wait for one another. */
static ht_module *new_waiting(int64_t in, int64_t out)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(in, out),
                                              ht_nn_sync_batch_norm(out, NULL, HT_COMM_WORLD)));

    ht_module_to_dtype(net, HT_FLOAT64);
    return net;
}

/* NaN in rows of weight 0 does not spread, for any other graph that the thread has recorded. */
static void a_graph_of_another_model_does_not_run_worthless_rows(void **state)
{
    const bool worthless = ht_test_size > 1 && ht_test_rank == ht_test_size - 1;
    ht_module *other = new_waiting(IN, OUT), *net = new_net(3);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    ht_tensor *held = ht_forward(other, batch_rows(0, 4)), *x = batch_rows(0, 4);
    ht_value *parameters = ht_module_parameters(net);

    (void)state;
    assert_non_null(held);
    if (worthless) {
        ht_fill_(x, NAN);
        ht_data_parallel_set_weight(dp, 0);
    }
    x = ht_forward(dp, x);
    assert_int_equal(ht_backward(ht_nll_loss(x, batch_classes(0, 4), HT_MEAN)), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
    for (int i = 0; i < ht_value_count(parameters); i++) {
        ht_tensor *gradient = ht_tensor_grad(ht_value_as_tensor(ht_value_at(parameters, i)));

        assert_true(isfinite(ht_item(ht_sum(gradient, HT_NONE))));
    }
    ht_release(dp);
    ht_release(net);
    ht_release(other);
}

/* The loss of a model without a wrapper, which one rank lacks; or of a wrapped model with a part
 * behind the wrapper. */
static void check_lost(bool behind)
{
    const bool fails = ht_test_rank == ht_test_size - 1;
    ht_module *net = new_net(3), *head = new_waiting(behind ? OUT : IN, 3);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    ht_tensor *x = batch_rows(0, 4);

    assert_int_equal(backward_rows(dp, 0, 4), HT_SUCCESS);
    assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
    x = ht_forward(head, behind ? ht_forward(dp, x) : x);
    set_handlers(HT_ERRORS_RETURN);
    if (fails)
        ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "the loss of one rank");
    assert_int_not_equal(ht_backward(fails ? NULL : ht_sum(ht_square(x), HT_NONE)), HT_SUCCESS);
    expect_message(fails ? "the loss of one rank" : "does not take part");
    assert_int_equal(ht_data_parallel_drain(dp), behind ? HT_ERR_IO : HT_SUCCESS);
    ht_error_clear();
    assert_int_equal(ht_error_agree(HT_COMM_WORLD, HT_SUCCESS, "all are here"), HT_SUCCESS);
    set_handlers(HT_ERRORS_ABORT);
    ht_release(dp);
    ht_release(net);
    ht_release(head);
}

static void a_lost_loss_is_told_outside_of_wrappers(void **state)
{
    (void)state;
    check_lost(false);
    check_lost(true);
}

HT_TEST_SUITE(test_data_parallel_others,
              cmocka_unit_test(a_graph_of_another_model_does_not_run_worthless_rows),
              cmocka_unit_test(a_lost_loss_is_told_outside_of_wrappers));
