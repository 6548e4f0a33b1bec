/* SPDX-License-Identifier: MIT
 *
 * Recurrent networks, as functions and as layers. Source: torch.nn.
 *
 * Operands may be split along the batch; results then have that split, too, in the slabs of x. But
 * h_n and c_n of layers are balanced, and the output of two directions may be. Weights are
 * replicated on the communicator of x, and their gradients are summed over it. All operands but
 * lengths have the floating dtype of x, and so have results. Differentiable in all of them. Results
 * are scoped; NULL after an error.
 * A layer in one direction is one node of the graph (src/nn/functional/recurrent/layer.c). With
 * proj_size it is a few nodes for each step.
 * Layers are owned, with process-local float32 parameters, uniform in +-1 / sqrt(hidden_size). They
 * take process-local batches (ht/nn.h). Their constructors are not collective.
 * Errors: HT_ERR_SHAPE for operands that do not fit, HT_ERR_DTYPE for another dtype,
 * HT_ERR_ARGUMENT for an operand with another split, or an option out of its range. HT_ERR_COMM for
 * operands on different communicators. */
#ifndef HT_RECURRENT_H
#define HT_RECURRENT_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* The nonlinearity of ht_rnn and ht_rnn_cell. */
typedef enum ht_nonlinearity { HT_RNN_TANH, HT_RNN_RELU } ht_nonlinearity;

/* The form of a network. Each field begins with its default. */
typedef struct ht_recurrent_options {
    size_t size;                  /* set by ht_recurrent_options_default */
    int num_layers;               /* 1; at least 1 */
    ht_nonlinearity nonlinearity; /* HT_RNN_TANH; RNN alone uses it, all check it */
    bool bias;                    /* true */
    bool batch_first;             /* false; true: x and the output are (N, L, ...) */
    double dropout;     /* 0, the probability after each layer but the last, in training; 0 to 1 */
    bool bidirectional; /* false; true: each layer runs in both directions */
    int64_t proj_size;  /* 0; LSTM: h is projected to this many features, fewer than hidden. RNN
                           and GRU: another value than 0 is HT_ERR_ARGUMENT */
} ht_recurrent_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_recurrent_options ht_recurrent_options_default(void);

/* Operands other than x, and the draws of dropout. Each field begins with its default. */
typedef struct ht_recurrent_inputs {
    size_t size;    /* set by ht_recurrent_inputs_default */
    ht_tensor *h_0; /* NULL: zeros. (layers directions, N, hidden or proj_size) */
    ht_tensor *c_0; /* NULL: zeros. LSTM: (layers directions, N, hidden) */
    ht_tensor
        *lengths;  /* NULL: L for all. (N), integers from 1 to L: the hidden state of a row stops
                            after this many steps, later outputs are 0, and the reverse direction
                            begins at the row's end */
    bool training; /* true: dropout */
    uint64_t seed, draw; /* 0. As for ht_dropout; a layer sets them, and training */
} ht_recurrent_inputs;

/* Returns the default inputs, with size set. Not collective. */
HT_API ht_recurrent_inputs ht_recurrent_inputs_default(void);

/* h_t = tanh(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), or relu, in layers.
 *
 * x: (L, N, in), or (L, in) without a batch; L is at least 1.
 * count, weights: for each layer, and there for each direction, weight_ih (hidden, in), weight_hh
 *   (hidden, hidden), and with `bias` bias_ih (hidden) and bias_hh (hidden). Behind the first
 *   layer, `in` is directions times the length of h.
 * options, inputs: NULL: the defaults.
 * h_n: receives the last hidden states, in the shape of h_0; NULL: not wanted.
 * Collective if x is split.
 * Result: the hidden states of the last layer, (L, N, directions hidden), without N if x has none;
 * (N, L, directions hidden) with batch_first.
 * Errors: HT_ERR_ARGUMENT if count is not the number of weights, and for a length out of its range.
 * HT_ERR_SHAPE also if L is 0.
 * Source: torch.nn.RNN. */
