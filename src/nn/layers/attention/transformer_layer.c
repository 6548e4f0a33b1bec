/* SPDX-License-Identifier: MIT
 *
 * TransformerEncoderLayer and TransformerDecoderLayer. */
#include <math.h>

#include "ht/activations.h"
#include "nn/layers/attention/transformer.h"
#include "nn/module/init.h"
#include "nn/module/inputs.h"

ht_transformer_options ht_transformer_options_default(void)
{
    return (ht_transformer_options){.size = sizeof(ht_transformer_options),
                                    .num_encoder_layers = 6,
                                    .num_decoder_layers = 6,
                                    .dim_feedforward = 2048,
                                    .dropout = 0.1,
                                    .activation = ht_relu,
                                    .layer_norm_eps = 1e-5,
                                    .bias = true};
}

static const char *const encoder_names[] = {"src", "src_mask", "src_key_padding_mask", "is_causal"};
static const ht_input_names encoder_inputs = {3, 1, 1, encoder_names};

static ht_value *encode(ht_module *self, ht_value *inputs)
{
    double is_causal = false;
    ht_transformer_masks masks;
    ht_tensor *in[3];

    if (!ht__named_inputs("ht_nn_transformer_encoder_layer", &encoder_inputs, inputs, in,
                          &is_causal)) {
        ht__module_missed(self);
        return NULL;
    }
    masks = (ht_transformer_masks){in[1], in[2], is_causal != 0};
    return ht__output(
        ht__transformer_feed(self, ht__transformer_attend(self, in[0], NULL, &masks)));
}

static const char *const decoder_names[] = {"tgt",
                                            "memory",
                                            "tgt_mask",
                                            "memory_mask",
                                            "tgt_key_padding_mask",
                                            "memory_key_padding_mask",
                                            "tgt_is_causal",
                                            "memory_is_causal"};
static const ht_input_names decoder_inputs = {6, 2, 2, decoder_names};

static ht_value *decode(ht_module *self, ht_value *inputs)
{
    double is_causal[2] = {false, false};
    ht_transformer_masks masks, memory_masks;
    ht_tensor *in[6], *x;

    if (!ht__named_inputs("ht_nn_transformer_decoder_layer", &decoder_inputs, inputs, in,
                          is_causal)) {
        ht__module_missed(self);
        return NULL;
    }
    masks = (ht_transformer_masks){in[2], in[4], is_causal[0] != 0};
    memory_masks = (ht_transformer_masks){in[3], in[5], is_causal[1] != 0};
    x = ht__transformer_attend(self, in[0], NULL, &masks);
    x = ht__transformer_attend(self, x, in[1], &memory_masks);
    return ht__output(ht__transformer_feed(self, x));
}

static const ht_module_setting settings[] = {
    {"norm_first", offsetof(ht_transformer_layer, norm_first), HT_SETTING_BOOL, .usual = false},
    {.name = NULL}};
static const ht_module_type encoder_layer = {
    .name = "TransformerEncoderLayer", .forward_value = encode, .settings = settings};
static const ht_module_type decoder_layer = {
    .name = "TransformerDecoderLayer", .forward_value = decode, .settings = settings};

ht_status ht__transformer_check(const char *what, int64_t d_model, int num_heads,
                                const ht_transformer_options *options)
{
    const double eps = options->layer_norm_eps;

    if (d_model < 1)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: d_model is %lld, expected at least 1", what,
                       (long long)d_model);
    if (num_heads < 1)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: num_heads is %d, expected at least 1", what,
                       num_heads);
    if (!ht__nn_check_size(what, "d_model", d_model))
        return HT_ERR_ARGUMENT;
    if (d_model % num_heads != 0)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: d_model is %lld, expected a multiple of num_heads %d", what,
                       (long long)d_model, num_heads);
    if (options->dim_feedforward < 1)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: dim_feedforward is %lld, expected at least 1",
                       what, (long long)options->dim_feedforward);
    if (!(options->dropout >= 0 && options->dropout <= 1))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: dropout is %g, expected 0 to 1", what,
                       options->dropout);
    if (!(eps >= 0) || isinf(eps))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: layer_norm_eps is %g, expected a finite value of at least 0", what,
                       eps);
    if (options->activation == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: activation is NULL", what);
    return HT_SUCCESS;
}

static ht_module *make(const char *what, const ht_module_type *type, int64_t d_model, int num_heads,
                       bool decoder, const ht_transformer_options *options)
{
    const ht_transformer_options defaults = ht_transformer_options_default();
    ht_transformer_layer made = {.activation = NULL};
    ht_module *module;

    options = options != NULL ? options : &defaults;
    if (HT_CHECK_OPTIONS(NULL, what, options, ht_transformer_options) != HT_SUCCESS ||
        ht__transformer_check(what, d_model, num_heads, options) != HT_SUCCESS)
        return NULL;
    made.activation = options->activation;
    made.norm_first = options->norm_first;
    module = ht_module_new_ext(what, type, sizeof made, &made);
    return module != NULL ? ht__transformer_layer_fill(module, d_model, num_heads, decoder, options)
                          : NULL;
}

ht_module *ht_nn_transformer_encoder_layer(int64_t d_model, int num_heads,
                                           const ht_transformer_options *options)
{
    return make("ht_nn_transformer_encoder_layer", &encoder_layer, d_model, num_heads, false,
                options);
}

ht_module *ht_nn_transformer_decoder_layer(int64_t d_model, int num_heads,
                                           const ht_transformer_options *options)
{
    return make("ht_nn_transformer_decoder_layer", &decoder_layer, d_model, num_heads, true,
                options);
}
