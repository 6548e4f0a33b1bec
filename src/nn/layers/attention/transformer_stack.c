/* SPDX-License-Identifier: MIT
 *
 * TransformerEncoder and TransformerDecoder: copies of a layer, one after another. */
#include <math.h>

#include "ht/containers.h"
#include "nn/layers/attention/transformer.h"
#include "nn/module/inputs.h"

static const char *const encoder_names[] = {"src", "mask", "src_key_padding_mask", "is_causal"};
static const char *const encoder_layer_names[] = {"src", "src_mask", "src_key_padding_mask",
                                                  "is_causal"};
static const ht_input_names encoder_inputs = {3, 1, 1, encoder_names};

static const char *const decoder_names[] = {"tgt",
                                            "memory",
                                            "tgt_mask",
                                            "memory_mask",
                                            "tgt_key_padding_mask",
                                            "memory_key_padding_mask",
                                            "tgt_is_causal",
                                            "memory_is_causal"};
static const ht_input_names decoder_inputs = {6, 2, 2, decoder_names};

/* Input 0 through all layers, with the same other inputs, and through the norm. After an error the
 * remaining modules get NULL, so that they tell ranks that wait for this one. */
static ht_value *run(ht_module *self, const ht_input_names *inputs, const char *const names[],
                     ht_tensor *in[], const double numbers[])
{
    const ht_transformer_stack *stack = ht_module_data(self);
    const int count = ht_module_child_count(stack->layers);

    for (int i = 0; i < count; i++) {
        ht_value *own = in[0] == NULL ? NULL
                                      : ht__transformer_inputs(inputs->tensors, inputs->numbers,
                                                               names, in, numbers);

        in[0] = ht_value_as_tensor(ht_forward_value(ht_module_child(stack->layers, i, NULL), own));
    }
    return ht__output(stack->norm != NULL ? ht_forward(stack->norm, in[0]) : in[0]);
}

static ht_value *encode(ht_module *self, ht_value *inputs)
{
    double is_causal = false;
    ht_tensor *in[3];

    if (ht__named_inputs("ht_nn_transformer_encoder", &encoder_inputs, inputs, in, &is_causal))
        return run(self, &encoder_inputs, encoder_layer_names, in, &is_causal);
    ht__module_missed(self);
    return NULL;
}

static ht_value *decode(ht_module *self, ht_value *inputs)
{
    double is_causal[2] = {false, false};
    ht_tensor *in[6];

    if (ht__named_inputs("ht_nn_transformer_decoder", &decoder_inputs, inputs, in, is_causal))
        return run(self, &decoder_inputs, decoder_names, in, is_causal);
    ht__module_missed(self);
    return NULL;
}

static const ht_module_setting settings[] = {
    {"num_layers", offsetof(ht_transformer_stack, num_layers), HT_SETTING_INT, .low = 1,
     .high = INFINITY, .print = HT_PRINT_ALWAYS},
    {.name = NULL}};
static const ht_module_type encoder = {
    .name = "TransformerEncoder", .forward_value = encode, .settings = settings};
static const ht_module_type decoder = {
    .name = "TransformerDecoder", .forward_value = decode, .settings = settings};

static ht_status add_copies(ht_module *module, ht_module *layer, int count)
{
    ht_transformer_stack *stack = ht_module_data(module);
    ht_status status = ht_module_add(module, "layers", &stack->layers, ht_nn_module_list(0, NULL));

    for (int i = 0; i < count && status == HT_SUCCESS; i++)
        status = ht_nn_module_list_append(stack->layers, ht_module_clone(layer));
    return status;
}

static ht_module *make(const char *what, const ht_module_type *type, ht_module *layer, int count,
                       ht_module *norm)
{
    const ht_transformer_stack made = {.num_layers = count};
    HT_NAMED(what);
    ht_module *module = NULL;
    ht_status status = HT_ERR_ARGUMENT;

    if (!HT_IS_NULL(layer, what, "layer"))
        module = ht_module_new_ext(what, type, sizeof made, &made);
    if (module != NULL)
        status = add_copies(module, layer, count);
    ht_release(layer);
    if (status == HT_SUCCESS && norm != NULL) {
        status = ht_module_add(module, "norm",
                               &((ht_transformer_stack *)ht_module_data(module))->norm, norm);
        norm = NULL;
    }
    ht_release(norm);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

ht_module *ht_nn_transformer_encoder(ht_module *layer, int num_layers, ht_module *norm)
{
    return make("ht_nn_transformer_encoder", &encoder, layer, num_layers, norm);
}

ht_module *ht_nn_transformer_decoder(ht_module *layer, int num_layers, ht_module *norm)
{
    return make("ht_nn_transformer_decoder", &decoder, layer, num_layers, norm);
}
