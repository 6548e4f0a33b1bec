/* SPDX-License-Identifier: MIT
 *
 * Recurrent networks, step by step from their formulas. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/ops/nn/ops_layers.h"

enum { TANH, RELU, LSTM, GRU };  /* n[0] */
enum { OUTPUT, LAST_H, LAST_C }; /* n[1]: the compared outputs */
enum { REVERSE = 1, BIAS = 2, BATCH_FIRST = 4, STATES = 8, LENGTHS = 16, LAYERS = 32 }; /* n[2] */
enum { W_IH, W_HH, B_IH, B_HH, W_HR, PER_CELL, H_0 = 40, C_0 }; /* lists of own numbers */
enum { MOST = 8 };                                              /* features */

/* Steps, rows and features of x, and what the options make of them. */
struct net {
    struct run *run;
    const struct statement *s;
    ht_dtype dtype;
    int64_t steps, rows, in, hidden, out; /* out: the length of h */
    int kind, gates, directions, layers;
    bool batched, batch_first;
};

static bool is_sequence(struct run *run, const struct variable *x)
{
    const int ndim = x->a.ndim;

    return (ndim == 2 || ndim == 3) && is_tame(run, x, 8) && array_size(&x->a) <= 60 &&
           x->a.shape[ndim - 1] <= MOST && x->a.shape[0] > 0 && (ndim == 2 || x->a.shape[1] > 0);
}

static bool generate_recurrent(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_sequence);
    if (s->arg[0] < 0)
        return false;
    pick_scale(run, s);
    s->n[0] = random_below(&run->random, 4);
    s->n[1] = random_below(&run->random, s->n[0] == LSTM ? 3 : 2);
    s->n[2] = random_below(&run->random, 64);
    s->n[3] = 1 + random_below(&run->random, 3);
    s->n[4] = s->n[0] == LSTM && s->n[3] > 1 && random_chance(&run->random, 40)
                  ? 1 + random_below(&run->random, s->n[3] - 1)
                  : 0;
    return true;
}

static struct net net_of(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    struct net net = {.run = run, .s = s, .dtype = x->dtype, .kind = (int)s->n[0]};

    net.batched = x->ndim == 3;
    net.batch_first = net.batched && s->n[2] & BATCH_FIRST;
    net.steps = x->shape[net.batch_first ? 1 : 0];
    net.rows = net.batched ? x->shape[net.batch_first ? 0 : 1] : 1;
    net.in = x->shape[x->ndim - 1];
    net.hidden = s->n[3];
    net.out = s->n[4] > 0 ? s->n[4] : s->n[3];
    net.gates = net.kind == LSTM ? 4 : net.kind == GRU ? 3 : 1;
    net.directions = s->n[2] & REVERSE ? 2 : 1;
    net.layers = s->n[2] & LAYERS ? 2 : 1;
    return net;
}

static bool fits(struct run *run, const struct statement *s)
{
    return is_sequence(run, &run->vars[s->arg[0]]) && has_good_scale(run, s);
}

static int64_t length_of(const struct net *net, int64_t row)
{
    return net->s->n[2] & LENGTHS ? 1 + choice(net->s, (int)(50 + row), net->steps) : net->steps;
}

/* --- The call --- */

static void make_weights(const struct net *net, ht_tensor *list[], int *count)
{
    const int64_t width = net->gates * net->hidden;

    for (int cell = 0; cell < net->layers * net->directions; cell++) {
        const int64_t in = cell < net->directions ? net->in : net->directions * net->out;
        const int64_t shapes[PER_CELL][2] = {
            {width, in}, {width, net->out}, {width, 0}, {width, 0}, {net->out, net->hidden}};

        for (int i = 0; i < PER_CELL; i++) {
            if ((i == B_IH || i == B_HH) ? !(net->s->n[2] & BIAS) : i == W_HR && net->s->n[4] == 0)
                continue;
            list[(*count)++] = weights(net->run, net->s, cell * PER_CELL + i,
                                       i == B_IH || i == B_HH ? 1 : 2, shapes[i]);
        }
    }
}

