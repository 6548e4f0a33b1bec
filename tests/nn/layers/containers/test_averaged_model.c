/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Averaged weights, with numbers of PyTorch 2.15, and recomputed running statistics. */
#include <math.h>

#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { UPDATES = 4 };

static ht_module *new_net(void)
{
    ht_module *net = ht_nn_sequential(
        2, (ht_module *[]){ht_nn_linear_ext(2, 1, false), ht_nn_batch_norm1d(1, NULL)});

    ht_module_to_dtype(net, HT_FLOAT64);
    return net;
}

static void add(ht_tensor *x, const double values[], ht_dtype dtype)
{
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *v = ht_array(values, ht_tensor_ndim(x), ht_tensor_shape(x), HT_FLOAT64, HT_LOCAL);

    assert_int_equal(ht_add_(x, ht_astype(v, dtype), 1), HT_SUCCESS);
    ht_set_grad_enabled(was);
}

/* The steps of the reference: 0.3f and -0.7f, then the number that is added before each update. */
static void step(ht_module *net, int i)
{
    add(ht_module_find_parameter(net, "0.weight"), (double[]){0.37 * i, -0.11 * i * i}, HT_FLOAT64);
    add(ht_module_find_buffer(net, "1.running_mean"), (double[]){0.13 * (i + 1)}, HT_FLOAT64);
    add(ht_module_find_buffer(net, "1.num_batches_tracked"), (double[]){3}, HT_INT64);
}

static const struct {
    double decay;
    bool use_buffers;
    double weight[2], mean, batches;
} expected[] = {
    {-1, false, {0x1.399999cccccccp+0, -0x1.3fffffccccccdp+0}, 0x1.4cccccccccccdp+0, 12},
    {-1, true, {0x1.399999cccccccp+0, -0x1.3fffffccccccdp+0}, 0x1.4cccccccccccdp-1, 6},
    {0.9, false, {0x1.4dc1e7fce3150p-1, -0x1.d32766e6afccep-1}, 0x1.4cccccccccccdp+0, 12},
    {0.3, true, {0x1.0e21ea4f2cf95p+1, -0x1.e68294672324cp+0}, 0x1.1a14cec41dd1ap+0, 10},
};

enum { PARAMETERS = 3, BUFFERS = 3 }; /* of the net */

/* A sum with weights 3 and `updates`; counts its calls. */
static ht_tensor *weigh(ht_tensor *average, ht_tensor *value, int64_t updates, void *calls)
{
    assert_false(ht_is_grad_enabled());
    ++*(int *)calls;
    return ht_div_scalar(ht_add(ht_mul_scalar(average, 3), ht_mul_scalar(value, (double)updates)),
                         (double)updates + 3);
}

static ht_tensor *of_one_element(ht_tensor *average, ht_tensor *value, int64_t updates, void *user)
{
    (void)average, (void)value, (void)updates, (void)user;
    return ht_ones(HT_SHAPE(1, 1, 1), HT_FLOAT32, HT_LOCAL);
}

/* The numbers of PyTorch with the same avg_fn. */
static void a_function_averages_as_in_pytorch(void **state)
{
    ht_averaged_model_options options = ht_averaged_model_options_default();
    ht_module *net = new_net(), *averaged;
    int calls = 0;

    (void)state;
    options.average = weigh;
    options.user = &calls;
    options.use_buffers = true;
    ht_copy_(ht_detach(ht_module_find_parameter(net, "0.weight")),
             ht_array((double[]){0.3f, -0.7f}, HT_SHAPE(1, 2), HT_FLOAT64, HT_LOCAL));
    averaged = ht_nn_averaged_model(net, &options);
    for (int i = 0; i < UPDATES; i++) {
        step(net, i);
        assert_int_equal(ht_averaged_model_update_parameters(averaged, net), HT_SUCCESS);
    }
    assert_int_equal(calls, (UPDATES - 1) * (PARAMETERS + BUFFERS));
    ht_test_expect(ht_module_find_parameter(averaged, "module.0.weight"),
                   (double[]){0x1.a8e56074bc6a8p+0, -0x1.96978d1cac083p+0}, 0);
    ht_test_expect(ht_module_find_buffer(averaged, "module.1.running_mean"),
                   (double[]){0x1.ba9fbe76c8b44p-1}, 0);
    ht_test_expect(ht_module_find_buffer(averaged, "module.1.num_batches_tracked"), (double[]){8},
                   0);
    ht_release(averaged);
    ht_release(net);
}

static ht_tensor *no_average(ht_tensor *average, ht_tensor *value, int64_t updates, void *user)
{
    (void)average, (void)value, (void)updates, (void)user;
    return NULL;
}

