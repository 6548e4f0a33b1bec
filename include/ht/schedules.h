/* SPDX-License-Identifier: MIT
 *
 * Schedules of the learning rate; ht/optim.h has more. A schedule sets the rate of all groups of
 * its optimizer when it is made, and again at each ht_scheduler_step. Below, lr is the rate that a
 * group has, and initial lr the one that it had when its first schedule was made.
 *
 * Not collective: under a data-parallel wrapper every rank has its own schedule and steps it alike.
 * Result: owned; NULL after an error.
 * Errors: HT_ERR_ARGUMENT for a NULL optimizer, schedule or function, and for a number out of its
 * range. Factors that a function returns are not checked.
 * Source: torch.optim.lr_scheduler, with its rates. */
#ifndef HT_SCHEDULES_H
#define HT_SCHEDULES_H

#include "ht/optim.h"

HT_BEGIN_DECLS

/* The factor of a learning rate at an epoch; `user` is what the schedule was made with. */
typedef double ht_lr_factor_fn(int64_t epoch, void *user);

/* Sets lr = initial lr x factor(epoch, user), from epoch 0 on.
 *
 * optimizer: retained.
 * factor, user: the function, and its second argument (borrowed). */
HT_API ht_scheduler *ht_optim_lambda_lr(ht_optimizer *optimizer, ht_lr_factor_fn *factor,
                                        void *user);

/* Multiplies lr by factor(epoch, user) at each epoch from 1 on.
 *
 * optimizer: retained.
 * factor, user: the function, and its second argument (borrowed). */
HT_API ht_scheduler *ht_optim_multiplicative_lr(ht_optimizer *optimizer, ht_lr_factor_fn *factor,
                                                void *user);

/* Multiplies lr by factor in the first total_iters epochs, and restores it then.
 *
 * optimizer: retained.
 * factor: 0 < factor <= 1. PyTorch takes 0, and divides by it at the end.
 * total_iters: at least 1. */
HT_API ht_scheduler *ht_optim_constant_lr(ht_optimizer *optimizer, double factor,
                                          int64_t total_iters);

/* Sets lr = initial lr (1 - epoch / total_iters)^power, and 0 from epoch total_iters on.
 *
 * optimizer: retained.
 * total_iters: at least 1.
 * power: at least 0; the default in PyTorch is 1. */
HT_API ht_scheduler *ht_optim_polynomial_lr(ht_optimizer *optimizer, int64_t total_iters,
                                            double power);

/* Lowers lr along half a cosine in each period, and restarts it at the next one:
 *
 *     lr = eta_min + (initial lr - eta_min) (1 + cos(pi t / T)) / 2
 *
 * t counts the epochs since the last restart; T is the length of the period.
 * optimizer: retained.
 * t_0: the first period, at least 1 epoch.
 * t_mult: each period is t_mult times as long as the one before; at least 1.
 * eta_min: the lowest rate, at least 0. */
HT_API ht_scheduler *ht_optim_cosine_annealing_warm_restarts(ht_optimizer *optimizer, int64_t t_0,
                                                             int64_t t_mult, double eta_min);

typedef enum ht_cyclic_mode {
    HT_CYCLIC_TRIANGULAR,  /* every cycle has the same height */
    HT_CYCLIC_TRIANGULAR2, /* each cycle has half the height of the one before */
    HT_CYCLIC_EXP_RANGE    /* the height is scaled by gamma^step */
} ht_cyclic_mode;

typedef struct ht_cyclic_lr_options {
    size_t size;            /* of this struct; set by the default function */
    int64_t step_size_up;   /* 2000: steps from base_lr to max_lr */
    int64_t step_size_down; /* 0: as many as up */
    ht_cyclic_mode mode;    /* HT_CYCLIC_TRIANGULAR */
    double gamma;           /* 1 */
    bool cycle_momentum;    /* true: needs an optimizer with a setting momentum or beta1 */
    double base_momentum;   /* 0.8: where the rate is max_lr */
    double max_momentum;    /* 0.9: where the rate is base_lr */
} ht_cyclic_lr_options;

/* The defaults of ht_optim_cyclic_lr. */
HT_API ht_cyclic_lr_options ht_cyclic_lr_options_default(void);

/* Moves the rate between base_lr and max_lr in cycles, and the momentum the other way round. Step
 * it after each batch.
 *
 * optimizer: retained.
 * base_lr, max_lr: the ends of the rate, at least 0.
 * options: NULL takes the defaults. step_size_up is at least 1, step_size_down and gamma at least
 * 0, and a momentum in [0, 1). */
HT_API ht_scheduler *ht_optim_cyclic_lr(ht_optimizer *optimizer, double base_lr, double max_lr,
                                        const ht_cyclic_lr_options *options);

typedef struct ht_one_cycle_lr_options {
    size_t size;             /* of this struct; set by the default function */
    double pct_start;        /* 0.3: the part of all steps in which the rate rises */
    bool linear;             /* false: anneals by a cosine */
    bool cycle_momentum;     /* true: needs an optimizer with a setting momentum or beta1 */
    double base_momentum;    /* 0.85: where the rate is max_lr */
    double max_momentum;     /* 0.95: at both ends */
    double div_factor;       /* 25: the first rate is max_lr / div_factor */
    double final_div_factor; /* 1e4: the last rate is the first one / final_div_factor */
    bool three_phase; /* false; true: down to the first rate as fast as up, then to the last */
} ht_one_cycle_lr_options;

/* The defaults of ht_optim_one_cycle_lr. */
HT_API ht_one_cycle_lr_options ht_one_cycle_lr_options_default(void);

/* Raises the rate to max_lr and lowers it again within total_steps steps. Step it after each batch.
 *
 * optimizer: retained.
 * max_lr: at least 0.
 * total_steps: at least 1.
 * options: NULL takes the defaults. pct_start is from 0 to 1, a momentum in [0, 1), and a factor
 * above 0.
 * Errors: HT_ERR_ARGUMENT for a value out of range. A step after total_steps is HT_ERR_STATE of
 * ht_scheduler_step, and changes nothing. */
HT_API ht_scheduler *ht_optim_one_cycle_lr(ht_optimizer *optimizer, double max_lr,
                                           int64_t total_steps,
                                           const ht_one_cycle_lr_options *options);

/* Runs schedules one after another: schedule i + 1 begins at epoch milestones[i], from the initial
 * rates.
 *
 * schedulers: `count` schedules of one optimizer (retained), none of which looks at a metric. The
 * program does not step them.
 * milestones: count - 1 epochs, rising, from 1 on; copied. */
HT_API ht_scheduler *ht_optim_sequential_lr(int count, ht_scheduler *const schedulers[],
                                            const int64_t milestones[]);

/* Steps all schedules at each step, in order.
 *
 * schedulers: as in ht_optim_sequential_lr, `count` of them. */
HT_API ht_scheduler *ht_optim_chained_scheduler(int count, ht_scheduler *const schedulers[]);

HT_END_DECLS
#endif
