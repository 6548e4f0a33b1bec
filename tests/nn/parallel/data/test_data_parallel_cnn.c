/* ranks 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* The CNN of the MNIST example, without dropout: P ranks on their parts of each batch against one
   rank on the complete batch. Float64 never reaches oneDNN, so float32 is tested against oneDNN's
   accuracy. Many steps in float64 have a quarter of the channels. */
#include <math.h>

#include "core/tensor/tensor.h"
#include "config.h"
#include "backends/cpu/nn/conv/onednn.h"
#include "ht.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { BATCH = 12, SIDE = 28 };

static ht_module *new_cnn(int channels, ht_dtype dtype)
{
    ht_nn_seed(3);
    ht_module *net = ht_nn_sequential(
        10,
        (ht_module *[]){ht_nn_conv2d(1, channels, 3), ht_nn_relu(),
                        ht_nn_conv2d(channels, 2 * channels, 3), ht_nn_relu(), ht_nn_max_pool2d(2),
                        ht_nn_flatten(1), ht_nn_linear(288 * channels, 128), ht_nn_relu(),
                        ht_nn_linear(128, 10), ht_nn_log_softmax(1)});

    assert_int_equal(ht_module_to_dtype(net, dtype), HT_SUCCESS);
    return net;
}

/* Rows first ... first + count - 1 of the batch of a step: blobs whose place is their class. */
static ht_tensor *images(int step, int first, int count, ht_dtype dtype, int64_t labels[])
{
    static double pixels[BATCH * SIDE * SIDE];
    const int64_t shape[4] = {count, 1, SIDE, SIDE};

    for (int row = 0; row < count; row++) {
        int id = step * BATCH + first + row, label = id * 7 % 10;

        labels[row] = label;
        for (int i = 0; i < SIDE * SIDE; i++) {
            double distance = hypot(i / SIDE - 8 - label, i % SIDE - 20 + label);

            pixels[row * SIDE * SIDE + i] = exp(-distance / 4) + 0.1 * sin(0.37 * id + 0.9 * i);
        }
    }
    return ht_astype(ht_array(pixels, 4, shape, HT_FLOAT64, HT_LOCAL), dtype);
}

static void train_step(ht_module *net, ht_optimizer *optimizer, int step, int first, int count,
                       ht_dtype dtype)
{
    int64_t labels[BATCH], length = count;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = images(step, first, count, dtype, labels);
    ht_tensor *target = ht_array(labels, 1, &length, HT_INT64, HT_LOCAL);

    assert_int_equal(ht_optimizer_zero_grad(optimizer), HT_SUCCESS);
    assert_int_equal(ht_backward(ht_nll_loss(ht_forward(net, x), target, HT_MEAN)), HT_SUCCESS);
    assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
    ht_scope_close(scope);
}

/* The largest |a - b| / (1 + |b|) over all parameters. */
static double distance(ht_module *a, ht_module *b)
{
    ht_scope *scope = ht_scope_open();
    ht_value *as = ht_module_parameters(a), *bs = ht_module_parameters(b);
    double largest = 0;

    for (int i = 0; i < ht_value_count(bs); i++) {
        ht_tensor *x = ht_astype(ht_value_as_tensor(ht_value_at(as, i)), HT_FLOAT64);
        ht_tensor *y = ht_astype(ht_value_as_tensor(ht_value_at(bs, i)), HT_FLOAT64);
        const double *p = ht_test_data(x), *q = ht_test_data(y);

        for (int64_t j = 0; j < ht_tensor_size(x); j++)
            largest = fmax(largest, fabs(p[j] - q[j]) / (1 + fabs(q[j])));
    }
    ht_scope_close(scope);
    return largest;
}

static double compare(int steps, int channels, ht_dtype dtype, bool blocking)
{
    ht_module *whole = new_cnn(channels, dtype), *part = new_cnn(channels, dtype), *dp;
    ht_optimizer *one = ht_optim_adadelta(ht_module_parameters(whole), 1, NULL);
    ht_optimizer *many = ht_optim_adadelta(ht_module_parameters(part), 1, NULL);
    int count = BATCH / ht_test_size;
    double found;

    dp = ht_nn_data_parallel(part, HT_COMM_WORLD, many, blocking);
    assert_non_null(dp);
    for (int step = 0; step < steps; step++) {
        train_step(whole, one, step, 0, BATCH, dtype);
        train_step(dp, many, step, ht_test_rank * count, count, dtype);
    }
    ht_release(dp);
    found = distance(part, whole);
    ht_release(one);
    ht_release(many);
    ht_release(whole);
    ht_release(part);
    return found;
}

static void fifty_steps_in_float64_agree_to_1e_10(void **state)
{
    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        double found = compare(50, 8, HT_FLOAT64, blocking != 0);

        if (!(found <= 1e-10))
            fail_msg("blocking %d: parameters differ by %g", blocking, found);
    }
}

static void five_steps_in_float32_agree_to_1e_4(void **state)
{
    (void)state;
#ifdef HT_HAVE_ONEDNN
    int64_t calls = ht__cpu_onednn_calls();
#endif

    for (int blocking = 0; blocking < 2; blocking++) {
        double found = compare(5, 32, HT_FLOAT32, blocking != 0);

        if (!(found <= 1e-4))
            fail_msg("blocking %d: parameters differ by %g", blocking, found);
    }
#ifdef HT_HAVE_ONEDNN
    if (ht_test_on_host())
        assert_true(ht__cpu_onednn_calls() > calls);
#endif
}

HT_TEST_SUITE(test_data_parallel_cnn, cmocka_unit_test(fifty_steps_in_float64_agree_to_1e_10),
              cmocka_unit_test(five_steps_in_float32_agree_to_1e_4));