static void make_inputs(const struct net *net, ht_recurrent_inputs *inputs)
{
    const int64_t cells = net->layers * net->directions;
    const int64_t h[3] = {cells, net->batched ? net->rows : net->out, net->out};
    const int64_t c[3] = {cells, net->batched ? net->rows : net->hidden, net->hidden};
    int64_t lengths[64];

    if (net->s->n[2] & STATES) {
        inputs->h_0 = weights(net->run, net->s, H_0, net->batched ? 3 : 2, h);
        inputs->c_0 = net->kind == LSTM ? weights(net->run, net->s, C_0, net->batched ? 3 : 2, c)
                                        : NULL;
    }
    for (int64_t row = 0; row < net->rows; row++)
        lengths[row] = length_of(net, row);
    if (net->s->n[2] & LENGTHS)
        inputs->lengths = ht_array(lengths, 1, &net->rows, HT_INT64, HT_NONE);
}

static struct outcome call_recurrent(struct run *run, const struct statement *s)
{
    ht_recurrent_options options = ht_recurrent_options_default();
    ht_recurrent_inputs inputs = ht_recurrent_inputs_default();
    ht_tensor *list[4 * PER_CELL], *x = tensor_of(run, s, 0), *y, *h = NULL, *c = NULL;
    struct net net;
    int count = 0;

    if (!fits(run, s))
        return done(HT_SUCCESS);
    net = net_of(run, s);
    make_weights(&net, list, &count);
    make_inputs(&net, &inputs);
    options.num_layers = net.layers;
    options.nonlinearity = net.kind == RELU ? HT_RNN_RELU : HT_RNN_TANH;
    options.bias = s->n[2] & BIAS;
    options.batch_first = s->n[2] & BATCH_FIRST;
    options.bidirectional = net.directions == 2;
    options.proj_size = s->n[4];
    y = net.kind == LSTM  ? ht_lstm(x, count, list, &options, &inputs, &h, &c)
        : net.kind == GRU ? ht_gru(x, count, list, &options, &inputs, &h)
                          : ht_rnn(x, count, list, &options, &inputs, &h);
    return made(y == NULL || s->n[1] == OUTPUT ? y : s->n[1] == LAST_H ? h : c);
}

/* --- The reference --- */

/* Row `row` of weight W times v, plus its bias. */
static struct number affine(const struct net *net, int cell, int weight, int64_t row,
                            const struct number v[], int64_t n)
{
    struct total total = total_new();

    for (int64_t k = 0; k < n; k++)
        total_add_product(&total, net->dtype,
                          weight_at(net->run, net->s, cell * PER_CELL + weight, row * n + k), v[k]);
    if (net->s->n[2] & BIAS && weight != W_HR)
        total_add(&total, net->dtype,
                  weight_at(net->run, net->s, cell * PER_CELL + weight + B_IH, row));
    return soft_total(net->dtype, &total);
}

static struct number gate(const struct net *net, int cell, int64_t row, const struct number x[],
                          int64_t in, const struct number h[])
{
    return soft_add(net->dtype, affine(net, cell, W_IH, row, x, in),
                    affine(net, cell, W_HH, row, h, net->out));
}

/* The next h of unit j, before a projection; c changes. */
static struct number unit(const struct net *net, int cell, int64_t j, const struct number x[],
                          int64_t in, const struct number h[], struct number *c)
{
    const int64_t n = net->hidden;
    const ht_dtype d = net->dtype;
    struct number i, f, g, o;

    if (net->kind == TANH)
        return soft_tanh(d, gate(net, cell, j, x, in, h));
    if (net->kind == RELU)
        return soft_relu(d, gate(net, cell, j, x, in, h));
    i = soft_sigmoid(d, gate(net, cell, j, x, in, h));
    f = soft_sigmoid(d, gate(net, cell, n + j, x, in, h));
    if (net->kind == GRU) {
        g = soft_mul(d, i, affine(net, cell, W_HH, 2 * n + j, h, net->out));
        g = soft_tanh(d, soft_add(d, affine(net, cell, W_IH, 2 * n + j, x, in), g));
        return soft_add(d, soft_mul(d, soft_sub(d, exactly(1), f), g), soft_mul(d, f, h[j]));
    }
    g = soft_tanh(d, gate(net, cell, 2 * n + j, x, in, h));
    o = soft_sigmoid(d, gate(net, cell, 3 * n + j, x, in, h));
    *c = soft_add(d, soft_mul(d, f, *c), soft_mul(d, i, g));
    return soft_mul(d, o, soft_tanh(d, *c));
}

