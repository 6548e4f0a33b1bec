/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Recurrent layers: parameters, states, lengths, dropout, text, refusals. */
#include <string.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

enum { L = 3, N = 2, IN = 2, HIDDEN = 4 };

static ht_tensor *sequence(void)
{
    return ht_test_randn(HT_SHAPE(L, N, IN), HT_FLOAT32, HT_LOCAL, 7);
}

typedef struct named {
    char names[256];
    ht_tensor *tensors[16];
    int count;
} named;

static void visit(const char *name, ht_tensor *x, void *user)
{
    named *n = user;

    strncat(n->names, name, sizeof n->names - strlen(n->names) - 2);
    strcat(n->names, " ");
    n->tensors[n->count++] = x;
}

static void parameters_have_the_names_of_pytorch(void **state)
{
    ht_recurrent_options options = ht_recurrent_options_default();
    named n = {.count = 0};
    ht_module *lstm;

    (void)state;
    options.bidirectional = true;
    options.proj_size = 3;
    lstm = ht_nn_lstm_ext(IN, HIDDEN, &options);
    ht_module_named_parameters(lstm, visit, &n);
    assert_string_equal(n.names, "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0 weight_hr_l0 "
                                 "weight_ih_l0_reverse weight_hh_l0_reverse bias_ih_l0_reverse "
                                 "bias_hh_l0_reverse weight_hr_l0_reverse ");
    for (int i = 0; i < n.count; i++) {
        assert_true(ht_item(ht_max(ht_abs(n.tensors[i]), HT_NONE)) <= 0.5);
        assert_true(ht_item(ht_max(ht_abs(n.tensors[i]), HT_NONE)) > 0);
    }
    ht_release(lstm);
}

static void layers_compute_the_functions(void **state)
{
    ht_recurrent_options options = ht_recurrent_options_default();
    ht_recurrent_inputs inputs = ht_recurrent_inputs_default();
    ht_tensor *x = sequence(), *h_n, *c_n, *h, *c;
    named n = {.count = 0};
    ht_module *lstm, *gru;

    (void)state;
    options.num_layers = 2;
    lstm = ht_nn_lstm_ext(IN, HIDDEN, &options);
    gru = ht_nn_gru(IN, HIDDEN);
    ht_module_named_parameters(lstm, visit, &n);
    inputs.h_0 = ht_test_randn(HT_SHAPE(2, N, HIDDEN), HT_FLOAT32, HT_LOCAL, 8);
    inputs.lengths = ht_array((int64_t[]){3, 2}, HT_SHAPE(N), HT_INT64, HT_LOCAL);
    ht_test_expect_same(ht_nn_recurrent_forward(lstm, x, &inputs, &h_n, &c_n),
                        ht_lstm(x, n.count, n.tensors, &options, &inputs, &h, &c), 0);
    ht_test_expect_same(h_n, h, 0);
    ht_test_expect_same(c_n, c, 0);
    ht_test_expect_same(ht_forward(lstm, x),
                        ht_lstm(x, n.count, n.tensors, &options, NULL, NULL, NULL), 0);
    ht_test_expect_same(ht_forward(gru, x), ht_nn_recurrent_forward(gru, x, NULL, &h_n, &c_n), 0);
    assert_null(c_n);
    ht_release(lstm);
    ht_release(gru);
}

static void a_sequence_without_a_batch(void **state)
{
    ht_tensor *x = sequence(), *one = ht_squeeze(ht_narrow(x, 1, 0, 1), 1), *h_n, *y;
    ht_module *rnn = ht_nn_rnn(IN, HIDDEN);

    (void)state;
    y = ht_nn_recurrent_forward(rnn, one, NULL, &h_n, NULL);
    ht_test_expect_same(y, ht_squeeze(ht_narrow(ht_forward(rnn, x), 1, 0, 1), 1), 1e-6);
    assert_int_equal(ht_tensor_ndim(h_n), 2);
    ht_release(rnn);
}

static void cells_are_steps_of_networks(void **state)
{
    ht_module *cell = ht_nn_lstm_cell(IN, HIDDEN, true), *lstm = ht_nn_lstm(IN, HIDDEN);
    ht_tensor *x = sequence(), *in[3] = {NULL}, *h_n, *c_n;
    named of_cell = {.count = 0}, of_lstm = {.count = 0};
    ht_value *next = NULL;

    (void)state;
    ht_module_named_parameters(cell, visit, &of_cell);
    ht_module_named_parameters(lstm, visit, &of_lstm);
    ht_set_grad_enabled(false);
    for (int i = 0; i < 4; i++)
        assert_int_equal(ht_copy_(of_cell.tensors[i], of_lstm.tensors[i]), HT_SUCCESS);
    ht_set_grad_enabled(true);
    for (int t = 0; t < L; t++) {
        in[0] = ht_squeeze(ht_narrow(x, 0, t, t + 1), 0);
        next = ht_forward_value(cell, ht_value_tensors(t == 0 ? 1 : 3, in));
        in[1] = ht_value_as_tensor(ht_value_at(next, 0));
        in[2] = ht_value_as_tensor(ht_value_at(next, 1));
    }
    ht_nn_recurrent_forward(lstm, x, NULL, &h_n, &c_n);
    ht_test_expect_same(in[1], ht_squeeze(h_n, 0), 1e-6);
    ht_test_expect_same(in[2], ht_squeeze(c_n, 0), 1e-6);
    ht_release(cell);
    ht_release(lstm);
}

