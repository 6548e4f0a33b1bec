/* SPDX-License-Identifier: MIT
 *
 * Rows of the table of functionals: normalisation. mode: the normalised axes, the groups, the size,
 * or use_input_stats. */
#ifndef HT_NN_FUNCTIONALS_NORM_H
#define HT_NN_FUNCTIONALS_NORM_H

#include "nn/functionals.h"

/* The last axes of the first operand as the table has it. */
static inline const int64_t *nn_last_axes(const nn_functional *row)
{
    return row->operands[0].shape + row->operands[0].ndim - row->mode;
}

static inline ht_tensor *nn_call_layer_norm(ht_tensor *in[], const nn_functional *row)
{
    return ht_layer_norm(in[0], row->mode, nn_last_axes(row), in[1], in[2], 1e-5);
}

static inline ht_tensor *nn_call_group_norm(ht_tensor *in[], const nn_functional *row)
{
    return ht_group_norm(in[0], row->mode, in[1], in[2], 1e-5);
}

static inline ht_tensor *nn_call_instance_norm(ht_tensor *in[], const nn_functional *row)
{
    return ht_instance_norm(in[0], in[1], in[2], in[3], in[4], row->mode, 0.1, 1e-5);
}

static inline ht_tensor *nn_call_rms_norm(ht_tensor *in[], const nn_functional *row)
{
    return ht_rms_norm(in[0], row->mode, nn_last_axes(row), in[1], row->number);
}

static inline ht_tensor *nn_call_local_response_norm(ht_tensor *in[], const nn_functional *row)
{
    return ht_local_response_norm(in[0], row->mode, row->number, 0.75, 1.5);
}

/* clang-format off */
#define NN_INSTANCES .operands = {FIRST("x", 4, 4, 3, 2, 2), {"running_mean", HT_FLOAT64, 1, {3}, 0}, \
    {"running_var", HT_FLOAT64, 1, {3}, NN_POSITIVE}, OTHER("weight", 1, 3), OTHER("bias", 1, 3)}
#define NN_NORM_ROWS                                                                                    \
    {"ht_layer_norm", nn_call_layer_norm, 3, 1,                                                         \
     .operands = {FIRST("x", 3, 4, 3, 2), OTHER("weight", 2, 3, 2), OTHER("bias", 2, 3, 2)}, .mode = 2}, \
    {"ht_layer_norm", nn_call_layer_norm, 3, 1,                                                         \
     .operands = {FIRST("x", 2, 4, 5), OTHER("weight", 1, 5), OTHER("bias", 1, 5)}, .mode = 1, .variant = true}, \
    {"ht_group_norm", nn_call_group_norm, 3, 1,                                                         \
     .operands = {FIRST("x", 3, 4, 6, 2), OTHER("weight", 1, 6), OTHER("bias", 1, 6)}, .mode = 3},      \
    {"ht_group_norm", nn_call_group_norm, 3, 1,                                                         \
     .operands = {FIRST("x", 4, 3, 4, 2, 2), OTHER("weight", 1, 4), OTHER("bias", 1, 4)}, .mode = 1, .variant = true}, \
    {"ht_instance_norm", nn_call_instance_norm, 5, 1, NN_INSTANCES, .mode = true},                      \
    {"ht_instance_norm", nn_call_instance_norm, 5, 5, NN_INSTANCES, .mode = false, .variant = true},    \
    {"ht_rms_norm", nn_call_rms_norm, 2, 1,                                                             \
     .operands = {FIRST("x", 3, 4, 3, 2), OTHER("weight", 2, 3, 2)}, -1, .mode = 2},                    \
    {"ht_rms_norm", nn_call_rms_norm, 2, 1,                                                             \
     .operands = {FIRST("x", 3, 4, 2, 3), OTHER("weight", 1, 3)}, 0.1, .mode = 1, .variant = true},     \
    {"ht_local_response_norm", nn_call_local_response_norm, 1, 1, .operands = {FIRST("x", 3, 4, 5, 2)}, 0.9, .mode = 3}, \
    {"ht_local_response_norm", nn_call_local_response_norm, 1, 1, .operands = {FIRST("x", 4, 4, 3, 2, 1)}, 0.5, .mode = 4, .variant = true}
/* clang-format on */

#endif
