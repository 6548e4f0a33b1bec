/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The weight of a rank's batch, if the inputs of forward do not show it: a constant of one element
 * comes before the rows. */
#include "data_parallel_test.h"

struct scaled {
    ht_module *net;
};

static ht_value *scaled_forward(ht_module *self, ht_value *inputs)
{
    struct scaled *scaled = ht_module_data(self);
    ht_tensor *scale = ht_value_as_tensor(ht_value_at(inputs, 0));
    ht_tensor *x = ht_value_as_tensor(ht_value_at(inputs, 1));

    return ht_value_tensor(ht_forward(scaled->net, ht_mul(scale, x)));
}

static const ht_module_type scaled_type = {.name = "Scaled", .forward_value = scaled_forward};

static ht_module *new_scaled(void)
{
    ht_module *self = ht_module_new(sizeof(struct scaled), &scaled_type);
    struct scaled *scaled = ht_module_data(self);

    ht_module_add(self, "net", &scaled->net, new_net(3));
    return self;
}

/* This rank's part of 12 rows. */
static ht_status scaled_pass(ht_module *dp, bool set_weight)
{
    ht_value *inputs = ht_value_list();
    int64_t first, count, one[] = {1};
    double scale = 1;
    ht_tensor *y;

    ht_comm_chunk(HT_COMM_WORLD, 12, ht_test_rank, &first, &count);
    ht_value_append(inputs, ht_value_tensor(ht_array(&scale, 1, one, HT_FLOAT64, HT_LOCAL)));
    ht_value_append(inputs, ht_value_tensor(batch_rows(first, count)));
    if (set_weight)
        assert_int_equal(ht_data_parallel_set_weight(dp, (double)count), HT_SUCCESS);
    y = ht_value_as_tensor(ht_forward_value(dp, inputs));
    return ht_backward(ht_nll_loss(y, batch_classes(first, count), HT_MEAN));
}

static void test_a_weight_for_inputs_that_disagree(void **state)
{
    struct run run = {.kind = SGD, .steps = 1};
    ht_module *net = new_scaled();
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_module *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    double values[VALUES], expected[VALUES];

    (void)state;
    assert_int_equal(scaled_pass(dp, true), HT_SUCCESS);
    ht_optimizer_step(optimizer);
    train_alone(&run, expected);
    read_parameters(net, values);
    assert_true(distance(values, expected) <= 1e-12);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
}

/* Averages that are not weighted have no use for it. */
static void test_a_mean_needs_no_weight(void **state)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *net = new_scaled(), *dp;

    (void)state;
    options.averaging = HT_AVERAGE_MEAN;
    dp = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, NULL, &options);
    assert_int_equal(scaled_pass(dp, false), HT_SUCCESS);
    ht_release(dp);
    ht_release(net);
}

/* A rank may be alone with such inputs. */
static void misuse_no_weight_for_inputs_that_disagree(void **state)
{
    ht_module *net = new_scaled(), *dp;
    const char *message;
    char expected[160];

    (void)state;
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, false);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(scaled_pass(dp, false), HT_ERR_STATE);
    ht_error_get(&message);
    snprintf(expected, sizeof expected,
             "ht_backward: the inputs of forward have 1 and %d rows (axis 0); give the "
             "number of samples",
             12 / ht_test_size);
    assert_non_null(strstr(message, expected));
    ht_release(dp);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_error_clear();
    ht_release(net);
}

static ht_value *joined_forward(ht_module *self, ht_value *inputs)
{
    ht_module **net = ht_module_data(self);
    ht_tensor *both[] = {ht_value_as_tensor(ht_value_at(inputs, 0)),
                         ht_value_as_tensor(ht_value_at(inputs, 1))};

    return ht_value_tensor(ht_forward(*net, ht_concatenate(2, both, 0)));
}

static const ht_module_type joined_type = {.name = "joined", .forward_value = joined_forward};

