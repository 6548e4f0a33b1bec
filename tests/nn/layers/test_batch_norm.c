/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "golden/norm.h"
#include "gradcheck.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { ROW = 12 };
static const int64_t shape[4] = {2, 3, 2, 2};

static ht_tensor *image(int batch, bool channels_last)
{
    double values[24];
    ht_tensor *x;

    for (int i = 0; i < 24; i++)
        values[i] = sin(i + batch) + i / 50.0;
    x = ht_array(values, 4, shape, HT_FLOAT64, HT_LOCAL);
    x = channels_last ? ht_channels_last(x) : x;
    ht_tensor_set_requires_grad(x, true);
    return x;
}

struct expected {
    const double *y, *dx, *dweight, *dbias, *mean, *var, *eval;
};

static void check_buffer(const char *name, ht_tensor *x, void *user)
{
    const struct expected *e = user;

    if (strcmp(name, "num_batches_tracked") == 0)
        ht_test_expect(x, (double[]){3}, 0);
    else
        ht_test_expect(x, strcmp(name, "running_mean") == 0 ? e->mean : e->var, 1e-13);
}

/* Sums the shares of a gradient. */
static ht_tensor *sum_of(ht_tensor *share, bool over_ranks)
{
    ht_tensor *sum = ht_copy(ht_detach(share));

    if (over_ranks)
        assert_int_equal(ht_allreduce(HT_COMM_WORLD, ht_detach(share), sum, HT_OP_SUM), HT_SUCCESS);
    return sum;
}

/* `sync`: on all ranks, each with its part of the batch of two, which is empty on some. */
static void check(bool cumulative, bool channels_last, bool sync, const struct expected *e)
{
    ht_scope *scope = ht_scope_open();
    ht_batch_norm_options options = ht_batch_norm_options_default();
    ht_tensor *x = NULL, *y = NULL, *weight, *bias, *seed;
    int64_t start = 0, rows = shape[0];
    double cosines[24];
    ht_module *layer;

    for (int i = 0; i < 24; i++)
        cosines[i] = cos(i);
    if (sync)
        ht_comm_chunk(HT_COMM_WORLD, shape[0], ht_test_rank, &start, &rows);
    seed = ht_narrow(ht_array(cosines, 4, shape, HT_FLOAT64, HT_LOCAL), 0, start, start + rows);
    options.cumulative_average = cumulative;
    layer = sync ? ht_nn_sync_batch_norm(3, &options, HT_COMM_WORLD)
                 : ht_nn_batch_norm2d(3, &options);
    ht_module_to_dtype(layer, HT_FLOAT64);
    weight = ht_module_find_parameter(layer, "weight");
    bias = ht_module_find_parameter(layer, "bias");
    ht_set_grad_enabled(false);
    ht_copy_(weight, ht_array((double[]){0.5, 1, -2}, 1, &shape[1], HT_FLOAT64, HT_LOCAL));
    ht_copy_(bias, ht_array((double[]){0, 0.25, 1}, 1, &shape[1], HT_FLOAT64, HT_LOCAL));
    ht_set_grad_enabled(true);
    for (int batch = 0; batch < 3; batch++) {
        x = ht_detach(ht_narrow(image(batch, channels_last), 0, start, start + rows));
        ht_tensor_set_requires_grad(x, true);
        ht_module_zero_grad(layer);
        y = ht_forward(layer, x);
        assert_int_equal(ht_backward(ht_sum(ht_mul(y, seed), HT_NONE)), HT_SUCCESS);
    }
    ht_test_expect(y, e->y + start * ROW, 1e-13);
    assert_true(rows == 0 || ht_tensor_is_channels_last(y) == channels_last);
    ht_test_expect(ht_tensor_grad(x), e->dx + start * ROW, 1e-13);
    ht_test_expect(sum_of(ht_tensor_grad(weight), sync), e->dweight, 1e-13);
    ht_test_expect(sum_of(ht_tensor_grad(bias), sync), e->dbias, 1e-13);
    ht_module_named_buffers(layer, check_buffer, (void *)e);
    ht_module_eval(layer);
    ht_test_expect(ht_forward(layer, x), e->eval + start * ROW, 1e-13);
    ht_release(layer);
    ht_scope_close(scope);
}