static void other_cells_take_a_state(void **state)
{
    ht_module *rnn = ht_nn_rnn_cell(IN, HIDDEN, false, HT_RNN_RELU);
    ht_module *gru = ht_nn_gru_cell(IN, HIDDEN, true);
    ht_tensor *in[2] = {ht_squeeze(ht_narrow(sequence(), 0, 0, 1), 0),
                        ht_zeros(HT_SHAPE(N, HIDDEN), HT_FLOAT32, HT_LOCAL)};

    (void)state;
    ht_test_expect_same(ht_value_as_tensor(ht_forward_value(rnn, ht_value_tensors(2, in))),
                        ht_forward(rnn, in[0]), 0);
    ht_test_expect_same(ht_value_as_tensor(ht_forward_value(gru, ht_value_tensors(2, in))),
                        ht_forward(gru, in[0]), 0);
    ht_release(rnn);
    ht_release(gru);
}

static void dropout_is_between_layers_in_training(void **state)
{
    ht_recurrent_options options = ht_recurrent_options_default();
    ht_tensor *x = sequence(), *first;
    ht_module *gru;

    (void)state;
    options.num_layers = 2;
    options.dropout = 0.5;
    gru = ht_nn_gru_ext(IN, HIDDEN, &options);
    first = ht_forward(gru, x);
    assert_true(ht_item(ht_max(ht_abs(ht_sub(first, ht_forward(gru, x))), HT_NONE)) > 0);
    ht_module_eval(gru);
    ht_test_expect_same(ht_forward(gru, x), ht_forward(gru, x), 0);
    ht_release(gru);
}

static void lengths_hide_the_padding(void **state)
{
    ht_recurrent_inputs inputs = ht_recurrent_inputs_default();
    ht_tensor *x = sequence(), *poisoned, *y;
    ht_module *gru = ht_nn_gru(IN, HIDDEN);

    (void)state;
    inputs.lengths = ht_array((int64_t[]){3, 1}, HT_SHAPE(N), HT_INT64, HT_LOCAL);
    poisoned = ht_copy(x);
    ht_fill_(ht_narrow(ht_narrow(poisoned, 0, 1, L), 1, 1, 2), NAN);
    y = ht_nn_recurrent_forward(gru, poisoned, &inputs, NULL, NULL);
    ht_test_expect_same(y, ht_nn_recurrent_forward(gru, x, &inputs, NULL, NULL), 0);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    assert_true(ht_item(ht_sum(ht_tensor_grad(ht_module_find_parameter(gru, "weight_ih_l0")),
                               HT_NONE)) != 0);
    ht_release(gru);
}

