/* SPDX-License-Identifier: MIT
 *
 * Losses.
 *
 * Collective if an operand is split. Differentiable. Results are scoped.
 * Source: torch.nn.functional. */
#ifndef HT_LOSSES_H
#define HT_LOSSES_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

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