static void values_and_gradients_are_pytorchs(void **state)
{
    (void)state;
    const struct expected usual = {golden_norm_y,     golden_norm_dx,   golden_norm_dweight,
                                   golden_norm_dbias, golden_norm_mean, golden_norm_var,
                                   golden_norm_eval};
    const struct expected cumulative = {
        golden_norm_cumulative_y,     golden_norm_cumulative_dx,   golden_norm_cumulative_dweight,
        golden_norm_cumulative_dbias, golden_norm_cumulative_mean, golden_norm_cumulative_var,
        golden_norm_cumulative_eval};

    for (int channels_last = 0; channels_last < 2; channels_last++) {
        for (int sync = 0; sync < 2; sync++) {
            check(false, channels_last, sync, &usual);
            check(true, channels_last, sync, &cumulative);
        }
    }
}

static ht_tensor *apply(ht_tensor *inputs[], void *training)
{
    const int64_t channels[1] = {3};
    ht_tensor *mean = ht_full(1, channels, 0.3, HT_FLOAT64, HT_NONE);
    ht_tensor *var = ht_full(1, channels, 1.7, HT_FLOAT64, HT_NONE);

    return ht_batch_norm(inputs[0], mean, var, inputs[1], inputs[2], *(bool *)training, 0.1, 1e-5);
}

/* A batch that is split over ranks has one set of statistics. */
static void gradients_are_those_of_finite_differences(void **state)
{
    (void)state;
    for (int training = 0; training < 2; training++) {
        bool is_training = training;
        ht_tensor *inputs[3] = {ht_test_randn(HT_SHAPE(5, 3, 2), HT_FLOAT64, 0, 1),
                                ht_test_randn(HT_SHAPE(3), HT_FLOAT64, HT_NONE, 2),
                                ht_test_randn(HT_SHAPE(3), HT_FLOAT64, HT_NONE, 3)};

        for (int i = 0; i < 3; i++)
            ht_tensor_set_requires_grad(inputs[i], true);
        ht_test_gradcheck(apply, 3, inputs, &is_training, 1e-7);
    }
}

static void a_large_mean_costs_no_digits(void **state)
{
    (void)state;
    const int64_t rows[2] = {1000, 2};
    ht_tensor *x = ht_test_randn(2, rows, HT_FLOAT32, 0, 4), *far = ht_add_scalar(x, 1024);
    ht_tensor *y = ht_batch_norm(ht_sub_scalar(far, 1024), NULL, NULL, NULL, NULL, true, 0.1, 1e-5);

    ht_test_expect_same(ht_batch_norm(far, NULL, NULL, NULL, NULL, true, 0.1, 1e-5), y, 1e-4);
}

static void without_running_statistics_evaluation_uses_the_batch(void **state)
{
    (void)state;
    ht_batch_norm_options options = ht_batch_norm_options_default();
    ht_tensor *x = ht_detach(image(0, false)), *y;
    ht_module *layer;

    options.track_running_stats = false;
    options.affine = false;
    layer = ht_nn_batch_norm2d(3, &options);
    y = ht_forward(layer, x);
    ht_module_eval(layer);
    ht_test_expect_same(ht_forward(layer, x), y, 0);
    ht_release(layer);
}

/* For SyncBatchNorm, too. */
static void the_bias_can_be_left_out(void **state)
{
    (void)state;
    ht_batch_norm_options options = ht_batch_norm_options_default();
    ht_tensor *x = ht_astype(ht_detach(image(0, false)), HT_FLOAT32), *y;
    ht_module *layer, *plain = ht_nn_batch_norm2d(3, NULL);

    options.bias = false;
    layer = ht_nn_batch_norm2d(3, &options);
    y = ht_forward(plain, x);
    for (int sync = 0; sync < 2; sync++) {
        if (sync)
            layer = ht_nn_convert_sync_batchnorm(layer, HT_COMM_SELF);
        assert_int_equal(ht_module_parameter_count(layer), 3);
        assert_null(ht_module_find_parameter(layer, "bias"));
        ht_test_expect_same(ht_forward(layer, x), y, 0);
    }
    ht_release(layer);
    ht_release(plain);
}

