/* SPDX-License-Identifier: MIT
 *
 * Layers.
 *
 * Constructors return owned modules; NULL after an error. ht_module_add takes them over. Parameters
 * are float32, process-local and initialised as PyTorch does. So layers with parameters or buffers
 * take process-local batches, made with HT_LOCAL, or this rank's rows ht_tensor_local(x) of a split
 * x. On more than one rank, any other x is HT_ERR_COMM there, in training and in evaluation. Layers
 * without parameters and buffers take what their functions take, split tensors too. Options may
 * decide: a BatchNorm layer has neither if affine and track_running_stats are false.
 *
 * Not collective, unless a comment says otherwise.
 * Errors: HT_ERR_ARGUMENT for a NULL module, unless a comment says otherwise, and for a setting out
 * of the range that the comment of its layer names. A number without a range may have any value.
 * Ranges that the comment of the function alone names (ht_softshrink), and axes, are checked in the
 * forward pass. Layers return the errors of the functions that they call.
 * Source: torch.nn. */
#ifndef HT_NN_H
#define HT_NN_H

#include "ht/functional.h"
#include "ht/module.h"

HT_BEGIN_DECLS

/* A layer of ht_linear with a bias: (..., in_features) -> (..., out_features).
 *
 * in_features, out_features: at least 1. weight (out_features, in_features) and bias are uniform in
 *   +-1 / sqrt(in_features). */
HT_API ht_module *ht_nn_linear(int64_t in_features, int64_t out_features);

/* ht_nn_linear of in_features and out_features.
 *
 * bias: false leaves out the bias. */
HT_API ht_module *ht_nn_linear_ext(int64_t in_features, int64_t out_features, bool bias);

/* A layer of ht_conv2d with square kernels and a bias.
 *
 * The output of (N, in_channels, H, W) is (N, out_channels, H', W'). The stride is 1, without
 * padding: H' = H - kernel_size + 1, and W' likewise.
 *
 * in_channels, out_channels, kernel_size: at least 1. Weight and bias are uniform in
 *   +-1 / sqrt(in_channels kernel_size^2). */
HT_API ht_module *ht_nn_conv2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size);

/* ht_nn_conv2d of in_channels, out_channels and kernel_size, with all settings.
 *
 *     H' = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1
 * W' likewise. Weight and bias are uniform in +-1 / sqrt((in_channels / groups) kernel_size^2).
 *
 * options: NULL means the defaults. groups divides in_channels and out_channels.
 * bias: false leaves out the bias. */
HT_API ht_module *ht_nn_conv2d_ext(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                                   const ht_conv2d_options *options, bool bias);

/* A layer of ht_max_pool2d with windows of length kernel_size, which is at least 1. */
HT_API ht_module *ht_nn_max_pool2d(int64_t kernel_size);

/* A layer of ht_flatten from start_axis on; PyTorch's default is 1. */
HT_API ht_module *ht_nn_flatten(int start_axis);

/* A layer of ht_relu. */
HT_API ht_module *ht_nn_relu(void);

/* A layer of ht_leaky_relu with negative_slope; PyTorch's default is 0.01. */
HT_API ht_module *ht_nn_leaky_relu(double negative_slope);

/* A layer of ht_gelu. */
HT_API ht_module *ht_nn_gelu(void);

/* A layer of ht_gelu_tanh. */
HT_API ht_module *ht_nn_gelu_tanh(void);

/* A layer of ht_silu. */
HT_API ht_module *ht_nn_silu(void);

/* A layer of ht_mish. */
HT_API ht_module *ht_nn_mish(void);

/* A layer of ht_tanh. */
HT_API ht_module *ht_nn_tanh(void);

/* A layer of ht_tanhshrink. */
HT_API ht_module *ht_nn_tanhshrink(void);

/* A layer of ht_sigmoid. */
HT_API ht_module *ht_nn_sigmoid(void);

/* A layer of ht_logsigmoid. */
HT_API ht_module *ht_nn_logsigmoid(void);

/* A layer of ht_softsign. */
HT_API ht_module *ht_nn_softsign(void);

/* A layer of ht_relu6. */
HT_API ht_module *ht_nn_relu6(void);

/* A layer of ht_hardsigmoid. */
HT_API ht_module *ht_nn_hardsigmoid(void);

/* A layer of ht_hardswish. */
HT_API ht_module *ht_nn_hardswish(void);

/* A layer of ht_selu. */
HT_API ht_module *ht_nn_selu(void);

/* A layer of ht_elu with alpha; PyTorch's default is 1. */
HT_API ht_module *ht_nn_elu(double alpha);

/* A layer of ht_celu with alpha; PyTorch's default is 1. */
HT_API ht_module *ht_nn_celu(double alpha);

