/* ranks 1 2 4 */
/* SPDX-License-Identifier: MIT */
/* Layers: initialisation, dropout, and a small network from end to end. */
#include <string.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static ht_tensor *local_ones(int64_t length)
{
    return ht_full(1, &length, 1.0, HT_FLOAT32, HT_LOCAL);
}

static const float *parameter(ht_module *module, const char *name)
{
    return ht_test_data(ht_module_find_parameter(module, name));
}

/* PyTorch's default: uniform in +-1 / sqrt(fan in), for weight and bias. */
static void assert_uniform(const float *x, int64_t size, double bound)
{
    double sum = 0, squares = 0;

    for (int64_t i = 0; i < size; i++) {
        assert_true(fabs(x[i]) <= bound);
        sum += x[i];
        squares += (double)x[i] * x[i];
    }
    assert_true(fabs(sum / size) < 4 * bound / sqrt(3.0 * size));
    assert_true(fabs(squares / size - bound * bound / 3) < 4 * 0.3 * bound * bound / sqrt(size));
}

static void test_initialisation(void **state)
{
    ht_module *linear = ht_nn_linear(100, 50), *conv = ht_nn_conv2d(16, 32, 5);

    (void)state;
    assert_uniform(parameter(linear, "weight"), 5000, 0.1);
    assert_uniform(parameter(linear, "bias"), 50, 0.1);
    assert_uniform(parameter(conv, "weight"), 32 * 400, 0.05);
    assert_uniform(parameter(conv, "bias"), 32, 0.05);
    ht_release(linear);
    ht_release(conv);
}

static void test_initialisation_is_seeded(void **state)
{
    ht_module *a, *b, *c;
    uint64_t seed, draw, seed_after, draw_after;

    (void)state;
    ht_random_get_state(&seed, &draw);
    ht_nn_seed(5);
    a = ht_nn_linear(7, 3);
    b = ht_nn_linear(7, 3);
    ht_nn_seed(5);
    c = ht_nn_linear(7, 3);
    assert_memory_equal(parameter(a, "weight"), parameter(c, "weight"), 21 * sizeof(float));
    assert_memory_not_equal(parameter(a, "weight"), parameter(b, "weight"), 21 * sizeof(float));
    ht_random_get_state(&seed_after, &draw_after);
    assert_true(seed == seed_after && draw == draw_after); /* the user's generator is his */

    /* The same on all ranks. */
    ht_tensor *weight = ht_copy(ht_detach(ht_module_find_parameter(a, "weight")));
    ht_bcast(HT_COMM_WORLD, weight, 0);
    assert_memory_equal(ht_test_data(weight), parameter(a, "weight"), 21 * sizeof(float));
    ht_release(a);
    ht_release(b);
    ht_release(c);
}

static void test_kaiming_uniform(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(8, 10, 3, 3), HT_FLOAT64, 0);
    const double *data;
    double bound = sqrt(6.0 / 90.0), largest = 0;

    (void)state;
    assert_int_equal(ht_nn_init_kaiming_uniform(x, 0.0), HT_SUCCESS);
    data = ht_test_data(x);
    for (int64_t i = 0; i < ht_tensor_lsize(x); i++)
        largest = fmax(largest, fabs(data[i]));
    assert_true(largest <= bound && largest > 0.9 * bound);
}

