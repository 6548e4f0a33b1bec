/* SPDX-License-Identifier: MIT
 *
 * Losses.
 *
 * Parameters that all functions share:
 *     reduction: HT_MEAN, HT_SUM or HT_NO_REDUCTION, the loss of each element or sample.
 *     x, target: of any splits and slabs, unless a comment says otherwise. Dtypes promote as in
 *     ht/arithmetics.h, to that of the result. A target of classes has an integer dtype, any other
 *     a real one.
 *     margin: any number, unless a comment names a range.
 *
 * Collective if an operand is split. Differentiable in all floating operands, also in weights.
 * Targets that are only compared with 1 and -1 have no gradient.
 * Result: scoped; NULL after an error. A mean or sum is a scalar on all ranks. Without reduction,
 * the result is split if an operand is split along an axis that the result has, unless a comment
 * says otherwise. If operands are split differently, it is split as one of them. Without elements
 * or samples, a mean is 0, with a gradient of zeros; PyTorch returns NaN.
 * Errors: HT_ERR_SHAPE for operands that do not fit. HT_ERR_DTYPE unless x, or the operands instead
 * of it (x1 and x2, log_probs, ...), are floating and the others are real; ht_mse_loss and
 * ht_l1_loss take any dtypes. HT_ERR_DTYPE for classes of another dtype than integers.
 * HT_ERR_ARGUMENT for an invalid reduction or parameter.
 * Source: torch.nn.functional. */
#ifndef HT_LOSSES_H
#define HT_LOSSES_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* How the losses of elements or samples become one. No ht_reduce_op has these values, so that
 * HT_SUM instead of HT_OP_SUM is an error, not a product. HT_BATCH_MEAN, the sum divided by the
 * length of axis 0, is for ht_kl_div alone. */
typedef enum ht_reduction_mode {
    HT_MEAN = 16,
    HT_SUM,
    HT_NO_REDUCTION,
    HT_BATCH_MEAN
} ht_reduction_mode;

/* ---- Numbers ---- */

/* (x - target)^2 for each element, with reduction over all elements.
 *
 * x, target: of one shape, any dtypes and splits, which meet as in ht_sub; not both of bool.
 *   PyTorch broadcasts them.
 * Result: like x - target with HT_NO_REDUCTION. A sum of integers is int64, a mean float32. */
HT_API ht_tensor *ht_mse_loss(ht_tensor *x, ht_tensor *target, ht_reduction_mode reduction);

/* |x - target| for each element, with reduction as in ht_mse_loss.
 *
 * The gradient is 0 where x equals target.
 * x, target: as for ht_mse_loss.
 * Result: as of ht_mse_loss, but real for complex operands.
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

/* ---- Likelihoods ---- */

/* Options of ht_poisson_nll_loss; each field begins with its default. */
typedef struct ht_poisson_nll_options {
    size_t size;    /* set by ht_poisson_nll_options_default */
    bool log_input; /* true: x is the logarithm of the rate; false: the rate */
    bool full;  /* false; true adds Stirling's approximation of log(target!) for targets above 1 */
    double eps; /* 1e-8, which is added to a rate before its logarithm; at least 0 */
    ht_reduction_mode reduction; /* HT_MEAN */
} ht_poisson_nll_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_poisson_nll_options ht_poisson_nll_options_default(void);

/* exp(x) - target x, or x - target log(x + eps) where x is not a logarithm.
 *
 * target: of the shape of x.
 * options: NULL for the defaults. */
HT_API ht_tensor *ht_poisson_nll_loss(ht_tensor *x, ht_tensor *target,
                                      const ht_poisson_nll_options *options);

/* (log(v) + (x - target)^2 / v) / 2 with v = max(var, eps), which is a constant for the gradient
 * of the maximum.
 *
 * target: a shape that broadcasts to that of x.
 * var: variances of the shape of x, one of whose axes may have length 1; or without the last axis.
 * full: true adds log(2 pi) / 2; PyTorch's default is false.
 * eps: above 0; PyTorch's default is 1e-6.
 * reduction: see the top.
 * Errors: also HT_ERR_ARGUMENT on all ranks if an element of var is below 0. */
HT_API ht_tensor *ht_gaussian_nll_loss(ht_tensor *x, ht_tensor *target, ht_tensor *var, bool full,
                                       double eps, ht_reduction_mode reduction);