/* A user-defined module whose layer is a field. */
struct block {
    ht_module *norm;
};

static ht_tensor *block_forward(ht_module *self, ht_tensor *x)
{
    struct block *block = ht_module_data(self);

    return ht_relu(ht_forward(block->norm, x));
}

static const ht_module_type block_type = {.name = "block", .forward = block_forward};

static void conversion_shares_tensors_and_finds_fields(void **state)
{
    (void)state;
    ht_module *model = ht_module_new(sizeof(struct block), &block_type);
    struct block *block = ht_module_data(model);
    ht_tensor *weight;

    ht_module_add(model, "norm", &block->norm, ht_nn_batch_norm2d(3, NULL));
    weight = ht_module_find_parameter(model, "norm.weight");
    ht_tensor_set_requires_grad(weight, false);
    ht_module_eval(block->norm);

    assert_int_equal(ht_module_child_count(model), 1);
    model = ht_nn_convert_sync_batchnorm(model, HT_COMM_WORLD);
    assert_string_equal(ht_module_get_type(block->norm)->name, "SyncBatchNorm");
    assert_ptr_equal(ht_module_find_parameter(model, "norm.weight"), weight);
    assert_false(ht_tensor_requires_grad(weight));
    assert_false(ht_module_is_training(block->norm));
    assert_true(ht_module_is_training(model));

    model = ht_nn_revert_sync_batchnorm(model);
    assert_string_equal(ht_module_get_type(block->norm)->name, "BatchNorm2d");
    assert_ptr_equal(ht_module_find_parameter(model, "norm.weight"), weight);
    ht_release(model);
}

/* The same tensors would be those of the last forward. */
static void parametrized_layers_are_not_converted(void **state)
{
    (void)state;
    ht_module *layers[] = {ht_nn_batch_norm2d(3, NULL), ht_nn_batch_norm2d(3, NULL)};
    ht_module *model = ht_nn_sequential(2, layers), *sync;

    ht_nn_spectral_norm(layers[1], "weight");
    model = ht_nn_revert_sync_batchnorm(model);
    assert_non_null(model); /* nothing to replace */
    ht_retain(model);
    HT_TEST_EXPECT_ERROR(ht_nn_convert_sync_batchnorm(model, HT_COMM_WORLD), HT_ERR_STATE,
                         "ht_nn_convert_sync_batchnorm: 1 is parametrized, expected a layer "
                         "without parametrizations");
    assert_ptr_equal(ht_module_find(model, "0"), layers[0]);
    ht_release(model);

    sync = ht_nn_sync_batch_norm(3, NULL, HT_COMM_WORLD);
    ht_nn_spectral_norm(sync, "weight");
    HT_TEST_EXPECT_ERROR(ht_nn_revert_sync_batchnorm(sync), HT_ERR_STATE,
                         "ht_nn_revert_sync_batchnorm: SyncBatchNorm is parametrized");
}

static void keep_line(ht_log_level level, const char *line, void *kept)
{
    (void)level;
    snprintf(kept, 256, "%s", line);
}

static void conversion_of_nothing_is_said(void **state)
{
    (void)state;
    char line[256] = "";
    ht_module *model = ht_nn_linear(2, 3), *norm = ht_nn_batch_norm1d(2, NULL);

    ht_log_set_sink(keep_line, line);
    norm = ht_nn_convert_sync_batchnorm(norm, HT_COMM_WORLD);
    assert_string_equal(line, "");
    assert_ptr_equal(ht_nn_convert_sync_batchnorm(model, HT_COMM_WORLD), model);
    ht_log_set_sink(NULL, NULL);
    if (ht_test_rank == 0)
        assert_non_null(strstr(line, "ht_nn_convert_sync_batchnorm: the module has no BatchNorm"));
    ht_release(norm);
    ht_release(model);
}