/* Between the bounds, up to both of them, and an element's value does not depend on the split. */
static void test_uniform(void **state)
{
    const int64_t shape[] = {50, 20};
    ht_tensor *whole = ht_zeros(2, shape, HT_FLOAT64, HT_NONE);
    ht_tensor *split = ht_zeros(2, shape, HT_FLOAT64, 0);
    ht_tensor *integers = ht_zeros(2, shape, HT_INT32, HT_NONE);

    (void)state;
    ht_nn_seed(11);
    assert_int_equal(ht_nn_init_uniform(whole, -1, 3), HT_SUCCESS);
    ht_nn_seed(11);
    assert_int_equal(ht_nn_init_uniform(split, -1, 3), HT_SUCCESS);
    ht_test_expect_same(whole, split, 0);
    assert_true(ht_item(ht_min(whole, HT_NONE)) >= -1 && ht_item(ht_max(whole, HT_NONE)) <= 3);
    assert_true(ht_item(ht_min(whole, HT_NONE)) < -0.9 && ht_item(ht_max(whole, HT_NONE)) > 2.9);
    assert_true(fabs(ht_item(ht_mean(whole, HT_NONE)) - 1) < 4 * 4 / sqrt(12 * 1000));
    assert_int_equal(ht_nn_init_uniform(split, 2, 2), HT_SUCCESS);
    ht_test_expect_same(split, ht_full(2, shape, 2, HT_FLOAT64, HT_NONE), 0);
    HT_TEST_EXPECT_ERROR(ht_nn_init_uniform(whole, 3, -1), HT_ERR_ARGUMENT,
                         "ht_nn_init_uniform: the range is [3, -1) of float64, expected low <= "
                         "high");
    HT_TEST_EXPECT_ERROR(ht_nn_init_uniform(ht_zeros(2, shape, HT_FLOAT16, 0), 0, 7e4),
                         HT_ERR_ARGUMENT, "the range is [0, 70000) of float16");
    HT_TEST_EXPECT_ERROR(ht_nn_init_uniform(integers, 0, 1), HT_ERR_ARGUMENT,
                         "ht_nn_init_uniform: x is int32 (50, 20), expected a contiguous tensor "
                         "of a floating dtype");
}

/* The layer's output on ones: 0 with probability p, else 1 / (1 - p). Returns the share of zeros.
 */
static double share_of_zeros(ht_tensor *y, double p)
{
    const float *data = ht_test_data(y);
    int64_t zeros = 0, size = ht_tensor_size(y);

    for (int64_t i = 0; i < size; i++) {
        if (data[i] == 0)
            zeros++;
        else
            assert_true(fabs(data[i] - 1 / (1 - p)) < 1e-6);
    }
    return (double)zeros / (double)size;
}

static void test_dropout_statistics(void **state)
{
    (void)state;
    for (int i = 1; i < 4; i++) {
        double p = 0.25 * i;
        ht_module *dropout = ht_nn_dropout(p);
        ht_tensor *x = local_ones(20000);

        assert_true(fabs(share_of_zeros(ht_forward(dropout, x), p) - p) <
                    4 * sqrt(p * (1 - p) / 20000));
        ht_module_eval(dropout);
        assert_ptr_equal(ht_forward(dropout, x), x);
        ht_release(dropout);
    }
}

static void test_dropout2d_drops_channels(void **state)
{
    ht_module *dropout = ht_nn_dropout2d(0.5);
    ht_tensor *x = ht_reshape(local_ones(64 * 16 * 6), HT_SHAPE(64, 16, 2, 3));
    ht_tensor *y = ht_contiguous(ht_forward(dropout, ht_channels_last(x)));
    const float *data = ht_test_data(y);

    (void)state;
    assert_true(fabs(share_of_zeros(y, 0.5) - 0.5) < 4 * 0.5 / sqrt(64 * 16));
    for (int channel = 0; channel < 64 * 16; channel++) {
        for (int i = 1; i < 6; i++)
            assert_true(data[6 * channel + i] == data[6 * channel]);
    }
    ht_release(dropout);
}

/* Masks of the second of two dropout layers in a row, from a fresh model with this seed. */
static ht_tensor *mask(uint64_t seed, int layer, int step)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_dropout(0.5), ht_nn_dropout(0.5)));
    ht_tensor *y = NULL;

    ht_nn_seed(seed);
    for (int i = 0; i <= step; i++)
        y = ht_forward(ht_module_child(net, layer, NULL), local_ones(256));
    ht_release(net);
    return y;
}

static bool same(ht_tensor *a, ht_tensor *b)
{
    return memcmp(ht_test_data(a), ht_test_data(b), (size_t)ht_tensor_nbytes(a)) == 0;
}

