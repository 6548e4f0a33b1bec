/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* The adaptive log-softmax gives PyTorch's outputs, losses and gradients. */
#include "golden/parametrizations.h"
#include "nn/nn_test.h"

static void assert_values(ht_tensor *x, const double *expected)
{
    ht_tensor *y = ht_array(expected, ht_tensor_ndim(x), ht_tensor_shape(x), HT_FLOAT64, HT_LOCAL);

    assert_true(ht_item(ht_max(ht_abs(ht_sub(ht_detach(x), y)), HT_NONE)) <= 1e-12);
}

static void fill(const char *name, ht_tensor *x, void *seed)
{
    (void)name;
    ht_copy_(ht_detach(x),
             ht_detach(nn_leaf(++*(int *)seed, ht_tensor_ndim(x), ht_tensor_shape(x), HT_LOCAL)));
}

static ht_module *filled(ht_module *layer)
{
    int seed = 0;

    ht_module_to_dtype(layer, HT_FLOAT64);
    ht_module_named_parameters(layer, fill, &seed);
    return layer;
}

static ht_module *two_clusters(void)
{
    return ht_nn_adaptive_log_softmax_with_loss_ext(8, 10, HT_SHAPE(3, 6), 2, false);
}

static ht_tensor *targets(void)
{
    return ht_array((int64_t[]){0, 9, 3, 4, 1, 6}, HT_SHAPE(6), HT_INT64, HT_LOCAL);
}

static ht_tensor *item(const ht_value *map, const char *key)
{
    return ht_value_as_tensor(ht_value_get(map, key));
}

static ht_value *run(ht_module *layer, ht_tensor *x, ht_tensor *target)
{
    return ht_forward_value(layer, ht_value_tensors(2, (ht_tensor *[]){x, target}));
}

typedef struct expected {
    const double *output, *loss, *x, *log_prob, *predict;
    const double *parameter[6];
} expected;

static void check(ht_module *layer, expected e)
{
    ht_tensor *x = nn_leaf(9, HT_SHAPE(6, 8), HT_LOCAL), *output, *loss;
    ht_value *result = run(filled(layer), x, targets()), *parameters;

    output = item(result, "output");
    loss = item(result, "loss");
    assert_values(output, e.output);
    assert_values(loss, e.loss);
    ht_backward(ht_add(loss, ht_sum(ht_mul(output, output), HT_NONE)));
    assert_values(ht_tensor_grad(x), e.x);
    parameters = ht_module_parameters(layer);
    for (int i = 0; i < ht_value_count(parameters); i++)
        assert_values(ht_tensor_grad(ht_value_as_tensor(ht_value_at(parameters, i))),
                      e.parameter[i]);
    assert_values(ht_nn_adaptive_log_prob(layer, x), e.log_prob);
    assert_values(ht_astype(ht_nn_adaptive_predict(layer, x), HT_FLOAT64), e.predict);
    ht_release(layer);
}

static void values_are_those_of_pytorch(void **state)
{
    (void)state;
    check(two_clusters(), (expected){adaptive_two_output,
                                     adaptive_two_loss,
                                     adaptive_two_x,
                                     adaptive_two_log_prob,
                                     adaptive_two_predict,
                                     {adaptive_two_0, adaptive_two_1, adaptive_two_2,
                                      adaptive_two_3, adaptive_two_4}});
    check(ht_nn_adaptive_log_softmax_with_loss_ext(8, 10, HT_SHAPE(5), 4, true),
          (expected){adaptive_bias_output,
                     adaptive_bias_loss,
                     adaptive_bias_x,
                     adaptive_bias_log_prob,
                     adaptive_bias_predict,
                     {adaptive_bias_0, adaptive_bias_1, adaptive_bias_2, adaptive_bias_3}});
}

/* One sample without a batch, and a cluster without rows. */
static void one_sample_leaves_clusters_empty(void **state)
{
    ht_module *layer = filled(two_clusters()), *copy = ht_module_clone(layer);
    ht_tensor *x = nn_leaf(9, HT_SHAPE(6, 8), HT_LOCAL);
    ht_tensor *first = ht_getitem(x, HT_KEY(0));
    ht_value *result = run(copy, first, ht_zeros(0, NULL, HT_INT32, HT_LOCAL));

    (void)state;
    assert_int_equal(ht_tensor_ndim(item(result, "output")), 0);
    assert_values(item(result, "output"), adaptive_two_output);
    assert_int_equal(ht_backward(item(result, "loss")), HT_SUCCESS);
    assert_true(
        ht_item(ht_norm(ht_tensor_grad(ht_module_find_parameter(copy, "tail.1.0.weight")))) == 0);
    ht_release(layer);
    ht_release(copy);
}

