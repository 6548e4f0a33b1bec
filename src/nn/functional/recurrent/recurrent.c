/* SPDX-License-Identifier: MIT
 *
 * Layers and directions of a recurrent network. Inside, time is axis 0 and the batch axis 1. */
#include "ht/recurrent.h"

#include <string.h>

#include "core/base/base.h"
#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/statistics.h"
#include "nn/functional/recurrent/direction.h"

ht_recurrent_options ht_recurrent_options_default(void)
{
    return (ht_recurrent_options){
        .size = sizeof(ht_recurrent_options), .num_layers = 1, .bias = true};
}

ht_recurrent_inputs ht_recurrent_inputs_default(void)
{
    return (ht_recurrent_inputs){.size = sizeof(ht_recurrent_inputs)};
}

/* A call. */
typedef struct network {
    const char *what;
    ht_cell cell;
    ht_recurrent_options options;
    ht_recurrent_inputs inputs; /* h_0 and c_0 with a batch axis; lengths as the layer takes them */
    int directions, per_cell;   /* weights of a cell */
    ht_tensor *const *weights;
    ht_tensor *mask; /* NULL like the lengths */
    bool batched;
    int64_t features[2]; /* of cell 0: its units, and the length of its h */
} network;

#define REFUSE(x, code, ...) (HT_FAIL((x)->body->comm, code, __VA_ARGS__), false)

static bool check_x(const network *net, const ht_tensor *x)
{
    const ht_body *body = x->body;
    const int batch = net->options.batch_first ? 0 : 1;

    if (body->ndim != 2 && body->ndim != 3)
        return REFUSE(x, HT_ERR_SHAPE, "%s: x is %s, expected 2 or 3 axes", net->what,
                      ht__shape_str(body->ndim, body->shape));
    if (body->split != HT_NONE && (body->ndim == 2 || body->split != batch))
        return REFUSE(x, HT_ERR_ARGUMENT,
                      "%s: x is split along axis %d; only the batch axis may be split", net->what,
                      body->split);
    if (body->shape[body->ndim == 2 ? 0 : 1 - batch] == 0)
        return REFUSE(x, HT_ERR_SHAPE, "%s: x is %s, expected at least one step", net->what,
                      ht__shape_str(body->ndim, body->shape));
    return true;
}

static bool check_weights(const network *net, const ht_tensor *x)
{
    if (net->weights == NULL)
        return REFUSE(x, HT_ERR_ARGUMENT, "%s: weights is NULL", net->what);
    return net->weights[HT_W_IH] == NULL ||
           ht__check_place(net->what, "x", x, "weight_ih", net->weights[HT_W_IH]);
}

static bool check_options(const network *net, const ht_tensor *x, int count)
{
    const ht_recurrent_options *o = &net->options;
    const int64_t expected = (int64_t)o->num_layers * net->directions * net->per_cell;

    if (HT_CHECK_OPTIONS(x->body->comm, net->what, o, ht_recurrent_options) != HT_SUCCESS ||
        HT_CHECK_OPTIONS(x->body->comm, net->what, &net->inputs, ht_recurrent_inputs) != HT_SUCCESS)
        return false;
    if (o->num_layers < 1)
        return REFUSE(x, HT_ERR_ARGUMENT, "%s: num_layers is %d, expected at least 1", net->what,
                      o->num_layers);
    if (!(o->dropout >= 0 && o->dropout <= 1))
        return REFUSE(x, HT_ERR_ARGUMENT, "%s: dropout is %g, expected a number from 0 to 1",
                      net->what, o->dropout);
    if (o->proj_size < 0 || (o->proj_size > 0 && net->cell != HT_CELL_LSTM))
        return REFUSE(x, HT_ERR_ARGUMENT, "%s: proj_size is %lld, expected 0, or more for an LSTM",
                      net->what, (long long)o->proj_size);
    if (!ht__recurrent_check_nonlinearity(net->what, x->body->comm, o->nonlinearity))
        return false;
    if (count != expected)
        return REFUSE(x, HT_ERR_ARGUMENT, "%s: count is %d, expected %lld weights", net->what,
                      count, (long long)expected);
    return true;
}

