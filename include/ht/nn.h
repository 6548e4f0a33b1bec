/* SPDX-License-Identifier: MIT
 *
 * Layers. Constructors return owned modules (ht_module_add takes them over); parameters are
 * float32, process-local, initialised as PyTorch does. Not collective. Source: torch.nn. */
#ifndef HT_NN_H
#define HT_NN_H

#include "ht/functional.h"
#include "ht/module.h"

HT_BEGIN_DECLS

/* y = x W^T + b: (..., in) -> (..., out). W (out, in) and b uniform in +-1 / sqrt(in). */
HT_API ht_module *ht_nn_linear(int64_t in_features, int64_t out_features);
HT_API ht_module *ht_nn_linear_ext(int64_t in_features, int64_t out_features, bool bias);

/* 2-d convolution with square kernels, (N, in, H, W) -> (N, out, H', W'),
 * H' = floor((H + 2 padding - dilation (kernel - 1) - 1) / stride) + 1. */
HT_API ht_module *ht_nn_conv2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size);
HT_API ht_module *ht_nn_conv2d_ext(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                                   const ht_conv2d_options *options, bool bias);

HT_API ht_module *ht_nn_max_pool2d(int64_t kernel_size);
HT_API ht_module *ht_nn_relu(void);
HT_API ht_module *ht_nn_flatten(int start_axis);
HT_API ht_module *ht_nn_log_softmax(int axis);

/* Zeroes elements (dropout2d: whole channels) with probability p in training, and scales the others
 * by 1 / (1 - p). Masks differ between ranks and layers: drawn from (ht_nn_seed, path in the model,
 * forward count, rank). */
HT_API ht_module *ht_nn_dropout(double p);
HT_API ht_module *ht_nn_dropout2d(double p);

/* Runs `count` modules one after another; takes them over. Children are named "0", "1", ... */
HT_API ht_module *ht_nn_sequential(int count, ht_module *const modules[]);

/* Seeds initialisation and dropout of the calling process. Not collective; default 0. */
HT_API void ht_nn_seed(uint64_t seed);

/* nn.init, in place on parameters. fan_in mode, gain sqrt(2 / (1 + a^2)). */
HT_API ht_status ht_nn_init_kaiming_uniform(ht_tensor *x, double a);
HT_API ht_status ht_nn_init_uniform(ht_tensor *x, double low, double high);

HT_END_DECLS
#endif
