/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* A wrapper for each submodule, against one rank on all rows: one loss through two of them, and a
 * generator and a discriminator that take turns. Also: which passes are exchanged, names, and
 * misuse. */
#include "data_parallel_test.h"
#include "nn/parallel/data/data_parallel.h"

enum { PAIR_VALUES = IN * IN + IN + OUT * IN + OUT };

struct pair {
    ht_module *first, *second; /* IN -> IN, IN -> OUT */
    ht_tensor *loose;          /* NULL, or a parameter of the root */
};

static ht_tensor *pair_forward(ht_module *self, ht_tensor *x)
{
    struct pair *pair = ht_module_data(self);

    return ht_log_softmax(ht_forward(pair->second, ht_tanh(ht_forward(pair->first, x))), 1);
}

static const ht_module_type pair_type = {.name = "pair", .forward = pair_forward};

static ht_module *new_pair(void)
{
    ht_module *self = ht_module_new(sizeof(struct pair), &pair_type);
    struct pair *pair = ht_module_data(self);

    ht_nn_seed(5);
    ht_module_add(self, "first", &pair->first, ht_nn_linear(IN, IN));
    ht_module_add(self, "second", &pair->second, ht_nn_linear(IN, OUT));
    ht_module_to_dtype(self, HT_FLOAT64);
    return self;
}

/* All rows on one rank, or this rank's part of them. */
static void my_rows(bool alone, int64_t rows, int64_t *first, int64_t *count)
{
    *first = 0;
    *count = rows;
    if (!alone)
        ht_comm_chunk(HT_COMM_WORLD, rows, ht_test_rank, first, count);
}

static void wrap_both(ht_module *net, ht_optimizer *const optimizers[2], bool blocking)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();

    options.blocking = blocking;
    options.first_bucket_mb = options.bucket_cap_mb = 1e-4;
    assert_int_equal(ht_nn_data_parallel_separate(net, HT_COMM_WORLD, 2, optimizers, &options),
                     HT_SUCCESS);
}

static void train_jointly(bool alone, bool blocking, double values[PAIR_VALUES])
{
    ht_module *net = new_pair();
    struct pair *pair = ht_module_data(net);
    ht_optimizer *both[] = {new_optimizer(pair->first, ADAM), new_optimizer(pair->second, SGD)};

    if (!alone)
        wrap_both(net, both, blocking);
    for (int step = 0; step < 6; step++) {
        ht_scope *scope = ht_scope_open();
        int64_t first, count;

        my_rows(alone, 9 + step, &first, &count);
        ht_optimizer_zero_grad(both[0]);
        ht_optimizer_zero_grad(both[1]);
        assert_int_equal(backward_rows(net, 100 * step + first, count), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(both[0]), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(both[1]), HT_SUCCESS);
        ht_scope_close(scope);
    }
    ht_module_named_parameters(net, collect_values, &values);
    ht_release(net);
    ht_release(both[0]);
    ht_release(both[1]);
}

static double pair_distance(const double a[PAIR_VALUES], const double b[PAIR_VALUES])
{
    double most = 0;

    for (int i = 0; i < PAIR_VALUES; i++)
        most = fmax(most, isnan(a[i]) ? INFINITY : fabs(a[i] - b[i]) / (1 + fabs(b[i])));
    return most;
}

static void test_one_loss_through_two_wrappers(void **state)
{
    double expected[PAIR_VALUES], values[2][PAIR_VALUES];

    (void)state;
    train_jointly(true, false, expected);
    for (int blocking = 0; blocking < 2; blocking++) {
        train_jointly(false, blocking, values[blocking]);
        assert_true(pair_distance(values[blocking], expected) <= 1e-12);
    }
    assert_memory_equal(values[0], values[1], sizeof values[0]);
}

