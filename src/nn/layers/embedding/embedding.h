/* SPDX-License-Identifier: MIT
 *
 * The weight of Embedding and EmbeddingBag. */
#ifndef HT_NN_LAYERS_EMBEDDING_EMBEDDING_H
#define HT_NN_LAYERS_EMBEDDING_EMBEDDING_H

#include "ht/embedding.h"
#include "nn/module/module.h"

/* Registers a standard normal weight, whose row padding_idx is 0. Releases the module and returns
 * NULL after an error. */
ht_module *ht__embedding_add_weight(const char *what, ht_module *module, ht_tensor **slot,
                                    int64_t rows, int64_t columns, int64_t padding_idx);

#endif
