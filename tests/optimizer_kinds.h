/* SPDX-License-Identifier: MIT */
/* The optimizers that take parameters of any shape, for tests of all of them: KIND, constructor, its
 * function for groups, options, learning rate, and options that are not the defaults. The options
 * tame steps that would make much of rounding. */
#ifndef HT_TESTS_OPTIMIZER_KINDS_H
#define HT_TESTS_OPTIMIZER_KINDS_H

#include "ht.h"

/* clang-format off */
#define OPTIMIZER_KINDS(X)                                                                         \
    X(SGD, ht_optim_sgd, ht_optim_sgd_add_param_group, ht_sgd_options, 0.1, o.momentum = 0.9)      \
    X(ADAM, ht_optim_adam, ht_optim_adam_add_param_group, ht_adam_options, 0.01, )                 \
    X(AMSGRAD, ht_optim_adam, ht_optim_adam_add_param_group, ht_adam_options, 0.01,                \
      o.beta2 = 0.6; o.amsgrad = true)                                                             \
    X(ADADELTA, ht_optim_adadelta, ht_optim_adadelta_add_param_group, ht_adadelta_options, 1, )    \
    X(ADAMW, ht_optim_adamw, ht_optim_adamw_add_param_group, ht_adamw_options, 0.01, )             \
    X(RMSPROP, ht_optim_rmsprop, ht_optim_rmsprop_add_param_group, ht_rmsprop_options, 0.01,       \
      o.eps = 1e-4)                                                                                \
    X(ADAGRAD, ht_optim_adagrad, ht_optim_adagrad_add_param_group, ht_adagrad_options, 0.1,        \
      o.lr_decay = o.initial_accumulator_value = 0.1)                                              \
    X(ADAMAX, ht_optim_adamax, ht_optim_adamax_add_param_group, ht_adamax_options, 0.01,           \
      o.eps = 1e-3)                                                                                \
    X(NADAM, ht_optim_nadam, ht_optim_nadam_add_param_group, ht_nadam_options, 0.01,               \
      o.eps = 1e-4)                                                                                \
    X(RADAM, ht_optim_radam, ht_optim_radam_add_param_group, ht_radam_options, 0.01,               \
      o.beta2 = 0.9; o.eps = 1e-3)                                                                 \
    X(ASGD, ht_optim_asgd, ht_optim_asgd_add_param_group, ht_asgd_options, 0.1,                    \
      o.t0 = 2; o.lambd = 0.01)                                                                    \
    X(SPARSE_ADAM, ht_optim_sparse_adam, ht_optim_sparse_adam_add_param_group,                     \
      ht_sparse_adam_options, 0.01, o.eps = 1e-4)                                                  \
    X(ADAFACTOR, ht_optim_adafactor, ht_optim_adafactor_add_param_group, ht_adafactor_options,     \
      0.01, o.eps1 = 1e-3)
/* Steps by the sign of a gradient make much of rounding whatever the options. */
#define SIGN_KINDS(X)                                                                              \
    X(RPROP, ht_optim_rprop, ht_optim_rprop_add_param_group, ht_rprop_options, 0.01, )
/* clang-format on */

enum optimizer_kind {
#define OPTIMIZER_KIND(kind, make, add, options, lr, set) kind,
    OPTIMIZER_KINDS(OPTIMIZER_KIND) KINDS,
    FIRST_SIGN_KIND = KINDS - 1,
    SIGN_KINDS(OPTIMIZER_KIND) ALL_KINDS
#undef OPTIMIZER_KIND
};

/* A group of an optimizer; NULL: a new optimizer. */
static inline ht_optimizer *optimizer_with(enum optimizer_kind kind, ht_value *parameters,
                                           ht_optimizer *optimizer, double rate)
{
    switch ((int)kind) {
#define OPTIMIZER_KIND(kind, make, add, options, lr, set)                                     \
    case kind: {                                                                              \
        options o = options##_default();                                                      \
                                                                                              \
        set;                                                                                  \
        if (optimizer == NULL)                                                                \
            return make(parameters, rate > 0 ? rate : lr, &o);                                \
        return add(optimizer, parameters, rate > 0 ? rate : lr, &o) == HT_SUCCESS ? optimizer \
                                                                                  : NULL;     \
    }
        OPTIMIZER_KINDS(OPTIMIZER_KIND)
        SIGN_KINDS(OPTIMIZER_KIND)
#undef OPTIMIZER_KIND
    default:
        return NULL;
    }
}

static inline ht_optimizer *optimizer_of(enum optimizer_kind kind, ht_value *parameters)
{
    return optimizer_with(kind, parameters, NULL, 0);
}

#endif