/* `first` generates, `second` judges. Each turn of the judge's leaves the generator out. */
static void train_in_turns(bool alone, bool freeze, double values[PAIR_VALUES])
{
    ht_module *net = new_pair();
    struct pair *pair = ht_module_data(net);
    ht_optimizer *both[] = {new_optimizer(pair->first, ADAM), new_optimizer(pair->second, SGD)};
    ht_optim_wrapper *generator = ht_optim_wrapper_new(both[0], NULL);
    ht_optim_wrapper *judge = ht_optim_wrapper_new(both[1], NULL);

    if (!alone)
        wrap_both(net, both, false);
    for (int step = 0; step < 6; step++) {
        ht_scope *scope = ht_scope_open();
        int64_t first, count;
        ht_tensor *noise, *real, *fake;

        my_rows(alone, 12, &first, &count);
        noise = batch_rows(100 * step + first, count);
        real = ht_mul_scalar(batch_rows(1000 + 100 * step + first, count), 2);

        ht_optim_wrapper_begin(judge, pair->second);
        fake = ht_detach(ht_forward(pair->first, noise));
        assert_int_equal(
            ht_optim_wrapper_update_params(
                judge, ht_sub(ht_mean(ht_tanh(ht_forward(pair->second, fake)), HT_NONE),
                              ht_mean(ht_tanh(ht_forward(pair->second, real)), HT_NONE))),
            HT_SUCCESS);

        if (freeze)
            ht_module_requires_grad(pair->second, false);
        ht_optim_wrapper_begin(generator, pair->first);
        fake = ht_forward(pair->first, noise);
        assert_int_equal(
            ht_optim_wrapper_update_params(
                generator, ht_neg(ht_mean(ht_tanh(ht_forward(pair->second, fake)), HT_NONE))),
            HT_SUCCESS);
        if (freeze)
            ht_module_requires_grad(pair->second, true);
        else
            ht_optimizer_zero_grad(both[1]);
        ht_scope_close(scope);
    }
    if (!alone) {
        assert_int_equal(ht__dp_of(pair->first)->reducer->passes, 6);
        assert_int_equal(ht__dp_of(pair->second)->reducer->passes, freeze ? 6 : 12);
    }
    ht_module_named_parameters(net, collect_values, &values);
    ht_release(generator);
    ht_release(judge);
    ht_release(net);
    ht_release(both[0]);
    ht_release(both[1]);
}

static void test_turns_exchange_only_what_the_loss_reaches(void **state)
{
    double expected[PAIR_VALUES], values[PAIR_VALUES];

    (void)state;
    for (int freeze = 0; freeze < 2; freeze++) {
        train_in_turns(true, freeze, expected);
        train_in_turns(false, freeze, values);
        assert_true(pair_distance(values, expected) <= 1e-12);
    }
}

/* A wrapped part at rest passes gradients on, and has no pass of its own: its missing gradients are
 * not an error. A part of what a wrapper holds cannot rest alone. */
static void a_wrapped_part_at_rest_passes_gradients_on(void **state)
{
    ht_module *net = new_pair(), *dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    ht_tensor *x = batch_rows(0, 2);

    (void)state;
    assert_int_equal(ht_module_requires_grad(dp, false), HT_SUCCESS);
    ht_tensor_set_requires_grad(x, true);
    assert_int_equal(ht_backward(ht_sum(ht_narrow(ht_forward(dp, x), 1, 0, 1), HT_NONE)),
                     HT_SUCCESS);
    assert_non_null(ht_tensor_grad(x));
    assert_int_equal(ht_data_parallel_drain(dp), HT_SUCCESS);
    assert_int_equal(ht__dp_of(dp)->reducer->passes, 0);
    ht_module_requires_grad(dp, true);
    backward_rows(dp, 0, 2);
    assert_int_equal(ht__dp_of(dp)->reducer->passes, 1);

    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_requires_grad(ht_module_find(net, "first"), false), HT_ERR_STATE);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(dp);
    ht_release(net);
}

static void add_name(const char *name, ht_tensor *x, void *names)
{
    (void)x;
    strcat(strcat(names, name), " ");
}

