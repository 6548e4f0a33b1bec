/* SPDX-License-Identifier: MIT
 *
 * Blocks of Transformer layers: x + f(norm(x)), or norm(x + f(x)). After an error the remaining
 * modules get NULL, so that they tell ranks that wait for this one. */
#include "ht/arithmetics.h"
#include "ht/nn.h"
#include "ht/normalisation.h"
#include "nn/layers/attention/transformer.h"

ht_value *ht__transformer_inputs(int tensors, int numbers, const char *const names[],
                                 ht_tensor *const in[], const double number[])
{
    ht_value *map = ht_value_map();

    for (int i = 0; i < tensors; i++) {
        if (in[i] != NULL && ht_value_set(map, names[i], ht_value_tensor(in[i])) != HT_SUCCESS)
            return NULL;
    }
    for (int i = 0; i < numbers; i++) {
        if (ht_value_set(map, names[tensors + i], ht_value_number(number[i])) != HT_SUCCESS)
            return NULL;
    }
    return map;
}

static ht_tensor *attention(ht_module *module, ht_tensor *x, ht_tensor *memory,
                            const ht_transformer_masks *masks)
{
    static const char *const names[] = {"query",     "key",          "value",    "key_padding_mask",
                                        "attn_mask", "need_weights", "is_causal"};
    ht_tensor *in[] = {x, memory, memory, masks->key_padding, masks->attn};
    ht_value *inputs = NULL;

    if (x != NULL)
        inputs = ht__transformer_inputs(5, 2, names, in, (double[]){false, masks->is_causal});
    return ht_value_as_tensor(ht_forward_value(module, inputs));
}

/* NULL operands are errors that were reported. */
static ht_tensor *added(ht_tensor *x, ht_tensor *y)
{
    return x != NULL && y != NULL ? ht_add(x, y) : NULL;
}

ht_tensor *ht__transformer_attend(ht_module *self, ht_tensor *x, ht_tensor *memory,
                                  const ht_transformer_masks *masks)
{
    const ht_transformer_layer *l = ht_module_data(self);
    ht_module *attn = memory != NULL ? l->multihead_attn : l->self_attn;
    ht_module *norm = memory != NULL ? l->norm2 : l->norm1;
    ht_module *dropout = memory != NULL ? l->dropout2 : l->dropout1;
    ht_tensor *in = l->norm_first ? ht_forward(norm, x) : x, *y;

    y = ht_forward(dropout, attention(attn, in, memory != NULL ? memory : in, masks));
    y = added(x, y);
    return l->norm_first ? y : ht_forward(norm, y);
}

ht_tensor *ht__transformer_feed(ht_module *self, ht_tensor *x)
{
    const ht_transformer_layer *l = ht_module_data(self);
    const bool decoder = l->multihead_attn != NULL;
    ht_module *norm = decoder ? l->norm3 : l->norm2;
    ht_module *dropout = decoder ? l->dropout3 : l->dropout2;
    ht_tensor *y = ht_forward(l->linear1, l->norm_first ? ht_forward(norm, x) : x);

    y = y != NULL ? l->activation(y) : NULL;
    y = ht_forward(l->linear2, ht_forward(l->dropout, y));
    y = added(x, ht_forward(dropout, y));
    return l->norm_first ? y : ht_forward(norm, y);
}

static ht_module *attention_of(int64_t d_model, int num_heads,
                               const ht_transformer_options *options)
{
    ht_multihead_attention_options own = ht_multihead_attention_options_default();

    own.dropout = options->dropout;
    own.bias = options->bias;
    own.batch_first = options->batch_first;
    return ht_nn_multihead_attention_ext(d_model, num_heads, &own);
}

static ht_module *norm_of(int64_t d_model, const ht_transformer_options *options)
{
    return ht_nn_layer_norm_ext(1, &d_model, options->layer_norm_eps, true, options->bias);
}

ht_module *ht__transformer_layer_fill(ht_module *module, int64_t d_model, int num_heads,
                                      bool decoder, const ht_transformer_options *options)
{
    ht_transformer_layer *l = ht_module_data(module);
    const int64_t hidden = options->dim_feedforward;
    ht_status status = HT_SUCCESS;

#define ADD(name, child)      \
    if (status == HT_SUCCESS) \
    status = ht_module_add(module, #name, &l->name, child)
    ADD(self_attn, attention_of(d_model, num_heads, options));
    if (decoder)
        ADD(multihead_attn, attention_of(d_model, num_heads, options));
    ADD(linear1, ht_nn_linear_ext(d_model, hidden, options->bias));
    ADD(dropout, ht_nn_dropout(options->dropout));
    ADD(linear2, ht_nn_linear_ext(hidden, d_model, options->bias));
    ADD(norm1, norm_of(d_model, options));
    ADD(norm2, norm_of(d_model, options));
    if (decoder)
        ADD(norm3, norm_of(d_model, options));
    ADD(dropout1, ht_nn_dropout(options->dropout));
    ADD(dropout2, ht_nn_dropout(options->dropout));
    if (decoder)
        ADD(dropout3, ht_nn_dropout(options->dropout));
#undef ADD
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}
