/* SPDX-License-Identifier: MIT
 *
 * Refusals of test_operands.c: embeddings, similarities, bilinear products. */
#ifndef HT_NN_FUNCTIONAL_REFUSALS_EMBEDDING_H
#define HT_NN_FUNCTIONAL_REFUSALS_EMBEDDING_H

/* clang-format off */
#define REFUSED_PAIR(name) \
    {name, "x1", ONE_MORE, "x1 is (4, 3, 1), x2 is (4, 3): they do not broadcast"}, \
    {name, "x1", LONGER, "x1 is (5, 3), x2 is (4, 3): they do not broadcast"}, \
    {name, "x2", ONE_MORE, "x1 is (4, 3), x2 is (4, 3, 1): they do not broadcast"}, \
    {name, "x2", LONGER, "x1 is (4, 3), x2 is (5, 3): they do not broadcast"}
#define EMBEDDING_REFUSALS \
    {"ht_embedding", "indices", OTHER_DTYPE, "indices is float32, expected an integer dtype"}, \
    {"ht_embedding", "weight", ONE_MORE, "weight is (3, 4, 1), expected (rows, columns)"}, \
    {"ht_embedding", "weight", SPLIT, "weight is split along axis 1, expected a replicated tensor"}, \
    {"ht_embedding_bag", "indices", OTHER_DTYPE, "indices is float32, expected an integer dtype"}, \
    {"ht_embedding_bag", "indices", ONE_MORE, "indices are (4, 3, 1), expected two axes, or one axis and offsets"}, \
    {"ht_embedding_bag", "indices", SPLIT, "indices is split along axis 1; only the batch axis (0) may be split"}, \
    {"ht_embedding_bag", "weight", ONE_MORE, "weight is (3, 2, 1), expected (rows, columns)"}, \
    {"ht_embedding_bag", "weight", SPLIT, "weight is split along axis 1, expected a replicated tensor"}, \
    REFUSED_PAIR("ht_cosine_similarity"), \
    REFUSED_PAIR("ht_pairwise_distance"), \
    {"ht_bilinear", "x1", ONE_MORE, "x1 is (4, 3, 1), weight is (2, 3, 2), expected (..., in1) and (out, in1, in2)"}, \
    {"ht_bilinear", "x1", LONGER, "x1 is (5, 3), x2 is (4, 2): their leading axes differ"}, \
    {"ht_bilinear", "x1", SPLIT, "x1 is split along axis 1; only the batch axis (0) may be split"}, \
    {"ht_bilinear", "x2", OTHER_DTYPE, "x1 is float64, x2 is float32"}, \
    {"ht_bilinear", "x2", ONE_MORE, "x2 is (4, 2, 1), weight is (2, 3, 2), expected (..., in2) and (out, in1, in2)"}, \
    {"ht_bilinear", "x2", LONGER, "x1 is (4, 3), x2 is (5, 2): their leading axes differ"}, \
    {"ht_bilinear", "x2", SPLIT, "x2 is split along axis 1; only the batch axis (0) may be split"}, \
    {"ht_bilinear", "weight", OTHER_DTYPE, "x1 is float64, weight is float32"}, \
    {"ht_bilinear", "weight", ONE_MORE, "weight is (2, 3, 2, 1), expected (out, in1, in2)"}, \
    {"ht_bilinear", "weight", LONGER, "weight is (3, 3, 2), bias is (2,), expected (out, in1, in2) and (out)"}, \
    {"ht_bilinear", "weight", SPLIT, "weight is split along axis 2, expected a replicated tensor"}, \
    {"ht_bilinear", "bias", OTHER_DTYPE, "x1 is float64, bias is float32"}, \
    {"ht_bilinear", "bias", ONE_MORE, "bias is (2, 1), expected (out)"}, \
    {"ht_bilinear", "bias", LONGER, "weight is (2, 3, 2), bias is (3,), expected (out, in1, in2) and (out)"}, \
    {"ht_bilinear", "bias", SPLIT, "bias is split along axis 0, expected a replicated tensor"}
/* clang-format on */

#endif
