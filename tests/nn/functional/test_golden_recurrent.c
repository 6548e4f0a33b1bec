/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Recurrent networks give PyTorch's outputs, last states and gradients, unsplit and with the batch
 * split. */
#include <math.h>
#include <string.h>

#include "golden/recurrent.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

typedef struct golden_recurrent golden;

enum { L = 4, N = 3, IN = 2, HIDDEN = 3, WEIGHTS = 20 };

/* Number k of operand i, as make_recurrent.py has it. */
static double number_of(int i, int64_t k)
{
    const double n = (double)(k + 1);

    return 0.5 * sin(12.9898 * n + 78.233 * i) + 0.4999 * sin(4.1414 * n * (i + 2));
}

static ht_tensor *operand(int i, int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    double data[1024];
    int64_t size = 1;
    ht_tensor *x;

    for (int axis = 0; axis < ndim; axis++)
        size *= shape[axis];
    assert_true(size <= 1024);
    for (int64_t k = 0; k < size; k++)
        data[k] = number_of(i, k);
    x = ht_astype(ht_array(data, ndim, shape, HT_FLOAT64, split), dtype);
    ht_tensor_set_requires_grad(x, true);
    return x;
}

/* The weights in the order of the function; how many. */
static int make_weights(const golden *g, ht_dtype dtype, ht_tensor *weights[WEIGHTS])
{
    const int64_t rows = HIDDEN * (strcmp(g->kind, "LSTM") == 0  ? 4
                                   : strcmp(g->kind, "GRU") == 0 ? 3
                                                                 : 1);
    const int64_t out = g->proj > 0 ? g->proj : HIDDEN;
    int count = 0;

    for (int cell = 0; cell < g->layers * (1 + g->bidirectional); cell++) {
        const bool first = cell < 1 + g->bidirectional;
        const int64_t shapes[][2] = {{rows, first ? IN : out * (1 + g->bidirectional)},
                                     {rows, out},
                                     {rows, 0},
                                     {rows, 0},
                                     {out, HIDDEN}};

        for (int part = 0; part < 5; part++) {
            const bool bias = part == 2 || part == 3;

            if (bias ? !g->bias : part == 4 && g->proj == 0)
                continue;
            weights[count] = operand(3 + count, bias ? 1 : 2, shapes[part], dtype, HT_NONE);
            count++;
        }
    }
    return count;
}

static ht_tensor *run(const golden *g, ht_tensor *x, int count, ht_tensor *weights[],
                      const ht_recurrent_inputs *inputs, ht_tensor **h_n, ht_tensor **c_n)
{
    ht_recurrent_options options = ht_recurrent_options_default();

    options.num_layers = g->layers;
    options.bias = g->bias;
    options.batch_first = g->batch_first;
    options.bidirectional = g->bidirectional;
    options.proj_size = g->proj;
    options.nonlinearity = g->relu ? HT_RNN_RELU : HT_RNN_TANH;
    if (strcmp(g->kind, "LSTM") == 0)
        return ht_lstm(x, count, weights, &options, inputs, h_n, c_n);
    if (strcmp(g->kind, "GRU") == 0)
        return ht_gru(x, count, weights, &options, inputs, h_n);
    return ht_rnn(x, count, weights, &options, inputs, h_n);
}

static void expect(ht_tensor *x, const double *values, double tolerance)
{
    if (values != NULL)
        ht_test_expect(ht_astype(x, HT_FLOAT64), values, tolerance);
}

static void check(const golden *g, bool split, ht_dtype dtype, double tolerance)
{
    const int64_t cells = g->layers * (1 + g->bidirectional), lengths[N] = {3, 1, 4};
    const int64_t sequence[] = {g->batch_first ? N : L, g->batch_first ? L : N, IN};
    const int batch = g->batch_first ? 0 : 1;
    ht_scope *scope = ht_scope_open();
    ht_recurrent_inputs inputs = ht_recurrent_inputs_default();
    ht_tensor *weights[WEIGHTS], *h_n, *c_n = NULL, *loss;
    ht_tensor *x = operand(0, 3, sequence, dtype, split ? batch : HT_NONE), *y;
    const int count = make_weights(g, dtype, weights);
    const double *dw = g->dw;

    if (g->states) {
        inputs.h_0 = operand(1, 3, (int64_t[]){cells, N, g->proj > 0 ? g->proj : HIDDEN}, dtype,
                             split ? 1 : HT_NONE);
        inputs.c_0 = operand(2, 3, (int64_t[]){cells, N, HIDDEN}, dtype, HT_NONE);
    }
    if (g->lengths)
        inputs.lengths = ht_array(lengths, HT_SHAPE(N), HT_INT64, HT_NONE);
    y = run(g, x, count, weights, &inputs, &h_n, &c_n);
    expect(y, g->y, tolerance);
    expect(h_n, g->h_n, tolerance);
    expect(c_n, g->c_n, tolerance);
    loss = ht_add(ht_sum(ht_mul(y, y), HT_NONE), ht_mul_scalar(ht_sum(h_n, HT_NONE), 3));
    if (c_n != NULL)
        loss = ht_add(loss, ht_sum(ht_mul(c_n, c_n), HT_NONE));
    assert_int_equal(ht_backward(loss), HT_SUCCESS);
    tolerance *= 20;
    expect(ht_tensor_grad(x), g->dx, tolerance);
    expect(ht_tensor_grad(inputs.h_0), g->dh, tolerance);
    expect(ht_tensor_grad(inputs.c_0), g->dc, tolerance);
    for (int i = 0; i < count; i++) {
        expect(ht_tensor_grad(weights[i]), dw, tolerance);
        dw += ht_tensor_size(weights[i]);
    }
    ht_scope_close(scope);
}

static void networks_are_those_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden_recurrent / sizeof *golden_recurrent; i++) {
        for (int split = 0; split < 2; split++) {
            check(&golden_recurrent[i], split, HT_FLOAT64, 1e-13);
            check(&golden_recurrent[i], split, HT_FLOAT32, 4e-6);
        }
    }
}

HT_TEST_SUITE(test_golden_recurrent, cmocka_unit_test(networks_are_those_of_pytorch));