/* target (log(target) - x): the divergence of the distribution target from the one with the
 * logarithms x.
 *
 * target: of the shape of x; 0 has loss 0.
 * log_target: true: target holds logarithms; PyTorch's default is false.
 * reduction: also HT_BATCH_MEAN, which is the divergence of a batch. */
HT_API ht_tensor *ht_kl_div(ht_tensor *x, ht_tensor *target, bool log_target,
                            ht_reduction_mode reduction);

/* ---- Yes or no ---- */

/* -(target log(x) + (1 - target) log(1 - x)), with logarithms of at least -100.
 *
 * x: probabilities; numbers outside [0, 1] give NaN, where PyTorch fails.
 * target: of the shape of x.
 * weight: a factor of each loss, which broadcasts to x; NULL for 1.
 * reduction: see the top. */
HT_API ht_tensor *ht_binary_cross_entropy(ht_tensor *x, ht_tensor *target, ht_tensor *weight,
                                          ht_reduction_mode reduction);

/* ht_binary_cross_entropy of ht_sigmoid(x), without overflow.
 *
 * target: of the shape of x.
 * weight: as for ht_binary_cross_entropy.
 * pos_weight: a factor of target log(x), which broadcasts to x; NULL for 1.
 * reduction: see the top. */
HT_API ht_tensor *ht_binary_cross_entropy_with_logits(ht_tensor *x, ht_tensor *target,
                                                      ht_tensor *weight, ht_tensor *pos_weight,
                                                      ht_reduction_mode reduction);

/* log(1 + exp(-target x)) with reduction, without overflow.
 *
 * target: of the shape of x, 1 or -1. */
HT_API ht_tensor *ht_soft_margin_loss(ht_tensor *x, ht_tensor *target, ht_reduction_mode reduction);

/* The mean over the last axis of ht_binary_cross_entropy_with_logits.
 *
 * x: (C) or (N, C), also with several axes instead of N.
 * target: of the shape of x, 0 or 1.
 * weight: a factor for each class, (C), or NULL.
 * Result: without reduction, one loss for each row. */
HT_API ht_tensor *ht_multilabel_soft_margin_loss(ht_tensor *x, ht_tensor *target, ht_tensor *weight,
                                                 ht_reduction_mode reduction);

/* x where target is 1, max(0, margin - x) where it is -1, and the sum of both elsewhere.
 *
 * target: of the shape of x.
 * margin: PyTorch's default is 1.
 * reduction: see the top. */
HT_API ht_tensor *ht_hinge_embedding_loss(ht_tensor *x, ht_tensor *target, double margin,
                                          ht_reduction_mode reduction);

/* ---- Classes ---- */

/* -log_probs[i][target[i]] for each sample i, with reduction over the samples.
 *
 * log_probs: (N, C), floating; it may be split along axis 0.
 * target: (N), integers from 0 to C - 1, with any split.
 * Result: (N) with HT_NO_REDUCTION, with the split and slabs of log_probs; not split if only target
 * is.
 * Errors: HT_ERR_ARGUMENT also for log_probs with another split, and for a target that is not a
 * class. On a device, a later call may return that error. On a communicator of several ranks, it
 * ends the job (ht/error.h). */
HT_API ht_tensor *ht_nll_loss(ht_tensor *log_probs, ht_tensor *target, ht_reduction_mode reduction);

/* ht_nll_loss of ht_log_softmax(logits, 1) and target, with reduction.
 *
 * logits: (N, C), floating; it may be split along axis 0.
 * target, reduction: as for ht_nll_loss.
 * Result: as of ht_nll_loss, with the split of logits.
 * Errors: as of ht_nll_loss. */
HT_API ht_tensor *ht_cross_entropy(ht_tensor *logits, ht_tensor *target,
                                   ht_reduction_mode reduction);

/* Options of ht_nll_loss_ext and ht_cross_entropy_ext; each field begins with its default. */
typedef struct ht_class_loss_options {
    size_t size;                 /* set by ht_class_loss_options_default */
    ht_tensor *weight;           /* NULL; a factor for each class (C), replicated and of the dtype
                                    of x. Borrowed. PyTorch refuses a gradient for it */
    int64_t ignore_index;        /* -100: samples of this class have loss 0 and weight 0 */
    double label_smoothing;      /* 0, for cross entropy: this part of the target is spread evenly
                                    over all classes. From 0 to 1 */
    ht_reduction_mode reduction; /* HT_MEAN: the sum divided by the sum of the samples' weights */
} ht_class_loss_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_class_loss_options ht_class_loss_options_default(void);

