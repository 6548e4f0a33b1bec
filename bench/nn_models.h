/* SPDX-License-Identifier: MIT
 *
 * Layers and networks of bench/nn.c that consist of several parts. */
#ifndef HT_BENCH_NN_MODELS_H
#define HT_BENCH_NN_MODELS_H

#include "ht.h"

/* Self-attention of x (batch, heads, length, features), without parameters. */
ht_module *bench_attention(void);

/* ResNet-18 for images (N, 3, 32, 32): a first convolution of 3x3, and no pooling behind it. */
ht_module *bench_resnet18(void);

/* Four layers of an encoder for x (N, length, 256): 8 heads, 1,024 hidden features, no dropout. */
ht_module *bench_transformer(void);

#endif
