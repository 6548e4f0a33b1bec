/* SPDX-License-Identifier: MIT
 *
 * Attention, and the layers of Transformers. Source: torch.nn, torch.nn.functional.
 *
 * Results are scoped; NULL after an error.
 * Layers are owned, with process-local float32 parameters. They take process-local batches
 * (ht/nn.h); on several ranks another batch is HT_ERR_COMM. Constructors are not collective.
 * Errors: HT_ERR_SHAPE for operands that do not fit, HT_ERR_DTYPE for another dtype,
 * HT_ERR_ARGUMENT for an operand with another split, or a setting out of its range. */
#ifndef HT_ATTENTION_H
#define HT_ATTENTION_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* Options of ht_scaled_dot_product_attention_ext. Each field begins with its default. */
typedef struct ht_attention_options {
    size_t size;          /* set by ht_attention_options_default */
    ht_tensor *attn_mask; /* NULL. It broadcasts to (..., L, S): bool, where false leaves out a
                             key, or numbers of float32 or the dtype of query that are added to
                             the scores. Borrowed */
    double dropout_p;     /* 0, from 0 to 1. A weight becomes 0 with this probability, else it is
                             divided by 1 - dropout_p */
    bool is_causal;       /* false; true: row i takes the keys 0 to i. Not with attn_mask */
    double scale;         /* NAN, which means 1 / sqrt(E); else finite */
    bool enable_gqa;      /* false; true: groups of heads (axis -3) of query share a head of key,
                             and of value */
    uint64_t seed, draw;  /* 0. They choose the dropout, as in ht_dropout */
} ht_attention_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_attention_options ht_attention_options_default(void);

/* softmax(query key^T / sqrt(E)) value for each batch, with the softmax along rows.
 *
 * Scores are never stored as a matrix: memory grows with L and S, but not with their product.
 * query: (..., L, E), floating. Leading axes of the three broadcast, and may be absent. Axis 0 of
 *   them may be split.
 * key, value: (..., S, E) and (..., S, Ev), of the dtype of query. One that is not split as the
 *   first split operand is resplit.
 * Collective if an operand has to be resplit. Differentiable.
 * Result: (..., L, Ev), with the dtype of query, and the split and slabs of the first split
 * operand.
 * Source: torch.nn.functional.scaled_dot_product_attention. */
HT_API ht_tensor *ht_scaled_dot_product_attention(ht_tensor *query, ht_tensor *key,
                                                  ht_tensor *value);

/* ht_scaled_dot_product_attention of query, key and value with options; NULL: the defaults.
 *
 * A row without keys, or whose keys are all left out, gives 0.
 * The dropout of a weight depends only on seed, draw and the weight's index in (..., L, S).
 * Differentiable in an attn_mask of numbers, too.
 * Collective if an operand has to be resplit.
 * Result: as that of ht_scaled_dot_product_attention.
 * Errors: also HT_ERR_SHAPE if heads of key or value do not divide those of query, or enable_gqa
 * finds no axis of heads; HT_ERR_ARGUMENT for attn_mask with is_causal. */
HT_API ht_tensor *ht_scaled_dot_product_attention_ext(ht_tensor *query, ht_tensor *key,
                                                      ht_tensor *value,
                                                      const ht_attention_options *options);

/* Options of ht_nn_multihead_attention_ext. Each field begins with its default. */
typedef struct ht_multihead_attention_options {
    size_t size;        /* set by ht_multihead_attention_options_default */
    double dropout;     /* 0, the probability with which a weight becomes 0 in training; 0 to 1 */
    bool bias;          /* true: the projections have a bias */
    bool add_bias_kv;   /* false; true: a learned key and value follow those of the input */
    bool add_zero_attn; /* false; true: a key and value of zeros follow them */
    int64_t kdim, vdim; /* 0, which means embed_dim: the features of key and value; at least 0 */
    bool batch_first;   /* false: (L, N, E); true: (N, L, E) */
} ht_multihead_attention_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_multihead_attention_options ht_multihead_attention_options_default(void);

/* A layer of attention with num_heads heads, between linear projections of its inputs and output.
 *
 * Its inputs are query (L, N, embed_dim), key (S, N, kdim) and value (S, N, vdim), or without N.
 * They are a list, to which key_padding_mask and attn_mask may follow. Or they are a map of these
 * names and of the numbers need_weights (1), average_attn_weights (1) and is_causal (0). A list has
 * these numbers, too, so that its output is a list of two.
 *     key_padding_mask (N, S), attn_mask (L, S) or (N num_heads, L, S): bool, where true leaves out
 *     a key, or numbers that are added to the scores.
 * With need_weights the output is a list of (L, N, embed_dim) and the weights (N, L, S), which are
 * (N, num_heads, L, S) without average_attn_weights. Else it is one tensor. Weights are stored
 * only if they are needed. One tensor is query, key and value without need_weights (ht_forward). A
 * list may end before key or value, and a map may lack them: they are then query and key.
 * is_causal says that attn_mask is causal. It needs attn_mask, but without need_weights and
 * key_padding_mask, row i takes the keys 0 to i and attn_mask is not read. A row whose keys are all
 * left out gives NaN with need_weights. Else its attention is 0. All of this is as in PyTorch.
 * embed_dim, num_heads: at least 1; embed_dim is a multiple of num_heads.
 * Not collective.
 * Result: owned; process-local float32 parameters: in_proj_weight or q_proj_weight, k_proj_weight
 *   and v_proj_weight, in_proj_bias, bias_k, bias_v, out_proj.weight, out_proj.bias.
 * Errors: in the forward pass, HT_ERR_SHAPE or HT_ERR_DTYPE for a mask that does not fit, and
 * HT_ERR_ARGUMENT for inputs of other names or is_causal without attn_mask.
 * Source: torch.nn.MultiheadAttention. */