/* -weight[c] log_probs[n][c] with the class c = target[n] of each sample n.
 *
 * log_probs: (C), (N, C) or (N, C, d1, ...), whose samples are (N, d1, ...); split along N or not.
 * target: classes of an integer dtype, of the shape of the samples and any split.
 * options: NULL for the defaults; label_smoothing is 0.
 * Result: NaN for HT_MEAN if all samples are ignored. Without reduction, it is split along N if
 * log_probs is, whatever the split of target. It has the slabs of log_probs (N, C), and may be
 * balanced for more axes.
 * Errors: HT_ERR_DTYPE also for a weight of another dtype. HT_ERR_ARGUMENT also for log_probs with
 * another split, and for a weight that is split. HT_ERR_ARGUMENT as of ht_nll_loss for a target
 * that is neither a class nor ignore_index. */
HT_API ht_tensor *ht_nll_loss_ext(ht_tensor *log_probs, ht_tensor *target,
                                  const ht_class_loss_options *options);

/* ht_nll_loss_ext of ht_log_softmax(logits) along the classes, with smoothed labels.
 *
 * target: as for ht_nll_loss_ext, or probabilities of the classes: floating, and of the shape of
 * logits. Probabilities are never ignored, and HT_MEAN divides by the number of samples.
 * options: NULL for the defaults.
 * Result: as of ht_nll_loss_ext. It is also split along N if only the probabilities are split,
 * along another axis than the classes.
 * Errors: those of ht_nll_loss_ext; also HT_ERR_ARGUMENT for probabilities with an ignore_index of
 * at least 0. */
HT_API ht_tensor *ht_cross_entropy_ext(ht_tensor *logits, ht_tensor *target,
                                       const ht_class_loss_options *options);

/* The sum over the classes i != target of max(0, margin - x[target] + x[i])^p, divided by C.
 *
 * x: (C) or (N, C); () is one class.
 * target: () or (N), or (1) for an x (C), of an integer dtype.
 * p: 1 or 2.
 * margin: PyTorch's default is 1.
 * weight: NULL, or a factor for each class, (C), replicated and of the dtype of x.
 * reduction: see the top.
 * Errors: also HT_ERR_ARGUMENT on all ranks for a target that is not a class. */
HT_API ht_tensor *ht_multi_margin_loss(ht_tensor *x, ht_tensor *target, int p, double margin,
                                       ht_tensor *weight, ht_reduction_mode reduction);

/* The sum over the targets j, and the classes i that are none of them, of
 * max(0, 1 - x[j] + x[i]), divided by C. It needs memory for C^2 numbers for each row.
 *
 * x: (C) or (N, C); () is one class.
 * target: of the shape of x and an integer dtype: classes, up to the first -1. With one class, the
 *   shapes () and (1) are equivalent.
 * reduction: see the top.
 * Errors: also HT_ERR_ARGUMENT on all ranks for an element of target that is neither a class nor
 * -1, even after the first -1. */
HT_API ht_tensor *ht_multilabel_margin_loss(ht_tensor *x, ht_tensor *target,
                                            ht_reduction_mode reduction);

/* ---- Pairs and triplets ---- */

/* max(0, -target (x1 - x2) + margin): x1 should be the larger one where target is 1, the smaller
 * one where it is -1.
 *
 * x1, x2, target: of the same number of axes; they broadcast.
 * margin: PyTorch's default is 0.
 * reduction: see the top. */
HT_API ht_tensor *ht_margin_ranking_loss(ht_tensor *x1, ht_tensor *x2, ht_tensor *target,
                                         double margin, ht_reduction_mode reduction);

/* 1 - cos where target is 1, max(0, cos - margin) where it is -1, and 0 elsewhere. cos is the
 * cosine of the angle between rows of x1 and x2.
 *
 * x1, x2: (N, D) or (D).
 * target: (N) or ().
 * margin: PyTorch's default is 0.
 * reduction: see the top. */
HT_API ht_tensor *ht_cosine_embedding_loss(ht_tensor *x1, ht_tensor *x2, ht_tensor *target,
                                           double margin, ht_reduction_mode reduction);

