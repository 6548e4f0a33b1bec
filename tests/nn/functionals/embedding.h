/* SPDX-License-Identifier: MIT
 *
 * Rows of the table of functionals: embeddings, similarities, bilinear products. mode: of a bag, or
 * the axis; number: the padding, or the order of a norm. */
#ifndef HT_NN_FUNCTIONALS_EMBEDDING_H
#define HT_NN_FUNCTIONALS_EMBEDDING_H

#include "nn/functionals.h"

static inline ht_tensor *nn_call_embedding(ht_tensor *in[], const nn_functional *row)
{
    (void)row;
    return ht_embedding(in[0], in[1]);
}

static inline ht_tensor *nn_call_embedding_bag(ht_tensor *in[], const nn_functional *row)
{
    ht_embedding_bag_options options = ht_embedding_bag_options_default();
    ht_tensor *offsets = NULL;

    options.mode = (ht_bag_mode)row->mode;
    options.per_sample_weights = row->count > 2 ? in[2] : NULL;
    if (row->number >= 0)
        options.padding_idx = (int64_t)row->number;
    if (row->operands[0].ndim == 1)
        offsets = ht_array((int64_t[]){0, 2, 2}, HT_SHAPE(3), HT_INT64, HT_NONE);
    if (row->operands[0].ndim == 1 && offsets == NULL)
        return NULL;
    return ht_embedding_bag(in[0], in[1], offsets, &options);
}

static inline ht_tensor *nn_call_cosine_similarity(ht_tensor *in[], const nn_functional *row)
{
    return ht_cosine_similarity(in[0], in[1], row->mode, 1e-8);
}

static inline ht_tensor *nn_call_pairwise_distance(ht_tensor *in[], const nn_functional *row)
{
    return ht_pairwise_distance(in[0], in[1], row->number, 1e-6, row->mode);
}

static inline ht_tensor *nn_call_bilinear(ht_tensor *in[], const nn_functional *row)
{
    (void)row;
    return ht_bilinear(in[0], in[1], in[2], in[3]);
}

/* clang-format off */
#define INDICES(...) {"indices", HT_INT32, __VA_ARGS__, NN_SPLITS}
#define NN_BAGS .operands = {INDICES(2, {4, 3}), OTHER("weight", 2, 3, 2)}
#define NN_EMBEDDING_ROWS                                                                                \
    {"ht_embedding", nn_call_embedding, 2, 2, .operands = {INDICES(2, {4, 2}), OTHER("weight", 2, 3, 4)}}, \
    {"ht_embedding_bag", nn_call_embedding_bag, 2, 2, NN_BAGS, -1, HT_BAG_MEAN},                         \
    {"ht_embedding_bag", nn_call_embedding_bag, 2, 2, NN_BAGS, -1, HT_BAG_MAX, .variant = true},         \
    {"ht_embedding_bag", nn_call_embedding_bag, 2, 2, NN_BAGS, 1, HT_BAG_MEAN, .variant = true},         \
    {"ht_embedding_bag", nn_call_embedding_bag, 2, 2, NN_BAGS, 2, HT_BAG_MAX, .variant = true},          \
    {"ht_embedding_bag", nn_call_embedding_bag, 3, 2,                                                    \
     .operands = {INDICES(2, {4, 3}), OTHER("weight", 2, 3, 2), FIRST("per_sample_weights", 2, 4, 3)},   \
     -1, HT_BAG_SUM, .variant = true},                                                                   \
    {"ht_embedding_bag", nn_call_embedding_bag, 3, 2,                                                    \
     .operands = {{"indices", HT_INT32, 1, {5}, 0}, OTHER("weight", 2, 3, 2), OTHER("per_sample_weights", 1, 5)}, \
     -1, HT_BAG_SUM, .variant = true},                                                                   \
    {"ht_embedding_bag", nn_call_embedding_bag, 2, 2,                                                    \
     .operands = {{"indices", HT_INT32, 1, {5}, 0}, OTHER("weight", 2, 3, 2)}, 0, HT_BAG_MAX, .variant = true}, \
    {"ht_cosine_similarity", nn_call_cosine_similarity, 2, 2, .operands = {FIRST("x1", 2, 4, 3), FIRST("x2", 2, 4, 3)}, .mode = 1}, \
    {"ht_cosine_similarity", nn_call_cosine_similarity, 2, 2, .operands = {FIRST("x1", 2, 4, 3), OTHER("x2", 1, 3)}, .mode = 0, .variant = true}, \
    {"ht_pairwise_distance", nn_call_pairwise_distance, 2, 2, .operands = {FIRST("x1", 2, 4, 3), FIRST("x2", 2, 4, 3)}, 2}, \
    {"ht_pairwise_distance", nn_call_pairwise_distance, 2, 2, .operands = {FIRST("x1", 2, 4, 3), OTHER("x2", 1, 3)}, 3, true, .variant = true}, \
    {"ht_bilinear", nn_call_bilinear, 4, 3, .operands = {FIRST("x1", 2, 4, 3), FIRST("x2", 2, 4, 2), \
     OTHER("weight", 3, 2, 3, 2), OTHER("bias", 1, 2)}},                                                 \
    {"ht_bilinear", nn_call_bilinear, 4, 3, .operands = {FIRST("x1", 3, 3, 2, 2), FIRST("x2", 3, 3, 2, 3), \
     OTHER("weight", 3, 2, 2, 3), OTHER("bias", 1, 2)}, .variant = true}
/* clang-format on */

#endif