/* A layer of ht_hardshrink with lambda; PyTorch's default is 0.5. */
HT_API ht_module *ht_nn_hardshrink(double lambda);

/* A layer of ht_softshrink with lambda; PyTorch's default is 0.5. */
HT_API ht_module *ht_nn_softshrink(double lambda);

/* A layer of ht_hardtanh with min and max; PyTorch's defaults are -1 and 1. */
HT_API ht_module *ht_nn_hardtanh(double min, double max);

/* A layer of ht_softplus with beta and threshold; PyTorch's defaults are 1 and 20. */
HT_API ht_module *ht_nn_softplus(double beta, double threshold);

/* A layer of ht_threshold with threshold and value. */
HT_API ht_module *ht_nn_threshold(double threshold, double value);

/* A layer of ht_glu along axis; PyTorch's default is -1. */
HT_API ht_module *ht_nn_glu(int axis);

/* A layer of ht_softmax along axis. */
HT_API ht_module *ht_nn_softmax(int axis);

/* A layer of ht_softmin along axis. */
HT_API ht_module *ht_nn_softmin(int axis);

/* A layer of ht_log_softmax along axis. */
HT_API ht_module *ht_nn_log_softmax(int axis);

/* A layer of ht_softmax over the channels of x (N, C, H, W) or (C, H, W); HT_ERR_SHAPE for
 * others. */
HT_API ht_module *ht_nn_softmax2d(void);

/* A layer of ht_prelu with a learned weight (num_parameters).
 *
 * num_parameters: 1, or the channels of x (axis 1); at least 1.
 * init: the first value of weight; PyTorch's default is 0.25. */
HT_API ht_module *ht_nn_prelu(int64_t num_parameters, double init);

/* A layer of ht_rrelu with slopes from [lower, upper); PyTorch's defaults are 1 / 8 and 1 / 3.
 *
 * In training, slopes are drawn like the masks of ht_nn_dropout: inputs are process-local or split.
 * In evaluation, the slope is (lower + upper) / 2.
 * lower, upper: lower <= upper, which the forward pass checks. */
HT_API ht_module *ht_nn_rrelu(double lower, double upper);

/* A layer of ht_dropout with probability p in training. In evaluation, the output is the input, of
 * any shape and dtype.
 *
 * Masks differ between ranks, between layers, and between replicas (ht/device_parallel.h). They
 * are drawn from the seed of ht_nn_seed, the rank, the replica, the layer's path in the model, and
 * the number of its forward passes in training. So the input is process-local or split. The ranks
 * would get different outputs of a replicated one, which is not checked; ht_dropout keeps them
 * equal.
 * p: from 0 to 1; PyTorch's default is 0.5. */
HT_API ht_module *ht_nn_dropout(double p);

/* A layer of ht_dropout1d with probability p, as ht_nn_dropout. */
HT_API ht_module *ht_nn_dropout1d(double p);

/* A layer of ht_dropout2d with probability p, as ht_nn_dropout. */
HT_API ht_module *ht_nn_dropout2d(double p);

/* A layer of ht_dropout3d with probability p, as ht_nn_dropout. */
HT_API ht_module *ht_nn_dropout3d(double p);

/* A layer of ht_alpha_dropout with probability p, as ht_nn_dropout. */
HT_API ht_module *ht_nn_alpha_dropout(double p);

/* A layer of ht_feature_alpha_dropout with probability p, as ht_nn_dropout. */
HT_API ht_module *ht_nn_feature_alpha_dropout(double p);

/* Options of batch normalisation. */
typedef struct ht_batch_norm_options {
    size_t size;              /* of this struct; set by the default function */
    double eps, momentum;     /* 1e-5, finite and at least 0; 0.1, from 0 to 1 */
    bool cumulative_average;  /* false; true: momentum is 1 / num_batches_tracked */
    bool affine;              /* true: weight (features) of ones and bias of zeros */
    bool bias;                /* true; false leaves out the bias */
    bool track_running_stats; /* true; false: batch statistics in evaluation too */
} ht_batch_norm_options;

/* Returns the default options, with size set. */
HT_API ht_batch_norm_options ht_batch_norm_options_default(void);

/* A layer of ht_batch_norm for x (N, features) or (N, features, L).
 *
 * Training takes the statistics of the batch, and evaluation the running ones. A batch without rows
 * in training is counted, and leaves the running statistics as they are.
 * features: at least 1.
 * options: NULL means the defaults.
 * Errors: HT_ERR_SHAPE in the forward pass for x of another shape; HT_ERR_ARGUMENT if batch
 * statistics would be those of one value per channel. */