/* States with a batch axis, checked against x (L, N, in). */
static bool take_states(const network *net, const ht_tensor *x, const char *name, int64_t features,
                        ht_tensor **states)
{
    const int64_t cells = (int64_t)net->options.num_layers * net->directions;
    const ht_body *body;

    if (*states == NULL)
        return true;
    if (!ht__check_together_as(net->what, "x", x, name, *states))
        return false;
    if (!net->batched && (*states)->body->ndim == 2)
        *states = ht_expand_dims(*states, 1);
    if (*states == NULL)
        return false;
    body = (*states)->body;
    if (body->dtype != x->body->dtype)
        return REFUSE(x, HT_ERR_DTYPE, "%s: x is %s, %s is %s, expected the same dtype", net->what,
                      ht_dtype_name(x->body->dtype), name, ht_dtype_name(body->dtype));
    if (body->ndim != 3 || body->shape[0] != cells || body->shape[1] != x->body->shape[1] ||
        body->shape[2] != features)
        return REFUSE(x, HT_ERR_SHAPE, "%s: %s is %s, expected (%lld, %lld, %lld)", net->what, name,
                      ht__shape_str(body->ndim, body->shape), (long long)cells,
                      (long long)x->body->shape[1], (long long)features);
    if (body->split != HT_NONE && body->split != 1)
        return REFUSE(x, HT_ERR_ARGUMENT,
                      "%s: %s is split along axis %d; only the batch axis may be split", net->what,
                      name, body->split);
    return true;
}

static bool check_lengths(const network *net, const ht_tensor *x, ht_tensor *lengths)
{
    const ht_body *body = lengths->body;
    const int64_t steps = x->body->shape[0];
    double least, most;

    if (!ht__check_together_as(net->what, "x", x, "lengths", lengths))
        return false;
    if (!ht_dtype_is_integer(body->dtype))
        return REFUSE(x, HT_ERR_DTYPE, "%s: lengths is %s, expected an integer dtype", net->what,
                      ht_dtype_name(body->dtype));
    if (body->ndim != 1 || body->shape[0] != x->body->shape[1])
        return REFUSE(x, HT_ERR_SHAPE, "%s: lengths is %s, expected (%lld,)", net->what,
                      ht__shape_str(body->ndim, body->shape), (long long)x->body->shape[1]);
    if (body->shape[0] == 0)
        return true;
    if (ht_tensor_item(ht_min(lengths, HT_NONE), &least) != HT_SUCCESS ||
        ht_tensor_item(ht_max(lengths, HT_NONE), &most) != HT_SUCCESS)
        return false;
    if (least < 1 || most > (double)steps)
        return REFUSE(x, HT_ERR_ARGUMENT, "%s: lengths are %g to %g, expected 1 to %lld", net->what,
                      least, most, (long long)steps);
    return true;
}

/* The lengths with the rows of x, and the mask. */
static bool take_lengths(network *net, const ht_tensor *x)
{
    const ht_body *body = x->body;
    ht_tensor *lengths = net->inputs.lengths, *like, *steps;

    if (lengths == NULL)
        return true;
    if (!check_lengths(net, x, lengths))
        return false;
    like = ht__tensor_new(ht__body_new(net->what, body->comm, body->storage->device, HT_INT64, 1,
                                       &body->shape[1], body->split == HT_NONE ? HT_NONE : 0,
                                       body->bounds));
    lengths = ht_astype(lengths, HT_INT64);
    if (like == NULL || lengths == NULL)
        return false;
    lengths = ht_contiguous(ht__match_slabs(net->what, lengths, like->body));
    steps = ht_arange_ext(ht_number_integer(0), ht_number_integer(body->shape[0]),
                          ht_number_integer(1), HT_INT64, HT_NONE, body->storage->device,
                          body->comm);
    net->inputs.lengths = lengths;
    net->mask = ht_expand_dims(ht_lt(ht_expand_dims(steps, 1), ht_expand_dims(lengths, 0)), 2);
    return lengths != NULL && net->mask != NULL;
}

