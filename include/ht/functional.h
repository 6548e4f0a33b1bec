/* SPDX-License-Identifier: MIT
 *
 * Layers as functions, without state. Activations and losses have separate headers, which this one
 * includes.
 *
 * Inputs may be split along the batch axis (0), unless a comment says otherwise. Weights and biases
 * of a split input are replicated on its communicator (made with HT_NONE), and the backward pass
 * sums their gradients over it. Process-local weights, such as those of the layers in nn.h, take
 * process-local inputs (ht_tensor_local).
 *
 * Logically collective, unless a comment says otherwise. Differentiable.
 * Result: scoped, with the dtype, split and slabs of x; NULL after an error.
 * Errors: HT_ERR_SHAPE for operands that do not fit. HT_ERR_DTYPE unless x is floating and weights
 * have its dtype. HT_ERR_ARGUMENT for an operand with another split. HT_ERR_COMM for a split input
 * with process-local weights.
 * Source: torch.nn.functional. */
#ifndef HT_FUNCTIONAL_H
#define HT_FUNCTIONAL_H

#include "ht/activations.h"
#include "ht/losses.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* y = x W^T + b, where W is weight and b is bias.
 *
 * x: (..., in).
 * weight: (out, in), or (in) for one output.
 * bias: (out), or () for a weight (in), or NULL.
 * Result: (..., out), or (...) of a weight (in). */
HT_API ht_tensor *ht_linear(ht_tensor *x, ht_tensor *weight, ht_tensor *bias);

/* Options of ht_conv2d. */
typedef struct ht_conv2d_options {
    size_t size; /* of this struct; set by the default function */
    int64_t stride[2], padding[2], dilation[2], groups;
    bool same; /* the padding that keeps lengths, in place of `padding`; only for a stride of 1 */
} ht_conv2d_options;

/* Returns the default options, with size set: stride 1, padding 0, dilation 1, groups 1 and
 * same false. Not collective. */
HT_API ht_conv2d_options ht_conv2d_options_default(void);

/* 2-d convolution of x with weight, plus bias.
 *
 * x: (N, C, H, W), or one sample (C, H, W) that is not split.
 * weight: (O, C / groups, kh, kw).
 * bias: (O), or NULL.
 * options: NULL means the defaults.
 * Result: (N, O, H', W'), or (O, H', W'), stored channels-last if the device prefers that.
 * Errors: HT_ERR_SHAPE also if groups does not divide C and O or is below 1, or if no window fits.
 * HT_ERR_ARGUMENT also for a stride or dilation below 1, a padding below 0, or same with another
 * stride than 1. */
HT_API ht_tensor *ht_conv2d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                            const ht_conv2d_options *options);

/* The maximum of x (N, C, H, W) over square windows of length kernel that do not overlap.
 *
 * The stride is kernel, and the padding is 0.
 * x: (C, H, W) is HT_ERR_SHAPE, unlike in PyTorch.
 * kernel: at least 1.
 * Result: (N, C, H', W'), in the layout of x. H' = floor(H / kernel), and likewise W'.
 * Errors: HT_ERR_ARGUMENT also for a kernel below 1. HT_ERR_SHAPE also if no window fits, without
 * channels, or for images of more than 2^31 - 1 pixels. */
HT_API ht_tensor *ht_max_pool2d(ht_tensor *x, int64_t kernel);

/* ht_max_pool2d of x with all settings, each for the axes H and W.
 *
 * kernel, stride, dilation: at least 1.
 * padding: from 0 to half of kernel.
 * Errors: also HT_ERR_ARGUMENT for a setting that is NULL or out of its range. */
HT_API ht_tensor *ht_max_pool2d_ext(ht_tensor *x, const int64_t kernel[2], const int64_t stride[2],
                                    const int64_t padding[2], const int64_t dilation[2]);

/* 0 with probability p, else x / (1 - p), for each element of x.
 *
 * The mask of an element depends only on seed, draw and the element's index in the tensor,
 * whatever the ranks and the split. The index is row-major. In a channels-last tensor without a
 * split, it is the index in that order.
 * x: any split.
 * p: from 0 to 1; for 0 the result is x itself.
 * seed, draw: another draw of the same seed gives another mask.
 * Errors: HT_ERR_ARGUMENT if p is not a probability. */
HT_API ht_tensor *ht_dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* ht_dropout of complete channels of x (N, C, ...), with one mask for each (N, C).
 *
 * A dropped channel is 0 x, so NaN where x is infinite or NaN, as in PyTorch.
 * x: split along axis 0 or not at all, for any p.
 * p, seed, draw: as for ht_dropout.
 * Errors: HT_ERR_ARGUMENT if p is not a probability or another axis is split. */
HT_API ht_tensor *ht_dropout2d(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* ht_dropout of complete channels of x (N, C, L) or (C, L), as ht_dropout2d.
 *
 * x: any split, except along L.
 * p, seed, draw: as for ht_dropout.
 * Errors: HT_ERR_ARGUMENT if p is not a probability or L is split. */
HT_API ht_tensor *ht_dropout1d(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* ht_dropout of complete channels of x (N, C, D, H, W) or (C, D, H, W), as ht_dropout2d.
 *
 * x: any split, except along D, H or W.
 * p, seed, draw: as for ht_dropout.
 * Errors: HT_ERR_ARGUMENT if p is not a probability or another axis is split. */
HT_API ht_tensor *ht_dropout3d(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* a y + b, where y is -alpha with probability p, else x, for each element of x.
 *
 * -alpha, with alpha = 1.7581, is the limit of ht_selu at minus infinity. a = 1 / sqrt((1 - p) (1 +
 * p alpha^2)) and b = a p alpha keep a mean of 0 and a variance of 1.
 * x: any split.
 * p: from 0 to 1. For 0 the result is x itself. For 1 it is 0 x, so NaN where x is not finite.
 * seed, draw: as for ht_dropout.
 * Errors: HT_ERR_ARGUMENT if p is not a probability. */
HT_API ht_tensor *ht_alpha_dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* ht_alpha_dropout of complete channels of x (N, C, ...), with one mask for each (N, C).
 *
 * x: split along axis 0 or not at all. If p is 0 or 1, of any shape and split.
 * p, seed, draw: as for ht_alpha_dropout.
 * Errors: HT_ERR_ARGUMENT if p is not a probability or another axis is split. */
HT_API ht_tensor *ht_feature_alpha_dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* y = (x - mean) / sqrt(var + eps) weight + bias, with mean and variance of each channel.
 *
 * With training, mean and variance are those of the batch, over all ranks if x is split. Running
 * statistics then become (1 - momentum) running + momentum batch, with the unbiased variance. A
 * batch without rows on all ranks leaves them as they are.
 * x: (N, C, ...).
 * running_mean, running_var: (C), written with training; NULL: not tracked. They have the dtype
 *   of x.
 * weight, bias: (C); NULL stands for ones and zeros.
 * training: false takes the running statistics for mean and variance.
 * momentum, eps: PyTorch's defaults are 0.1 and 1e-5. They are not checked here.
 * Collective with training if x is split, forward and backward.
 * Result: like x, in its layout.
 * Errors: HT_ERR_ARGUMENT also for one value per channel on all ranks with training.
 * HT_ERR_ARGUMENT also for running statistics that are needed and NULL, or read-only and to be
 * written. */
HT_API ht_tensor *ht_batch_norm(ht_tensor *x, ht_tensor *running_mean, ht_tensor *running_var,
                                ht_tensor *weight, ht_tensor *bias, bool training, double momentum,
                                double eps);

HT_END_DECLS
#endif
