/* SPDX-License-Identifier: MIT
 *
 * Refusals of test_operands.c: recurrent networks and cells. */
#ifndef HT_NN_FUNCTIONAL_REFUSALS_RECURRENT_H
#define HT_NN_FUNCTIONAL_REFUSALS_RECURRENT_H

/* clang-format off */
/* g: how many rows the weights have; more: one more. */
#define REFUSED_WEIGHTS(name, g, more) \
    {name, "weight_ih", OTHER_DTYPE, "x is float64, weight_ih is float32"}, \
    {name, "weight_ih", ONE_MORE, "weight_ih is (" g ", 3, 1), expected (gates, in)"}, \
    {name, "weight_ih", LONGER, \
     "weight_ih is (" more ", 3), weight_hh is (" g ", 2), expected (gates, in) and (gates, hidden)"}, \
    {name, "weight_ih", SPLIT, "weight_ih is split along axis 1, expected a replicated tensor"}, \
    {name, "weight_hh", OTHER_DTYPE, "x is float64, weight_hh is float32"}, \
    {name, "weight_hh", ONE_MORE, "weight_hh is (" g ", 2, 1), expected (gates, hidden)"}, \
    {name, "weight_hh", LONGER, \
     "weight_ih is (" g ", 3), weight_hh is (" more ", 2), expected (gates, in) and (gates, hidden)"}, \
    {name, "weight_hh", SPLIT, "weight_hh is split along axis 1, expected a replicated tensor"}, \
    REFUSED_BIAS(name, "bias_ih", g, more), \
    REFUSED_BIAS(name, "bias_hh", g, more)
#define REFUSED_BIAS(name, bias, g, more) \
    {name, bias, OTHER_DTYPE, "x is float64, " bias " is float32"}, \
    {name, bias, ONE_MORE, bias " is (" g ", 1), expected (gates)"}, \
    {name, bias, LONGER, "weight_ih is (" g ", 3), " bias " is (" more ",), expected (gates, in) and (gates)"}, \
    {name, bias, SPLIT, bias " is split along axis 0, expected a replicated tensor"}
#define REFUSED_SEQUENCE(name) \
    {name, "x", ONE_MORE, "x is (3, 2, 3, 1), expected 2 or 3 axes"}, \
    {name, "x", SPLIT, "x is split along axis 2; only the batch axis may be split"}
#define REFUSED_STEP(name) \
    {name, "x", ONE_MORE, "x is (4, 3, 1), expected 1 or 2 axes"}, \
    {name, "x", SPLIT, "x is split along axis 1; only the batch axis (0) may be split"}
#define RECURRENT_REFUSALS \
    REFUSED_SEQUENCE("ht_rnn"), REFUSED_WEIGHTS("ht_rnn", "2", "3"), \
    REFUSED_SEQUENCE("ht_lstm"), REFUSED_WEIGHTS("ht_lstm", "8", "9"), \
    REFUSED_SEQUENCE("ht_gru"), REFUSED_WEIGHTS("ht_gru", "6", "7"), \
    REFUSED_STEP("ht_rnn_cell"), REFUSED_WEIGHTS("ht_rnn_cell", "2", "3"), \
    REFUSED_STEP("ht_lstm_cell"), REFUSED_WEIGHTS("ht_lstm_cell", "8", "9"), \
    REFUSED_STEP("ht_gru_cell"), REFUSED_WEIGHTS("ht_gru_cell", "6", "7")
/* clang-format on */

#endif