HT_API ht_tensor *ht_rnn(ht_tensor *x, int count, ht_tensor *const weights[],
                         const ht_recurrent_options *options, const ht_recurrent_inputs *inputs,
                         ht_tensor **h_n);

/* Long short-term memory: c_t = f c_(t-1) + i g and h_t = o tanh(c_t), in layers.
 *
 * Here (i, f, g, o) = (sigmoid, sigmoid, tanh, sigmoid)(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh).
 * x, options, inputs, h_n: as for ht_rnn.
 * count, weights: as for ht_rnn, with 4 hidden rows. With proj_size, weight_hr (proj_size, hidden)
 *   follows for each layer and direction; h_t is multiplied by it, and weight_hh has proj_size
 *   columns.
 * c_n: receives the last c, in the shape of c_0; NULL: not wanted.
 * Collective if x is split.
 * Result: as that of ht_rnn; with proj_size, directions proj_size features.
 * Errors: those of ht_rnn.
 * Source: torch.nn.LSTM. */
HT_API ht_tensor *ht_lstm(ht_tensor *x, int count, ht_tensor *const weights[],
                          const ht_recurrent_options *options, const ht_recurrent_inputs *inputs,
                          ht_tensor **h_n, ht_tensor **c_n);

/* Gated recurrent units: h_t = (1 - z) n + z h_(t-1), in layers.
 *
 * Here (r, z) = sigmoid(W_ih x_t + b_ih + W_hh h_(t-1) + b_hh), by their rows, and
 * n = tanh(W_in x_t + b_in + r (W_hn h_(t-1) + b_hn)).
 * x, options, inputs, h_n: as for ht_rnn.
 * count, weights: as for ht_rnn, with 3 hidden rows in the order r, z, n.
 * Collective if x is split.
 * Result: as that of ht_rnn.
 * Errors: those of ht_rnn.
 * Source: torch.nn.GRU. */
HT_API ht_tensor *ht_gru(ht_tensor *x, int count, ht_tensor *const weights[],
                         const ht_recurrent_options *options, const ht_recurrent_inputs *inputs,
                         ht_tensor **h_n);

/* Returns the next h of one step of ht_rnn.
 *
 * x: (N, in), or (in) without a batch.
 * h: (N, hidden) or (hidden); NULL: zeros.
 * weight_ih, weight_hh, bias_ih, bias_hh: as for ht_rnn; a bias may be NULL.
 * nonlinearity: HT_RNN_TANH or HT_RNN_RELU.
 * Collective if x is split.
 * Result: (N, hidden) or (hidden).
 * Source: torch.nn.RNNCell. */
HT_API ht_tensor *ht_rnn_cell(ht_tensor *x, ht_tensor *h, ht_tensor *weight_ih,
                              ht_tensor *weight_hh, ht_tensor *bias_ih, ht_tensor *bias_hh,
                              ht_nonlinearity nonlinearity);

/* Returns the next h of one step of ht_lstm.
 *
 * x, h, weight_ih, weight_hh, bias_ih, bias_hh: as for ht_rnn_cell.
 * c: as h.
 * c_next: receives the next c; NULL: not wanted.
 * Collective if x is split.
 * Result: (N, hidden) or (hidden).
 * Source: torch.nn.LSTMCell. */
HT_API ht_tensor *ht_lstm_cell(ht_tensor *x, ht_tensor *h, ht_tensor *c, ht_tensor *weight_ih,
                               ht_tensor *weight_hh, ht_tensor *bias_ih, ht_tensor *bias_hh,
                               ht_tensor **c_next);

/* Returns the next h of one step of ht_gru.
 *
 * x, h, weight_ih, weight_hh, bias_ih, bias_hh: as for ht_rnn_cell.
 * Collective if x is split.
 * Result: (N, hidden) or (hidden).
 * Source: torch.nn.GRUCell. */
HT_API ht_tensor *ht_gru_cell(ht_tensor *x, ht_tensor *h, ht_tensor *weight_ih,
                              ht_tensor *weight_hh, ht_tensor *bias_ih, ht_tensor *bias_hh);

