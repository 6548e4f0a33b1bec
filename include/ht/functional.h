/* SPDX-License-Identifier: MIT
 *
 * Layers as functions, without state. Inputs may be split along the batch axis (0), the result then
 * is too; weights and biases then are replicated on the communicator of the input (made with
 * HT_NONE), and their gradients are summed over it. Process-local weights, such as those of the
 * layers in nn.h, take process-local inputs (ht_tensor_local). Differentiable. Activations and losses
 * have headers of their own, which this one includes. Source: torch.nn.functional. */
#ifndef HT_FUNCTIONAL_H
#define HT_FUNCTIONAL_H

#include "ht/activations.h"
#include "ht/losses.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

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

/* ht_dropout of whole channels of x (N, C, L) or (C, L).
 * p, seed, draw: as for ht_dropout.
 * Errors: HT_ERR_DTYPE, HT_ERR_SHAPE; HT_ERR_ARGUMENT if p is not a probability or L is split. */
HT_API ht_tensor *ht_dropout1d(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* ht_dropout of whole channels of x (N, C, D, H, W) or (C, D, H, W), as ht_dropout1d. */
HT_API ht_tensor *ht_dropout3d(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* a y + b: y is x, or with probability p the limit of ht_selu at minus infinity; a and b keep the
 * mean and the variance of x.
 * p, seed, draw: as for ht_dropout. For p 1 the result is 0.
 * Errors: HT_ERR_DTYPE; HT_ERR_ARGUMENT if p is not a probability. */
HT_API ht_tensor *ht_alpha_dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* ht_alpha_dropout of whole channels of x (N, C, ...), split along N or not at all. */
HT_API ht_tensor *ht_feature_alpha_dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw);

/* y = (x - mean) / sqrt(var + eps) weight + bias by channel: x (N, C, ...), all others (C) or NULL.
 * training: the batch's statistics, over all ranks where x is split, and the running ones, where
 * given, become (1 - momentum) running + momentum batch; else the running ones. A batch of no rows
 * (on all ranks) leaves the running ones; one value per channel in all is an error. */
HT_API ht_tensor *ht_batch_norm(ht_tensor *x, ht_tensor *running_mean, ht_tensor *running_var,
                                ht_tensor *weight, ht_tensor *bias, bool training, double momentum,
                                double eps);

HT_END_DECLS
#endif