/* The gradient of a batch in two inputs, or in two forward passes; `first` rows come first. */
static void gradient_of_parts(ht_averaging averaging, bool passes, int64_t first, double grad[OUT])
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *self = ht_module_new(sizeof(ht_module *), &joined_type), *dp;
    ht_module **net = ht_module_data(self);
    ht_tensor *none = ht_narrow(batch_rows(0, 1), 0, 0, 0);
    ht_tensor *in[] = {first > 0 ? batch_rows(0, first) : none,
                       first < 4 ? batch_rows(first, 4 - first) : none};
    ht_value *outputs[2];
    ht_tensor *y;

    ht_module_add(self, "net", net, new_net(3));
    options.averaging = averaging;
    dp = ht_nn_data_parallel_ext(self, HT_COMM_WORLD, NULL, &options);
    for (int i = 0; i < 2; i++)
        outputs[i] = passes || i == 0
                         ? ht_forward_value(
                               dp, ht_value_tensors(2, passes ? (ht_tensor *[]){in[i], none} : in))
                         : NULL;
    y = ht_value_as_tensor(outputs[0]);
    if (passes)
        y = ht_concatenate(2, (ht_tensor *[]){y, ht_value_as_tensor(outputs[1])}, 0);
    assert_int_equal(ht_backward(ht_nll_loss(y, batch_classes(0, 4), HT_MEAN)), HT_SUCCESS);
    y = ht_tensor_grad(ht_module_find_parameter(self, "net.shift"));
    assert_non_null(y);
    memcpy(grad, ht_test_data(y), OUT * sizeof *grad);
    ht_release(dp);
    ht_release(self);
}

/* A rank whose batch is in another input, or in another forward pass, has rows. */
static void a_first_or_last_part_without_rows(void **state)
{
    double grad[OUT], expected[OUT];

    (void)state;
    for (int averaging = HT_AVERAGE_MEAN; averaging <= HT_AVERAGE_SUM; averaging++) {
        for (int passes = 0; passes < 2; passes++) {
            gradient_of_parts(averaging, passes, 2, expected);
            for (int64_t first = 0; first <= 4; first += 4) {
                gradient_of_parts(averaging, passes, first, grad);
                for (int i = 0; i < OUT; i++)
                    assert_true(fabs(grad[i] - expected[i]) <= 1e-12);
            }
        }
    }
}

/* Some parameters by name: those of fc2, or the others. */
static ht_value *list_of(ht_module *net, bool fc2)
{
    ht_value *list = ht_value_list();
    const char *const names[] = {"shift", "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"};

    for (int i = 0; i < PARAMETERS; i++) {
        if ((i > 2) == fc2)
            ht_value_append(list, ht_value_tensor(ht_module_find_parameter(net, names[i])));
    }
    return list;
}

/* Some rows a step: this rank takes its part, or all of them. */
static void pass_of(ht_module *model, int step, bool alone)
{
    int64_t rows = 7 + 3 * (int64_t)step, first = 0, count = rows;

    if (!alone)
        ht_comm_chunk(HT_COMM_WORLD, rows, ht_test_rank, &first, &count);
    assert_int_equal(backward_rows(model, 100 * step + first, count), HT_SUCCESS);
}

/* fc2's optimizer is the only one: the other gradients are never zeroed. */
static void train_partly(bool alone, bool own, bool blocking, double values[VALUES])
{
    struct run run = {.own_gradients = own, .blocking = blocking};
    ht_module *net = new_net(3), *model = net;
    ht_optimizer *optimizer = ht_optim_sgd(list_of(net, true), 0.5, NULL);

    if (!alone)
        model = wrap(net, HT_COMM_WORLD, optimizer, &run);
    for (int step = 0; step < 5; step++) {
        ht_optimizer_zero_grad(optimizer);
        pass_of(model, step, alone);
        ht_optimizer_step(optimizer);
    }
    read_parameters(net, values);
    if (!alone)
        ht_release(model);
    ht_release(net);
    ht_release(optimizer);
}

static void test_an_optimizer_of_a_part(void **state)
{
    double expected[VALUES], values[VALUES];

    (void)state;
    train_partly(true, false, false, expected);
    for (int way = 0; way < 4; way++) {
        train_partly(false, way % 2, way / 2, values);
        assert_true(distance(values, expected) <= 1e-12);
    }
}

