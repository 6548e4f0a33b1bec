/* SPDX-License-Identifier: MIT
 *
 * Rows of the table of functionals: losses. */
#ifndef HT_NN_FUNCTIONALS_LOSSES_H
#define HT_NN_FUNCTIONALS_LOSSES_H

#include "nn/functionals.h"

/* Probabilities take no ignore_index. */
static ht_class_loss_options class_options(const nn_functional *row, ht_tensor *target,
                                           ht_tensor *weight)
{
    ht_class_loss_options options = ht_class_loss_options_default();

    options.weight = weight;
    if (!ht_dtype_is_floating(ht_tensor_dtype(target)))
        options.ignore_index = 1;
    options.label_smoothing = row->number;
    options.reduction = (ht_reduction_mode)row->mode;
    return options;
}

static ht_tensor *nll_loss_ext(ht_tensor *in[], const nn_functional *row)
{
    const ht_class_loss_options options = class_options(row, in[1], in[2]);

    return ht_nll_loss_ext(in[0], in[1], &options);
}

static ht_tensor *cross_entropy_ext(ht_tensor *in[], const nn_functional *row)
{
    const ht_class_loss_options options = class_options(row, in[1], in[2]);

    return ht_cross_entropy_ext(in[0], in[1], &options);
}

static ht_tensor *poisson_nll(ht_tensor *in[], const nn_functional *row)
{
    ht_poisson_nll_options options = ht_poisson_nll_options_default();

    options.reduction = (ht_reduction_mode)row->mode;
    return ht_poisson_nll_loss(in[0], in[1], &options);
}

static ht_tensor *triplet_margin(ht_tensor *in[], const nn_functional *row)
{
    ht_triplet_margin_options options = ht_triplet_margin_options_default();

    options.reduction = (ht_reduction_mode)row->mode;
    return ht_triplet_margin_loss(in[0], in[1], in[2], &options);
}

static ht_tensor *squared_distance(ht_tensor *a, ht_tensor *b, void *user)
{
    (void)user;
    return ht_sum(ht_square(ht_sub(a, b)), -1);
}

/* clang-format off */
#define LOSS_CALL(f, call) static ht_tensor *f(ht_tensor *in[], const nn_functional *row) \
    { const ht_reduction_mode mode = (ht_reduction_mode)row->mode; return call; }
LOSS_CALL(mse, ht_mse_loss(in[0], in[1], mode))
LOSS_CALL(l1, ht_l1_loss(in[0], in[1], mode))
LOSS_CALL(smooth_l1, ht_smooth_l1_loss(in[0], in[1], row->number, mode))
LOSS_CALL(huber, ht_huber_loss(in[0], in[1], row->number, mode))
LOSS_CALL(gaussian_nll, ht_gaussian_nll_loss(in[0], in[1], in[2], true, 1e-6, mode))
LOSS_CALL(kl_div, ht_kl_div(in[0], in[1], row->number != 0, mode))
LOSS_CALL(bce, ht_binary_cross_entropy(ht_sigmoid(in[0]), in[1], in[2], mode))
LOSS_CALL(bce_logits, ht_binary_cross_entropy_with_logits(in[0], in[1], in[2], in[3], mode))
LOSS_CALL(soft_margin, ht_soft_margin_loss(in[0], in[1], mode))
LOSS_CALL(multilabel_soft_margin, ht_multilabel_soft_margin_loss(in[0], in[1], in[2], mode))
LOSS_CALL(hinge_embedding, ht_hinge_embedding_loss(in[0], in[1], row->number, mode))
LOSS_CALL(multi_margin, ht_multi_margin_loss(in[0], in[1], (int)row->number, 0.9, in[2], mode))
LOSS_CALL(multilabel_margin, ht_multilabel_margin_loss(in[0], in[1], mode))
LOSS_CALL(margin_ranking, ht_margin_ranking_loss(in[0], in[1], in[2], row->number, mode))
LOSS_CALL(cosine_embedding, ht_cosine_embedding_loss(in[0], in[1], ht_sign(in[2]), row->number, mode))
LOSS_CALL(triplet_distance, ht_triplet_margin_with_distance_loss(in[0], in[1], in[2], squared_distance, NULL, \
                                                                 1, true, mode))