/* x where a row has this step, else 0. */
static ht_tensor *masked(const network *net, ht_tensor *x)
{
    return net->mask != NULL ? ht_where(net->mask, x, ht_scalar(0)) : x;
}

/* The weights of cell `index`, those that it lacks being NULL. */
static void weights_of(const network *net, int64_t index, ht_tensor *weights[HT_CELL_WEIGHTS])
{
    ht_tensor *const *given = net->weights + index * net->per_cell;
    int next = 2;

    for (int i = 0; i < HT_CELL_WEIGHTS; i++)
        weights[i] = NULL;
    weights[HT_W_IH] = given[0];
    weights[HT_W_HH] = given[1];
    if (net->options.bias) {
        weights[HT_B_IH] = given[next++];
        weights[HT_B_HH] = given[next++];
    }
    if (net->options.proj_size > 0)
        weights[HT_W_HR] = given[next];
}

/* All cells have as many units as the first one. */
static bool check_features(network *net, const ht_tensor *x, int64_t index,
                           const int64_t features[2])
{
    const int64_t proj = net->options.proj_size;

    if (index == 0)
        memcpy(net->features, features, sizeof net->features);
    if (features[0] == net->features[0] && features[1] == net->features[1] &&
        (proj == 0 || features[1] == proj))
        return true;
    return REFUSE(x, HT_ERR_SHAPE,
                  "%s: the weights of cell %lld have %lld units and states of %lld, expected %lld "
                  "and %lld",
                  net->what, (long long)index, (long long)features[0], (long long)features[1],
                  (long long)net->features[0], (long long)(proj > 0 ? proj : net->features[1]));
}

static bool run_cell(network *net, ht_tensor *x, int64_t index, ht_recurrent_result *result)
{
    ht_recurrent_inputs *inputs = &net->inputs;
    ht_recurrent_layer layer = {.what = net->what,
                                .cell = net->cell,
                                .reverse = net->directions == 2 && index % 2 == 1,
                                .lengths = inputs->lengths};
    ht_tensor *weights[HT_CELL_WEIGHTS];
    const bool lstm = net->cell == HT_CELL_LSTM;
    int64_t features[2];

    weights_of(net, index, weights);
    if ((net->options.proj_size > 0 && HT_IS_NULL(weights[HT_W_HR], net->what, "weight_hr")) ||
        !ht__recurrent_weights(net->what, net->cell, &x, weights, features) ||
        !check_features(net, x, index, features))
        return false;
    if (index == 0 &&
        (!take_states(net, x, "h_0", features[1], &inputs->h_0) ||
         (lstm && !take_states(net, x, "c_0", features[0], &inputs->c_0)) || !take_lengths(net, x)))
        return false;
    layer.lengths = inputs->lengths;
    layer.x = ht_contiguous(index < net->directions ? masked(net, x) : x);
    layer.h = ht__recurrent_state(net->what, x, inputs->h_0, index, features[1]);
    layer.c = lstm ? ht__recurrent_state(net->what, x, inputs->c_0, index, features[0]) : NULL;
    return layer.x != NULL && layer.h != NULL && (layer.c != NULL || !lstm) &&
           ht__recurrent_direction(&layer, weights, net->mask, result);
}

/* The output; h and c: a list of the last states of all cells. */
static ht_tensor *run_layers(network *net, ht_tensor *x, ht_tensor *h[], ht_tensor *c[])
{
    const ht_recurrent_options *o = &net->options;

    for (int layer = 0; layer < o->num_layers; layer++) {
        ht_tensor *y[2];

        for (int direction = 0; direction < net->directions; direction++) {
            const int index = layer * net->directions + direction;
            ht_recurrent_result result;

            if (!run_cell(net, x, index, &result))
                return NULL;
            y[direction] = result.y;
            h[index] = result.h;
            c[index] = result.c;
        }
        x = masked(net, net->directions == 2 ? ht_concatenate(2, y, 2) : y[0]);
        if (net->inputs.training && o->dropout > 0 && layer < o->num_layers - 1)
            x = ht_dropout(x, o->dropout, net->inputs.seed,
                           net->inputs.draw * (uint64_t)o->num_layers + (uint64_t)layer);
        if (x == NULL)
            return NULL;
    }
    return x;
}

