/* SPDX-License-Identifier: MIT
 *
 * Rows of the table of functionals: activations and dropouts. */
#ifndef HT_NN_FUNCTIONALS_ACTIVATIONS_H
#define HT_NN_FUNCTIONALS_ACTIVATIONS_H

#include "activation_rows.h"
#include "nn/functionals.h"

/* clang-format off */
#define CALL_TO(f, call) static ht_tensor *f(ht_tensor *in[], const nn_functional *row) \
    { (void)row; return call; }
#define CALL_OF_X(f, function, ...) CALL_TO(f, function(in[0]))
ACTIVATIONS_OF_X(CALL_OF_X)
CALL_TO(relu, ht_relu(in[0]))
CALL_TO(leaky_relu, ht_leaky_relu(in[0], row->number))
CALL_TO(prelu, ht_prelu(in[0], in[1]))
CALL_TO(rrelu, ht_rrelu(in[0], 0.1, 0.3, true, 1, 2))
CALL_TO(elu, ht_elu(in[0], row->number))
CALL_TO(celu, ht_celu(in[0], row->number))
CALL_TO(gelu, ht_gelu(in[0]))
CALL_TO(silu, ht_silu(in[0]))
CALL_TO(mish, ht_mish(in[0]))
CALL_TO(sigmoid, ht_sigmoid(in[0]))
CALL_TO(softplus, ht_softplus(in[0], row->number, 1.25))
CALL_TO(hardtanh, ht_hardtanh(in[0], -row->number, row->number))
CALL_TO(hardswish, ht_hardswish(in[0]))
CALL_TO(hardshrink, ht_hardshrink(in[0], row->number))
CALL_TO(softshrink, ht_softshrink(in[0], row->number))
CALL_TO(threshold, ht_threshold(in[0], row->number, -1))
CALL_TO(glu, ht_glu(in[0], row->mode))
CALL_TO(softmax, ht_softmax(in[0], row->mode))
CALL_TO(softmin, ht_softmin(in[0], row->mode))
CALL_TO(log_softmax, ht_log_softmax(in[0], row->mode))
CALL_TO(dropout, ht_dropout(in[0], row->number, 1, 2))
CALL_TO(dropout1d, ht_dropout1d(in[0], row->number, 1, 2))
CALL_TO(dropout2d, ht_dropout2d(in[0], row->number, 1, 2))
CALL_TO(dropout3d, ht_dropout3d(in[0], row->number, 1, 2))
CALL_TO(alpha_dropout, ht_alpha_dropout(in[0], row->number, 1, 2))
CALL_TO(feature_alpha_dropout, ht_feature_alpha_dropout(in[0], row->number, 1, 2))

#define X FIRST("x", 2, 4, 3)
#define ONE .operands = {X}
#define CUBE(flags) .operands = {flags("x", 3, 4, 3, 2)}
#define ALONG(f, axis, flags) {"ht_" #f, f, 1, 1, CUBE(flags), .mode = axis, .variant = true}
/* Dropout checks operands with any probability; 0 gives x back. */
#define ROW_OF_X(f, function, ...) {#function, f, 1, 1, ONE},
#define ACTIVATION_ROWS \
    ACTIVATIONS_OF_X(ROW_OF_X) \
    {"ht_relu", relu, 1, 1, ONE}, \
    {"ht_leaky_relu", leaky_relu, 1, 1, ONE, 0.01}, \
    {"ht_leaky_relu", leaky_relu, 1, 1, ONE, 0, .variant = true}, \
    {"ht_leaky_relu", leaky_relu, 1, 1, ONE, -1.5, .variant = true}, \
    {"ht_prelu", prelu, 2, 2, .operands = {X, OTHER("weight", 1, 3)}}, \
    {"ht_prelu", prelu, 2, 2, .operands = {FIRST("x", 3, 4, 3, 2), OTHER("weight", 1, 1)}, .variant = true}, \
    {"ht_rrelu", rrelu, 1, 1, ONE}, \
    {"ht_elu", elu, 1, 1, ONE, 0.5}, \
    {"ht_celu", celu, 1, 1, ONE, 0.5}, \
    {"ht_gelu", gelu, 1, 1, ONE}, \
    {"ht_silu", silu, 1, 1, ONE}, \
    {"ht_mish", mish, 1, 1, ONE}, \
    {"ht_sigmoid", sigmoid, 1, 1, ONE}, \
    {"ht_softplus", softplus, 1, 1, ONE, 1.5}, \
    {"ht_hardtanh", hardtanh, 1, 1, ONE, 0.3}, \
    {"ht_hardswish", hardswish, 1, 1, ONE}, \
    {"ht_hardshrink", hardshrink, 1, 1, ONE, 0.01}, \
    {"ht_softshrink", softshrink, 1, 1, ONE, 0.3}, \
    {"ht_threshold", threshold, 1, 1, ONE, -1, .variant = true}, \
    {"ht_threshold", threshold, 1, 1, ONE, -0.99}, \
    {"ht_glu", glu, 1, 1, .operands = {FIRST("x", 2, 4, 6)}, .mode = 1}, \
    {"ht_glu", glu, 1, 1, .operands = {FIRST("x", 2, 4, 3)}, .mode = 0, .variant = true}, \
    {"ht_softmax", softmax, 1, 1, ONE, .mode = 1}, \
    {"ht_softmin", softmin, 1, 1, ONE, .mode = 1}, \
    {"ht_log_softmax", log_softmax, 1, 1, ONE, .mode = 1}, \
    ALONG(softmax, 0, FIRST), ALONG(softmax, 1, FIRST), \
    ALONG(softmin, 0, FIRST), ALONG(softmin, -1, FIRST), \
    ALONG(log_softmax, 0, FIRST), ALONG(log_softmax, 1, FIRST), ALONG(log_softmax, -1, FIRST), \
    {"ht_dropout", dropout, 1, 1, ONE, 0.5}, \
    {"ht_dropout1d", dropout1d, 1, 1, CUBE(FIRST), 0.4}, \
    {"ht_dropout2d", dropout2d, 1, 1, CUBE(FIRST), 0}, \
    {"ht_dropout2d", dropout2d, 1, 1, .operands = {FIRST("x", 4, 4, 3, 2, 2)}, 0.4, .variant = true}, \
    {"ht_dropout3d", dropout3d, 1, 1, .operands = {FIRST("x", 4, 4, 2, 1, 3)}, 0.4}, \
    {"ht_alpha_dropout", alpha_dropout, 1, 1, ONE, 0.4}, \
    {"ht_feature_alpha_dropout", feature_alpha_dropout, 1, 1, CUBE(FIRST), 0.4}
/* clang-format on */

#endif
