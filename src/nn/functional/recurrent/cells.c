/* SPDX-License-Identifier: MIT
 *
 * Cells: networks of one step. */
#include "core/base/base.h"
#include "core/ops/ops.h"
#include "ht/manipulations.h"
#include "ht/recurrent.h"
#include "nn/functional/recurrent/direction.h"

/* A state as the driver of states takes it, (1, N, features), checked against x (1, N, in). */
static bool take_state(const char *what, const ht_tensor *x, bool batched, const char *name,
                       int64_t features, ht_tensor **state)
{
    const ht_body *body;

    if (*state == NULL)
        return true;
    if (!ht__check_together_as(what, "x", x, name, *state))
        return false;
    body = (*state)->body;
    if (body->dtype != x->body->dtype) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: x is %s, %s is %s, expected the same dtype", what,
                ht_dtype_name(x->body->dtype), name, ht_dtype_name(body->dtype));
        return false;
    }
    if (body->ndim != 1 + batched || body->shape[body->ndim - 1] != features ||
        (batched && body->shape[0] != x->body->shape[1])) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE,
                "%s: %s is %s, expected %lld features for each row of x", what, name,
                ht__shape_str(body->ndim, body->shape), (long long)features);
        return false;
    }
    if (body->split != HT_NONE && (!batched || body->split != 0)) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "%s: %s is split along axis %d; only the batch axis (0) may be split", what, name,
                body->split);
        return false;
    }
    *state = ht_expand_dims(batched ? *state : ht_expand_dims(*state, 0), 0);
    return *state != NULL;
}

/* x as (1, N, in). */
static ht_tensor *take_x(const char *what, ht_tensor *x, const ht_tensor *weight_ih)
{
    const ht_body *body;

    if (HT_IS_NULL(x, what, "x") ||
        (weight_ih != NULL && !ht__check_place(what, "x", x, "weight_ih", weight_ih)))
        return NULL;
    body = x->body;
    if (body->ndim != 1 && body->ndim != 2) {
        HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s, expected 1 or 2 axes", what,
                ht__shape_str(body->ndim, body->shape));
        return NULL;
    }
    if (body->split != HT_NONE && (body->split != 0 || body->ndim == 1)) {
        HT_FAIL(body->comm, HT_ERR_ARGUMENT,
                "%s: x is split along axis %d; only the batch axis (0) may be split", what,
                body->split);
        return NULL;
    }
    return ht_expand_dims(body->ndim == 2 ? x : ht_expand_dims(x, 0), 0);
}

/* A copy: both states lie in one tensor. */
static ht_tensor *finished(ht_tensor *state, bool batched)
{
    state = ht_squeeze(state, 0);
    if (!batched && state != NULL)
        state = ht_squeeze(state, 0);
    return state != NULL ? ht_copy(state) : NULL;
}

static ht_tensor *run(const char *what, ht_cell cell, ht_tensor *x, ht_tensor *h, ht_tensor *c,
                      ht_tensor *weights[HT_CELL_WEIGHTS], ht_tensor **c_next)
{
    ht_recurrent_layer layer = {.what = what, .cell = cell};
    ht_recurrent_result result;
    const bool batched = x != NULL && x->body->ndim == 2, lstm = cell == HT_CELL_LSTM;
    int64_t features[2];
    ht_tensor *next;

    x = take_x(what, x, weights[HT_W_IH]);
    if (x == NULL || !ht__recurrent_weights(what, cell, &x, weights, features) ||
        !take_state(what, x, batched, "h", features[1], &h) ||
        (lstm && !take_state(what, x, batched, "c", features[0], &c)))
        return NULL;
    layer.x = x;
    layer.h = ht__recurrent_state(what, x, h, 0, features[1]);
    layer.c = lstm ? ht__recurrent_state(what, x, c, 0, features[0]) : NULL;
    if (layer.h == NULL || (lstm && layer.c == NULL) ||
        !ht__recurrent_direction(&layer, weights, NULL, &result))
        return NULL;
    next = finished(result.h, batched);
    if (next == NULL || c_next == NULL)
        return next;
    result.c = finished(result.c, batched);
    if (result.c == NULL)
        return NULL;
    *c_next = result.c;
    return next;
}

bool ht__recurrent_check_nonlinearity(const char *what, ht_comm *comm, ht_nonlinearity nonlinearity)
{
    if (nonlinearity == HT_RNN_TANH || nonlinearity == HT_RNN_RELU)
        return true;
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: nonlinearity is %d, expected HT_RNN_TANH or HT_RNN_RELU",
            what, (int)nonlinearity);
    return false;
}

#define WEIGHTS                                      \
    {                                                \
        weight_ih, weight_hh, bias_ih, bias_hh, NULL \
    }

ht_tensor *ht_rnn_cell(ht_tensor *x, ht_tensor *h, ht_tensor *weight_ih, ht_tensor *weight_hh,
                       ht_tensor *bias_ih, ht_tensor *bias_hh, ht_nonlinearity nonlinearity)
{
    ht_tensor *weights[HT_CELL_WEIGHTS] = WEIGHTS;

    if (!ht__recurrent_check_nonlinearity("ht_rnn_cell", ht_tensor_comm(x), nonlinearity))
        return NULL;
    return run("ht_rnn_cell", nonlinearity == HT_RNN_RELU ? HT_CELL_RELU : HT_CELL_TANH, x, h, NULL,
               weights, NULL);
}

ht_tensor *ht_lstm_cell(ht_tensor *x, ht_tensor *h, ht_tensor *c, ht_tensor *weight_ih,
                        ht_tensor *weight_hh, ht_tensor *bias_ih, ht_tensor *bias_hh,
                        ht_tensor **c_next)
{
    ht_tensor *weights[HT_CELL_WEIGHTS] = WEIGHTS;

    return run("ht_lstm_cell", HT_CELL_LSTM, x, h, c, weights, c_next);
}

ht_tensor *ht_gru_cell(ht_tensor *x, ht_tensor *h, ht_tensor *weight_ih, ht_tensor *weight_hh,
                       ht_tensor *bias_ih, ht_tensor *bias_hh)
{
    ht_tensor *weights[HT_CELL_WEIGHTS] = WEIGHTS;

    return run("ht_gru_cell", HT_CELL_GRU, x, h, NULL, weights, NULL);
}