static void a_wrapper_averages_all_gradients(void **state)
{
    ht_module *layer = filled(two_clusters()), *wrapper;
    ht_tensor *x = ht_detach(nn_leaf(9, HT_SHAPE(6, 8), HT_LOCAL));

    (void)state;
    wrapper = ht_nn_data_parallel(layer, HT_COMM_WORLD, NULL, true);
    assert_int_equal(ht_backward(item(run(wrapper, x, targets()), "loss")), HT_SUCCESS);
    assert_non_null(ht_tensor_grad(ht_module_find_parameter(layer, "tail.1.1.weight")));
    assert_values(ht_nn_adaptive_log_prob(wrapper, x), adaptive_two_log_prob);
    ht_release(wrapper);
    ht_release(layer);
}

/* On the last rank, either the inputs are refused, or the head's loss. The second cluster exchanges, and
 * the others would wait for this rank until the deadline. */
static void an_error_on_one_rank_is_told_to_clusters(void **state)
{
    const bool fails = ht_test_rank == ht_test_size - 1;
    ht_tensor *x = ht_detach(nn_leaf(9, HT_SHAPE(6, 4), HT_LOCAL));

    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        ht_module *layer = filled(
            ht_nn_adaptive_log_softmax_with_loss_ext(4, 10, HT_SHAPE(3, 6), 2, false));
        ht_tensor *wrong = refused ? ht_zeros(HT_SHAPE(5), HT_INT64, HT_LOCAL) : ht_neg(targets());
        ht_module *norm = ht_nn_sync_batch_norm(4, NULL, HT_COMM_WORLD);

        ht_module_to_dtype(norm, HT_FLOAT64);
        assert_int_equal(ht_module_replace(ht_module_find(layer, "tail"), "1", norm), HT_SUCCESS);
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
        ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
        assert_null(run(layer, x, fails ? wrong : targets()));
        assert_int_equal(ht_error_get(NULL), !fails    ? HT_ERR_STATE
                                             : refused ? HT_ERR_SHAPE
                                                       : HT_ERR_ARGUMENT);
        ht_error_clear();
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
        ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
        assert_non_null(run(layer, x, targets()));
        ht_release(layer);
    }
}

static void wrong_arguments_are_refused(void **state)
{
    ht_module *layer = ht_nn_adaptive_log_softmax_with_loss(8, 10, HT_SHAPE(3)), *relu;
    ht_tensor *x = ht_ones(HT_SHAPE(6, 8), HT_FLOAT32, HT_LOCAL);

    (void)state;
    relu = ht_nn_relu();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_nn_adaptive_log_softmax_with_loss(8, 10, HT_SHAPE(3, 3)));
    nn_assert_error("ht_nn_adaptive_log_softmax_with_loss: cutoffs are (3, 3), expected increasing "
                    "numbers from 1 to n_classes - 1 = 9");
    assert_null(ht_nn_adaptive_log_softmax_with_loss(8, 10, HT_SHAPE(10)));
    ht_error_clear();
    assert_null(ht_nn_adaptive_log_softmax_with_loss(8, 10, 0, NULL));
    ht_error_clear();
    assert_null(ht_nn_adaptive_log_softmax_with_loss(8, 10, HT_SHAPE(3, 6)));
    ht_error_clear(); /* 8 / 4^2 is below 1 */
    assert_null(ht_nn_adaptive_log_softmax_with_loss(0, 10, HT_SHAPE(3)));
    nn_assert_error("ht_nn_adaptive_log_softmax_with_loss: in_features is 0, expected at least 1");
    assert_null(run(layer, x, ht_zeros(HT_SHAPE(5), HT_INT64, HT_LOCAL)));
    assert_int_equal(ht_error_get(NULL), HT_ERR_SHAPE);
    ht_error_clear();
    assert_null(ht_nn_adaptive_log_prob(relu, x));
    nn_assert_error("ht_nn_adaptive_log_prob: module is ReLU, expected AdaptiveLogSoftmaxWithLoss");
    assert_null(ht_nn_adaptive_predict(layer, ht_ones(HT_SHAPE(6, 7), HT_FLOAT32, HT_LOCAL)));
    nn_assert_error("ht_nn_adaptive_predict: x is (6, 7), expected (N, 8)");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(layer);
    ht_release(relu);
}

HT_TEST_SUITE(test_adaptive_log_softmax, cmocka_unit_test(values_are_those_of_pytorch),
              cmocka_unit_test(one_sample_leaves_clusters_empty),
              cmocka_unit_test(a_wrapper_averages_all_gradients),
              cmocka_unit_test(an_error_on_one_rank_is_told_to_clusters),
              cmocka_unit_test(wrong_arguments_are_refused));
