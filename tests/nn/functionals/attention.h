/* SPDX-License-Identifier: MIT
 *
 * Rows of the table of functionals: attention. mode: flags; number: the scale, 0 for the default. */
#ifndef HT_NN_FUNCTIONALS_ATTENTION_H
#define HT_NN_FUNCTIONALS_ATTENTION_H

#include "nn/functionals.h"

enum { NN_CAUSAL = 1, NN_GROUPED = 2, NN_DROPOUT = 4, NN_BOOL = 8 };

static inline ht_tensor *nn_call_attention(ht_tensor *in[], const nn_functional *row)
{
    ht_attention_options options = ht_attention_options_default();

    options.attn_mask = in[3];
    if (row->mode & NN_BOOL)
        options.attn_mask = ht_gt(ht_detach(in[3]), ht_scalar(0));
    if (in[3] != NULL && options.attn_mask == NULL)
        return NULL;
    options.is_causal = row->mode & NN_CAUSAL;
    options.enable_gqa = row->mode & NN_GROUPED;
    options.dropout_p = row->mode & NN_DROPOUT ? 0.4 : 0;
    options.seed = 5;
    if (row->number != 0)
        options.scale = row->number;
    if (row->mode == 0 && row->number == 0 && in[3] == NULL)
        return ht_scaled_dot_product_attention(in[0], in[1], in[2]);
    return ht_scaled_dot_product_attention_ext(in[0], in[1], in[2], &options);
}

/* clang-format off */
#define NN_ATTENTION "ht_scaled_dot_product_attention_ext", nn_call_attention
#define NN_ATTENTION_ROWS                                                                                     \
    {NN_ATTENTION, 4, 3, .operands = {FIRST("query", 3, 4, 3, 2), FIRST("key", 3, 4, 5, 2),                    \
     FIRST("value", 3, 4, 5, 3), OTHER("attn_mask", 2, 3, 5)}},                                                \
    {NN_ATTENTION, 3, 3, .operands = {FIRST("query", 4, 3, 2, 4, 3), FIRST("key", 4, 3, 2, 3, 3),              \
     FIRST("value", 4, 3, 2, 3, 2)}, 0.7, NN_CAUSAL, .variant = true},                                         \
    {NN_ATTENTION, 3, 3, .operands = {FIRST("query", 4, 3, 4, 2, 3), FIRST("key", 4, 3, 2, 3, 3),              \
     FIRST("value", 4, 3, 1, 3, 2)}, 0, NN_GROUPED, .variant = true},                                          \
    {NN_ATTENTION, 4, 4, .operands = {FIRST("query", 4, 3, 2, 4, 3), OTHER("key", 3, 2, 3, 3),                 \
     FIRST("value", 4, 3, 1, 3, 2), FIRST("attn_mask", 4, 3, 1, 1, 3)}, .variant = true},                      \
    {NN_ATTENTION, 4, 4, .operands = {FIRST("query", 4, 3, 2, 4, 3), FIRST("key", 4, 3, 2, 3, 3),              \
     FIRST("value", 4, 3, 2, 3, 2), {"attn_mask", HT_FLOAT64, 4, {3, 1, 4, 3}, NN_SPLITS}},                    \
     .mode = NN_BOOL, .variant = true},                                                                        \
    {NN_ATTENTION, 3, 3, .operands = {FIRST("query", 3, 4, 3, 2), FIRST("key", 3, 4, 5, 2),                    \
     FIRST("value", 3, 4, 5, 3)}, 0, NN_DROPOUT, .variant = true}
/* clang-format on */

#endif