HT_API ht_module *ht_nn_batch_norm1d(int64_t features, const ht_batch_norm_options *options);

/* ht_nn_batch_norm1d for x (N, features, H, W), with the same options. */
HT_API ht_module *ht_nn_batch_norm2d(int64_t features, const ht_batch_norm_options *options);

/* ht_nn_batch_norm1d for x (N, features, D, H, W), with the same options. */
HT_API ht_module *ht_nn_batch_norm3d(int64_t features, const ht_batch_norm_options *options);

/* ht_nn_batch_norm1d for x (N, features, ...), with statistics over the batches of all ranks of
 * comm.
 *
 * Batches are process-local, may differ in length, and may be empty. All ranks get the same bits of
 * the statistics. Gradients of weight and bias are this rank's share; the data-parallel wrapper
 * averages them. An error that keeps one rank from its part is an error on all ranks: x of another
 * shape, NULL after an error, or a backward pass that failed before.
 * options: NULL means the defaults.
 * comm: retained.
 * Collective over comm in a forward pass that takes batch statistics, and in its backward pass:
 * in training, or without running statistics. The constructor is not collective.
 * Errors: as for ht_nn_batch_norm1d, where the values of all ranks count; HT_ERR_ARGUMENT also if
 * comm is NULL.
 * Source: torch.nn.SyncBatchNorm. */
HT_API ht_module *ht_nn_sync_batch_norm(int64_t features, const ht_batch_norm_options *options,
                                        ht_comm *comm);

/* Replaces every BatchNorm layer in module by a SyncBatchNorm layer over comm, which shares its
 * parameters and buffers.
 *
 * Call it before module is wrapped, and before the optimizer's hooks are made. Hooks of replaced
 * layers are lost; their modes are kept. A SyncBatchNorm layer over another communicator is
 * replaced, too. A warning is logged if module has no BatchNorm layer.
 * module: taken over; released after an error.
 * comm: retained.
 * Result: module, or the new layer if module itself is a BatchNorm layer. NULL stays NULL.
 * Errors: HT_ERR_STATE if module is inside a data-parallel wrapper, or if a layer to replace is
 * parametrized; HT_ERR_ARGUMENT if comm is NULL.
 * Source: torch.nn.SyncBatchNorm.convert_sync_batchnorm. */
HT_API ht_module *ht_nn_convert_sync_batchnorm(ht_module *module, ht_comm *comm);

/* Replaces every SyncBatchNorm layer in module by a BatchNorm layer, the inverse of
 * ht_nn_convert_sync_batchnorm.
 *
 * A layer of ht_nn_sync_batch_norm becomes a BatchNorm2d layer.
 * module: taken over; released after an error.
 * Result: module, or the new layer if module itself is a SyncBatchNorm layer. NULL stays NULL.
 * Errors: HT_ERR_STATE if module is inside a data-parallel wrapper, or if a layer to replace is
 * parametrized. */
HT_API ht_module *ht_nn_revert_sync_batchnorm(ht_module *module);

/* Returns one layer with the output of conv followed by bn, both in evaluation.
 *
 * conv: a convolution, a transposed one or a linear layer, without parametrizations; it stays as it
 *   is.
 * bn: a BatchNorm layer of any kind with running statistics, as many as conv has output channels,
 *   and without parametrizations; it stays as it is.
 * Result: owned; a layer of the kind of conv in evaluation, with a bias, and with the dtype of
 * conv.
 * Errors: HT_ERR_ARGUMENT for a module of another kind, and without running statistics.
 * HT_ERR_STATE if one is in training or parametrized. HT_ERR_SHAPE for another number of channels.
 * Source: torch.nn.utils.fuse_conv_bn_eval, torch.nn.utils.fuse_linear_bn_eval. */
HT_API ht_module *ht_nn_fuse_conv_bn(ht_module *conv, ht_module *bn);

/* A layer of a softmax over many classes that are sorted by frequency, with its loss.
 *
 * The classes before the first cutoff and one number for each cluster form one softmax. The cluster
 * i has the classes from cutoffs[i] to the next cutoff, and floor(in_features / div_value^(i + 1))
 * features; div_value is 4. Its softmax computes only the rows of its targets. The inputs are a
 * list of x (N, in_features) or (in_features) and target (N) or (). The output is a map of
 * "output", the logarithm of the probability of each target, and "loss", minus its mean.
 * in_features: at least 1.
 * n_classes: at least 2.
 * count, cutoffs: at least one; increasing numbers from 1 to n_classes - 1. Each cluster has at
 *   least one feature.
 * Errors: HT_ERR_SHAPE for other inputs; HT_ERR_ARGUMENT for a target that is not a class. On a
 * device, a later call may return that error.
 * Source: torch.nn.AdaptiveLogSoftmaxWithLoss. */
