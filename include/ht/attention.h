/* SPDX-License-Identifier: MIT
 *
 * Attention, and the layers of Transformers. Source: torch.nn, torch.nn.functional.
 *
 * Results are scoped; NULL after an error.
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
                             key, or numbers that are added to the scores. Borrowed */
    double dropout_p;     /* 0. A weight becomes 0 with this probability, else it is divided by
                             1 - dropout_p */
    bool is_causal;       /* false; true: row i takes the keys 0 to i. Not with attn_mask */
    double scale;         /* NAN, which means 1 / sqrt(E) */
    bool enable_gqa;      /* false; true: groups of heads (axis -3) of query share a head of key,
                             and of value */
    uint64_t seed, draw;  /* 0. Of the dropout, as for ht_dropout */
} ht_attention_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_attention_options ht_attention_options_default(void);

/* softmax(query key^T / sqrt(E)) value for each batch, with the softmax along rows.
 *
 * Scores are never stored as a matrix: memory grows with L and S, but not with their product.
 * query: (..., L, E), floating. Leading axes of the three broadcast. Axis 0 of them may be split.
 * key, value: (..., S, E) and (..., S, Ev), of the dtype of query. One that is not split as the
 *   first split operand is resplit.
 * Collective if an operand has to be resplit. Differentiable.
 * Result: (..., L, Ev), split as the operands.
 * Source: torch.nn.functional.scaled_dot_product_attention. */
HT_API ht_tensor *ht_scaled_dot_product_attention(ht_tensor *query, ht_tensor *key,
                                                  ht_tensor *value);

/* ht_scaled_dot_product_attention of query, key and value with options; NULL: the defaults.
 *
 * A row without keys, or whose keys are all left out, gives 0.
 * The dropout of a weight depends only on seed, draw and the weight's index in (..., L, S).
 * Differentiable in an attn_mask of numbers, too.
 * Collective if an operand has to be resplit.
 * Errors: also HT_ERR_SHAPE if heads of key or value do not divide those of query;
 * HT_ERR_ARGUMENT for attn_mask with is_causal. */
HT_API ht_tensor *ht_scaled_dot_product_attention_ext(ht_tensor *query, ht_tensor *key,
                                                      ht_tensor *value,
                                                      const ht_attention_options *options);

HT_END_DECLS
#endif