static void wrapping_submodules_keeps_names(void **state)
{
    char before[256] = "", after[256] = "";
    ht_module *net = new_pair();
    struct pair *pair = ht_module_data(net);
    ht_tensor *weight = ht_module_find_parameter(net, "second.weight");
    ht_optimizer *both[] = {new_optimizer(pair->first, SGD), new_optimizer(pair->second, SGD)};

    (void)state;
    ht_module_named_parameters(net, add_name, before);
    wrap_both(net, both, true);
    ht_module_named_parameters(net, add_name, after);
    assert_string_equal(after, before);
    assert_ptr_equal(ht_module_find_parameter(net, "second.weight"), weight);
    assert_non_null(ht__dp_of(ht_module_find(net, "second")));
    ht_release(net);
    ht_release(both[0]);
    ht_release(both[1]);
}

static void test_misuse(void **state)
{
    ht_module *net = new_pair(), *other = new_pair();
    struct pair *pair = ht_module_data(net);
    ht_optimizer *foreign = new_optimizer(other, SGD), *spanning = new_optimizer(net, SGD);
    double zero = 0;
    int64_t one = 1;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_nn_data_parallel_separate(net, HT_COMM_WORLD, 1, &foreign, NULL);
    assert_message("ht_nn_data_parallel_separate: optimizers[0] holds no parameter of the module");
    ht_nn_data_parallel_separate(net, HT_COMM_WORLD, 1, &spanning, NULL);
    assert_message("of the 4 parameters of the SGD optimizer, 2 are not the module's");
    assert_null(ht__dp_of(pair->first));
    ht_module_add_parameter(net, "loose", &pair->loose,
                            ht_array(&zero, 1, &one, HT_FLOAT64, HT_LOCAL));
    ht_nn_data_parallel_separate(net, HT_COMM_WORLD, 0, NULL, NULL);
    assert_message("parameter loose is not in a submodule");
    assert_int_equal(ht_nn_spectral_norm(net, "loose"), HT_SUCCESS);
    ht_nn_data_parallel_separate(net, HT_COMM_WORLD, 0, NULL, NULL);
    assert_message("parameter loose is not in a submodule");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(foreign);
    ht_release(spanning);
    ht_release(net);
    ht_release(other);
}

/* Each wrapper would average the gradient of a weight that is registered in two modules. */
static void a_parameter_has_one_wrapper(void **state)
{
    ht_module *net = new_pair(), *other = new_pair(), *dp;
    ht_tensor *weight = ht_module_find_parameter(net, "first.weight");

    (void)state;
    ht_module_add_parameter(ht_module_find(net, "second"), "tied", NULL, weight);
    ht_module_add_parameter(ht_module_find(other, "second"), "tied", NULL, weight);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_nn_data_parallel_separate(net, HT_COMM_WORLD, 0, NULL, NULL), HT_ERR_STATE);
    assert_message("parameter tied belongs to another data-parallel wrapper");
    assert_null(ht__dp_of(ht_module_find(net, "first")));
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, NULL, true);
    assert_non_null(dp);
    assert_null(ht_nn_data_parallel(other, HT_COMM_WORLD, NULL, true));
    assert_message("parameter second.tied belongs to another data-parallel wrapper");
    ht_release(dp);
    dp = ht_nn_data_parallel(other, HT_COMM_WORLD, NULL, true);
    assert_non_null(dp);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(dp);
    ht_release(net);
    ht_release(other);
}

/* The weights of a loss that two wrappers share have to agree. */
static void test_weights_that_differ(void **state)
{
    ht_module *net = new_pair();
    struct pair *pair = ht_module_data(net);
    ht_optimizer *both[] = {new_optimizer(pair->first, SGD), new_optimizer(pair->second, SGD)};
    ht_tensor *loss;

    (void)state;
    wrap_both(net, both, false);
    ht_data_parallel_set_weight(pair->second, 3);
    loss = ht_mean(ht_forward(net, batch_rows(0, 2)), HT_NONE);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_backward(loss), HT_ERR_STATE);
    assert_message("in the weight of this pass (2 and 3 rows)");
    ht_release(net); /* reports to the other ranks, whose loss may be right */
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_error_clear();
    ht_release(both[0]);
    ht_release(both[1]);
}

