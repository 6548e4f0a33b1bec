/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Layers of attention and Transformers give PyTorch's outputs and gradients, under its names. */
#include <string.h>

enum { MULTIHEAD, ENCODER_LAYER, DECODER_LAYER, ENCODER, DECODER, TRANSFORMER };

#include "golden/attention.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

/* Sizes and flags of make_attention.py. */
enum { BATCH = 2, FEATURES = 4, HEADS = 2, ROWS = 3, KEYS = 2, ITEMS = 64 };
enum {
    NO_BIAS = 1 << 0,
    BIAS_KV = 1 << 1,
    ZERO_ATTN = 1 << 2,
    BATCH_FIRST = 1 << 3,
    KDIM = 1 << 4,
    SELF = 1 << 5,
    UNBATCHED = 1 << 6,
    PADDING = 1 << 7,
    MASK = 1 << 8,
    MASK3 = 1 << 9,
    WEIGHTS = 1 << 10,
    AVERAGE = 1 << 11,
    CAUSAL = 1 << 12,
    NORM_FIRST = 1 << 13,
    GELU = 1 << 14
};

static ht_module *transformer_of(int kind, int flags)
{
    ht_transformer_options options = ht_transformer_options_default();

    options.num_encoder_layers = options.num_decoder_layers = 1;
    options.dim_feedforward = 3;
    options.dropout = 0;
    options.activation = flags & GELU ? ht_gelu : ht_relu;
    options.batch_first = flags & BATCH_FIRST;
    options.norm_first = flags & NORM_FIRST;
    options.bias = !(flags & NO_BIAS);
    if (kind == TRANSFORMER)
        return ht_nn_transformer(FEATURES, HEADS, &options);
    if (kind == ENCODER_LAYER)
        return ht_nn_transformer_encoder_layer(FEATURES, HEADS, &options);
    if (kind == DECODER_LAYER)
        return ht_nn_transformer_decoder_layer(FEATURES, HEADS, &options);
    if (kind == ENCODER)
        return ht_nn_transformer_encoder(ht_nn_transformer_encoder_layer(FEATURES, HEADS, &options),
                                         2, ht_nn_layer_norm(HT_SHAPE(FEATURES)));
    return ht_nn_transformer_decoder(ht_nn_transformer_decoder_layer(FEATURES, HEADS, &options), 2,
                                     NULL);
}

static ht_module *layer_of(int kind, int flags)
{
    ht_multihead_attention_options options = ht_multihead_attention_options_default();

    if (kind != MULTIHEAD)
        return transformer_of(kind, flags);
    options.bias = !(flags & NO_BIAS);
    options.add_bias_kv = flags & BIAS_KV;
    options.add_zero_attn = flags & ZERO_ATTN;
    options.batch_first = flags & BATCH_FIRST;
    if (flags & KDIM) {
        options.kdim = 3;
        options.vdim = 5;
    }
    return ht_nn_multihead_attention_ext(FEATURES, HEADS, &options);
}

static ht_tensor *sequence(int i, int flags, int64_t length, int64_t features)
{
    if (flags & UNBATCHED)
        return nn_leaf(60 + i, HT_SHAPE(length, features), HT_LOCAL);
    return flags & BATCH_FIRST ? nn_leaf(60 + i, HT_SHAPE(BATCH, length, features), HT_LOCAL)
                               : nn_leaf(60 + i, HT_SHAPE(length, BATCH, features), HT_LOCAL);
}

/* The last key of the second sample. */
static ht_tensor *padding(int64_t keys)
{
    bool mask[BATCH * ROWS] = {false};

    mask[2 * keys - 1] = true;
    return ht_array(mask, HT_SHAPE(BATCH, keys), HT_BOOL, HT_LOCAL);
}

static ht_tensor *attention_mask(int flags, int64_t keys)
{
    bool mask[BATCH * HEADS * ROWS * ROWS];

    for (int i = 0; i < BATCH * HEADS * ROWS * ROWS; i++)
        mask[i] = i % 3 == 1;
    if (flags & MASK3)
        return ht_array(mask, HT_SHAPE(BATCH * HEADS, ROWS, keys), HT_BOOL, HT_LOCAL);
    return flags & MASK ? ht_detach(nn_leaf(50, HT_SHAPE(ROWS, keys), HT_LOCAL))
                        : ht_astype(ht_generate_square_subsequent_mask(ROWS), HT_FLOAT64);
}

static void set(ht_value *map, const char *name, ht_tensor *x)
{
    assert_int_equal(ht_value_set(map, name, ht_value_tensor(x)), HT_SUCCESS);
}

static void set_number(ht_value *map, const char *name, double number)
{
    assert_int_equal(ht_value_set(map, name, ht_value_number(number)), HT_SUCCESS);
}