static void step(const struct net *net, int cell, const struct number x[], int64_t in,
                 struct number h[], struct number c[])
{
    struct number next[MOST];

    for (int64_t j = 0; j < net->hidden; j++)
        next[j] = unit(net, cell, j, x, in, h, &c[j]);
    for (int64_t j = 0; j < net->out; j++)
        h[j] = net->s->n[4] > 0 ? affine(net, cell, W_HR, j, next, net->hidden) : next[j];
}

/* One direction of a layer for one row: x is (steps, in) in rows of MOST, and so is y, from column
 * `column` on. h and c become the last states. */
static void direction(const struct net *net, int cell, int64_t row, struct number (*x)[MOST],
                      int64_t in, struct number (*y)[MOST], int64_t column, struct number h[],
                      struct number c[])
{
    const int64_t length = length_of(net, row);

    for (int64_t k = 0; k < net->out; k++)
        h[k] = net->s->n[2] & STATES
                   ? weight_at(net->run, net->s, H_0, (cell * net->rows + row) * net->out + k)
                   : exactly(0);
    for (int64_t k = 0; k < net->hidden; k++)
        c[k] = net->s->n[2] & STATES
                   ? weight_at(net->run, net->s, C_0, (cell * net->rows + row) * net->hidden + k)
                   : exactly(0);
    for (int64_t i = 0; i < length; i++) {
        const int64_t t = cell % net->directions == 1 ? length - 1 - i : i;

        step(net, cell, x[t], in, h, c);
        memcpy(&y[t][column], h, (size_t)net->out * sizeof *h);
    }
}

static void put(const struct net *net, struct array *out, int64_t index, struct number a)
{
    array_set(out, index, narrow(net->run, net->dtype, a, 0, 1));
}

static void row_reference(const struct net *net, int64_t row, struct array *out)
{
    const struct array *x = array_of(net->run, net->s, 0);
    struct number(*from)[MOST] = calloc((size_t)net->steps, sizeof *from);
    struct number(*to)[MOST] = calloc((size_t)net->steps, sizeof *to);
    int64_t in = net->in, width = net->directions * net->out;

    for (int64_t t = 0; t < net->steps; t++)
        for (int64_t k = 0; k < in; k++) {
            const int64_t first = net->batch_first ? row * net->steps + t : t * net->rows + row;

            from[t][k] = array_at(x, first * in + k);
        }
    for (int cell = 0; cell < net->layers * net->directions; cell++) {
        struct number state[2][MOST];
        const bool h = net->s->n[1] == LAST_H;
        const int64_t n = h ? net->out : net->hidden;

        direction(net, cell, row, from, in, to, cell % net->directions * net->out, state[0],
                  state[1]);
        for (int64_t k = 0; net->s->n[1] != OUTPUT && k < n; k++)
            put(net, out, (cell * net->rows + row) * n + k, state[h ? 0 : 1][k]);
        if (cell % net->directions == net->directions - 1) {
            memcpy(from, to, (size_t)net->steps * sizeof *from);
            memset(to, 0, (size_t)net->steps * sizeof *to);
            in = width;
        }
    }
    for (int64_t t = 0; net->s->n[1] == OUTPUT && t < net->steps; t++)
        for (int64_t k = 0; k < width; k++) {
            const int64_t first = net->batch_first ? row * net->steps + t : t * net->rows + row;

            put(net, out, first * width + k, from[t][k]);
        }
    free(from);
    free(to);
}

static int reference_recurrent(struct run *run, const struct statement *s, struct array *out)
{
    struct net net;
    int64_t shape[3];
    int ndim;

    if (!fits(run, s))
        return WANT_ANYTHING;
    net = net_of(run, s);
    if (refused_split(run, s, !net.batched ? HT_NONE : net.batch_first ? 0 : 1))
        return (int)run->status;
    ndim = net.batched ? 3 : 2;
    shape[0] = net.layers * net.directions;
    shape[1] = net.rows;
    if (s->n[1] == OUTPUT)
        memcpy(shape, array_of(run, s, 0)->shape, sizeof shape);
    shape[ndim - 1] = s->n[1] == OUTPUT   ? net.directions * net.out
                      : s->n[1] == LAST_H ? net.out
                                          : net.hidden;
    *out = array_new(net.dtype, ndim, shape);
    for (int64_t row = 0; row < net.rows; row++)
        row_reference(&net, row, out);
    return WANT_SUCCESS;
}