/* A wrapper of a new pair, without an optimizer. */
static ht_module *wrap_alone(ht_module *net, ht_averaging averaging, int accumulation_steps)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();

    options.averaging = averaging;
    options.accumulation_steps = accumulation_steps;
    return ht_nn_data_parallel_ext(net, HT_COMM_WORLD, NULL, &options);
}

/* Batches of 2 and 3 rows through one wrapper each, in one loss. */
static ht_tensor *loss_of_both(ht_module *const models[2])
{
    ht_tensor *first = ht_forward(models[0], batch_rows(0, 2));
    ht_tensor *second = ht_forward(models[1], batch_rows(4, 3));

    return ht_add(ht_mean(first, HT_NONE), ht_mean(second, HT_NONE));
}

static double first_gradient(ht_module *net)
{
    return ht_item(
        ht_sum(ht_square(ht_tensor_grad(ht_module_find_parameter(net, "first.weight"))), HT_NONE));
}

/* Rows do not count in plain means and sums; all ranks have the same ones here. */
static void test_weights_that_do_not_count(void **state)
{
    static const ht_averaging averages[] = {HT_AVERAGE_MEAN, HT_AVERAGE_SUM};
    ht_module *alone[2] = {new_pair(), new_pair()};

    (void)state;
    assert_int_equal(ht_backward(loss_of_both(alone)), HT_SUCCESS);
    for (int a = 0; a < 2; a++) {
        const double factor = averages[a] == HT_AVERAGE_SUM ? ht_test_size : 1;
        ht_module *nets[2] = {new_pair(), new_pair()}, *dp[2];

        for (int i = 0; i < 2; i++)
            dp[i] = wrap_alone(nets[i], averages[a], 1);
        assert_int_equal(ht_backward(loss_of_both(dp)), HT_SUCCESS);
        for (int i = 0; i < 2; i++) {
            const double expected = factor * factor * first_gradient(alone[i]);

            assert_int_equal(ht_data_parallel_drain(dp[i]), HT_SUCCESS);
            assert_true(fabs(first_gradient(nets[i]) - expected) <= 1e-12 * expected);
        }
        for (int i = 0; i < 2; i++) {
            ht_release(dp[i]);
            ht_release(nets[i]);
        }
    }
    ht_release(alone[0]);
    ht_release(alone[1]);
}

/* The mean over the passes of a step is in the seed, too. */
static void test_accumulations_that_differ(void **state)
{
    ht_module *nets[2] = {new_pair(), new_pair()};
    ht_module *dp[2] = {wrap_alone(nets[0], HT_AVERAGE_MEAN, 1),
                        wrap_alone(nets[1], HT_AVERAGE_MEAN, 2)};
    ht_tensor *loss = loss_of_both(dp);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_backward(loss), HT_ERR_STATE);
    assert_message("differ in their averaging, in accumulation_steps or in the weight");
    for (int i = 0; i < 2; i++) {
        ht_release(dp[i]);
        ht_release(nets[i]);
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_error_clear();
}

HT_TEST_SUITE(test_data_parallel_separate, cmocka_unit_test(test_one_loss_through_two_wrappers),
              cmocka_unit_test(test_turns_exchange_only_what_the_loss_reaches),
              cmocka_unit_test(a_wrapped_part_at_rest_passes_gradients_on),
              cmocka_unit_test(wrapping_submodules_keeps_names), cmocka_unit_test(test_misuse),
              cmocka_unit_test(a_parameter_has_one_wrapper),
              cmocka_unit_test(test_weights_that_differ),
              cmocka_unit_test(test_weights_that_do_not_count),
              cmocka_unit_test(test_accumulations_that_differ));
