/* SPDX-License-Identifier: MIT
 *
 * Multi-head attention and Transformers: the constructors and calls of PyTorch's. */
#include <string.h>

#include "replay.h"

#define INTEGER(key, otherwise) ((int64_t)replay_number(r, key, otherwise))
#define FLAG(key, otherwise)    (replay_number(r, key, otherwise) != 0)

static ht_module *layer_attention(replay_run *r)
{
    ht_multihead_attention_options options = ht_multihead_attention_options_default();

    options.bias = FLAG("bias", true);
    options.add_bias_kv = FLAG("add_bias_kv", false);
    options.add_zero_attn = FLAG("add_zero_attn", false);
    options.batch_first = FLAG("batch_first", false);
    return ht_nn_multihead_attention_ext(INTEGER("embed_dim", 0), (int)INTEGER("num_heads", 0),
                                         &options);
}

static ht_transformer_options options_of(replay_run *r)
{
    ht_transformer_options options = ht_transformer_options_default();

    options.num_encoder_layers = (int)INTEGER("num_encoder_layers", options.num_encoder_layers);
    options.num_decoder_layers = (int)INTEGER("num_decoder_layers", options.num_decoder_layers);
    options.dim_feedforward = INTEGER("dim_feedforward", options.dim_feedforward);
    options.dropout = replay_number(r, "dropout", options.dropout);
    options.activation = strcmp(replay_word(r, "activation", "relu"), "gelu") == 0 ? ht_gelu
                                                                                   : ht_relu;
    options.batch_first = FLAG("batch_first", false);
    options.norm_first = FLAG("norm_first", false);
    options.bias = FLAG("bias", true);
    return options;
}

#define TRANSFORMER(name)                                                         \
    static ht_module *layer_##name(replay_run *r)                                 \
    {                                                                             \
        const ht_transformer_options o = options_of(r);                           \
                                                                                  \
        return ht_nn_##name(INTEGER("d_model", 0), (int)INTEGER("nhead", 0), &o); \
    }
TRANSFORMER(transformer)
TRANSFORMER(transformer_encoder_layer)
TRANSFORMER(transformer_decoder_layer)

static ht_module *layer_transformer_encoder(replay_run *r)
{
    return ht_nn_transformer_encoder(layer_transformer_encoder_layer(r),
                                     (int)INTEGER("num_layers", 0), NULL);
}

/* The layer's output for the operands of these names; missing ones are left out. */
static ht_value *output(replay_run *r, const char *const names[])
{
    ht_value *map = ht_value_map();

    for (int i = 0; names[i] != NULL; i++) {
        ht_tensor *x = replay_in(r, names[i]);

        if (x != NULL)
            ht_value_set(map, names[i], ht_value_tensor(x));
    }
    return ht_forward_value(r->layer, map);
}

static ht_tensor *call_transformer(replay_run *r)
{
    static const char *const names[] = {"src",
                                        "tgt",
                                        "memory",
                                        "mask",
                                        "src_mask",
                                        "tgt_mask",
                                        "memory_mask",
                                        "src_key_padding_mask",
                                        "tgt_key_padding_mask",
                                        "memory_key_padding_mask",
                                        NULL};

    return ht_value_as_tensor(output(r, names));
}

/* Output and weights, one behind the other. */
static ht_tensor *call_attention(replay_run *r)
{
    static const char *const names[] = {"query",     "key", "value", "key_padding_mask",
                                        "attn_mask", NULL};
    ht_value *y = output(r, names);
    ht_tensor *const results[] = {ht_value_as_tensor(ht_value_at(y, 0)),
                                  ht_value_as_tensor(ht_value_at(y, 1))};

    return replay_joined(2, results);
}

const replay_function replay_attention[] = {
    {"MultiheadAttention", call_attention, layer_attention},
    {"Transformer", call_transformer, layer_transformer},
    {"TransformerEncoder", call_transformer, layer_transformer_encoder},
    {"TransformerEncoderLayer", call_transformer, layer_transformer_encoder_layer},
    {"TransformerDecoderLayer", call_transformer, layer_transformer_decoder_layer},
    {.name = NULL},
};
