/* SPDX-License-Identifier: MIT
 *
 * Losses.
 *
 * Parameters that all functions share:
 *     reduction: HT_MEAN, HT_SUM or HT_NO_REDUCTION, the loss of each element or sample.
 *
 * Collective if an operand is split. Differentiable. Results are scoped. A mean or sum is a scalar.
 * Without elements or samples, a mean is 0, with a gradient of zeros.
 * Errors: HT_ERR_SHAPE for operands that do not fit, HT_ERR_DTYPE for another dtype,
 * HT_ERR_ARGUMENT for an invalid reduction or parameter.
 * Source: torch.nn.functional. */
#ifndef HT_LOSSES_H
#define HT_LOSSES_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* How the losses of elements or samples become one. No ht_reduce_op has these values, so that
 * HT_SUM in the place of HT_OP_SUM is an error, not a product. */
typedef enum ht_reduction_mode { HT_MEAN = 16, HT_SUM, HT_NO_REDUCTION } ht_reduction_mode;

/* -log_probs[i][target[i]] for each sample i, with reduction over the samples.
 *
 * log_probs: (N, C), floating; it may be split along axis 0.
 * target: (N), integers from 0 to C - 1, with any split.
 * Result: (N) with HT_NO_REDUCTION.
 * Errors: HT_ERR_ARGUMENT also for a target that is not a class. On a device, a later call may
 * return that error. */
HT_API ht_tensor *ht_nll_loss(ht_tensor *log_probs, ht_tensor *target, ht_reduction_mode reduction);

/* (x - target)^2 for each element, with reduction over all elements.
 *
 * x, target: of one shape, any dtypes and splits, which meet as in ht_sub.
 * Result: like x - target with HT_NO_REDUCTION. */
HT_API ht_tensor *ht_mse_loss(ht_tensor *x, ht_tensor *target, ht_reduction_mode reduction);

/* |x - target| for each element, with reduction as in ht_mse_loss.
 *
 * The gradient is 0 where x equals target.
 * x, target: as for ht_mse_loss.
 * Result: as of ht_mse_loss.
 * Source: torch.nn.functional.l1_loss. */
HT_API ht_tensor *ht_l1_loss(ht_tensor *x, ht_tensor *target, ht_reduction_mode reduction);

/* With d = |x - target|: d^2 / (2 beta) where d < beta, else d - beta / 2, with reduction as in
 * ht_mse_loss.
 *
 * x: floating.
 * target: of the shape of x.
 * beta: at least 0, finite; PyTorch's default is 1. For 0 the loss is ht_l1_loss.
 * Result: as of ht_mse_loss.
 * Source: torch.nn.functional.smooth_l1_loss. */
HT_API ht_tensor *ht_smooth_l1_loss(ht_tensor *x, ht_tensor *target, double beta,
                                    ht_reduction_mode reduction);

/* With d = |x - target|: d^2 / 2 where d <= delta, else delta (d - delta / 2), with reduction as in
 * ht_mse_loss.
 *
 * x: floating.
 * target: of the shape of x.
 * delta: above 0, finite; PyTorch's default is 1.
 * Result: as of ht_mse_loss.
 * Source: torch.nn.functional.huber_loss. */
HT_API ht_tensor *ht_huber_loss(ht_tensor *x, ht_tensor *target, double delta,
                                ht_reduction_mode reduction);

/* ht_nll_loss of ht_log_softmax(logits, 1) and target, with reduction.
 *
 * logits: (N, C), floating; it may be split along axis 0.
 * target, reduction: as for ht_nll_loss.
 * Result: as of ht_nll_loss.
 * Errors: as of ht_nll_loss. */
HT_API ht_tensor *ht_cross_entropy(ht_tensor *logits, ht_tensor *target,
                                   ht_reduction_mode reduction);

HT_END_DECLS
#endif