/* Options of ht_triplet_margin_loss; each field begins with its default. */
typedef struct ht_triplet_margin_options {
    size_t size;                 /* set by ht_triplet_margin_options_default */
    double margin;               /* 1; above 0 */
    double p;                    /* 2: the order of the norm, as in ht_pairwise_distance */
    double eps;                  /* 1e-6, which is added to differences; any number */
    bool swap;                   /* false; true takes the smaller one of the distances of negative
                                    from anchor and positive */
    ht_reduction_mode reduction; /* HT_MEAN */
} ht_triplet_margin_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_triplet_margin_options ht_triplet_margin_options_default(void);

/* max(0, |anchor - positive| - |anchor - negative| + margin), with norms along the last axis.
 *
 * anchor, positive, negative: of the same number of axes; they broadcast.
 * options: NULL for the defaults. */
HT_API ht_tensor *ht_triplet_margin_loss(ht_tensor *anchor, ht_tensor *positive,
                                         ht_tensor *negative,
                                         const ht_triplet_margin_options *options);

/* The distances between rows of a and b, by differentiable operations.
 *
 * a, b: two of the operands in the shapes that the program passed.
 * user: as it was given.
 * Result: floating, of any shape that broadcasts with the other distances: the shape of the losses.
 * NULL after an error; NULL without one is HT_ERR_ARGUMENT of the loss. */
typedef ht_tensor *ht_distance_fn(ht_tensor *a, ht_tensor *b, void *user);

/* ht_triplet_margin_loss with distances of the program's own.
 *
 * anchor, positive, negative: as for ht_triplet_margin_loss.
 * distance: called with user.
 * margin: above 0; PyTorch's default is 1.
 * swap: as in ht_triplet_margin_options; PyTorch's default is false.
 * reduction: see the top. */
HT_API ht_tensor *ht_triplet_margin_with_distance_loss(ht_tensor *anchor, ht_tensor *positive,
                                                       ht_tensor *negative,
                                                       ht_distance_fn *distance, void *user,
                                                       double margin, bool swap,
                                                       ht_reduction_mode reduction);

/* Options of ht_ctc_loss_ext. Each field begins with its default. */
typedef struct ht_ctc_options {
    size_t size;                 /* set by ht_ctc_options_default */
    int64_t blank;               /* 0, the class of the blank; from 0 to C - 1 */
    bool zero_infinity;          /* false; true: loss and gradient of a target that does not fit its
                                    steps are 0, not inf and NaN */
    ht_reduction_mode reduction; /* HT_MEAN, of each loss divided by max(1, its target's length) */
} ht_ctc_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_ctc_options ht_ctc_options_default(void);

/* -log of the probability that a path through log_probs spells the target, for each sequence.
 *
 * A path has a class for each step; it spells its classes without repetitions and then without
 * blanks. The gradient is that of a log_softmax's input, as PyTorch's is: it is right if log_probs
 * is a log_softmax.
 * log_probs: (T, N, C), logarithms of probabilities; may be split along axis 1, the batch. PyTorch
 *   takes (T, C), too.
 * targets: integers, (N, S), or all targets one after another; of any split. Elements of a row
 *   beyond its length are not read.
 * input_lengths: (N), integers from 0 to T, the steps of each sequence.
 * target_lengths: (N), integers from 0 to S; with targets of one axis, their sum is its length.
 * reduction: as in ht_ctc_options.
 * Collective if an operand is split.
 * Result: a loss for each sequence, (N), in the slabs of the batch, or one number.
 * Errors: HT_ERR_ARGUMENT on all ranks for lengths out of their range, or a target that is not a
 * class. HT_ERR_ARGUMENT also for log_probs with another split. HT_ERR_SHAPE also without a class.
 * Source: torch.nn.CTCLoss. */
HT_API ht_tensor *ht_ctc_loss(ht_tensor *log_probs, ht_tensor *targets, ht_tensor *input_lengths,
                              ht_tensor *target_lengths, ht_reduction_mode reduction);

/* ht_ctc_loss of log_probs, targets, input_lengths and target_lengths with options; NULL: the
 * defaults. */
HT_API ht_tensor *ht_ctc_loss_ext(ht_tensor *log_probs, ht_tensor *targets,
                                  ht_tensor *input_lengths, ht_tensor *target_lengths,
                                  const ht_ctc_options *options);

HT_END_DECLS
#endif