static void a_wrong_number_of_channels_is_named(void **state)
{
    (void)state;
    ht_module *layer = ht_nn_batch_norm2d(4, NULL);
    ht_tensor *x = ht_array((float[24]){0}, 4, shape, HT_FLOAT32, HT_LOCAL);

    HT_TEST_EXPECT_ERROR(ht_forward(layer, x), HT_ERR_SHAPE,
                         "ht_nn_batch_norm2d: x is (2, 3, 2, 2), expected 4 axes with 4 channels");
    ht_release(layer);
}

/* The output of a layer in training, after a backward pass. */
static ht_tensor *train_on(ht_module *layer, ht_tensor *x)
{
    ht_tensor *y;

    ht_module_to_dtype(layer, HT_FLOAT64);
    ht_tensor_set_requires_grad(x, true);
    y = ht_forward(layer, x);
    assert_int_equal(ht_backward(ht_sum(ht_mul(y, ht_mul(y, y)), HT_NONE)), HT_SUCCESS);
    return y;
}

/* An element at another depth is one more place of the same channel. */
static void a_volume_is_normalised_as_its_slices_side_by_side(void **state)
{
    (void)state;
    const int64_t volume[5] = {2, 3, 2, 4, 5}, plane[4] = {2, 3, 8, 5};
    ht_module *deep = ht_nn_batch_norm3d(3, NULL), *flat = ht_nn_batch_norm2d(3, NULL);
    ht_tensor *x = ht_tensor_local(ht_test_randn(5, volume, HT_FLOAT64, HT_NONE, 6));
    ht_tensor *z = ht_copy(ht_reshape(x, 4, plane));
    ht_tensor *y = train_on(deep, x), *expected = train_on(flat, z);

    ht_test_expect_same(ht_reshape(y, 4, plane), expected, 1e-13);
    ht_test_expect_same(ht_reshape(ht_tensor_grad(x), 4, plane), ht_tensor_grad(z), 1e-13);
    ht_module_eval(deep);
    ht_module_eval(flat);
    ht_test_expect_same(ht_reshape(ht_forward(deep, x), 4, plane), ht_forward(flat, z), 1e-13);
    HT_TEST_EXPECT_ERROR(ht_forward(deep, z), HT_ERR_SHAPE,
                         "ht_nn_batch_norm3d: x is (2, 3, 8, 5), expected 5 axes with 3 channels");
    ht_release(deep);
    ht_release(flat);
}

static void check_untouched(const char *name, ht_tensor *x, void *user)
{
    (void)user;
    if (strcmp(name, "num_batches_tracked") == 0)
        ht_test_expect(x, (double[]){1}, 0);
    else if (strcmp(name, "running_mean") == 0)
        ht_test_expect(x, (double[]){0, 0, 0}, 0);
    else
        ht_test_expect(x, (double[]){1, 1, 1}, 0);
}

/* As in PyTorch: the batch is counted, and nothing else changes. Loaders hand such batches out. */
static void a_batch_of_no_rows_leaves_the_statistics(void **state)
{
    (void)state;
    const int64_t none[4] = {0, 3, 2, 2};
    ht_batch_norm_options options = ht_batch_norm_options_default();

    options.eps = 0;
    for (int sync = 0; sync < 2; sync++) {
        ht_scope *scope = ht_scope_open();
        ht_module *layer = sync ? ht_nn_sync_batch_norm(3, &options, HT_COMM_WORLD)
                                : ht_nn_batch_norm2d(3, &options);
        ht_tensor *x = ht_array(none, 4, none, HT_FLOAT32, HT_LOCAL), *y;

        ht_tensor_set_requires_grad(x, true);
        y = ht_forward(layer, x);
        assert_int_equal(ht_tensor_size(y), 0);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        assert_int_equal(ht_tensor_size(ht_tensor_grad(x)), 0);
        ht_test_expect(ht_tensor_grad(ht_module_find_parameter(layer, "weight")),
                       (double[]){0, 0, 0}, 0);
        ht_module_named_buffers(layer, check_untouched, NULL);
        ht_release(layer);
        ht_scope_close(scope);
    }
    assert_int_equal(ht_tensor_size(ht_batch_norm(ht_zeros(4, none, HT_FLOAT32, 0), NULL, NULL,
                                                  NULL, NULL, true, 0.1, 0)),
                     0);
}