/* Returns a layer that computes ht_rnn, with parameters weight_ih_l0, weight_hh_l0, bias_ih_l0,
 * bias_hh_l0, weight_ih_l0_reverse, ..., weight_ih_l1 and so on.
 *
 * It takes a tensor x and gives the output. Or it takes a map of x, h_0, c_0 and lengths, where all
 * but x are optional, and gives a map of output, h_n and (LSTM) c_n. ht_nn_recurrent_forward makes
 * and reads these maps. Other inputs are HT_ERR_ARGUMENT.
 * input_size, hidden_size: the lengths of `in` and `hidden`, at least 1.
 * Not collective.
 * Source: torch.nn.RNN. */
HT_API ht_module *ht_nn_rnn(int64_t input_size, int64_t hidden_size);

/* ht_nn_rnn of input_size and hidden_size with options; NULL: the defaults. */
HT_API ht_module *ht_nn_rnn_ext(int64_t input_size, int64_t hidden_size,
                                const ht_recurrent_options *options);

/* Returns a layer that computes ht_lstm of input_size and hidden_size, used as ht_nn_rnn.
 * Source: torch.nn.LSTM. */
HT_API ht_module *ht_nn_lstm(int64_t input_size, int64_t hidden_size);

/* ht_nn_lstm of input_size and hidden_size with options; NULL: the defaults. With proj_size there
 * are also weight_hr_l0 and so on. */
HT_API ht_module *ht_nn_lstm_ext(int64_t input_size, int64_t hidden_size,
                                 const ht_recurrent_options *options);

/* Returns a layer that computes ht_gru of input_size and hidden_size, used as ht_nn_rnn.
 * Source: torch.nn.GRU. */
HT_API ht_module *ht_nn_gru(int64_t input_size, int64_t hidden_size);

/* ht_nn_gru of input_size and hidden_size with options; NULL: the defaults. */
HT_API ht_module *ht_nn_gru_ext(int64_t input_size, int64_t hidden_size,
                                const ht_recurrent_options *options);

/* Returns the output of module, a recurrent layer or a wrapper of one, for x and inputs. Hooks run
 * before and after.
 *
 * inputs: h_0, c_0 and lengths are read; NULL: none.
 * h_n, c_n: receive the last hidden states; NULL: not wanted. c_n is set to NULL unless module is
 * an LSTM.
 * Collective if x is split, or module is a data-parallel wrapper in training.
 * Result: scoped.
 * Errors: HT_ERR_ARGUMENT for another module; those of ht_forward. */
HT_API ht_tensor *ht_nn_recurrent_forward(ht_module *module, ht_tensor *x,
                                          const ht_recurrent_inputs *inputs, ht_tensor **h_n,
                                          ht_tensor **c_n);

/* Returns a layer that computes ht_rnn_cell, with parameters weight_ih, weight_hh, bias_ih,
 * bias_hh.
 *
 * It takes x, or a list of x and h, and gives the next h.
 * input_size, hidden_size: the lengths of `in` and `hidden`, at least 1.
 * bias: false: no bias_ih and bias_hh.
 * nonlinearity: HT_RNN_TANH or HT_RNN_RELU.
 * Not collective.
 * Source: torch.nn.RNNCell. */
HT_API ht_module *ht_nn_rnn_cell(int64_t input_size, int64_t hidden_size, bool bias,
                                 ht_nonlinearity nonlinearity);

/* Returns a layer that computes ht_lstm_cell.
 *
 * It takes x, or a list of x, h and c, and gives a list of the next h and c.
 * input_size, hidden_size, bias: as for ht_nn_rnn_cell.
 * Not collective.
 * Source: torch.nn.LSTMCell. */
HT_API ht_module *ht_nn_lstm_cell(int64_t input_size, int64_t hidden_size, bool bias);

/* Returns a layer that computes ht_gru_cell, used as ht_nn_rnn_cell.
 *
 * input_size, hidden_size, bias: as for ht_nn_rnn_cell.
 * Not collective.
 * Source: torch.nn.GRUCell. */
HT_API ht_module *ht_nn_gru_cell(int64_t input_size, int64_t hidden_size, bool bias);

HT_END_DECLS
#endif