/* gradient *= factor: a mean of means, as alone there is no weight. */
static void scale_gradients(ht_value *list, double factor)
{
    ht_set_grad_enabled(false);
    for (int i = 0; i < ht_value_count(list); i++)
        ht_mul_scalar_(ht_tensor_grad(ht_value_as_tensor(ht_value_at(list, i))), factor);
    ht_set_grad_enabled(true);
}

/* One optimizer steps after each pass, the other after each second one: its gradient is the mean of
 * all samples of both. A third pass of them is left out by the first one's steps. */
static void train_in_turns(bool alone, bool blocking, double values[VALUES])
{
    ht_module *net = new_net(3), *model = net;
    ht_value *slow_list = list_of(net, false);
    ht_optimizer *fast = ht_optim_sgd(list_of(net, true), 0.5, NULL);
    ht_optimizer *slow = ht_optim_sgd(slow_list, 0.5, NULL);
    ht_data_parallel_options options = ht_data_parallel_options_default();

    options.optimizers = &slow;
    options.optimizer_count = 1;
    options.blocking = blocking;
    if (!alone)
        model = ht_nn_data_parallel_ext(net, HT_COMM_WORLD, fast, &options);
    for (int step = 0; step < 6; step++) {
        double rows = 7 + 3 * step, before = rows - 3;
        bool second = step % 2 == 1;

        if (alone && second) /* rows g of this pass, and those of the one before */
            scale_gradients(slow_list, before / rows);
        pass_of(model, step, alone);
        if (alone && second)
            scale_gradients(slow_list, rows / (rows + before));
        ht_optimizer_step(fast);
        ht_optimizer_zero_grad(fast);
        if (!second)
            continue;
        ht_optimizer_step(slow);
        ht_optimizer_zero_grad(slow);
    }
    read_parameters(net, values);
    if (!alone)
        ht_release(model);
    ht_release(net);
    ht_release(fast);
    ht_release(slow);
}

static void test_optimizers_that_zero_in_turns(void **state)
{
    double expected[VALUES], values[VALUES];

    (void)state;
    train_in_turns(true, false, expected);
    for (int blocking = 0; blocking < 2; blocking++) {
        train_in_turns(false, blocking, values);
        assert_true(distance(values, expected) <= 1e-12);
    }
}

/* The last rank has data for two steps of five: in a join it shadows, without it gives no rows. */
static void train_short(bool joining, double values[VALUES])
{
    ht_module *net = new_net(3);
    ht_optimizer *optimizer = ht_optim_sgd(list_of(net, true), 0.5, NULL);
    ht_module *model = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, false);
    bool last = ht_test_rank == ht_test_size - 1;

    if (joining)
        assert_int_equal(ht_data_parallel_join_begin(model, NULL), HT_SUCCESS);
    for (int step = 0; step < 5; step++) {
        bool out = step > 1 && last && ht_test_size > 1;

        if (out && joining)
            break;
        ht_optimizer_zero_grad(optimizer);
        if (out)
            assert_int_equal(ht_data_parallel_backward(model, NULL), HT_SUCCESS);
        else
            assert_int_equal(backward_rows(model, 50 * step + 9 * ht_test_rank, 3 + ht_test_rank),
                             HT_SUCCESS);
        ht_optimizer_step(optimizer);
    }
    if (joining)
        assert_int_equal(ht_data_parallel_join_end(model), HT_SUCCESS);
    read_parameters(net, values);
    ht_release(model);
    ht_release(net);
    ht_release(optimizer);
}

static void weights_of_part_of_the_passes_in_a_join(void **state)
{
    double expected[VALUES], values[VALUES];

    (void)state;
    train_short(false, expected);
    train_short(true, values);
    assert_true(distance(values, expected) <= 1e-12);
}

HT_TEST_SUITE(test_data_parallel_weight, cmocka_unit_test(test_an_optimizer_of_a_part),
              cmocka_unit_test(test_optimizers_that_zero_in_turns),
              cmocka_unit_test(weights_of_part_of_the_passes_in_a_join),
              cmocka_unit_test(test_a_weight_for_inputs_that_disagree),
              cmocka_unit_test(test_a_mean_needs_no_weight),
              cmocka_unit_test(a_first_or_last_part_without_rows),
              cmocka_unit_test(misuse_no_weight_for_inputs_that_disagree));
