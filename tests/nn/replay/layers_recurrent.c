/* SPDX-License-Identifier: MIT
 *
 * Recurrent layers: the constructors and calls of PyTorch's. */
#include <string.h>

#include "replay.h"

#define INTEGER(key, otherwise) ((int64_t)replay_number(r, key, otherwise))
#define FLAG(key, otherwise)    (replay_number(r, key, otherwise) != 0)

static ht_nonlinearity nonlinearity(replay_run *r)
{
    return strcmp(replay_word(r, "nonlinearity", "tanh"), "relu") == 0 ? HT_RNN_RELU : HT_RNN_TANH;
}

static ht_recurrent_options options_of(replay_run *r)
{
    ht_recurrent_options options = ht_recurrent_options_default();

    options.num_layers = (int)INTEGER("num_layers", 1);
    options.nonlinearity = nonlinearity(r);
    options.bias = FLAG("bias", true);
    options.batch_first = FLAG("batch_first", false);
    options.bidirectional = FLAG("bidirectional", false);
    options.proj_size = INTEGER("proj_size", 0);
    return options;
}

#define RECURRENT(name)                                                                     \
    static ht_module *layer_##name(replay_run *r)                                           \
    {                                                                                       \
        const ht_recurrent_options o = options_of(r);                                       \
                                                                                            \
        return ht_nn_##name##_ext(INTEGER("input_size", 0), INTEGER("hidden_size", 0), &o); \
    }
RECURRENT(rnn)
RECURRENT(gru)
RECURRENT(lstm)

/* The operand with an axis of the batch at `axis`, which PyTorch takes without one, too. */
static ht_tensor *with_batch(replay_run *r, const char *key, int axis)
{
    ht_tensor *x = replay_in(r, key);
    ht_tensor *input = replay_in(r, "input");

    return x != NULL && ht_tensor_ndim(input) == 2 ? ht_expand_dims(x, axis) : x;
}

/* Output and last states, one behind the other. */
static ht_tensor *call_recurrent(replay_run *r)
{
    ht_recurrent_inputs inputs = ht_recurrent_inputs_default();
    ht_tensor *results[3] = {NULL};
    const int axis = FLAG("batch_first", false) ? 0 : 1;

    inputs.h_0 = with_batch(r, "hx", 1);
    if (inputs.h_0 == NULL)
        inputs.h_0 = with_batch(r, "hx.0", 1);
    inputs.c_0 = with_batch(r, "hx.1", 1);
    results[0] = ht_nn_recurrent_forward(r->layer, with_batch(r, "input", axis), &inputs,
                                         &results[1], &results[2]);
    return results[0] == NULL ? NULL : replay_joined(results[2] != NULL ? 3 : 2, results);
}

static ht_module *layer_rnn_cell(replay_run *r)
{
    return ht_nn_rnn_cell(INTEGER("input_size", 0), INTEGER("hidden_size", 0), FLAG("bias", true),
                          nonlinearity(r));
}

static ht_module *layer_gru_cell(replay_run *r)
{
    return ht_nn_gru_cell(INTEGER("input_size", 0), INTEGER("hidden_size", 0), FLAG("bias", true));
}

static ht_module *layer_lstm_cell(replay_run *r)
{
    return ht_nn_lstm_cell(INTEGER("input_size", 0), INTEGER("hidden_size", 0), FLAG("bias", true));
}

static ht_tensor *cell_operand(replay_run *r, const char *key)
{
    ht_tensor *x = replay_in(r, key);

    return x != NULL && ht_tensor_ndim(x) == 1 ? ht_expand_dims(x, 0) : x;
}

/* The next state or states, one behind the other. */
static ht_tensor *call_cell(replay_run *r)
{
    const bool is_lstm = replay_in(r, "hx.0") != NULL;
    ht_tensor *const in[] = {cell_operand(r, "input"), cell_operand(r, is_lstm ? "hx.0" : "hx"),
                             cell_operand(r, "hx.1")};
    ht_value *y = ht_forward_value(r->layer, ht_value_tensors(is_lstm ? 3 : 2, in));
    ht_tensor *results[2] = {NULL};

    for (int i = 0; i < 2 && is_lstm && y != NULL; i++)
        results[i] = ht_value_as_tensor(ht_value_at(y, i));
    if (is_lstm)
        return y == NULL ? NULL : replay_joined(2, results);
    results[0] = ht_value_as_tensor(y);
    return results[0] != NULL && ht_tensor_ndim(replay_in(r, "input")) == 1
               ? ht_squeeze(results[0], 0)
               : results[0];
}

const replay_function replay_recurrent[] = {
    {"RNN", call_recurrent, layer_rnn},
    {"GRU", call_recurrent, layer_gru},
    {"LSTM", call_recurrent, layer_lstm},
    {"RNNCell", call_cell, layer_rnn_cell},
    {"GRUCell", call_cell, layer_gru_cell},
    {"LSTMCell", call_cell, layer_lstm_cell},
    {.name = NULL},
};
