/* SPDX-License-Identifier: MIT
 *
 * RNN, LSTM and GRU: parameters with the names that PyTorch gives them, in the order in which the
 * functions take them. */
#include <math.h>
#include <stdio.h>

#include "ht/recurrent.h"
#include "nn/module/init.h"
#include "nn/module/module.h"

/* The type of each layer lies in the row that says what it runs. */
typedef ht_tensor *network_fn(ht_tensor *x, int count, ht_tensor *const weights[],
                              const ht_recurrent_options *options,
                              const ht_recurrent_inputs *inputs, ht_tensor **h_n, ht_tensor **c_n);
typedef struct row {
    ht_module_type type;
    network_fn *run;
    int gates;
    bool has_c;
} row;

struct network {
    int64_t input_size, hidden_size;
    ht_recurrent_options options;
    uint64_t count; /* forwards in training */
};

static const row *row_of(const ht_module *self)
{
    return (const row *)(const void *)ht_module_get_type(self);
}

/* Runs the row's function with the parameters of the module, which are its slots except children. */
static ht_tensor *run(ht_module *self, ht_tensor *x, ht_recurrent_inputs *inputs, ht_tensor **h_n,
                      ht_tensor **c_n)
{
    struct network *data = ht_module_data(self);
    ht_tensor **weights = ht__alloc((size_t)self->slot_count * sizeof(ht_tensor *)), *y;
    int count = 0;

    for (int i = 0; i < self->slot_count; i++) {
        if (self->slots[i].kind != HT_SLOT_CHILD)
            weights[count++] = *ht__slot_place(self, &self->slots[i]);
    }
    inputs->training = self->training;
    if (self->training && data->options.dropout > 0) {
        inputs->seed = ht__nn_draw_seed(self);
        inputs->draw = ht__replay_count(&data->count);
    }
    y = row_of(self)->run(x, count, weights, &data->options, inputs, h_n, c_n);
    ht__free(weights);
    return y;
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    ht_recurrent_inputs inputs = ht_recurrent_inputs_default();

    return run(self, x, &inputs, NULL, NULL);
}

static ht_tensor *entry(const ht_value *map, const char *key)
{
    return ht_value_as_tensor(ht_value_get(map, key));
}

/* A map of results; NULL if one is missing after an error. */
static ht_value *results(ht_tensor *y, ht_tensor *h_n, ht_tensor *c_n)
{
    ht_value *map = y != NULL ? ht_value_map() : NULL;

    if (map == NULL || ht_value_set(map, "output", ht_value_tensor(y)) != HT_SUCCESS ||
        ht_value_set(map, "h_n", ht_value_tensor(h_n)) != HT_SUCCESS ||
        (c_n != NULL && ht_value_set(map, "c_n", ht_value_tensor(c_n)) != HT_SUCCESS))
        return NULL;
    return map;
}

static ht_value *forward_value(ht_module *self, ht_value *in)
{
    ht_recurrent_inputs inputs = ht_recurrent_inputs_default();
    ht_tensor *h_n = NULL, *c_n = NULL, *x, *y;

    if (ht_value_get_kind(in) == HT_VALUE_LIST && ht_value_count(in) == 1)
        in = ht_value_at(in, 0);
    if (ht_value_get_kind(in) == HT_VALUE_TENSOR) {
        y = forward(self, ht_value_as_tensor(in));
        return y != NULL ? ht_value_tensor(y) : NULL;
    }
    x = ht_value_get_kind(in) == HT_VALUE_MAP ? entry(in, "x") : NULL;
    if (x == NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "ht_forward_value: %s takes a tensor, or a map of x, h_0, c_0 and lengths",
                self->type->name);
        return NULL;
    }
    inputs.h_0 = entry(in, "h_0");
    inputs.c_0 = entry(in, "c_0");
    inputs.lengths = entry(in, "lengths");
    y = run(self, x, &inputs, &h_n, row_of(self)->has_c ? &c_n : NULL);
    return results(y, h_n, c_n);
}

static uint64_t *counter(ht_module *self)
{
    return &((struct network *)ht_module_data(self))->count;
}

static ht_tensor *run_rnn(ht_tensor *x, int count, ht_tensor *const weights[],
                          const ht_recurrent_options *options, const ht_recurrent_inputs *inputs,
                          ht_tensor **h_n, ht_tensor **c_n)
{
    (void)c_n;
    return ht_rnn(x, count, weights, options, inputs, h_n);
}

static ht_tensor *run_gru(ht_tensor *x, int count, ht_tensor *const weights[],
                          const ht_recurrent_options *options, const ht_recurrent_inputs *inputs,
                          ht_tensor **h_n, ht_tensor **c_n)
{
    (void)c_n;
    return ht_gru(x, count, weights, options, inputs, h_n);
}

