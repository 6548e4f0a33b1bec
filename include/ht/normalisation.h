/* SPDX-License-Identifier: MIT
 *
 * Normalisation of layers, groups and instances, as functions and as layers. Batch normalisation is
 * in ht/functional.h and ht/nn.h. Source: torch.nn, torch.nn.functional.
 *
 * Parameters that many functions share:
 *     x: of a floating dtype; it may be split along the batch (axis 0).
 *     weight, bias: the dtype of x, replicated; NULL stands for ones and zeros.
 *     eps: added to the variance; PyTorch's default is 1e-5. Functions do not check it. In layers
 *     it is finite and at least 0, unless a comment says otherwise.
 *
 * A result like x has the shape, dtype, split and slabs of x.
 * Statistics are in float64. They are those of one sample, so that ranks exchange nothing.
 * Logically collective, unless a comment says otherwise. Differentiable in x, weight and bias;
 * gradients of weight and bias are summed over the ranks of a split x. Results are scoped; NULL
 * after an error.
 * Layers are owned, with process-local float32 parameters: weights of ones and biases of zeros.
 * Those with parameters or buffers take process-local batches (ht/nn.h). The others take what their
 * functions take. Constructors are not collective.
 * Errors: HT_ERR_SHAPE for operands that do not fit, HT_ERR_DTYPE for another dtype,
 * HT_ERR_ARGUMENT for an operand with another split, HT_ERR_COMM for operands on different
 * communicators. Constructors: HT_ERR_ARGUMENT for a setting out of its range, HT_ERR_SHAPE for a
 * negative length. */
#ifndef HT_NORMALISATION_H
#define HT_NORMALISATION_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* y = (x - mean) / sqrt(var + eps) weight + bias, with mean and variance over the last axes.
 *
 * x: it may be split along an axis before the normalised ones.
 * ndim, shape: the lengths of the normalised axes, 1 to 8 of them, else HT_ERR_ARGUMENT.
 * weight, bias: of that shape.
 * Result: like x.
 * Source: torch.nn.functional.layer_norm. */
HT_API ht_tensor *ht_layer_norm(ht_tensor *x, int ndim, const int64_t shape[], ht_tensor *weight,
                                ht_tensor *bias, double eps);

/* y = (x - mean) / sqrt(var + eps) weight + bias, with mean and variance of each group of channels
 * of a sample.
 *
 * x: (N, C, ...).
 * groups: a divisor of C.
 * weight, bias: (C).
 * Result: like x.
 * Errors: HT_ERR_SHAPE if groups is not a divisor of C, if a sample has no values, or if each group
 * has one value and there is one sample.
 * Source: torch.nn.functional.group_norm. */
HT_API ht_tensor *ht_group_norm(ht_tensor *x, int64_t groups, ht_tensor *weight, ht_tensor *bias,
                                double eps);

/* y = (x - mean) / sqrt(var + eps) weight + bias, with mean and variance of each channel of a
 * sample, or the running ones.
 *
 * x: (N, C, ...).
 * running_mean, running_var: (C), of the dtype of x, replicated; or NULL. With use_input_stats they
 *   become (1 - momentum) running + momentum m. There, m is the mean over all samples of the mean
 *   or unbiased variance. A batch without samples leaves them as they are.
 * weight, bias: (C).
 * use_input_stats: false takes the running statistics.
 * Collective if x is split and running statistics are written.
 * Result: like x.
 * Errors: HT_ERR_SHAPE for one value per channel of a sample with use_input_stats, HT_ERR_ARGUMENT
 * if running statistics are needed and NULL, HT_ERR_STATE if they cannot be written.
 * Source: torch.nn.functional.instance_norm. */
HT_API ht_tensor *ht_instance_norm(ht_tensor *x, ht_tensor *running_mean, ht_tensor *running_var,
                                   ht_tensor *weight, ht_tensor *bias, bool use_input_stats,
                                   double momentum, double eps);

/* y = x / sqrt(mean(x^2) + eps) weight, with the mean over the last axes.
 *
 * For an x of 16 bits, y is computed in float32 and rounded once.
 * x: it may be split along an axis before the normalised ones.
 * ndim, shape: the lengths of the normalised axes, 1 to 8 of them, else HT_ERR_ARGUMENT.
 * weight: of that shape.
 * eps: a negative value stands for the machine epsilon of the dtype of the computation, which is
 *   PyTorch's default.
 * Result: like x.
 * Source: torch.nn.functional.rms_norm. */
