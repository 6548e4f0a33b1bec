/* SPDX-License-Identifier: MIT
 *
 * Activations and dropout: the calls of PyTorch's functions. */
#include <string.h>

#include "replay.h"

#define IN                     replay_in(r, "input")
#define NUMBER(key, otherwise) replay_number(r, key, otherwise)
#define CALL(name, call)                         \
    static ht_tensor *call_##name(replay_run *r) \
    {                                            \
        return call;                             \
    }
CALL(relu, ht_relu(IN))
CALL(relu6, ht_relu6(IN))
CALL(selu, ht_selu(IN))
CALL(silu, ht_silu(IN))
CALL(mish, ht_mish(IN))
CALL(tanh, ht_tanh(IN))
CALL(sigmoid, ht_sigmoid(IN))
CALL(logsigmoid, ht_logsigmoid(IN))
CALL(hardsigmoid, ht_hardsigmoid(IN))
CALL(hardswish, ht_hardswish(IN))
CALL(softsign, ht_softsign(IN))
CALL(tanhshrink, ht_tanhshrink(IN))
CALL(leaky_relu, ht_leaky_relu(IN, NUMBER("negative_slope", 0.01)))
CALL(elu, ht_elu(IN, NUMBER("alpha", 1)))
CALL(celu, ht_celu(IN, NUMBER("alpha", 1)))
CALL(hardshrink, ht_hardshrink(IN, NUMBER("lambd", 0.5)))
CALL(softshrink, ht_softshrink(IN, NUMBER("lambd", 0.5)))
CALL(softplus, ht_softplus(IN, NUMBER("beta", 1), NUMBER("threshold", 20)))
CALL(hardtanh, ht_hardtanh(IN, NUMBER("min_val", -1), NUMBER("max_val", 1)))
CALL(threshold, ht_threshold(IN, NUMBER("threshold", 0), NUMBER("value", 0)))
CALL(prelu, ht_prelu(IN, replay_in(r, "weight")))
CALL(glu, ht_glu(IN, (int)NUMBER("dim", -1)))
CALL(softmax, ht_softmax(IN, (int)NUMBER("dim", 0)))
CALL(softmin, ht_softmin(IN, (int)NUMBER("dim", 0)))
CALL(log_softmax, ht_log_softmax(IN, (int)NUMBER("dim", 0)))

static ht_tensor *call_gelu(replay_run *r)
{
    const char *how = replay_word(r, "approximate", "none");

    if (strcmp(how, "none") != 0 && strcmp(how, "tanh") != 0)
        return replay_leave(r, "names of approximations are functions");
    return strcmp(how, "tanh") == 0 ? ht_gelu_tanh(IN) : ht_gelu(IN);
}

static ht_tensor *call_rrelu(replay_run *r)
{
    const double lower = NUMBER("lower", 1.0 / 8), upper = NUMBER("upper", 1.0 / 3);
    const bool training = NUMBER("training", 0) != 0;

    if (training && lower < upper)
        return replay_leave(r, "random numbers");
    return ht_rrelu(IN, lower, upper, training, 1, 1);
}

/* Dropout by `function`, whose p is 0 without training. */
static ht_tensor *drop(replay_run *r, double usual, bool trains,
                       ht_tensor *(*function)(ht_tensor *, double, uint64_t, uint64_t))
{
    const double p = NUMBER("p", usual);
    const bool training = NUMBER("training", trains) != 0;

    if (training && p > 0 && p < 1)
        return replay_leave(r, "random numbers");
    return function(IN, training ? p : 0, 1, 1);
}
CALL(dropout, drop(r, 0.5, true, ht_dropout))
CALL(dropout2d, drop(r, 0.5, true, ht_dropout2d))
CALL(dropout3d, drop(r, 0.5, true, ht_dropout3d))
CALL(alpha_dropout, drop(r, 0.5, false, ht_alpha_dropout))
CALL(feature_alpha_dropout, drop(r, 0.5, false, ht_feature_alpha_dropout))

const replay_function replay_activations[] = {
    {"relu", call_relu, NULL},
    {"relu6", call_relu6, NULL},
    {"selu", call_selu, NULL},
    {"silu", call_silu, NULL},
    {"mish", call_mish, NULL},
    {"tanh", call_tanh, NULL},
    {"sigmoid", call_sigmoid, NULL},
    {"logsigmoid", call_logsigmoid, NULL},
    {"hardsigmoid", call_hardsigmoid, NULL},
    {"hardswish", call_hardswish, NULL},
    {"softsign", call_softsign, NULL},
    {"tanhshrink", call_tanhshrink, NULL},
    {"leaky_relu", call_leaky_relu, NULL},
    {"elu", call_elu, NULL},
    {"celu", call_celu, NULL},
    {"hardshrink", call_hardshrink, NULL},
    {"softshrink", call_softshrink, NULL},
    {"softplus", call_softplus, NULL},
    {"hardtanh", call_hardtanh, NULL},
    {"threshold", call_threshold, NULL},
    {"prelu", call_prelu, NULL},
    {"rrelu", call_rrelu, NULL},
    {"gelu", call_gelu, NULL},
    {"glu", call_glu, NULL},
    {"softmax", call_softmax, NULL},
    {"softmin", call_softmin, NULL},
    {"log_softmax", call_log_softmax, NULL},
    {"dropout", call_dropout, NULL},
    {"dropout2d", call_dropout2d, NULL},
    {"dropout3d", call_dropout3d, NULL},
    {"alpha_dropout", call_alpha_dropout, NULL},
    {"feature_alpha_dropout", call_feature_alpha_dropout, NULL},
    {.name = NULL},
};