static void averages_have_the_bits_of_pytorch(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof expected / sizeof *expected; c++) {
        ht_averaged_model_options options = ht_averaged_model_options_default();
        ht_module *net = new_net(), *averaged;
        ht_tensor *weight = ht_module_find_parameter(net, "0.weight");

        options.decay = expected[c].decay;
        options.use_buffers = expected[c].use_buffers;
        ht_copy_(ht_detach(weight),
                 ht_array((double[]){0.3f, -0.7f}, HT_SHAPE(1, 2), HT_FLOAT64, HT_LOCAL));
        averaged = ht_nn_averaged_model(net, &options);
        for (int i = 0; i < UPDATES; i++) {
            step(net, i);
            assert_int_equal(ht_averaged_model_update_parameters(averaged, net), HT_SUCCESS);
        }
        ht_test_expect(ht_module_find_parameter(averaged, "module.0.weight"), expected[c].weight,
                       0);
        ht_test_expect(ht_module_find_buffer(averaged, "module.1.running_mean"), &expected[c].mean,
                       0);
        ht_test_expect(ht_module_find_buffer(averaged, "module.1.num_batches_tracked"),
                       &expected[c].batches, 0);
        ht_test_expect(ht_module_find_buffer(averaged, "n_averaged"), (double[]){UPDATES}, 0);
        ht_release(averaged);
        ht_release(net);
    }
}

/* Each rank averages by itself, and all have the same, because training keeps parameters equal. */
static void a_wrapper_is_looked_through(void **state)
{
    ht_module *net = ht_nn_linear(3, 2), *dp, *averaged;
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
    ht_tensor *x = ht_ones(HT_SHAPE(4, 3), HT_FLOAT32, HT_LOCAL), *first;

    (void)state;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    averaged = ht_nn_averaged_model(dp, NULL);
    first = ht_copy(ht_detach(ht_module_find_parameter(averaged, "module.weight")));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ht_averaged_model_update_parameters(averaged, dp), HT_SUCCESS);
        ht_optimizer_zero_grad(optimizer);
        assert_int_equal(ht_backward(ht_mean(ht_square(ht_forward(dp, x)), HT_NONE)), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
    }
    assert_int_equal(ht_averaged_model_update_parameters(averaged, dp), HT_SUCCESS);
    assert_int_equal(ht_tensor_shape(ht_forward(averaged, x))[1], 2);
    assert_true(
        ht_item(ht_max(
            ht_abs(ht_sub(first, ht_detach(ht_module_find_parameter(averaged, "module.weight")))),
            HT_NONE)) > 0);
    ht_release(dp);
    ht_release(averaged);
    ht_release(optimizer);
    ht_release(net);
}

/* Whether a tensor of this rank has the values of rank 0. */
static bool is_rank_zeros(ht_tensor *x)
{
    ht_tensor *first = ht_copy(ht_detach(x));

    assert_int_equal(ht_bcast(HT_COMM_WORLD, first, 0), HT_SUCCESS);
    return ht_item(ht_sum(ht_abs(ht_sub(first, ht_detach(x))), HT_NONE)) == 0;
}

/* Ranks have the statistics of their own batches until the mode changes to evaluation. */
static void statistics_are_those_of_each_rank_until_evaluation(void **state)
{
    ht_module *net = new_net(), *dp, *averaged;
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);

    (void)state;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    averaged = ht_nn_averaged_model(dp, NULL);
    for (int evaluates = 0; evaluates < 2; evaluates++) {
        ht_tensor *x = ht_test_randn(2, (int64_t[]){4, 2}, HT_FLOAT64, HT_LOCAL,
                                     (uint64_t)ht_test_rank);

        ht_module_train(dp);
        ht_optimizer_zero_grad(optimizer);
        assert_int_equal(ht_backward(ht_mean(ht_square(ht_forward(dp, x)), HT_NONE)), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        if (evaluates)
            ht_module_eval(dp);
        assert_int_equal(ht_averaged_model_update_parameters(averaged, dp), HT_SUCCESS);
        assert_true(is_rank_zeros(ht_module_find_parameter(averaged, "module.0.weight")));
        assert_int_equal(is_rank_zeros(ht_module_find_buffer(averaged, "module.1.running_mean")),
                         evaluates || ht_test_rank == 0);
    }
    ht_release(dp);
    ht_release(averaged);
    ht_release(optimizer);
    ht_release(net);
}

