/* SPDX-License-Identifier: MIT
 *
 * Activations: functions of each element, and the softmax family along an axis.
 *
 * x may have any split. Logically collective, unless a comment says collective. Differentiable.
 * NaN stays NaN.
 * Result: scoped, with the shape, dtype, split and slabs of x; NULL after an error.
 * Errors: HT_ERR_DTYPE unless x has a floating dtype, and HT_ERR_ARGUMENT for a parameter outside
 * of its range, or an axis that x lacks. A parameter without a range may be any number, also NaN.
 * Source: torch.nn.functional. */
#ifndef HT_ACTIVATIONS_H
#define HT_ACTIVATIONS_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* max(x, 0). x may also be of integers, but not of bool. */
HT_API ht_tensor *ht_relu(ht_tensor *x);

/* Replaces x by max(x, 0), also in the graph.
 *
 * Use it for a result that no other operation needs for its gradient. If one does, ht_backward
 * fails and names that operation.
 * x: as for ht_relu.
 * Errors: HT_ERR_STATE for a leaf or a view that needs a gradient, while gradients are recorded,
 * and for an x that cannot be written (ht_scalar, ht_broadcast_to). HT_ERR_DTYPE as for ht_relu. */
HT_API ht_status ht_relu_(ht_tensor *x);

/* x where x > 0, else negative_slope x.
 * negative_slope: PyTorch's default is 0.01. */
HT_API ht_tensor *ht_leaky_relu(ht_tensor *x, double negative_slope);

/* min(max(x, 0), 6). The gradient is 0 at both bounds. */
HT_API ht_tensor *ht_relu6(ht_tensor *x);

/* x where x > 0, else weight x, with a weight for each channel or one for all.
 *
 * x: channels are axis 1; without one, there is a single channel.
 * weight: () or (1), or (C) for x of (N, C, ...), of the dtype of x, and replicated.
 * Collective if x is split and weight needs a gradient.
 * Errors: HT_ERR_SHAPE if weight has neither one element nor C. HT_ERR_DTYPE for a weight of
 * another dtype, HT_ERR_ARGUMENT if it is split, HT_ERR_COMM if it is on other ranks than x. */
HT_API ht_tensor *ht_prelu(ht_tensor *x, ht_tensor *weight);

/* x where x > 0, else slope x, with a slope for each element, drawn uniformly from [lower, upper).
 *
 * lower, upper: lower <= upper; PyTorch's defaults are 1 / 8 and 1 / 3. In training, float32 holds
 *   lower, upper and upper - lower.
 * training: false takes the slope (lower + upper) / 2 for all elements, and draws nothing.
 * seed, draw: as for ht_dropout (ht/functional.h). */
HT_API ht_tensor *ht_rrelu(ht_tensor *x, double lower, double upper, bool training, uint64_t seed,
                           uint64_t draw);

/* x where x > 0, else alpha (exp(x) - 1).
 * alpha: PyTorch's default is 1. */
HT_API ht_tensor *ht_elu(ht_tensor *x, double alpha);

/* x where x > 0, else alpha (exp(x / alpha) - 1).
 * alpha: not 0; PyTorch's default is 1. */
HT_API ht_tensor *ht_celu(ht_tensor *x, double alpha);

/* scale (x where x > 0, else alpha (exp(x) - 1)), with alpha 1.6733 and scale 1.0507.
 * Activations keep mean 0 and variance 1 from layer to layer. */
HT_API ht_tensor *ht_selu(ht_tensor *x);

/* x Phi(x), with the standard normal distribution Phi: exact, by erf. */
HT_API ht_tensor *ht_gelu(ht_tensor *x);

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, which approximates ht_gelu.
 * Source: torch.nn.functional.gelu with approximate='tanh'. */
HT_API ht_tensor *ht_gelu_tanh(ht_tensor *x);

/* x / (1 + exp(-x)). */
HT_API ht_tensor *ht_silu(ht_tensor *x);

/* x tanh(log(1 + exp(x))). */
HT_API ht_tensor *ht_mish(ht_tensor *x);

/* 1 / (1 + exp(-x)). */
HT_API ht_tensor *ht_sigmoid(ht_tensor *x);

/* log(1 / (1 + exp(-x))), without overflow. */
HT_API ht_tensor *ht_logsigmoid(ht_tensor *x);

/* log(1 + exp(beta x)) / beta, without overflow.
 *
 * beta: PyTorch's default is 1.
 * threshold: where beta x > threshold, the result is x; PyTorch's default is 20. */
HT_API ht_tensor *ht_softplus(ht_tensor *x, double beta, double threshold);

/* min(max(x, min), max). The gradient is 0 at both bounds, unlike that of ht_clip.
 * min, max: min <= max; PyTorch's defaults are -1 and 1. */
HT_API ht_tensor *ht_hardtanh(ht_tensor *x, double min, double max);

/* ht_relu6(x + 3) / 6. */
HT_API ht_tensor *ht_hardsigmoid(ht_tensor *x);

/* x ht_relu6(x + 3) / 6. */
HT_API ht_tensor *ht_hardswish(ht_tensor *x);

/* 0 where |x| <= lambda, else x.
 * lambda: PyTorch's default is 0.5. */
HT_API ht_tensor *ht_hardshrink(ht_tensor *x, double lambda);

/* x - lambda where x > lambda, x + lambda where x < -lambda, else 0.
 * lambda: at least 0; PyTorch's default is 0.5. */
HT_API ht_tensor *ht_softshrink(ht_tensor *x, double lambda);

/* x where x > threshold, else value. */
HT_API ht_tensor *ht_threshold(ht_tensor *x, double threshold, double value);

/* x / (1 + |x|). */
HT_API ht_tensor *ht_softsign(ht_tensor *x);

/* x - tanh(x). */
HT_API ht_tensor *ht_tanhshrink(ht_tensor *x);

/* a sigmoid(b), with the halves a and b of x along axis.
 *
 * axis: of an even length; PyTorch's default is -1.
 * Collective if axis is the split axis.
 * Result: half as long along axis. Along the split axis it has the slabs of the first half
 * (ht_narrow), and may be unbalanced.
 * Errors: HT_ERR_SHAPE if the length is odd. */
HT_API ht_tensor *ht_glu(ht_tensor *x, int axis);

/* exp(x) / sum exp(x) along axis.
 *
 * The maximum is subtracted first, so that nothing overflows.
 * x: a scalar counts as (1).
 * Collective if axis is the split axis: two rounds of one number per line along axis. */
HT_API ht_tensor *ht_softmax(ht_tensor *x, int axis);

/* ht_softmax(-x, axis). */
HT_API ht_tensor *ht_softmin(ht_tensor *x, int axis);

/* x - log(sum exp(x)) along axis, without overflow.
 *
 * x: a scalar counts as (1).
 * Collective if axis is the split axis. */
HT_API ht_tensor *ht_log_softmax(ht_tensor *x, int axis);

HT_END_DECLS
#endif
