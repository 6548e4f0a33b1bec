/* SPDX-License-Identifier: MIT
 *
 * Rows of the table of functionals: recurrent networks, with the batch first, and cells. mode: the
 * changed option of a network; number: the length of h that is projected. */
#ifndef HT_NN_FUNCTIONALS_RECURRENT_H
#define HT_NN_FUNCTIONALS_RECURRENT_H

#include "nn/functionals.h"

enum { NN_RECURRENT_USUAL, NN_RECURRENT_OTHER };

/* The other form: relu in two layers without bias, a projection, both directions without bias. */
static inline ht_recurrent_options nn_recurrent_options(const nn_functional *row)
{
    ht_recurrent_options options = ht_recurrent_options_default();

    options.batch_first = true;
    options.bias = row->mode == NN_RECURRENT_USUAL;
    options.proj_size = (int64_t)row->number;
    return options;
}

static inline ht_tensor *nn_call_rnn(ht_tensor *in[], const nn_functional *row)
{
    ht_recurrent_options options = nn_recurrent_options(row);

    options.num_layers = row->mode == NN_RECURRENT_OTHER ? 2 : 1;
    options.nonlinearity = row->mode == NN_RECURRENT_OTHER ? HT_RNN_RELU : HT_RNN_TANH;
    return ht_rnn(in[0], row->count - 1, in + 1, &options, NULL, NULL);
}

static inline ht_tensor *nn_call_lstm(ht_tensor *in[], const nn_functional *row)
{
    ht_recurrent_options options = nn_recurrent_options(row);

    return ht_lstm(in[0], row->count - 1, in + 1, &options, NULL, NULL, NULL);
}

static inline ht_tensor *nn_call_gru(ht_tensor *in[], const nn_functional *row)
{
    ht_recurrent_options options = nn_recurrent_options(row);

    options.bidirectional = row->mode == NN_RECURRENT_OTHER;
    return ht_gru(in[0], row->count - 1, in + 1, &options, NULL, NULL);
}

static inline ht_tensor *nn_call_rnn_cell(ht_tensor *in[], const nn_functional *row)
{
    (void)row;
    return ht_rnn_cell(in[0], NULL, in[1], in[2], in[3], in[4], HT_RNN_TANH);
}

static inline ht_tensor *nn_call_rnn_cell_h(ht_tensor *in[], const nn_functional *row)
{
    (void)row;
    return ht_rnn_cell(in[0], in[1], in[2], in[3], in[4], NULL, HT_RNN_TANH);
}

/* h and c side by side. */
static inline ht_tensor *nn_call_lstm_cell(ht_tensor *in[], const nn_functional *row)
{
    ht_tensor *next[2];

    (void)row;
    next[0] = ht_lstm_cell(in[0], NULL, NULL, in[1], in[2], in[3], in[4], &next[1]);
    return next[0] != NULL ? ht_concatenate(2, next, 1) : NULL;
}

static inline ht_tensor *nn_call_lstm_cell_c(ht_tensor *in[], const nn_functional *row)
{
    ht_tensor *next[2];

    (void)row;
    next[0] = ht_lstm_cell(in[0], in[1], in[2], in[3], in[4], NULL, NULL, &next[1]);
    return next[0] != NULL ? ht_concatenate(2, next, 1) : NULL;
}

static inline ht_tensor *nn_call_gru_cell(ht_tensor *in[], const nn_functional *row)
{
    (void)row;
    return ht_gru_cell(in[0], NULL, in[1], in[2], in[3], in[4]);
}

static inline ht_tensor *nn_call_gru_cell_h(ht_tensor *in[], const nn_functional *row)
{
    (void)row;
    return ht_gru_cell(in[0], in[1], in[2], in[3], in[4], NULL);
}

/* clang-format off */
#define NN_WEIGHTS(gates) OTHER("weight_ih", 2, 2 * (gates), 3), OTHER("weight_hh", 2, 2 * (gates), 2), \
    OTHER("bias_ih", 1, 2 * (gates)), OTHER("bias_hh", 1, 2 * (gates))
#define NN_SEQUENCE(gates) .operands = {FIRST("x", 3, 3, 2, 3), NN_WEIGHTS(gates)}
#define NN_STEP(gates) .operands = {FIRST("x", 2, 4, 3), NN_WEIGHTS(gates)}
#define NN_STEP_H(gates) .operands = {FIRST("x", 2, 4, 3), FIRST("h", 2, 4, 2), \
    OTHER("weight_ih", 2, 2 * (gates), 3), OTHER("weight_hh", 2, 2 * (gates), 2), OTHER("bias_ih", 1, 2 * (gates))}
#define NN_RECURRENT_ROWS                                                                              \
    {"ht_rnn", nn_call_rnn, 5, 3, NN_SEQUENCE(1)},                                                     \
    {"ht_rnn", nn_call_rnn, 5, 5, .operands = {FIRST("x", 3, 3, 2, 3), OTHER("weight_ih", 2, 2, 3),     \
     OTHER("weight_hh", 2, 2, 2), OTHER("weight_ih", 2, 2, 2), OTHER("weight_hh", 2, 2, 2)},           \
     .mode = NN_RECURRENT_OTHER, .variant = true},                                                     \
    {"ht_lstm", nn_call_lstm, 5, 3, NN_SEQUENCE(4)},                                                   \
    {"ht_lstm", nn_call_lstm, 4, 4, .operands = {FIRST("x", 3, 3, 2, 3), OTHER("weight_ih", 2, 12, 3), \
     OTHER("weight_hh", 2, 12, 2), OTHER("weight_hr", 2, 2, 3)}, 2, NN_RECURRENT_OTHER, .variant = true}, \
    {"ht_gru", nn_call_gru, 5, 3, NN_SEQUENCE(3)},                                                     \
    {"ht_gru", nn_call_gru, 5, 5, .operands = {FIRST("x", 3, 3, 2, 3), OTHER("weight_ih", 2, 6, 3),     \
     OTHER("weight_hh", 2, 6, 2), OTHER("weight_ih", 2, 6, 3), OTHER("weight_hh", 2, 6, 2)},           \
     .mode = NN_RECURRENT_OTHER, .variant = true},                                                     \
    {"ht_rnn_cell", nn_call_rnn_cell, 5, 3, NN_STEP(1)},                                               \
    {"ht_rnn_cell", nn_call_rnn_cell_h, 5, 5, NN_STEP_H(1), .variant = true},                          \
    {"ht_lstm_cell", nn_call_lstm_cell, 5, 3, NN_STEP(4)},                                             \
    {"ht_lstm_cell", nn_call_lstm_cell_c, 5, 5, .operands = {FIRST("x", 2, 4, 3), FIRST("h", 2, 4, 2), \
     FIRST("c", 2, 4, 2), OTHER("weight_ih", 2, 8, 3), OTHER("weight_hh", 2, 8, 2)}, .variant = true}, \
    {"ht_gru_cell", nn_call_gru_cell, 5, 3, NN_STEP(3)},                                               \
    {"ht_gru_cell", nn_call_gru_cell_h, 5, 5, NN_STEP_H(3), .variant = true}
/* clang-format on */

#endif