static void other_modules_are_refused(void **state)
{
    ht_averaged_model_options options = ht_averaged_model_options_default();
    ht_module *net = new_net(), *averaged = ht_nn_averaged_model(net, NULL);
    ht_module *other = ht_nn_linear(3, 1),
              *wide = ht_nn_sequential(1, (ht_module *[]){ht_nn_batch_norm1d(2, NULL)});

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_averaged_model_update_parameters(net, net), HT_ERR_ARGUMENT,
                         "averaged is Sequential, expected an AveragedModel");
    HT_TEST_EXPECT_ERROR(ht_averaged_model_update_parameters(averaged, other), HT_ERR_ARGUMENT,
                         "the module has 2 parameters, expected 3");
    HT_TEST_EXPECT_ERROR(ht_averaged_model_update_parameters(NULL, net), HT_ERR_ARGUMENT,
                         "averaged is NULL");
    options.decay = 1.5;
    HT_TEST_EXPECT_ERROR(ht_nn_averaged_model(net, &options), HT_ERR_ARGUMENT,
                         "decay is 1.5, expected -1 or 0 to 1");
    ht_release(averaged);
    options.decay = 0.5;
    options.average = no_average;
    HT_TEST_EXPECT_ERROR(ht_nn_averaged_model(net, &options), HT_ERR_ARGUMENT,
                         "decay is 0.5, expected -1 when average is set");
    options.decay = -1;
    averaged = ht_nn_averaged_model(net, &options);
    assert_int_equal(ht_averaged_model_update_parameters(averaged, net), HT_SUCCESS);
    HT_TEST_EXPECT_ERROR(ht_averaged_model_update_parameters(averaged, net), HT_ERR_ARGUMENT,
                         "the result of average is NULL");
    ht_release(averaged);
    options.average = of_one_element;
    averaged = ht_nn_averaged_model(net, &options);
    assert_int_equal(ht_averaged_model_update_parameters(averaged, net), HT_SUCCESS);
    HT_TEST_EXPECT_ERROR(ht_averaged_model_update_parameters(averaged, net), HT_ERR_SHAPE,
                         "the result of average has shape (1, 1, 1), expected");
    ht_release(averaged);
    averaged = ht_nn_averaged_model(wide, NULL);
    ht_release(wide);
    wide = ht_nn_sequential(1, (ht_module *[]){ht_nn_batch_norm1d(3, NULL)});
    HT_TEST_EXPECT_ERROR(ht_averaged_model_update_parameters(averaged, wide), HT_ERR_SHAPE,
                         "number 0 of the parameters is (3,), expected (2,)");
    ht_release(averaged);
    ht_release(wide);
    ht_release(other);
    ht_release(net);
}

/* The last shape, or the number of buffers, is another one: no tensor moves. */
static void a_refused_update_moves_nothing(void **state)
{
    ht_module *net = ht_nn_sequential(
        2, (ht_module *[]){ht_nn_linear(2, 2), ht_nn_batch_norm1d(2, NULL)});
    ht_module *wide = ht_nn_sequential(
        2, (ht_module *[]){ht_nn_linear(2, 2), ht_nn_batch_norm1d(3, NULL)});
    ht_module *stateless = ht_nn_sequential(
        2, (ht_module *[]){ht_nn_linear(2, 2), ht_nn_layer_norm(HT_SHAPE(2))});
    ht_module *averaged = ht_nn_averaged_model(net, NULL);
    ht_tensor *weight = ht_module_find_parameter(averaged, "module.0.weight");
    ht_tensor *before = ht_copy(ht_detach(weight));
    bool equal = false;

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_averaged_model_update_parameters(averaged, wide), HT_ERR_SHAPE,
                         "number 2 of the parameters is (3,), expected (2,)");
    HT_TEST_EXPECT_ERROR(ht_averaged_model_update_parameters(averaged, stateless), HT_ERR_ARGUMENT,
                         "the module has 0 buffers, expected 3");
    assert_int_equal(ht_equal(ht_detach(weight), before, &equal), HT_SUCCESS);
    assert_true(equal);
    ht_release(averaged);
    ht_release(stateless);
    ht_release(wide);
    ht_release(net);
}

static ht_value *next_batch(void *user)
{
    int *i = user;
    double values[4][2];

    if (*i == 3)
        return NULL;
    for (int j = 0; j < 4; j++) {
        values[j][0] = 0.1 * *i + j * j * 0.3;
        values[j][1] = 1.0 - *i * j;
    }
    ++*i;
    return ht_value_tensor(ht_array(values, HT_SHAPE(4, 2), HT_FLOAT64, HT_LOCAL));
}

