/* SPDX-License-Identifier: MIT
 *
 * RNNCell, LSTMCell and GRUCell. */
#include <math.h>

#include "ht/recurrent.h"
#include "nn/module/init.h"
#include "nn/module/inputs.h"
#include "nn/module/module.h"

enum { X, H, C, INPUTS };

struct cell {
    ht_tensor *weight_ih, *weight_hh, *bias_ih, *bias_hh; /* slots; a bias may be NULL */
    int64_t input_size, hidden_size;
    bool bias;
    ht_nonlinearity nonlinearity;
};

#define WEIGHTS data->weight_ih, data->weight_hh, data->bias_ih, data->bias_hh

static ht_value *rnn(ht_module *self, ht_value *inputs)
{
    struct cell *data = ht_module_data(self);
    ht_tensor *in[INPUTS];

    return ht__inputs("ht_nn_rnn_cell", inputs, 1, 2, in)
               ? ht__output(ht_rnn_cell(in[X], in[H], WEIGHTS, data->nonlinearity))
               : NULL;
}

static ht_value *gru(ht_module *self, ht_value *inputs)
{
    struct cell *data = ht_module_data(self);
    ht_tensor *in[INPUTS];

    return ht__inputs("ht_nn_gru_cell", inputs, 1, 2, in)
               ? ht__output(ht_gru_cell(in[X], in[H], WEIGHTS))
               : NULL;
}

static ht_value *lstm(ht_module *self, ht_value *inputs)
{
    struct cell *data = ht_module_data(self);
    ht_tensor *in[INPUTS], *next[2];

    if (!ht__inputs("ht_nn_lstm_cell", inputs, 1, INPUTS, in))
        return NULL;
    next[0] = ht_lstm_cell(in[X], in[H], in[C], WEIGHTS, &next[1]);
    return next[0] != NULL ? ht_value_tensors(2, next) : NULL;
}

#define SETTING(field, kind) offsetof(struct cell, field), HT_SETTING_##kind
static const ht_module_setting settings[] = {
    {"input_size", SETTING(input_size, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"hidden_size", SETTING(hidden_size, INT64), .low = 1, .high = INFINITY,
     .print = HT_PRINT_VALUE},
    {"bias", SETTING(bias, BOOL), .usual = true},
    {"nonlinearity", SETTING(nonlinearity, INT), .low = HT_RNN_TANH, .high = HT_RNN_RELU},
    {.name = NULL}};

static const ht_module_type rnn_type = {
    .name = "RNNCell", .forward_value = rnn, .settings = settings};
static const ht_module_type lstm_type = {
    .name = "LSTMCell", .forward_value = lstm, .settings = settings};
static const ht_module_type gru_type = {
    .name = "GRUCell", .forward_value = gru, .settings = settings};

static ht_status add_parameters(ht_module *module, int64_t rows)
{
    struct cell *data = ht_module_data(module);
    const double bound = 1 / sqrt((double)data->hidden_size);
    ht_status status = ht_module_add_parameter(
        module, "weight_ih", &data->weight_ih,
        ht__nn_parameter(HT_SHAPE(rows, data->input_size), bound));

    if (status == HT_SUCCESS)
        status = ht_module_add_parameter(
            module, "weight_hh", &data->weight_hh,
            ht__nn_parameter(HT_SHAPE(rows, data->hidden_size), bound));
    if (status == HT_SUCCESS && data->bias)
        status = ht_module_add_parameter(module, "bias_ih", &data->bias_ih,
                                         ht__nn_parameter(1, &rows, bound));
    if (status == HT_SUCCESS && data->bias)
        status = ht_module_add_parameter(module, "bias_hh", &data->bias_hh,
                                         ht__nn_parameter(1, &rows, bound));
    return status;
}

static ht_module *new_cell(const char *what, const ht_module_type *type, int gates,
                           const struct cell *made)
{
    ht_module *module;
    ht_scope *scope;
    ht_status status;

    if (!ht__nn_check_size(what, "hidden_size", made->hidden_size) ||
        (module = ht_module_new_ext(what, type, sizeof *made, made)) == NULL)
        return NULL;
    scope = ht_scope_open();
    status = add_parameters(module, gates * made->hidden_size);
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

ht_module *ht_nn_rnn_cell(int64_t input_size, int64_t hidden_size, bool bias,
                          ht_nonlinearity nonlinearity)
{
    return new_cell("ht_nn_rnn_cell", &rnn_type, 1,
                    &(struct cell){.input_size = input_size,
                                   .hidden_size = hidden_size,
                                   .bias = bias,
                                   .nonlinearity = nonlinearity});
}

ht_module *ht_nn_lstm_cell(int64_t input_size, int64_t hidden_size, bool bias)
{
    return new_cell(
        "ht_nn_lstm_cell", &lstm_type, 4,
        &(struct cell){.input_size = input_size, .hidden_size = hidden_size, .bias = bias});
}

ht_module *ht_nn_gru_cell(int64_t input_size, int64_t hidden_size, bool bias)
{
    return new_cell(
        "ht_nn_gru_cell", &gru_type, 3,
        &(struct cell){.input_size = input_size, .hidden_size = hidden_size, .bias = bias});
}
