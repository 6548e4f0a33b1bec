/* SPDX-License-Identifier: MIT
 *
 * Transformer: an encoder and a decoder, and the causal mask. */
#include <math.h>

#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/nn.h"
#include "ht/normalisation.h"
#include "nn/layers/attention/transformer.h"
#include "nn/module/inputs.h"

#define WHAT "ht_nn_transformer"

struct transformer {
    ht_module *encoder, *decoder; /* slots */
    int64_t d_model;
    bool batch_first;
};

enum { SRC, TGT, SRC_MASK, TGT_MASK, MEMORY_MASK, SRC_PADDING, TGT_PADDING, MEMORY_PADDING, IN };

static const char *const names[] = {"src",
                                    "tgt",
                                    "src_mask",
                                    "tgt_mask",
                                    "memory_mask",
                                    "src_key_padding_mask",
                                    "tgt_key_padding_mask",
                                    "memory_key_padding_mask",
                                    "src_is_causal",
                                    "tgt_is_causal",
                                    "memory_is_causal"};
static const ht_input_names inputs_of = {IN, 2, 3, names};

static bool check(const struct transformer *t, const ht_body *src, const ht_body *tgt)
{
    const int batch = t->batch_first ? 0 : 1;
    bool fits = src->ndim == tgt->ndim && (src->ndim == 2 || src->ndim == 3) &&
                src->shape[src->ndim - 1] == t->d_model && tgt->shape[tgt->ndim - 1] == t->d_model;

    if (fits && src->ndim == 3)
        fits = src->shape[batch] == tgt->shape[batch];
    if (!fits)
        HT_FAIL(src->comm, HT_ERR_SHAPE,
                "%s: src is %s, tgt is %s, expected one batch size and %lld features", WHAT,
                ht__shape_str(src->ndim, src->shape), ht__shape_str(tgt->ndim, tgt->shape),
                (long long)t->d_model);
    return fits;
}

static ht_value *forward(ht_module *self, ht_value *inputs)
{
    static const char *const encoder[] = {"src", "mask", "src_key_padding_mask", "is_causal"};
    static const char *const decoder[] = {"tgt",
                                          "memory",
                                          "tgt_mask",
                                          "memory_mask",
                                          "tgt_key_padding_mask",
                                          "memory_key_padding_mask",
                                          "tgt_is_causal",
                                          "memory_is_causal"};
    const struct transformer *t = ht_module_data(self);
    double causal[3] = {false, false, false};
    ht_tensor *in[IN], *memory;
    ht_value *own;

    if (!ht__named_inputs(WHAT, &inputs_of, inputs, in, causal) ||
        !check(t, in[SRC]->body, in[TGT]->body)) {
        ht__module_missed(self);
        return NULL;
    }
    own = ht__transformer_inputs(3, 1, encoder,
                                 (ht_tensor *[]){in[SRC], in[SRC_MASK], in[SRC_PADDING]}, causal);
    memory = ht_value_as_tensor(ht_forward_value(t->encoder, own));
    if (memory == NULL)
        return ht_forward_value(t->decoder, NULL); /* it tells ranks that wait for this one */
    own = ht__transformer_inputs(6, 2, decoder,
                                 (ht_tensor *[]){in[TGT], memory, in[TGT_MASK], in[MEMORY_MASK],
                                                 in[TGT_PADDING], in[MEMORY_PADDING]},
                                 causal + 1);
    return ht_forward_value(t->decoder, own);
}

static const ht_module_setting settings[] = {
    {"d_model", offsetof(struct transformer, d_model), HT_SETTING_INT64, .low = 1, .high = INFINITY,
     .print = HT_PRINT_VALUE},
    {"batch_first", offsetof(struct transformer, batch_first), HT_SETTING_BOOL, .usual = false},
    {.name = NULL}};
static const ht_module_type type = {
    .name = "Transformer", .forward_value = forward, .settings = settings};

/* Xavier's uniform distribution. */
static void initialise(const char *name, ht_tensor *x, void *user)
{
    ht_status *status = user;
    double fan = 0;

    (void)name;
    if (x->body->ndim < 2 || *status != HT_SUCCESS)
        return;
    fan = (double)x->body->shape[0] + (double)x->body->shape[1];
    *status = ht_nn_init_uniform(x, -sqrt(6 / fan), sqrt(6 / fan));
}

static ht_module *stack_of(int64_t d_model, int num_heads, bool decoder,
                           const ht_transformer_options *options)
{
    ht_module *norm = ht_nn_layer_norm_ext(1, &d_model, options->layer_norm_eps, true,
                                           options->bias);

    if (norm == NULL)
        return NULL;
    return decoder ? ht_nn_transformer_decoder(
                         ht_nn_transformer_decoder_layer(d_model, num_heads, options),
                         options->num_decoder_layers, norm)
                   : ht_nn_transformer_encoder(
                         ht_nn_transformer_encoder_layer(d_model, num_heads, options),
                         options->num_encoder_layers, norm);
}

static ht_status check_count(const char *name, int count)
{
    if (count >= 1)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is %d, expected at least 1", WHAT, name, count);
}

ht_module *ht_nn_transformer(int64_t d_model, int num_heads, const ht_transformer_options *options)
{
    const ht_transformer_options defaults = ht_transformer_options_default();
    struct transformer made = {.d_model = d_model}, *t;
    ht_module *module;
    ht_status status;

    options = options != NULL ? options : &defaults;
    if (HT_CHECK_OPTIONS(NULL, WHAT, options, ht_transformer_options) != HT_SUCCESS ||
        ht__transformer_check(WHAT, d_model, num_heads, options) != HT_SUCCESS ||
        check_count("num_encoder_layers", options->num_encoder_layers) != HT_SUCCESS ||
        check_count("num_decoder_layers", options->num_decoder_layers) != HT_SUCCESS)
        return NULL;
    made.batch_first = options->batch_first;
    module = ht_module_new_ext(WHAT, &type, sizeof made, &made);
    if (module == NULL)
        return NULL;
    t = ht_module_data(module);
    status = ht_module_add(module, "encoder", &t->encoder,
                           stack_of(d_model, num_heads, false, options));
    if (status == HT_SUCCESS)
        status = ht_module_add(module, "decoder", &t->decoder,
                               stack_of(d_model, num_heads, true, options));
    if (status == HT_SUCCESS)
        ht_module_named_parameters(module, initialise, &status);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

ht_tensor *ht_generate_square_subsequent_mask(int64_t length)
{
    static const char what[] = "ht_generate_square_subsequent_mask";

    if (length < 0) {
        HT_FAIL(NULL, HT_ERR_SHAPE, "%s: length is %lld, expected at least 0", what,
                (long long)length);
        return NULL;
    }
    HT_NAMED(what);
    return ht_triu(ht_full(HT_SHAPE(length, length), -INFINITY, HT_FLOAT32, HT_LOCAL), 1);
}