#define FLAGGED(name, flags, ndim, ...) {name, HT_FLOAT64, ndim, {__VA_ARGS__}, flags}
#define WEIGHT FLAGGED("weight", NN_POSITIVE, 1, 3)
#define TARGET FIRST("target", 2, 4, 3)
#define FIXED FLAGGED("target", NN_SPLITS, 2, 4, 3)
#define SHARES FLAGGED("target", NN_SPLITS | NN_GRAD | NN_POSITIVE, 2, 4, 3)
#define VARIANCES FLAGGED("var", NN_SPLITS | NN_GRAD | NN_POSITIVE, 2, 4, 3)
#define LABELS(ndim, ...) {"target", HT_INT32, ndim, {__VA_ARGS__}, NN_SPLITS}
#define LIST(...) .operands = {__VA_ARGS__}
/* A loss in each reduction, with the operands that it must have, whose faults are tested elsewhere. */
#define LOSSES(name, call, count, required, operands, number)                              \
    {name, call, count, required, operands, number, HT_MEAN, .variant = true},             \
    {name, call, count, required, operands, number, HT_SUM, .variant = true},              \
    {name, call, count, required, operands, number, HT_NO_REDUCTION, .variant = true}
#define THREE(a, b, c) LIST(FIRST(a, 2, 4, 3), FIRST(b, 2, 4, 3), FIRST(c, 2, 4, 3))
#define LOSS_ROWS \
    REDUCED("ht_mse_loss", mse, P(LIST(X, TARGET)), 0), \
    REDUCED("ht_l1_loss", l1, P(LIST(X, TARGET)), 0), \
    REDUCED("ht_smooth_l1_loss", smooth_l1, P(LIST(X, TARGET)), 0.3), \
    {"ht_smooth_l1_loss", smooth_l1, 2, 2, LIST(X, TARGET), 0, HT_MEAN, .variant = true}, \
    REDUCED("ht_huber_loss", huber, P(LIST(X, TARGET)), 0.4), \
    REDUCED("ht_poisson_nll_loss", poisson_nll, P(LIST(X, TARGET)), 0), \
    REDUCED("ht_kl_div", kl_div, P(LIST(X, SHARES)), 0), \
    REDUCED("ht_soft_margin_loss", soft_margin, P(LIST(X, TARGET)), 0), \
    REDUCED("ht_hinge_embedding_loss", hinge_embedding, P(LIST(X, FIXED)), 1.25), \
    {"ht_kl_div", kl_div, 2, 2, LIST(X, TARGET), 1, HT_BATCH_MEAN, .variant = true}, \
    LOSSES("ht_gaussian_nll_loss", gaussian_nll, 3, 3, P(LIST(X, TARGET, VARIANCES)), 0), \
    LOSSES("ht_binary_cross_entropy", bce, 3, 2, P(LIST(X, TARGET, WEIGHT)), 0), \
    LOSSES("ht_binary_cross_entropy_with_logits", bce_logits, 4, 2, \
           P(LIST(X, TARGET, WEIGHT, FLAGGED("pos_weight", NN_POSITIVE, 1, 3))), 0), \
    LOSSES("ht_multilabel_soft_margin_loss", multilabel_soft_margin, 3, 2, P(LIST(X, TARGET, WEIGHT)), 0), \
    {"ht_nll_loss_ext", nll_loss_ext, 3, 2, LIST(FIRST("log_probs", 2, 4, 3), LABELS(1, 4), WEIGHT), 0, HT_MEAN}, \
    LOSSES("ht_nll_loss_ext", nll_loss_ext, 3, 2, P(LIST(FIRST("log_probs", 3, 4, 3, 2), LABELS(2, 4, 2), WEIGHT)), 0), \
    LOSSES("ht_cross_entropy_ext", cross_entropy_ext, 3, 2, P(LIST(FIRST("logits", 3, 4, 3, 2), LABELS(2, 4, 2), WEIGHT)), 0.2), \
    LOSSES("ht_cross_entropy_ext", cross_entropy_ext, 3, 2, P(LIST(FIRST("logits", 2, 4, 3), SHARES, WEIGHT)), 0.2), \
    LOSSES("ht_multi_margin_loss", multi_margin, 3, 2, P(LIST(X, LABELS(1, 4), WEIGHT)), 1), \
    LOSSES("ht_multi_margin_loss", multi_margin, 3, 2, P(LIST(X, LABELS(1, 4), WEIGHT)), 2), \
    LOSSES("ht_multilabel_margin_loss", multilabel_margin, 2, 2, P(LIST(FIRST("x", 2, 4, 5), LABELS(2, 4, 5))), 0), \
    LOSSES("ht_margin_ranking_loss", margin_ranking, 3, 3, P(THREE("x1", "x2", "target")), 0.2), \
    LOSSES("ht_cosine_embedding_loss", cosine_embedding, 3, 3, \
           P(LIST(FIRST("x1", 2, 4, 3), FIRST("x2", 2, 4, 3), FLAGGED("target", NN_SPLITS, 1, 4))), -0.9), \
    LOSSES("ht_triplet_margin_loss", triplet_margin, 3, 3, P(THREE("anchor", "positive", "negative")), 0), \
    LOSSES("ht_triplet_margin_with_distance_loss", triplet_distance, 3, 3, P(THREE("anchor", "positive", "negative")), 0)
/* clang-format on */

#endif
