/* SPDX-License-Identifier: MIT
 *
 * Layers. Constructors return owned modules (ht_module_add takes them over); parameters are
 * float32, process-local, initialised as PyTorch does, so that layers with parameters take
 * process-local batches: this rank's rows, ht_tensor_local(x) of a split x. Not collective. Source:
 * torch.nn. */
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
HT_API ht_module *ht_nn_flatten(int start_axis);

/* The functions of the same names, as layers without parameters. */
HT_API ht_module *ht_nn_relu(void);
HT_API ht_module *ht_nn_leaky_relu(double negative_slope);
HT_API ht_module *ht_nn_gelu(void);
HT_API ht_module *ht_nn_gelu_tanh(void);
HT_API ht_module *ht_nn_silu(void);
HT_API ht_module *ht_nn_mish(void);
HT_API ht_module *ht_nn_tanh(void);
HT_API ht_module *ht_nn_tanhshrink(void);
HT_API ht_module *ht_nn_sigmoid(void);
HT_API ht_module *ht_nn_logsigmoid(void);
HT_API ht_module *ht_nn_softsign(void);
HT_API ht_module *ht_nn_relu6(void);
HT_API ht_module *ht_nn_hardsigmoid(void);
HT_API ht_module *ht_nn_hardswish(void);
HT_API ht_module *ht_nn_selu(void);
HT_API ht_module *ht_nn_elu(double alpha);
HT_API ht_module *ht_nn_celu(double alpha);
HT_API ht_module *ht_nn_hardshrink(double lambda);
HT_API ht_module *ht_nn_softshrink(double lambda);
HT_API ht_module *ht_nn_hardtanh(double min, double max);
HT_API ht_module *ht_nn_softplus(double beta, double threshold);
HT_API ht_module *ht_nn_threshold(double threshold, double value);
HT_API ht_module *ht_nn_glu(int axis);
HT_API ht_module *ht_nn_softmax(int axis);
HT_API ht_module *ht_nn_softmin(int axis);
HT_API ht_module *ht_nn_log_softmax(int axis);

/* Softmax over the channels of x (N, C, H, W) or (C, H, W). */
HT_API ht_module *ht_nn_softmax2d(void);

/* x where x > 0, else weight x: weight (num_parameters) is learned, and begins as init.
 * num_parameters: 1, or the channels of x (axis 1). init: PyTorch's default is 0.25. */
HT_API ht_module *ht_nn_prelu(int64_t num_parameters, double init);

/* ht_rrelu with slopes from [lower, upper): drawn as masks of dropout are in training, the mean in
 * evaluation. PyTorch's defaults are 1 / 8 and 1 / 3. */
HT_API ht_module *ht_nn_rrelu(double lower, double upper);

/* Zeroes elements (dropout1d, 2d and 3d: whole channels) with probability p in training, and scales
 * the others by 1 / (1 - p); those of alpha dropout take the limit of SELU in place of zero. Masks differ between ranks and layers: drawn from (ht_nn_seed, path in the model,
 * forward count, rank). */
HT_API ht_module *ht_nn_dropout(double p);
HT_API ht_module *ht_nn_dropout1d(double p);
HT_API ht_module *ht_nn_dropout2d(double p);
HT_API ht_module *ht_nn_dropout3d(double p);
HT_API ht_module *ht_nn_alpha_dropout(double p);
HT_API ht_module *ht_nn_feature_alpha_dropout(double p);

typedef struct ht_batch_norm_options {
    size_t size;              /* of this struct; set by the default function */
    double eps, momentum;     /* 1e-5, 0.1 */
    bool cumulative_average;  /* false; true: momentum is 1 / num_batches_tracked */
    bool affine;              /* true: weight (features) of ones and bias of zeros */
    bool track_running_stats; /* true; false: batch statistics in evaluation too */
} ht_batch_norm_options;
HT_API ht_batch_norm_options ht_batch_norm_options_default(void);

/* y = (x - mean) / sqrt(var + eps) weight + bias by channel (axis 1): statistics of the batch in
 * training, the running ones (unbiased variance) in evaluation; a batch of no rows in training
 * counts and leaves them. For (N, C) and (N, C, L), for (N, C, H, W), and for (N, C, D, H, W).
 * options NULL: defaults. */
HT_API ht_module *ht_nn_batch_norm1d(int64_t features, const ht_batch_norm_options *options);
HT_API ht_module *ht_nn_batch_norm2d(int64_t features, const ht_batch_norm_options *options);
HT_API ht_module *ht_nn_batch_norm3d(int64_t features, const ht_batch_norm_options *options);

/* The same with statistics over the process-local batches of all ranks of `comm`, which may differ
 * in length or be empty; x (N, C, ...). Forward in training, and backward, are collective over
 * `comm`; all ranks hold the same bits. Gradients of weight and bias stay this rank's share: the
 * data-parallel wrapper averages them. An error on one rank that keeps it from its part (x of
 * another shape, NULL after an error, a backward pass that failed before) is one on all. Source:
 * torch.nn.SyncBatchNorm. */
HT_API ht_module *ht_nn_sync_batch_norm(int64_t features, const ht_batch_norm_options *options,
                                        ht_comm *comm);

/* Puts SyncBatchNorm in the place of every BatchNorm layer of the tree, sharing parameters and
 * buffers; takes `module` over and returns it, or what stands in its place. Before wrapping and
 * before making the optimizer's hooks; hooks of replaced layers are lost. A warning when there is
 * no such layer. revert: back again. */
HT_API ht_module *ht_nn_convert_sync_batchnorm(ht_module *module, ht_comm *comm);
HT_API ht_module *ht_nn_revert_sync_batchnorm(ht_module *module);

/* Runs `count` modules one after another; takes them over. Children are named "0", "1", ... */
HT_API ht_module *ht_nn_sequential(int count, ht_module *const modules[]);

/* Seeds initialisation and dropout of the calling process. Not collective; default 0. */
HT_API void ht_nn_seed(uint64_t seed);

/* All that decides which random numbers come next, as a map: the states of ht_random_seed and
 * ht_nn_seed, draws on HT_COMM_SELF and on `comm`, and how often each layer of `module` that draws
 * (dropout) has drawn on each rank of `comm`. Loaded on as many ranks, every rank draws on as it
 * would have; on another number, all go on after the largest count. HT_ERR_FORMAT when a layer's
 * count is missing. Scoped. Collective. */
HT_API ht_value *ht_nn_random_state_dict(ht_module *module, ht_comm *comm);
HT_API ht_status ht_nn_random_load_state_dict(ht_module *module, const ht_value *state,
                                              ht_comm *comm);

/* nn.init, in place on parameters. fan_in mode, gain sqrt(2 / (1 + a^2)). */
HT_API ht_status ht_nn_init_kaiming_uniform(ht_tensor *x, double a);
HT_API ht_status ht_nn_init_uniform(ht_tensor *x, double low, double high);

HT_END_DECLS
#endif