HT_API ht_module *ht_nn_multihead_attention(int64_t embed_dim, int num_heads);

/* ht_nn_multihead_attention of embed_dim and num_heads with options; NULL: the defaults. Not
 * collective. */
HT_API ht_module *ht_nn_multihead_attention_ext(int64_t embed_dim, int num_heads,
                                                const ht_multihead_attention_options *options);

/* The activation of a Transformer, such as ht_relu or ht_gelu: a function of the elements of x. */
typedef ht_tensor *ht_transformer_activation(ht_tensor *x);

/* Options of Transformers and their layers. Each field begins with its default. */
typedef struct ht_transformer_options {
    size_t size;                           /* set by ht_transformer_options_default */
    int num_encoder_layers;                /* 6; at least 1. ht_nn_transformer alone reads it */
    int num_decoder_layers;                /* 6; at least 1. ht_nn_transformer alone reads it */
    int64_t dim_feedforward;               /* 2048; at least 1 */
    double dropout;                        /* 0.1; 0 to 1 */
    ht_transformer_activation *activation; /* ht_relu; not NULL */
    double layer_norm_eps;                 /* 1e-5; finite, at least 0 */
    bool batch_first;                      /* false: (L, N, E); true: (N, L, E) */
    bool norm_first; /* false: norms follow the sums; true: norms come first */
    bool bias;       /* true: linear layers and norms have a bias */
} ht_transformer_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_transformer_options ht_transformer_options_default(void);

/* A layer of self-attention and a feed-forward network.
 *
 * Its inputs are src, or a list of src, src_mask and src_key_padding_mask, or a map of these names
 * and of the number is_causal (0). Masks are those of ht_nn_multihead_attention.
 * Its output is a tensor in the shape of src: (L, N, d_model), (N, L, d_model) with batch_first, or
 * (L, d_model).
 * d_model, num_heads: features, a multiple of the number of heads; at least 1.
 * options: NULL means the defaults.
 * Not collective.
 * Result: owned; parameters have the names of PyTorch.
 * Errors: those of ht_nn_multihead_attention; HT_ERR_SHAPE in the forward pass for an input that
 * does not fit.
 * Source: torch.nn.TransformerEncoderLayer. */
HT_API ht_module *ht_nn_transformer_encoder_layer(int64_t d_model, int num_heads,
                                                  const ht_transformer_options *options);

/* A layer of self-attention, attention to the output of an encoder, and a feed-forward network.
 *
 * Its inputs are a list of tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask and
 * memory_key_padding_mask, of which the masks may be absent from the end. Or they are a map of
 * these names and of the numbers tgt_is_causal and memory_is_causal (0). Its output is a tensor in
 * the shape of tgt.
 * d_model, num_heads, options: as for ht_nn_transformer_encoder_layer, with its errors.
 * Not collective.
 * Result: owned.
 * Source: torch.nn.TransformerDecoderLayer. */
HT_API ht_module *ht_nn_transformer_decoder_layer(int64_t d_model, int num_heads,
                                                  const ht_transformer_options *options);

/* A stack of num_layers copies of layer, followed by norm.
 *
 * Its inputs and its output are those of layer, but the name of src_mask is mask.
 * layer: copied by ht_module_clone and released, also after an error. NULL is HT_ERR_ARGUMENT.
 * num_layers: at least 1.
 * norm: taken over, also after an error; NULL leaves it out.
 * Not collective.
 * Result: owned.
 * Source: torch.nn.TransformerEncoder. */
HT_API ht_module *ht_nn_transformer_encoder(ht_module *layer, int num_layers, ht_module *norm);

/* A stack of num_layers copies of layer, followed by norm. Its inputs and its output are those of
 * layer.
 *
 * layer: copied by ht_module_clone and released, also after an error. NULL is HT_ERR_ARGUMENT.
 * num_layers: at least 1.
 * norm: taken over, also after an error; NULL leaves it out.
 * Not collective.
 * Result: owned.
 * Source: torch.nn.TransformerDecoder. */
HT_API ht_module *ht_nn_transformer_decoder(ht_module *layer, int num_layers, ht_module *norm);

/* An encoder and a decoder, each followed by a norm.
 *
 * Its inputs are a list of src, tgt, src_mask, tgt_mask, memory_mask, src_key_padding_mask,
 * tgt_key_padding_mask and memory_key_padding_mask, of which the masks may be absent from the end.
 * Or they are a map of these names and of the numbers src_is_causal, tgt_is_causal and
 * memory_is_causal (0). Its output is a tensor in the shape of tgt.
 * d_model, num_heads: as for ht_nn_transformer_encoder_layer; PyTorch's defaults are 512 and 8.
 * options: NULL means the defaults.
 * Not collective.
 * Result: owned. Matrices are initialised by Xavier's uniform distribution.
 * Errors: those of ht_nn_transformer_encoder_layer. HT_ERR_SHAPE in the forward pass if src and tgt
 * have other batches or features.
 * Source: torch.nn.Transformer. */
HT_API ht_module *ht_nn_transformer(int64_t d_model, int num_heads,
                                    const ht_transformer_options *options);

/* Returns the process-local float32 matrix (length, length): -inf above its diagonal, else 0.
 *
 * length: at least 0.
 * Not collective.
 * Result: on the device of ht_get_device, without a history.
 * Errors: HT_ERR_SHAPE for a negative length.
 * Source: torch.nn.Transformer.generate_square_subsequent_mask. */
HT_API ht_tensor *ht_generate_square_subsequent_mask(int64_t length);

HT_END_DECLS
#endif
