/* SPDX-License-Identifier: MIT
 *
 * Rows of a weight by index, for embeddings and bags of them. */
#ifndef HT_NN_FUNCTIONAL_EMBEDDING_LOOKUP_H
#define HT_NN_FUNCTIONAL_EMBEDDING_LOOKUP_H

#include "ht/embedding.h"
#include "nn/functional/functional.h"

/* Whether the options are in range, all indices are rows of weight, and rows above max_norm could
 * be scaled. *padding_idx becomes a row, or stays HT_NO_PADDING. Collective if indices are split. */
bool ht__lookup_begin(const char *what, ht_tensor *indices, ht_tensor *weight, int64_t *padding_idx,
                      double max_norm, double norm_type);

/* x, whose gradient is multiplied by `scale`, which broadcasts to it. Scoped. */
ht_tensor *ht__scale_gradient(const char *what, ht_tensor *x, ht_tensor *scale);

/* 1 / count for each of `indices`, where count says how often it is in `counted`; of weight's
 * dtype, with one more axis. Collective if `counted` is split. Scoped. */
ht_tensor *ht__inverse_frequency(ht_tensor *indices, ht_tensor *counted, ht_tensor *weight);

#endif
