/* SPDX-License-Identifier: MIT
 *
 * The struct of MultiheadAttention, and its forward pass. */
#ifndef HT_NN_LAYERS_ATTENTION_MULTIHEAD_H
#define HT_NN_LAYERS_ATTENTION_MULTIHEAD_H

#include "ht/attention.h"
#include "nn/module/module.h"

typedef struct ht_multihead {
    ht_tensor *in_proj_weight;                 /* slot; NULL if there are three weights */
    ht_tensor *q_weight, *k_weight, *v_weight; /* slots; NULL if there is one weight */
    ht_tensor *in_proj_bias;                   /* slot; may be NULL */
    ht_tensor *bias_k, *bias_v;                /* slots; may be NULL */
    ht_module *out_proj;                       /* slot */
    int64_t embed_dim, kdim, vdim;
    int num_heads;
    double dropout;
    bool bias, add_bias_kv, add_zero_attn, batch_first;
    uint64_t count; /* forwards in training with dropout */
} ht_multihead;

/* The inputs of a forward pass, as PyTorch names them; masks may be NULL. */
typedef struct ht_multihead_inputs {
    ht_tensor *query, *key, *value, *key_padding_mask, *attn_mask;
    bool need_weights, average_attn_weights, is_causal;
} ht_multihead_inputs;

/* The output; the weights go to *weights if they are needed. Scoped; NULL after an error. */
ht_tensor *ht__multihead_forward(ht_module *self, const ht_multihead_inputs *in,
                                 ht_tensor **weights);

/* masks.c: the lengths of a call. `extra` keys without a mask follow the S of the input. */
typedef struct ht_multihead_lengths {
    int64_t batch, heads, rows, keys, extra;
} ht_multihead_lengths;

/* False after HT_ERR_SHAPE or HT_ERR_DTYPE, unless both masks fit or are NULL. */
bool ht__multihead_check_masks(const ht_multihead_inputs *in, const ht_multihead_lengths *n);

/* Both masks as one for ht_scaled_dot_product_attention, or as numbers to add: (N or 1, heads or 1,
 * L or 1, S + extra). There is a mask. Scoped. */
ht_tensor *ht__multihead_mask(const ht_multihead_inputs *in, const ht_multihead_lengths *n,
                              bool as_numbers);

#endif