HT_API ht_module *ht_nn_adaptive_log_softmax_with_loss(int64_t in_features, int64_t n_classes,
                                                       int count, const int64_t cutoffs[]);

/* ht_nn_adaptive_log_softmax_with_loss of in_features, n_classes, count and cutoffs, with all
 * settings.
 *
 * div_value: at least 1e-6; it leaves at least one feature to each cluster.
 * head_bias: true gives the first softmax a bias. */
HT_API ht_module *ht_nn_adaptive_log_softmax_with_loss_ext(int64_t in_features, int64_t n_classes,
                                                           int count, const int64_t cutoffs[],
                                                           double div_value, bool head_bias);

/* Returns the logarithms of the probabilities of all classes (N, n_classes).
 *
 * module: an ht_nn_adaptive_log_softmax_with_loss, or a wrapper of one.
 * x: (N, in_features), process-local.
 * Differentiable.
 * Result: scoped; the dtype of x.
 * Errors: HT_ERR_SHAPE for another x, HT_ERR_ARGUMENT for another module. */
HT_API ht_tensor *ht_nn_adaptive_log_prob(ht_module *module, ht_tensor *x);

/* Returns the most probable class of each row (N), by ht_nn_adaptive_log_prob of module and x.
 *
 * Result: int64, scoped.
 * Errors: as of ht_nn_adaptive_log_prob. */
HT_API ht_tensor *ht_nn_adaptive_predict(ht_module *module, ht_tensor *x);

/* A layer that runs count modules one after another.
 *
 *     net = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(2, 3), ht_nn_relu()));
 *
 * count: at least 0. With 0 the output is the input.
 * modules: taken over, also after an error. They are named "0", "1", ... May be NULL if count is 0.
 * Errors: that of a module which is NULL because of an earlier error; HT_ERR_ARGUMENT for another
 * NULL, or a count below 0.
 * Source: torch.nn.Sequential. */
HT_API ht_module *ht_nn_sequential(int count, ht_module *const modules[]);

/* Sets the seed of initialisation and dropout in the calling process; it is 0 at first.
 * The draws of initialisation are counted from 0 again. */
HT_API void ht_nn_seed(uint64_t seed);

/* Returns a map of everything that decides the next random numbers.
 *
 * It has the states of ht_random_seed and ht_nn_seed, and the draws on HT_COMM_SELF and on comm. It
 * also has the number of draws of each layer of module that draws. All of them are those of each
 * rank of comm.
 * Collective over comm.
 * Result: scoped. */
HT_API ht_value *ht_nn_random_state_dict(ht_module *module, ht_comm *comm);

/* Restores state, a map of ht_nn_random_state_dict, in module and in the calling process.
 *
 * On the same number of ranks, each rank resumes its own seeds and draws. On another number, every
 * rank continues with the seeds that all had, after the largest count.
 * module: unchanged after these errors.
 * state: not retained. Counts of layers that module lacks are ignored.
 * Collective over comm, agrees.
 * Errors: HT_ERR_FORMAT if the count of a layer of module, or a seed, is missing, and on another
 * number of ranks for seeds that differed between ranks. */
HT_API ht_status ht_nn_random_load_state_dict(ht_module *module, const ht_value *state,
                                              ht_comm *comm);

/* Fills x uniformly in +-sqrt(6 / ((1 + a^2) fan_in)), where fan_in counts the elements of x[0].
 *
 * This is PyTorch's mode fan_in, with gain sqrt(2 / (1 + a^2)).
 * x: as for ht_nn_init_uniform, with at least 2 axes.
 * a: finite.
 * Logically collective.
 * Errors: HT_ERR_SHAPE for fewer axes; HT_ERR_ARGUMENT for another a; those of ht_nn_init_uniform.
 * Source: torch.nn.init.kaiming_uniform_. */
HT_API ht_status ht_nn_init_kaiming_uniform(ht_tensor *x, double a);

/* Fills x uniformly in [low, high), with the next draw of the seed of ht_nn_seed.
 *
 * x: contiguous, of a floating dtype; a split x gets the same values on any number of ranks. It may
 *   be a leaf that requires gradients, as for all functions of ht/init.h.
 * low, high: low <= high; the dtype of x must hold low, high and high - low.
 * Logically collective.
 * Errors: HT_ERR_ARGUMENT for another x or range; HT_ERR_STATE as for all functions of ht/init.h.
 * Source: torch.nn.init.uniform_. */
HT_API ht_status ht_nn_init_uniform(ht_tensor *x, double low, double high);

HT_END_DECLS
#endif