static void running_statistics_are_means_over_batches(void **state)
{
    const double mean[] = {0x1.2666666666666p+0, -0x1.fffffffffffffp-2};
    const double var[] = {0x1.7851eb851eb85p+0, 0x1.638e38e38e38fp+1};
    ht_module *layer = ht_nn_batch_norm1d(2, NULL);
    int i = 0;

    (void)state;
    ht_module_to_dtype(layer, HT_FLOAT64);
    ht_fill_(ht_module_find_buffer(layer, "running_mean"), 7);
    ht_module_eval(layer);
    assert_int_equal(ht_update_bn(layer, next_batch, &i), HT_SUCCESS);
    assert_int_equal(i, 3);
    assert_false(ht_module_is_training(layer));
    ht_test_expect(ht_module_find_buffer(layer, "running_mean"), mean, 1e-15);
    ht_test_expect(ht_module_find_buffer(layer, "running_var"), var, 1e-15);
    ht_test_expect(ht_module_find_buffer(layer, "num_batches_tracked"), (double[]){3}, 0);

    /* The momentum is 0.1 again. */
    ht_module_train(layer);
    ht_forward(layer, ht_zeros(HT_SHAPE(4, 2), HT_FLOAT64, HT_LOCAL));
    ht_test_expect(ht_module_find_buffer(layer, "running_mean"),
                   (double[]){0.9 * mean[0], 0.9 * mean[1]}, 1e-15);
    ht_release(layer);
}

static bool is_last(void)
{
    return ht_comm_rank(HT_COMM_WORLD) == ht_comm_size(HT_COMM_WORLD) - 1;
}

/* The last rank has no second batch, after an error. The others wait for its statistics. */
static ht_value *failing_batch(void *user)
{
    int *i = user;

    if (++*i == 2 && is_last()) {
        ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "no batch");
        return NULL;
    }
    return *i > 3 ? NULL : ht_value_tensor(ht_ones(HT_SHAPE(4, 2), HT_FLOAT32, HT_LOCAL));
}

static void a_failed_batch_fails_the_pass(void **state)
{
    ht_module *layer = ht_nn_sync_batch_norm(2, NULL, HT_COMM_WORLD);
    int i = 0;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_update_bn(layer, failing_batch, &i), is_last() ? HT_ERR_IO : HT_ERR_STATE);
    assert_int_equal(i, 2);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(layer);
}

static void pass_after_an_error(ht_module *layer)
{
    int i = 0;

    ht_error_raise(NULL, HT_ERR_IO, "before");
    assert_int_equal(ht_update_bn(layer, next_batch, &i), HT_SUCCESS);
    assert_int_equal(i, 3);
}

static void an_earlier_error_is_not_one_of_the_data(void **state)
{
    ht_module *layer = ht_nn_batch_norm1d(2, NULL);

    (void)state;
    ht_module_to_dtype(layer, HT_FLOAT64);
    HT_TEST_EXPECT_ERROR(pass_after_an_error(layer), HT_ERR_IO, "before");
    ht_release(layer);
}

/* The pass trains all, and each module then has its own mode again. */
static void update_bn_restores_modes(void **state)
{
    for (int training = 0; training < 2; training++) {
        ht_module *layer = ht_nn_batch_norm1d(2, NULL), *other = ht_nn_dropout(0.5);
        ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, layer, other));
        int i = 0;

        ht_module_to_dtype(net, HT_FLOAT64);
        if (training)
            ht_module_eval(other);
        else
            ht_module_eval(net);
        if (!training)
            ht_module_train(other);
        assert_int_equal(ht_update_bn(net, next_batch, &i), HT_SUCCESS);
        assert_int_equal(i, 3);
        assert_int_equal(ht_module_is_training(net), training);
        assert_int_equal(ht_module_is_training(layer), training);
        assert_int_equal(ht_module_is_training(other), !training);
        ht_release(net);
    }
    (void)state;
}

static void update_bn_without_batch_norm_reads_no_batch(void **state)
{
    ht_module *layer = ht_nn_linear(2, 2);
    int i = 0;

    (void)state;
    assert_int_equal(ht_update_bn(layer, next_batch, &i), HT_SUCCESS);
    assert_int_equal(i, 0);
    HT_TEST_EXPECT_ERROR(ht_update_bn(layer, NULL, NULL), HT_ERR_ARGUMENT, "next is NULL");
    ht_release(layer);
}

HT_TEST_SUITE(test_averaged_model, cmocka_unit_test(averages_have_the_bits_of_pytorch),
              cmocka_unit_test(a_function_averages_as_in_pytorch),
              cmocka_unit_test(a_wrapper_is_looked_through),
              cmocka_unit_test(statistics_are_those_of_each_rank_until_evaluation),
              cmocka_unit_test(other_modules_are_refused),
              cmocka_unit_test(a_refused_update_moves_nothing),
              cmocka_unit_test(running_statistics_are_means_over_batches),
              cmocka_unit_test(a_failed_batch_fails_the_pass),
              cmocka_unit_test(an_earlier_error_is_not_one_of_the_data),
              cmocka_unit_test(update_bn_restores_modes),
              cmocka_unit_test(update_bn_without_batch_norm_reads_no_batch));