/* The states of all cells in one tensor of its own, without a batch axis that the caller had not. */
static ht_tensor *gather(const network *net, int count, ht_tensor *states[])
{
    ht_tensor *all = ht_concatenate(count, states, 0);

    return net->batched ? all : ht__without_base(ht_squeeze(all, 1));
}

static ht_tensor *run(network *net, ht_tensor *x, ht_tensor **h_n, ht_tensor **c_n)
{
    const int count = net->options.num_layers * net->directions;
    ht_tensor **h = ht__alloc(2 * (size_t)count * sizeof(ht_tensor *)), **c = h + count;
    ht_tensor *y, *last_h = NULL, *last_c = NULL;

    if (!net->batched)
        x = ht_expand_dims(x, 1);
    else if (net->options.batch_first)
        x = ht_transpose(x, 0, 1);
    y = x != NULL ? run_layers(net, x, h, c) : NULL;
    if (y != NULL && !net->batched)
        y = ht_squeeze(y, 1);
    else if (y != NULL && net->options.batch_first)
        y = ht_transpose(y, 0, 1);
    y = ht__without_base(y);
    if (y != NULL && h_n != NULL && (last_h = gather(net, count, h)) == NULL)
        y = NULL;
    if (y != NULL && c_n != NULL && (last_c = gather(net, count, c)) == NULL)
        y = NULL;
    ht__free(h);
    if (y != NULL && h_n != NULL)
        *h_n = last_h;
    if (y != NULL && c_n != NULL)
        *c_n = last_c;
    return y;
}

static ht_tensor *call(network net, ht_tensor *x, int count, const ht_recurrent_options *options,
                       const ht_recurrent_inputs *inputs, ht_tensor **h_n, ht_tensor **c_n)
{
    net.options = options != NULL ? *options : ht_recurrent_options_default();
    net.inputs = inputs != NULL ? *inputs : ht_recurrent_inputs_default();
    net.directions = net.options.bidirectional ? 2 : 1;
    net.per_cell = 2 + 2 * net.options.bias + (net.options.proj_size > 0);
    if (HT_IS_NULL(x, net.what, "x") || !check_options(&net, x, count) || !check_weights(&net, x) ||
        !check_x(&net, x))
        return NULL;
    net.batched = x->body->ndim == 3;
    return run(&net, x, h_n, c_n);
}

ht_tensor *ht_rnn(ht_tensor *x, int count, ht_tensor *const weights[],
                  const ht_recurrent_options *options, const ht_recurrent_inputs *inputs,
                  ht_tensor **h_n)
{
    const bool relu = options != NULL && options->nonlinearity == HT_RNN_RELU;

    return call(
        (network){.what = "ht_rnn", .cell = relu ? HT_CELL_RELU : HT_CELL_TANH, .weights = weights},
        x, count, options, inputs, h_n, NULL);
}

ht_tensor *ht_lstm(ht_tensor *x, int count, ht_tensor *const weights[],
                   const ht_recurrent_options *options, const ht_recurrent_inputs *inputs,
                   ht_tensor **h_n, ht_tensor **c_n)
{
    return call((network){.what = "ht_lstm", .cell = HT_CELL_LSTM, .weights = weights}, x, count,
                options, inputs, h_n, c_n);
}

ht_tensor *ht_gru(ht_tensor *x, int count, ht_tensor *const weights[],
                  const ht_recurrent_options *options, const ht_recurrent_inputs *inputs,
                  ht_tensor **h_n)
{
    return call((network){.what = "ht_gru", .cell = HT_CELL_GRU, .weights = weights}, x, count,
                options, inputs, h_n, NULL);
}