static void running_statistics_that_share_memory_are_refused(void **state)
{
    ht_tensor *x = ht_rand(HT_SHAPE(4, 3), HT_FLOAT32, HT_LOCAL);
    ht_tensor *shared = ht_broadcast_to(ht_zeros(HT_SHAPE(1), HT_FLOAT32, HT_LOCAL), HT_SHAPE(3));

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_batch_norm(x, shared, shared, NULL, NULL, true, 0.1, 1e-5),
                         HT_ERR_ARGUMENT, "ht_batch_norm: running_mean is a read-only view");
}

static void one_running_statistic_follows_alone(void **state)
{
    ht_tensor *x = ht_array((const float[]){1, 3}, HT_SHAPE(2, 1), HT_FLOAT32, HT_LOCAL);
    ht_tensor *mean = ht_zeros(HT_SHAPE(1), HT_FLOAT32, HT_LOCAL), *var = ht_copy(mean);

    (void)state;
    assert_non_null(ht_batch_norm(x, mean, NULL, NULL, NULL, true, 0.5, 0));
    assert_non_null(ht_batch_norm(x, NULL, var, NULL, NULL, true, 0.5, 0));
    ht_test_expect(mean, (const double[]){1}, 0);
    ht_test_expect(var, (const double[]){1}, 0);
}

/* On a device whose memory the host cannot read: the same values and running statistics. */
static void statistics_of_a_device(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    (void)state;
    ht_module *here = ht_nn_batch_norm2d(3, NULL), *there = ht_nn_batch_norm2d(3, NULL);
    ht_device *dummy = ht_device_get("dummy:0"), *cpu = ht_device_get("cpu");
    ht_tensor *x = ht_astype(ht_detach(image(0, false)), HT_FLOAT32), *y;
    bool was = ht_set_grad_enabled(false);

    assert_int_equal(ht_module_to_device(there, dummy), HT_SUCCESS);
    y = ht_forward(there, ht_to_device(x, dummy));
    ht_test_expect_same(ht_to_device(y, cpu), ht_forward(here, x), 1e-6);
    assert_int_equal(ht_module_to_device(there, cpu), HT_SUCCESS);
    ht_module_eval(here);
    ht_module_eval(there);
    ht_test_expect_same(ht_forward(there, x), ht_forward(here, x), 1e-6);
    ht_set_grad_enabled(was);
    ht_release(there);
    ht_release(here);
}

HT_TEST_SUITE(test_batch_norm, cmocka_unit_test(statistics_of_a_device),
              cmocka_unit_test(values_and_gradients_are_pytorchs),
              cmocka_unit_test(gradients_are_those_of_finite_differences),
              cmocka_unit_test(a_large_mean_costs_no_digits),
              cmocka_unit_test(without_running_statistics_evaluation_uses_the_batch),
              cmocka_unit_test(the_bias_can_be_left_out),
              cmocka_unit_test(running_statistics_that_share_memory_are_refused),
              cmocka_unit_test(one_running_statistic_follows_alone),
              cmocka_unit_test(conversion_shares_tensors_and_finds_fields),
              cmocka_unit_test(parametrized_layers_are_not_converted),
              cmocka_unit_test(conversion_of_nothing_is_said),
              cmocka_unit_test(a_wrong_number_of_channels_is_named),
              cmocka_unit_test(a_volume_is_normalised_as_its_slices_side_by_side),
              cmocka_unit_test(a_batch_of_no_rows_leaves_the_statistics));