static void bad_inputs_are_errors(void **state)
{
    ht_recurrent_options options = ht_recurrent_options_default();
    ht_recurrent_inputs inputs = ht_recurrent_inputs_default();
    ht_module *lstm = ht_nn_lstm(IN, HIDDEN), *linear = ht_nn_linear(IN, HIDDEN);
    ht_tensor *x = sequence();

    (void)state;
    inputs.h_0 = ht_zeros(HT_SHAPE(1, N, HIDDEN + 1), HT_FLOAT32, HT_LOCAL);
    HT_TEST_EXPECT_ERROR(ht_nn_recurrent_forward(lstm, x, &inputs, NULL, NULL), HT_ERR_SHAPE,
                         "ht_lstm: h_0 is (1, 2, 5), expected (1, 2, 4)");
    inputs.h_0 = NULL;
    inputs.lengths = ht_array((int64_t[]){3, 4}, HT_SHAPE(N), HT_INT64, HT_LOCAL);
    HT_TEST_EXPECT_ERROR(ht_nn_recurrent_forward(lstm, x, &inputs, NULL, NULL), HT_ERR_ARGUMENT,
                         "ht_lstm: lengths are 3 to 4, expected 1 to 3");
    HT_TEST_EXPECT_ERROR(ht_forward(lstm, ht_narrow(x, 0, 0, 0)), HT_ERR_SHAPE,
                         "ht_lstm: x is (0, 2, 2), expected at least one step");
    HT_TEST_EXPECT_ERROR(ht_nn_recurrent_forward(linear, x, NULL, NULL, NULL), HT_ERR_ARGUMENT,
                         "ht_nn_recurrent_forward: module is Linear, expected a recurrent layer");
    options.proj_size = HIDDEN;
    HT_TEST_EXPECT_ERROR(ht_nn_lstm_ext(IN, HIDDEN, &options), HT_ERR_ARGUMENT,
                         "ht_nn_lstm_ext: proj_size is 4, expected 0, or less than hidden_size");
    HT_TEST_EXPECT_ERROR(ht_nn_gru_ext(IN, HIDDEN, &options), HT_ERR_ARGUMENT,
                         "ht_nn_gru_ext: proj_size is 4, expected 0");
    options = ht_recurrent_options_default();
    options.num_layers = 0;
    HT_TEST_EXPECT_ERROR(ht_nn_rnn_ext(IN, HIDDEN, &options), HT_ERR_ARGUMENT, "num_layers is 0");
    HT_TEST_EXPECT_ERROR(ht_rnn(x, 4, (ht_tensor *[4]){NULL}, &options, NULL, NULL),
                         HT_ERR_ARGUMENT, "ht_rnn: num_layers is 0, expected at least 1");
    HT_TEST_EXPECT_ERROR(ht_gru(x, 3, (ht_tensor *[3]){NULL}, NULL, NULL, NULL), HT_ERR_ARGUMENT,
                         "ht_gru: count is 3, expected 4 weights");
    options = ht_recurrent_options_default();
    options.nonlinearity = (ht_nonlinearity)7;
    HT_TEST_EXPECT_ERROR(ht_nn_rnn_ext(IN, HIDDEN, &options), HT_ERR_ARGUMENT,
                         "ht_nn_rnn_ext: nonlinearity is 7, expected");
    HT_TEST_EXPECT_ERROR(ht_nn_rnn_cell(IN, HIDDEN, true, (ht_nonlinearity)7), HT_ERR_ARGUMENT,
                         "ht_nn_rnn_cell: nonlinearity is 7, expected");
    HT_TEST_EXPECT_ERROR(ht_rnn(x, 4, (ht_tensor *[4]){NULL}, &options, NULL, NULL),
                         HT_ERR_ARGUMENT, "ht_rnn: nonlinearity is 7, expected HT_RNN_TANH or");
    options = ht_recurrent_options_default();
    options.num_layers = 1 << 30; /* times 4 it is 0 in 32 bits */
    HT_TEST_EXPECT_ERROR(ht_rnn(x, 0, (ht_tensor *[1]){NULL}, &options, NULL, NULL),
                         HT_ERR_ARGUMENT, "ht_rnn: count is 0, expected 4294967296 weights");
    ht_release(lstm);
    ht_release(linear);
}

/* All layers have the units of the first: a state has them. */
static void other_units_are_an_error(void **state)
{
    enum { MORE = HIDDEN + 1 };
    ht_recurrent_options options = ht_recurrent_options_default();
    ht_tensor *w[] = {ht_ones(HT_SHAPE(HIDDEN, IN), HT_FLOAT32, HT_LOCAL),
                      ht_ones(HT_SHAPE(HIDDEN, HIDDEN), HT_FLOAT32, HT_LOCAL),
                      ht_ones(HT_SHAPE(MORE, HIDDEN), HT_FLOAT32, HT_LOCAL),
                      ht_ones(HT_SHAPE(MORE, MORE), HT_FLOAT32, HT_LOCAL)};

    (void)state;
    options.bias = false;
    options.num_layers = 2;
    HT_TEST_EXPECT_ERROR(ht_rnn(sequence(), 4, w, &options, NULL, NULL), HT_ERR_SHAPE,
                         "ht_rnn: the weights of cell 1 have 5 units and states of 5, expected 4 "
                         "and 4");
}

/* A last state may be zeroed in place: the output, which backward needs, stays. */
static void last_states_have_memory_of_their_own(void **state)
{
    ht_module *lstm = ht_nn_lstm(IN, HIDDEN);
    ht_tensor *x = sequence(), *h_n, *c_n, *y, *before;

    (void)state;
    y = ht_nn_recurrent_forward(lstm, x, NULL, &h_n, &c_n);
    before = ht_copy(ht_detach(y));
    assert_int_equal(ht_fill_(ht_detach(h_n), 7), HT_SUCCESS);
    assert_int_equal(ht_fill_(ht_detach(c_n), 7), HT_SUCCESS);
    ht_test_expect_same(ht_detach(y), before, 0);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    ht_release(lstm);
}

HT_TEST_SUITE(test_recurrent_layers, cmocka_unit_test(parameters_have_the_names_of_pytorch),
              cmocka_unit_test(layers_compute_the_functions),
              cmocka_unit_test(a_sequence_without_a_batch),
              cmocka_unit_test(cells_are_steps_of_networks),
              cmocka_unit_test(other_cells_take_a_state),
              cmocka_unit_test(dropout_is_between_layers_in_training),
              cmocka_unit_test(lengths_hide_the_padding), cmocka_unit_test(bad_inputs_are_errors),
              cmocka_unit_test(other_units_are_an_error),
              cmocka_unit_test(last_states_have_memory_of_their_own));
