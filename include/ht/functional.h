/* SPDX-License-Identifier: MIT
 *
 * Layers as functions, without state. Inputs may be split along the batch axis (0), the result then
 * is too; weights and biases then are replicated on the communicator of the input (made with
 * HT_NONE), and their gradients are summed over it. Process-local weights, such as those of the
 * layers in nn.h, take process-local inputs (ht_tensor_local). Differentiable. Source:
 * torch.nn.functional. */
#ifndef HT_FUNCTIONAL_H
#define HT_FUNCTIONAL_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

HT_API ht_tensor *ht_relu(ht_tensor *x); /* max(x, 0); NaN stays */

/* x <- max(x, 0), in place, in the graph too; returns x's new value. For results that nothing else
 * needs: the version check of ht_backward names the operation if something did. */
HT_API ht_tensor *ht_relu_(ht_tensor *x);

/* x where x > 0, else negative_slope x (PyTorch's default is 0.01); NaN stays. */
HT_API ht_tensor *ht_leaky_relu(ht_tensor *x, double negative_slope);

/* x Phi(x), Phi the standard normal distribution: exact, by erf.
 * Logically collective.
 * x: of a floating dtype.
 * Result: like x.
 * Errors: HT_ERR_DTYPE. */
HT_API ht_tensor *ht_gelu(ht_tensor *x);

/* x / (1 + exp(-x)).
 * Logically collective.
 * x: of a floating dtype.
 * Result: like x.
 * Errors: HT_ERR_DTYPE. */
HT_API ht_tensor *ht_silu(ht_tensor *x);

/* y = x W^T + b: x (..., in), weight (out, in), bias (out) or NULL. */
HT_API ht_tensor *ht_linear(ht_tensor *x, ht_tensor *weight, ht_tensor *bias);

typedef struct ht_conv2d_options {
    size_t size; /* of this struct; set by the default function */
    int64_t stride[2], padding[2], dilation[2], groups;
} ht_conv2d_options;
HT_API ht_conv2d_options ht_conv2d_options_default(void); /* 1, 0, 1, 1 */

/* x (N, C, H, W), weight (O, C / groups, kh, kw), bias (O) or NULL -> (N, O, H', W'). options NULL:
 * defaults. The result is stored channels-last where the device prefers that. */
HT_API ht_tensor *ht_conv2d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                            const ht_conv2d_options *options);

/* Maximum over windows; stride = kernel, no padding. x (N, C, H, W). Keeps the layout of x. */
HT_API ht_tensor *ht_max_pool2d(ht_tensor *x, int64_t kernel);
HT_API ht_tensor *ht_max_pool2d_ext(ht_tensor *x, const int64_t kernel[2], const int64_t stride[2],
                                    const int64_t padding[2], const int64_t dilation[2]);

/* With probability p zero, else x / (1 - p). dropout2d drops whole channels of (N, C, ...). The
 * mask of an element depends on (seed, draw) and its place in the global tensor alone, whatever the
 * ranks and the split: row-major, or where a tensor that is not split is stored channels-last, in
 * that order. */
HT_API ht_tensor *ht_dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw);
HT_API ht_tensor *ht_dropout2d(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* y = (x - mean) / sqrt(var + eps) weight + bias by channel: x (N, C, ...), all others (C) or NULL.
 * training: the batch's statistics, over all ranks where x is split, and the running ones, where
 * given, become (1 - momentum) running + momentum batch; else the running ones. A batch of no rows
 * (on all ranks) leaves the running ones; one value per channel in all is an error. */
HT_API ht_tensor *ht_batch_norm(ht_tensor *x, ht_tensor *running_mean, ht_tensor *running_var,
                                ht_tensor *weight, ht_tensor *bias, bool training, double momentum,
                                double eps);

/* y = x - log(sum exp x) along an axis, which must not be the split axis. */
HT_API ht_tensor *ht_log_softmax(ht_tensor *x, int axis);

/* Values that no ht_reduce_op has: HT_SUM in the place of HT_OP_SUM is an error, not a product. */
typedef enum ht_reduction_mode { HT_MEAN = 16, HT_SUM, HT_NO_REDUCTION } ht_reduction_mode;

/* -mean of log_probs[i][target[i]]: log_probs (N, C), target (N) of an integer dtype. HT_MEAN over
 * N (0 samples: 0, with a zero gradient). */
HT_API ht_tensor *ht_nll_loss(ht_tensor *log_probs, ht_tensor *target, ht_reduction_mode reduction);

/* (x - target)^2 of tensors of one shape, its mean over all elements (no element: 0), or its sum.
 */
HT_API ht_tensor *ht_mse_loss(ht_tensor *x, ht_tensor *target, ht_reduction_mode reduction);

/* |x - target| of tensors of one shape, reduced as in ht_mse_loss.
 * Collective when x or target is split.
 * x, target: of one shape, any dtypes and splits, which meet as in ht_sub.
 * Result: a scalar; with HT_NO_REDUCTION like x - target. The gradient is 0 where they are equal.
 * Errors: HT_ERR_SHAPE, HT_ERR_ARGUMENT.
 * Source: torch.nn.functional.l1_loss. */
HT_API ht_tensor *ht_l1_loss(ht_tensor *x, ht_tensor *target, ht_reduction_mode reduction);

/* With d = |x - target|: d^2 / (2 beta) where d < beta, else d - beta / 2. For beta 0 the L1 loss.
 * Collective when x or target is split.
 * x: floating; target: of x's shape; beta: at least 0, PyTorch's default is 1.
 * Result: as of ht_l1_loss.
 * Errors: HT_ERR_SHAPE, HT_ERR_DTYPE, HT_ERR_ARGUMENT.
 * Source: torch.nn.functional.smooth_l1_loss. */
HT_API ht_tensor *ht_smooth_l1_loss(ht_tensor *x, ht_tensor *target, double beta,
                                    ht_reduction_mode reduction);

/* With d = |x - target|: d^2 / 2 where d <= delta, else delta (d - delta / 2).
 * Collective when x or target is split.
 * x: floating; target: of x's shape; delta: above 0, PyTorch's default is 1.
 * Result: as of ht_l1_loss.
 * Errors: HT_ERR_SHAPE, HT_ERR_DTYPE, HT_ERR_ARGUMENT.
 * Source: torch.nn.functional.huber_loss. */
HT_API ht_tensor *ht_huber_loss(ht_tensor *x, ht_tensor *target, double delta,
                                ht_reduction_mode reduction);

/* nll_loss(log_softmax(logits)). */
HT_API ht_tensor *ht_cross_entropy(ht_tensor *logits, ht_tensor *target,
                                   ht_reduction_mode reduction);

HT_END_DECLS
#endif