#define SETTING(field, kind) offsetof(struct network, field), HT_SETTING_##kind
static const ht_module_setting settings[] = {
    {"input_size", SETTING(input_size, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"hidden_size", SETTING(hidden_size, INT64), .low = 1, .high = INFINITY,
     .print = HT_PRINT_VALUE},
    {"proj_size", SETTING(options.proj_size, INT64), .low = 0, .high = INFINITY},
    {"nonlinearity", SETTING(options.nonlinearity, INT), .low = HT_RNN_TANH, .high = HT_RNN_RELU},
    {"num_layers", SETTING(options.num_layers, INT), .usual = 1, .low = 1, .high = INFINITY},
    {"bias", SETTING(options.bias, BOOL), .usual = true},
    {"batch_first", SETTING(options.batch_first, BOOL), .usual = false},
    {"dropout", SETTING(options.dropout, DOUBLE), .usual = 0, .low = 0, .high = 1},
    {"bidirectional", SETTING(options.bidirectional, BOOL), .usual = false},
    {.name = NULL}};

#define TYPE(label)                                                                            \
    {                                                                                          \
        .name = label, .forward = forward, .forward_value = forward_value, .counter = counter, \
        .settings = settings                                                                   \
    }
static const row rnn = {.type = TYPE("RNN"), .run = run_rnn, .gates = 1};
static const row lstm = {.type = TYPE("LSTM"), .run = ht_lstm, .gates = 4, .has_c = true};
static const row gru = {.type = TYPE("GRU"), .run = run_gru, .gates = 3};

bool ht__nn_is_recurrent(const ht_module *module)
{
    return module->type == &rnn.type || module->type == &lstm.type || module->type == &gru.type;
}

/* Registers one parameter, PART_l0 or PART_l0_reverse. */
static ht_status add(ht_module *module, const char *part, int layer, bool reverse, int ndim,
                     int64_t rows, int64_t columns)
{
    const struct network *data = ht_module_data(module);
    char name[64];

    snprintf(name, sizeof name, "%s_l%d%s", part, layer, reverse ? "_reverse" : "");
    return ht_module_add_parameter(
        module, name, NULL,
        ht__nn_parameter(ndim, (int64_t[]){rows, columns}, 1 / sqrt((double)data->hidden_size)));
}

/* The parameters of one layer in one direction. */
static ht_status add_cell(ht_module *module, int gates, int layer, bool reverse)
{
    const struct network *data = ht_module_data(module);
    const ht_recurrent_options *o = &data->options;
    const int64_t hidden = data->hidden_size, rows = gates * hidden;
    const int64_t out = o->proj_size > 0 ? o->proj_size : hidden;
    const int64_t in = layer == 0 ? data->input_size : out * (o->bidirectional ? 2 : 1);
    ht_status status = add(module, "weight_ih", layer, reverse, 2, rows, in);

    if (status == HT_SUCCESS)
        status = add(module, "weight_hh", layer, reverse, 2, rows, out);
    if (status == HT_SUCCESS && o->bias)
        status = add(module, "bias_ih", layer, reverse, 1, rows, 0);
    if (status == HT_SUCCESS && o->bias)
        status = add(module, "bias_hh", layer, reverse, 1, rows, 0);
    if (status == HT_SUCCESS && o->proj_size > 0)
        status = add(module, "weight_hr", layer, reverse, 2, out, hidden);
    return status;
}

static bool check_projection(const char *what, const row *r, const struct network *made)
{
    const int64_t proj_size = made->options.proj_size;

    if (proj_size == 0 || (r->has_c && proj_size < made->hidden_size))
        return true;
    HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: proj_size is %lld, expected 0%s", what,
            (long long)proj_size, r->has_c ? ", or less than hidden_size" : "");
    return false;
}

static ht_module *new_network(const char *what, const row *r, int64_t input_size,
                              int64_t hidden_size, const ht_recurrent_options *options)
{
    const struct network made = {.input_size = input_size,
                                 .hidden_size = hidden_size,
                                 .options = options != NULL ? *options
                                                            : ht_recurrent_options_default()};
    ht_status status = HT_SUCCESS;
    ht_module *module;
    ht_scope *scope;

    if (HT_CHECK_OPTIONS(NULL, what, &made.options, ht_recurrent_options) != HT_SUCCESS ||
        !ht__nn_check_size(what, "hidden_size", hidden_size) || !check_projection(what, r, &made) ||
        (module = ht_module_new_ext(what, &r->type, sizeof made, &made)) == NULL)
        return NULL;
    scope = ht_scope_open();
    for (int layer = 0; layer < made.options.num_layers; layer++) {
        for (int d = 0; status == HT_SUCCESS && d <= made.options.bidirectional; d++)
            status = add_cell(module, r->gates, layer, d > 0);
    }
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

#define NETWORK(f)                                                                    \
    ht_module *ht_nn_##f##_ext(int64_t input_size, int64_t hidden_size,               \
                               const ht_recurrent_options *options)                   \
    {                                                                                 \
        return new_network("ht_nn_" #f "_ext", &f, input_size, hidden_size, options); \
    }                                                                                 \
    ht_module *ht_nn_##f(int64_t input_size, int64_t hidden_size)                     \
    {                                                                                 \
        return new_network("ht_nn_" #f, &f, input_size, hidden_size, NULL);           \
    }

NETWORK(rnn)
NETWORK(lstm)
NETWORK(gru)