static void test_dropout_is_keyed(void **state)
{
    ht_tensor *first = mask(3, 0, 0), *other = ht_copy(first);

    (void)state;
    assert_true(same(first, mask(3, 0, 0)));
    assert_false(same(first, mask(4, 0, 0)));
    assert_false(same(first, mask(3, 1, 0)));
    assert_false(same(first, mask(3, 0, 1)));
    ht_bcast(HT_COMM_WORLD, other, 0);
    assert_int_equal(same(first, other), ht_test_rank == 0);
}

/* Ranks that hold slabs of one tensor draw different masks too. */
static void test_dropout_of_a_split_tensor(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(ht_test_size, 256), HT_FLOAT32, 0);
    ht_tensor *mine = ht_tensor_local(ht_dropout(x, 0.5, 1, 1)), *other = ht_copy(mine);

    (void)state;
    ht_bcast(HT_COMM_WORLD, other, 0);
    assert_int_equal(same(mine, other), ht_test_rank == 0);
}

static void test_leaky_relu(void **state)
{
    ht_module *layer = ht_nn_leaky_relu(0.25);
    ht_tensor *x = ht_array((const double[]){2, 0, -2}, HT_SHAPE(3), HT_FLOAT64, HT_NONE);
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    (void)state;
    ht_test_expect(ht_forward(layer, x), (const double[]){2, 0, -0.5}, 0);
    ht_module_print(layer, stream);
    fclose(stream);
    assert_memory_equal(text, "LeakyReLU(negative_slope=0.25)\n", 31);
    free(text);
    ht_release(layer);
}

static void test_network_learns(void **state)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_conv2d(1, 4, 3), ht_nn_relu(),
                                              ht_nn_max_pool2d(2), ht_nn_flatten(1),
                                              ht_nn_linear(4 * 3 * 3, 2), ht_nn_log_softmax(1)));
    ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
    double first = 0, last = 0;
    float images[4 * 64];

    (void)state;
    for (int i = 0; i < 4 * 64; i++) /* stripes across or along */
        images[i] = (float)((i / 64 % 2 ? i : i / 8) % 2);
    for (int step = 0; step < 40; step++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_array(images, HT_SHAPE(4, 1, 8, 8), HT_FLOAT32, HT_LOCAL);
        ht_tensor *target = ht_array((int64_t[]){0, 1, 0, 1}, HT_SHAPE(4), HT_INT64, HT_LOCAL);
        ht_tensor *loss = ht_nll_loss(ht_forward(net, x), target, HT_MEAN);

        ht_optimizer_zero_grad(optimizer);
        assert_int_equal(ht_backward(loss), HT_SUCCESS);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        last = ht_item(loss);
        first = step == 0 ? last : first;
        ht_scope_close(scope);
    }
    assert_true(last < 0.1 * first);
    ht_release(optimizer);
    ht_release(net);
}

static void test_misuse(void **state)
{
    ht_conv2d_options unset = {0};
    char expected[160];

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_nn_linear(0, 3));
    nn_assert_error("ht_nn_linear: in_features is 0, expected at least 1");
    assert_null(ht_nn_dropout(-0.5));
    nn_assert_error("ht_nn_dropout: p is -0.5, expected 0 to 1");
    assert_null(ht_nn_conv2d_ext(3, 8, 3, &unset, true));
    snprintf(
        expected, sizeof expected,
        "ht_nn_conv2d_ext: the options are not initialised (size is 0, expected %zu); start from "
        "ht_conv2d_options_default()",
        sizeof unset);
    nn_assert_error(expected);
    assert_int_equal(ht_nn_init_kaiming_uniform(local_ones(3), 0), HT_ERR_SHAPE);
    nn_assert_error("ht_nn_init_kaiming_uniform: x is (3,), expected at least 2 axes");
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_layers, cmocka_unit_test(test_initialisation),
              cmocka_unit_test(test_initialisation_is_seeded),
              cmocka_unit_test(test_kaiming_uniform), cmocka_unit_test(test_uniform),
              cmocka_unit_test(test_dropout_statistics),
              cmocka_unit_test(test_dropout2d_drops_channels),
              cmocka_unit_test(test_dropout_is_keyed),
              cmocka_unit_test(test_dropout_of_a_split_tensor), cmocka_unit_test(test_leaky_relu),
              cmocka_unit_test(test_network_learns), cmocka_unit_test(test_misuse));