/* --- Cells: one step of rows (N, in), or of one row (in) --- */

static bool is_step(struct run *run, const struct variable *x)
{
    const int ndim = x->a.ndim;

    return (ndim == 1 || ndim == 2) && is_tame(run, x, 8) && array_size(&x->a) <= 60 &&
           x->a.shape[ndim - 1] <= MOST;
}

static bool generate_cell(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_step);
    if (s->arg[0] < 0)
        return false;
    pick_scale(run, s);
    s->n[0] = random_below(&run->random, 4);
    s->n[1] = s->n[0] == LSTM && random_chance(&run->random, 50) ? LAST_C : LAST_H;
    s->n[2] = random_below(&run->random, 64) & (BIAS | STATES);
    s->n[3] = 1 + random_below(&run->random, 3);
    return true;
}

static bool fits_cell(struct run *run, const struct statement *s)
{
    return is_step(run, &run->vars[s->arg[0]]) && has_good_scale(run, s);
}

static struct net cell_of(struct run *run, const struct statement *s)
{
    const struct array *x = array_of(run, s, 0);
    struct net net = net_of(run, s);

    net.batched = x->ndim == 2;
    net.steps = 1;
    net.rows = net.batched ? x->shape[0] : 1;
    return net;
}

static struct outcome call_cell(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0), *w[4] = {NULL}, *h = NULL, *c = NULL, *y, *last = NULL;
    int64_t shapes[4][2], state[2];
    struct net net;

    if (!fits_cell(run, s))
        return done(HT_SUCCESS);
    net = cell_of(run, s);
    for (int i = 0; i < (s->n[2] & BIAS ? 4 : 2); i++) {
        shapes[i][0] = net.gates * net.hidden;
        shapes[i][1] = i == W_IH ? net.in : net.hidden;
        w[i] = weights(run, s, i, i < B_IH ? 2 : 1, shapes[i]);
    }
    state[0] = net.batched ? net.rows : net.hidden;
    state[1] = net.hidden;
    if (s->n[2] & STATES) {
        h = weights(run, s, H_0, net.batched ? 2 : 1, state);
        c = weights(run, s, C_0, net.batched ? 2 : 1, state);
    }
    if (net.kind == LSTM)
        y = ht_lstm_cell(x, h, c, w[W_IH], w[W_HH], w[B_IH], w[B_HH], &last);
    else if (net.kind == GRU)
        y = ht_gru_cell(x, h, w[W_IH], w[W_HH], w[B_IH], w[B_HH]);
    else
        y = ht_rnn_cell(x, h, w[W_IH], w[W_HH], w[B_IH], w[B_HH],
                        net.kind == RELU ? HT_RNN_RELU : HT_RNN_TANH);
    return made(y != NULL && s->n[1] == LAST_C ? last : y);
}

static int reference_cell(struct run *run, const struct statement *s, struct array *out)
{
    struct net net;
    int64_t shape[2];

    if (!fits_cell(run, s))
        return WANT_ANYTHING;
    net = cell_of(run, s);
    if (refused_split(run, s, net.batched ? 0 : HT_NONE))
        return (int)run->status;
    shape[0] = net.batched ? net.rows : net.hidden;
    shape[1] = net.hidden;
    *out = array_new(net.dtype, net.batched ? 2 : 1, shape);
    for (int64_t row = 0; row < net.rows; row++)
        row_reference(&net, row, out);
    return WANT_SUCCESS;
}

const struct op ops_recurrent[] = {
    {"cell(%t, %t, kind %n, part %n, flags %n, hidden %n, seed %x)", 6, generate_cell, call_cell,
     reference_cell, .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {"recurrent(%t, %t, kind %n, part %n, flags %n, hidden %n, proj %n, seed %x)", 10,
     generate_recurrent, call_recurrent, reference_recurrent,
     .rules = RULE_SMOOTH | RULE_SAVES | RULE_LAYER},
    {0}};
