/* SPDX-License-Identifier: MIT
 *
 * Losses: the calls of PyTorch's functions. */
#include <string.h>

#include "replay.h"

#define IN(key)                replay_in(r, key)
#define NUMBER(key, otherwise) replay_number(r, key, otherwise)
#define FLAG(key)              (replay_number(r, key, 0) != 0)
#define MODE                   replay_reduction(r)
#define CALL(name, call)                         \
    static ht_tensor *call_##name(replay_run *r) \
    {                                            \
        return call;                             \
    }
CALL(mse, ht_mse_loss(IN("input"), IN("target"), MODE))
CALL(l1, ht_l1_loss(IN("input"), IN("target"), MODE))
CALL(smooth_l1, ht_smooth_l1_loss(IN("input"), IN("target"), NUMBER("beta", 1), MODE))
CALL(huber, ht_huber_loss(IN("input"), IN("target"), NUMBER("delta", 1), MODE))
CALL(soft_margin, ht_soft_margin_loss(IN("input"), IN("target"), MODE))
CALL(hinge, ht_hinge_embedding_loss(IN("input"), IN("target"), NUMBER("margin", 1), MODE))
CALL(kl_div, ht_kl_div(IN("input"), IN("target"), FLAG("log_target"), MODE))
CALL(bce, ht_binary_cross_entropy(IN("input"), IN("target"), IN("weight"), MODE))
CALL(bce_logits, ht_binary_cross_entropy_with_logits(IN("input"), IN("target"), IN("weight"),
                                                     IN("pos_weight"), MODE))
CALL(multilabel_soft, ht_multilabel_soft_margin_loss(IN("input"), IN("target"), IN("weight"), MODE))
CALL(multilabel, ht_multilabel_margin_loss(IN("input"), IN("target"), MODE))
CALL(multi_margin, ht_multi_margin_loss(IN("input"), IN("target"), (int)NUMBER("p", 1),
                                        NUMBER("margin", 1), IN("weight"), MODE))
CALL(ranking,
     ht_margin_ranking_loss(IN("input"), IN("input2"), IN("target"), NUMBER("margin", 0), MODE))
CALL(cosine,
     ht_cosine_embedding_loss(IN("input"), IN("input2"), IN("target"), NUMBER("margin", 0), MODE))

static ht_tensor *call_gaussian(replay_run *r)
{
    ht_tensor *var = IN("var");

    if (var == NULL && IN("input") != NULL)
        var = ht_full_like(IN("input"), NUMBER("var", 1));
    return ht_gaussian_nll_loss(IN("input"), IN("target"), var, FLAG("full"), NUMBER("eps", 1e-6),
                                MODE);
}

static ht_tensor *call_poisson(replay_run *r)
{
    ht_poisson_nll_options options = ht_poisson_nll_options_default();

    options.log_input = NUMBER("log_input", 1) != 0;
    options.full = FLAG("full");
    options.eps = NUMBER("eps", options.eps);
    options.reduction = MODE;
    return ht_poisson_nll_loss(IN("input"), IN("target"), &options);
}

static ht_class_loss_options class_options(replay_run *r)
{
    ht_class_loss_options options = ht_class_loss_options_default();

    options.weight = IN("weight");
    options.ignore_index = (int64_t)NUMBER("ignore_index", -100);
    options.label_smoothing = NUMBER("label_smoothing", 0);
    options.reduction = MODE;
    return options;
}

static ht_tensor *call_nll(replay_run *r)
{
    const ht_class_loss_options options = class_options(r);

    return ht_nll_loss_ext(IN("input"), IN("target"), &options);
}

static ht_tensor *call_cross_entropy(replay_run *r)
{
    const ht_class_loss_options options = class_options(r);

    return ht_cross_entropy_ext(IN("input"), IN("target"), &options);
}

static ht_tensor *call_triplet(replay_run *r)
{
    ht_triplet_margin_options options = ht_triplet_margin_options_default();

    options.margin = NUMBER("margin", options.margin);
    options.p = NUMBER("p", options.p);
    options.eps = NUMBER("eps", options.eps);
    options.swap = FLAG("swap");
    options.reduction = MODE;
    return ht_triplet_margin_loss(IN("input"), IN("positive"), IN("negative"), &options);
}

static ht_tensor *distance(ht_tensor *a, ht_tensor *b, void *user)
{
    (void)user;
    return ht_pairwise_distance(a, b, 2, 1e-6, false);
}

static ht_tensor *call_triplet_distance(replay_run *r)
{
    if (strcmp(replay_word(r, "distance_function", ""), "PairwiseDistance") != 0 && !r->c->refused)
        return replay_leave(r, "distances that are functions of Python");
    return ht_triplet_margin_with_distance_loss(IN("input"), IN("positive"), IN("negative"),
                                                distance, NULL, NUMBER("margin", 1), FLAG("swap"),
                                                MODE);
}

/* Lengths are a tensor or a list. */
static ht_tensor *lengths(replay_run *r, const char *key)
{
    int64_t list[REPLAY_NUMBERS];
    const int count = replay_list(r, key, REPLAY_NUMBERS, list);

    return count > 0 ? ht_array(list, HT_SHAPE(count), HT_INT64, HT_NONE) : IN(key);
}

static ht_tensor *call_ctc(replay_run *r)
{
    ht_ctc_options options = ht_ctc_options_default();

    options.blank = (int64_t)NUMBER("blank", 0);
    options.zero_infinity = FLAG("zero_infinity");
    options.reduction = MODE;
    return ht_ctc_loss_ext(IN("input"), IN("targets"), lengths(r, "input_lengths"),
                           lengths(r, "target_lengths"), &options);
}

const replay_function replay_losses[] = {
    {"mse_loss", call_mse, NULL},
    {"l1_loss", call_l1, NULL},
    {"smooth_l1_loss", call_smooth_l1, NULL},
    {"huber_loss", call_huber, NULL},
    {"soft_margin_loss", call_soft_margin, NULL},
    {"hinge_embedding_loss", call_hinge, NULL},
    {"kl_div", call_kl_div, NULL},
    {"binary_cross_entropy", call_bce, NULL},
    {"binary_cross_entropy_with_logits", call_bce_logits, NULL},
    {"multilabel_soft_margin_loss", call_multilabel_soft, NULL},
    {"multilabel_margin_loss", call_multilabel, NULL},
    {"multi_margin_loss", call_multi_margin, NULL},
    {"margin_ranking_loss", call_ranking, NULL},
    {"cosine_embedding_loss", call_cosine, NULL},
    {"gaussian_nll_loss", call_gaussian, NULL},
    {"poisson_nll_loss", call_poisson, NULL},
    {"nll_loss", call_nll, NULL},
    {"cross_entropy", call_cross_entropy, NULL},
    {"triplet_margin_loss", call_triplet, NULL},
    {"triplet_margin_with_distance_loss", call_triplet_distance, NULL},
    {"ctc_loss", call_ctc, NULL},
    {.name = NULL},
};