/* The inputs as a map; x[] receives those with gradients. Returns how many there are. */
static int multihead_inputs(int flags, ht_value *map, ht_tensor *x[])
{
    const int64_t keys = flags & SELF ? ROWS : KEYS;

    x[0] = sequence(0, flags, ROWS, FEATURES);
    set(map, "query", x[0]);
    if (!(flags & SELF)) {
        x[1] = sequence(1, flags, KEYS, flags & KDIM ? 3 : FEATURES);
        x[2] = sequence(2, flags, KEYS, flags & KDIM ? 5 : FEATURES);
        set(map, "key", x[1]);
        set(map, "value", x[2]);
    }
    if (flags & PADDING)
        set(map, "key_padding_mask", padding(keys));
    if (flags & (MASK | MASK3 | CAUSAL))
        set(map, "attn_mask", attention_mask(flags, keys));
    set_number(map, "need_weights", (flags & WEIGHTS) != 0);
    set_number(map, "average_attn_weights", (flags & AVERAGE) != 0);
    set_number(map, "is_causal", (flags & CAUSAL) != 0);
    return flags & SELF ? 1 : 3;
}

static int inputs_of(int kind, int flags, ht_value *map, ht_tensor *x[])
{
    const bool encoder = kind == ENCODER || kind == ENCODER_LAYER;
    ht_tensor *causal = attention_mask(0, ROWS);

    if (kind == MULTIHEAD)
        return multihead_inputs(flags, map, x);
    x[0] = sequence(0, flags, kind == TRANSFORMER ? KEYS : ROWS, FEATURES);
    set(map, kind == TRANSFORMER || encoder ? "src" : "tgt", x[0]);
    if (!encoder) {
        x[1] = sequence(1, flags, kind == TRANSFORMER ? ROWS : KEYS, FEATURES);
        set(map, kind == TRANSFORMER ? "tgt" : "memory", x[1]);
    }
    if (flags & MASK)
        set(map, kind == ENCODER ? "mask" : encoder ? "src_mask" : "tgt_mask", causal);
    if (flags & PADDING)
        set(map,
            kind == TRANSFORMER || encoder ? "src_key_padding_mask" : "memory_key_padding_mask",
            padding(encoder ? ROWS : KEYS));
    return encoder ? 1 : 2;
}

/* Parameters in order, and their names. */
typedef struct list {
    int count;
    ht_tensor *items[ITEMS];
    char names[2048];
    ht_value *state;
} list;

static void collect(const char *name, ht_tensor *x, void *user)
{
    list *l = user;

    snprintf(l->names + strlen(l->names), sizeof l->names - strlen(l->names), "%s%s",
             l->count > 0 ? " " : "", name);
    set(l->state, name, nn_leaf(l->count, ht_tensor_ndim(x), ht_tensor_shape(x), HT_LOCAL));
    l->items[l->count++] = x;
}

static ht_tensor *joined(int count, ht_tensor *const items[], bool grads)
{
    ht_tensor *flat[ITEMS];

    for (int i = 0; i < count; i++)
        flat[i] = ht_flatten(grads ? ht_tensor_grad(items[i]) : items[i], 0);
    return ht_concatenate(count, flat, 0);
}

static void check(const struct golden_attention *golden)
{
    ht_module *layer = layer_of(golden->kind, golden->flags);
    list parameters = {.state = ht_value_map()};
    ht_tensor *x[3] = {NULL}, *y[2] = {NULL}, *loss;
    ht_value *map = ht_value_map(), *output;
    int inputs;

    assert_non_null(layer);
    assert_int_equal(ht_module_to_dtype(layer, HT_FLOAT64), HT_SUCCESS);
    ht_module_named_parameters(layer, collect, &parameters);
    assert_string_equal(parameters.names, golden->names);
    assert_int_equal(ht_module_load_state_dict(layer, parameters.state), HT_SUCCESS);
    inputs = inputs_of(golden->kind, golden->flags, map, x);
    output = ht_forward_value(layer, map);
    for (int i = 0; i < golden->outputs; i++)
        y[i] = ht_value_as_tensor(golden->outputs > 1 ? ht_value_at(output, i) : output);
    loss = joined(golden->outputs, y, false);
    ht_test_expect(loss, golden->y, 1e-12);
    assert_int_equal(ht_backward(ht_sum(ht_mul(loss, loss), HT_NONE)), HT_SUCCESS);
    ht_test_expect(joined(inputs, x, true), golden->x, 1e-11);
    ht_test_expect(joined(parameters.count, parameters.items, true), golden->p, 1e-11);
    ht_release(layer);
}

static void layers_give_the_values_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden_attention / sizeof *golden_attention; i++) {
        ht_scope *scope = ht_scope_open();

        check(&golden_attention[i]);
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_golden_attention, cmocka_unit_test(layers_give_the_values_of_pytorch));
