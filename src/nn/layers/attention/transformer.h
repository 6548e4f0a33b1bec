/* SPDX-License-Identifier: MIT
 *
 * Parts that the layers and stacks of Transformers share. */
#ifndef HT_NN_LAYERS_ATTENTION_TRANSFORMER_H
#define HT_NN_LAYERS_ATTENTION_TRANSFORMER_H

#include "ht/attention.h"
#include "nn/module/module.h"

/* A layer of an encoder or a decoder. multihead_attn, norm3 and dropout3 are the decoder's. */
typedef struct ht_transformer_layer {
    ht_module *self_attn, *multihead_attn, *linear1, *dropout, *linear2; /* slots */
    ht_module *norm1, *norm2, *norm3, *dropout1, *dropout2, *dropout3;   /* slots */
    ht_transformer_activation *activation;
    bool norm_first;
} ht_transformer_layer;

/* The masks of one attention; each may be NULL. */
typedef struct ht_transformer_masks {
    ht_tensor *attn, *key_padding;
    bool is_causal;
} ht_transformer_masks;

/* Whether options and sizes are valid for a layer: what its children would refuse is named as the
 * caller knows it (transformer_layer.c). */
ht_status ht__transformer_check(const char *what, int64_t d_model, int num_heads,
                                const ht_transformer_options *options);

/* The children of a layer. NULL, and module released, after an error. */
ht_module *ht__transformer_layer_fill(ht_module *module, int64_t d_model, int num_heads,
                                      bool decoder, const ht_transformer_options *options);

/* x plus attention to memory (itself if NULL), or plus feed-forward; each with its norm, before or
 * behind. Scoped; NULL stays NULL. */
ht_tensor *ht__transformer_attend(ht_module *self, ht_tensor *x, ht_tensor *memory,
                                  const ht_transformer_masks *masks);
ht_tensor *ht__transformer_feed(ht_module *self, ht_tensor *x);

/* A stack of layers. */
typedef struct ht_transformer_stack {
    ht_module *layers, *norm; /* slots; norm may be NULL */
    int num_layers;
} ht_transformer_stack;

/* The map of inputs of a layer or stack: tensors that are not NULL, and numbers. */
ht_value *ht__transformer_inputs(int tensors, int numbers, const char *const names[],
                                 ht_tensor *const in[], const double number[]);

#endif
