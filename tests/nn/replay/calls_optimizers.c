/* SPDX-License-Identifier: MIT
 *
 * Optimizers: steps of a parameter `input`, whose loss is sum(weight (input - target)^2). */
#include <string.h>

#include "replay.h"

enum { STEPS = 3 };

#define NUMBER(field)            o.field = replay_number(r, #field, o.field)
#define ENTRY(field, key, index) o.field = replay_entry(r, key, index, o.field)
#define FLAG(field)              o.field = replay_number(r, #field, o.field) != 0
#define COUNT(field)             o.field = (int)replay_number(r, #field, o.field)
#define OPTIMIZER(name, ...)                                                \
    static ht_optimizer *make_##name(replay_run *r, ht_value *p, double lr) \
    {                                                                       \
        ht_##name##_options o = ht_##name##_options_default();              \
                                                                            \
        __VA_ARGS__;                                                        \
        return ht_optim_##name(p, lr, &o);                                  \
    }                                                                       \
    static ht_tensor *call_##name(replay_run *r)                            \
    {                                                                       \
        return stepped(r, make_##name);                                     \
    }

typedef struct problem {
    ht_optimizer *optimizer;
    ht_tensor *p, *target, *weight;
} problem;

static ht_tensor *loss_of(void *user)
{
    problem *m = user;
    ht_tensor *error = ht_sub(m->p, m->target), *loss;

    ht_optimizer_zero_grad(m->optimizer);
    loss = ht_sum(ht_mul(m->weight, ht_mul(error, error)), HT_NONE);
    return ht_backward(loss) == HT_SUCCESS ? loss : NULL;
}

static ht_tensor *stepped(replay_run *r,
                          ht_optimizer *(*make)(replay_run *r, ht_value *p, double lr))
{
    problem m = {.p = replay_in(r, "input"),
                 .target = replay_in(r, "target"),
                 .weight = replay_in(r, "weight")};
    ht_status status = ht_tensor_set_requires_grad(m.p, true);

    m.optimizer = make(r, ht_value_tensors(1, &m.p), replay_number(r, "lr", 0));
    if (m.optimizer == NULL)
        return NULL;
    for (int i = 0; i < STEPS && status == HT_SUCCESS; i++)
        status = ht_optimizer_step_with(m.optimizer, loss_of, &m, NULL);
    ht_release(m.optimizer);
    return status == HT_SUCCESS ? m.p : NULL;
}

OPTIMIZER(sgd, NUMBER(momentum), NUMBER(dampening), NUMBER(weight_decay), FLAG(nesterov),
          FLAG(maximize))
OPTIMIZER(adam, ENTRY(beta1, "betas", 0), ENTRY(beta2, "betas", 1), NUMBER(eps),
          NUMBER(weight_decay), FLAG(amsgrad), FLAG(maximize))
OPTIMIZER(adamw, ENTRY(beta1, "betas", 0), ENTRY(beta2, "betas", 1), NUMBER(eps),
          NUMBER(weight_decay), FLAG(amsgrad), FLAG(maximize))
OPTIMIZER(adamax, ENTRY(beta1, "betas", 0), ENTRY(beta2, "betas", 1), NUMBER(eps),
          NUMBER(weight_decay), FLAG(maximize))
OPTIMIZER(adadelta, NUMBER(rho), NUMBER(eps), NUMBER(weight_decay), FLAG(maximize))
OPTIMIZER(adagrad, NUMBER(lr_decay), NUMBER(weight_decay), NUMBER(initial_accumulator_value),
          NUMBER(eps), FLAG(maximize))
OPTIMIZER(rmsprop, NUMBER(alpha), NUMBER(eps), NUMBER(weight_decay), NUMBER(momentum),
          FLAG(centered), FLAG(maximize))
OPTIMIZER(nadam, ENTRY(beta1, "betas", 0), ENTRY(beta2, "betas", 1), NUMBER(eps),
          NUMBER(weight_decay), NUMBER(momentum_decay), FLAG(decoupled_weight_decay),
          FLAG(maximize))
OPTIMIZER(radam, ENTRY(beta1, "betas", 0), ENTRY(beta2, "betas", 1), NUMBER(eps),
          NUMBER(weight_decay), FLAG(decoupled_weight_decay), FLAG(maximize))
OPTIMIZER(rprop, ENTRY(etaminus, "etas", 0), ENTRY(etaplus, "etas", 1),
          ENTRY(step_size_min, "step_sizes", 0), ENTRY(step_size_max, "step_sizes", 1),
          FLAG(maximize))
OPTIMIZER(asgd, NUMBER(lambd), NUMBER(alpha), NUMBER(t0), NUMBER(weight_decay), FLAG(maximize))
OPTIMIZER(sparse_adam, ENTRY(beta1, "betas", 0), ENTRY(beta2, "betas", 1), NUMBER(eps),
          FLAG(maximize))
OPTIMIZER(adafactor, NUMBER(beta2_decay), ENTRY(eps1, "eps", 0), ENTRY(eps2, "eps", 1), NUMBER(d),
          NUMBER(weight_decay), FLAG(maximize))
OPTIMIZER(lbfgs, COUNT(max_iter), COUNT(max_eval), NUMBER(tolerance_grad), NUMBER(tolerance_change),
          COUNT(history_size), FLAG(maximize),
          o.strong_wolfe = strcmp(replay_word(r, "line_search_fn", ""), "strong_wolfe") == 0)

/* The factor of this name; one that does not exist if there is none. */
static int adjust_lr(replay_run *r)
{
    static const char *const names[] = {"original", "match_rms_adamw", "spectral_unclamped"};
    const char *name = replay_word(r, "adjust_lr_fn", names[0]);
    int i = 0;

    while (i < 3 && strcmp(names[i], name) != 0)
        i++;
    return i;
}
OPTIMIZER(muon, NUMBER(weight_decay), NUMBER(momentum), FLAG(nesterov),
          ENTRY(a, "ns_coefficients", 0), ENTRY(b, "ns_coefficients", 1),
          ENTRY(c, "ns_coefficients", 2), NUMBER(eps), COUNT(ns_steps), o.adjust_lr = adjust_lr(r))

const replay_function replay_optimizers[] = {
    {"optim.SGD", call_sgd, NULL},
    {"optim.Adam", call_adam, NULL},
    {"optim.AdamW", call_adamw, NULL},
    {"optim.Adamax", call_adamax, NULL},
    {"optim.Adadelta", call_adadelta, NULL},
    {"optim.Adagrad", call_adagrad, NULL},
    {"optim.RMSprop", call_rmsprop, NULL},
    {"optim.NAdam", call_nadam, NULL},
    {"optim.RAdam", call_radam, NULL},
    {"optim.Rprop", call_rprop, NULL},
    {"optim.ASGD", call_asgd, NULL},
    {"optim.SparseAdam", call_sparse_adam, NULL},
    {"optim.Adafactor", call_adafactor, NULL},
    {"optim.LBFGS", call_lbfgs, NULL},
    {"optim.Muon", call_muon, NULL},
    {.name = NULL},
};