HT_API ht_tensor *ht_rms_norm(ht_tensor *x, int ndim, const int64_t shape[], ht_tensor *weight,
                              double eps);

/* y[c] = x[c] / (k + alpha / size s[c])^beta, with the sum s of squares of neighbouring channels.
 *
 * s[c] is the sum of x[j]^2 over the `size` channels j that begin at c - size / 2. Channels that do
 * not exist count as 0.
 * x: (N, C, ...), at least 3 axes.
 * size: at least 1.
 * alpha, beta, k: PyTorch's defaults are 1e-4, 0.75 and 1.
 * Collective if x is split and not balanced.
 * Result: like x.
 * Errors: HT_ERR_ARGUMENT for size below 1.
 * Source: torch.nn.functional.local_response_norm. */
HT_API ht_tensor *ht_local_response_norm(ht_tensor *x, int64_t size, double alpha, double beta,
                                         double k);

/* A layer of ht_layer_norm over ndim axes of lengths shape, with weight and bias, and eps 1e-5.
 *
 * ndim: 1 to 8.
 * shape: copied; at least 0. */
HT_API ht_module *ht_nn_layer_norm(int ndim, const int64_t shape[]);

/* ht_nn_layer_norm of ndim and shape with all settings.
 *
 * eps: at least 0.
 * affine: false leaves out weight and bias.
 * bias: false leaves out the bias. */
HT_API ht_module *ht_nn_layer_norm_ext(int ndim, const int64_t shape[], double eps, bool affine,
                                       bool bias);

/* A layer of ht_group_norm for x (N, channels, ...), with weight and bias, and eps 1e-5.
 *
 * groups: at least 1; a divisor of channels.
 * channels: at least 1. */
HT_API ht_module *ht_nn_group_norm(int64_t groups, int64_t channels);

/* ht_nn_group_norm of groups and channels with all settings.
 *
 * eps: at least 0.
 * affine: false leaves out weight and bias.
 * bias: false leaves out the bias. */
HT_API ht_module *ht_nn_group_norm_ext(int64_t groups, int64_t channels, double eps, bool affine,
                                       bool bias);

/* Settings of instance normalisation. Each field begins with its default. */
typedef struct ht_instance_norm_options {
    size_t size;              /* set by ht_instance_norm_options_default */
    double eps, momentum;     /* 1e-5, finite and at least 0; 0.1, from 0 to 1 */
    bool affine;              /* false; true: weight and bias are parameters */
    bool bias;                /* true; false leaves out the bias */
    bool track_running_stats; /* false; true: evaluation takes the running statistics, which are
                                 buffers */
} ht_instance_norm_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_instance_norm_options ht_instance_norm_options_default(void);

/* A layer of ht_instance_norm for x (N, features, L).
 *
 * It takes a split x if affine and track_running_stats are false.
 * features: at least 1.
 * options: NULL means the defaults. */
HT_API ht_module *ht_nn_instance_norm1d(int64_t features, const ht_instance_norm_options *options);

/* ht_nn_instance_norm1d of (N, features, H, W), with the same options. */
HT_API ht_module *ht_nn_instance_norm2d(int64_t features, const ht_instance_norm_options *options);

/* ht_nn_instance_norm1d of (N, features, D, H, W), with the same options. */
HT_API ht_module *ht_nn_instance_norm3d(int64_t features, const ht_instance_norm_options *options);

/* A layer of ht_rms_norm over ndim axes of lengths shape, with a weight and the eps of the dtype.
 *
 * ndim: 1 to 8.
 * shape: copied; at least 0. */
HT_API ht_module *ht_nn_rms_norm(int ndim, const int64_t shape[]);

/* ht_nn_rms_norm of ndim and shape with all settings.
 *
 * eps: as for ht_rms_norm, and finite.
 * affine: false leaves out the weight. */
HT_API ht_module *ht_nn_rms_norm_ext(int ndim, const int64_t shape[], double eps, bool affine);

/* A layer of ht_local_response_norm over size channels, with alpha 1e-4, beta 0.75 and k 1.
 * size: at least 1. */
HT_API ht_module *ht_nn_local_response_norm(int64_t size);

/* ht_nn_local_response_norm of size with all settings: finite alpha, beta and k. */
HT_API ht_module *ht_nn_local_response_norm_ext(int64_t size, double alpha, double beta, double k);

HT_END_DECLS
#endif
