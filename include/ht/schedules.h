/* SPDX-License-Identifier: MIT
 *
 * Schedules of the learning rate. A schedule sets the rate of all groups of its optimizer when it
 * is made, and again at each ht_scheduler_step, usually once an epoch. It starts from the rate that
 * the group has, so that several schedules can be combined. Below, lr is the rate that a group has,
 * and initial lr the one that it had when its first schedule was made, or the one that
 * ht_optim_one_cycle_lr set last. All groups share the arguments of a schedule, of which PyTorch
 * takes lists, too.
 *
 * Not collective: under a data-parallel wrapper every rank has its own schedule, and all step
 * theirs at the same point.
 * Result: owned; NULL after an error.
 * Errors: HT_ERR_ARGUMENT for a NULL optimizer, schedule, function or list, and for a number out of
 * its range: arguments are finite. HT_ERR_ARGUMENT also if a rate becomes negative or not finite.
 * Then the rates and the schedule stay as they were, in a constructor and in a step.
 * Source: torch.optim.lr_scheduler; the rates have its bits. */
#ifndef HT_SCHEDULES_H
#define HT_SCHEDULES_H

#include "ht/optim.h"

HT_BEGIN_DECLS

/* Ends an epoch of `scheduler`: counts it and sets the learning rates.
 *
 * Errors: HT_ERR_ARGUMENT for a schedule that needs a metric (ht_optim_reduce_lr_on_plateau). */
HT_API ht_status ht_scheduler_step(ht_scheduler *scheduler);

/* ht_scheduler_step with the metric of the epoch.
 *
 * scheduler: ht_optim_reduce_lr_on_plateau reads the metric; other schedules ignore it.
 * metric: any number, the same on every rank of a data-parallel run. */
HT_API ht_status ht_scheduler_step_metric(ht_scheduler *scheduler, double metric);

/* Returns the number of epochs that `scheduler` has ended, 0 if it is NULL. */
HT_API int64_t ht_scheduler_epoch(const ht_scheduler *scheduler);

/* Returns the state of `scheduler` as a map of numbers, scoped: "last_epoch" and the numbers that
 * its rule keeps, but not its arguments, such as gamma. A schedule of several ones adds a list of
 * their states, "schedulers". The learning rates are part of the optimizer's state. */
HT_API ht_value *ht_scheduler_state_dict(ht_scheduler *scheduler);

/* Loads a state of ht_scheduler_state_dict. The rates of the optimizer stay as they are.
 *
 * scheduler: of the same kind; unchanged if the state does not fit.
 * state: not retained.
 * Errors: HT_ERR_FORMAT if state is not a map, or a number is missing or invalid, or for another
 * number of schedules inside. */
HT_API ht_status ht_scheduler_load_state_dict(ht_scheduler *scheduler, const ht_value *state);

/* Makes a schedule with lr *= gamma after every step_size epochs.
 *
 * optimizer: retained.
 * step_size: in epochs, at least 1.
 * gamma: finite, at least 0.
 * Result: owned.
 * Source: torch.optim.lr_scheduler.StepLR. */
HT_API ht_scheduler *ht_optim_step_lr(ht_optimizer *optimizer, int64_t step_size, double gamma);

/* Makes a schedule with lr *= gamma at each epoch of a list.
 *
 * optimizer: retained.
 * count: number of milestones, at least 0.
 * milestones: epochs, counted from 1, in any order; copied. An epoch that is listed twice counts
 * twice.
 * gamma: finite, at least 0.
 * Result: owned.
 * Source: torch.optim.lr_scheduler.MultiStepLR. */
HT_API ht_scheduler *ht_optim_multi_step_lr(ht_optimizer *optimizer, int count,
                                            const int64_t milestones[], double gamma);

/* Makes a schedule with lr *= gamma after every epoch.
 *
 * optimizer: retained.
 * gamma: finite, at least 0.
 * Result: owned.
 * Source: torch.optim.lr_scheduler.ExponentialLR. */
HT_API ht_scheduler *ht_optim_exponential_lr(ht_optimizer *optimizer, double gamma);

/* Makes a schedule with lr = eta_min + (initial lr - eta_min) (1 + cos(pi epoch / t_max)) / 2.
 *
 * After t_max epochs the rate rises again. At a milestone of ht_optim_sequential_lr it begins with
 * initial lr itself; PyTorch computes the formula there and rounds it.
 *
 * optimizer: retained.
 * t_max: in epochs, at least 1.
 * eta_min: finite, at least 0.
 * Result: owned.
 * Source: torch.optim.lr_scheduler.CosineAnnealingLR. */
HT_API ht_scheduler *ht_optim_cosine_annealing_lr(ht_optimizer *optimizer, int64_t t_max,
                                                  double eta_min);

/* Makes a schedule that goes linearly from start_factor lr to end_factor lr in total_iters epochs,
 * and stays there.
 *
 * It is a warm-up if 0 < start_factor < end_factor = 1. The constructor itself multiplies each rate
 * by start_factor.
 *
 * optimizer: retained.
 * start_factor: in (0, 1].
 * end_factor: in [0, 1].
 * total_iters: in epochs, at least 1.
 * Result: owned.
 * Source: torch.optim.lr_scheduler.LinearLR. */
HT_API ht_scheduler *ht_optim_linear_lr(ht_optimizer *optimizer, double start_factor,
                                        double end_factor, int64_t total_iters);

typedef struct ht_reduce_lr_on_plateau_options {
    size_t size;      /* of this struct; set by the default function */
    bool maximize;    /* false: a lower metric is better */
    double factor;    /* 0.1; in [0, 1) */
    int64_t patience; /* 10: epochs without improvement before a reduction; at least 0 */
    double threshold; /* 1e-4: an improvement is larger than this part of the best; finite,
                         at least 0 */
    bool absolute;    /* false; true: an improvement is larger than threshold itself */
    int64_t cooldown; /* 0: epochs after a reduction that do not count; at least 0 */
    double min_lr;    /* 0; no rate is reduced below it; finite, at least 0 */
    double eps;       /* 1e-8: a reduction by at most this is not made; finite, at least 0 */
} ht_reduce_lr_on_plateau_options;

/* Returns the default options of ht_optim_reduce_lr_on_plateau, given at each field. */
HT_API ht_reduce_lr_on_plateau_options ht_reduce_lr_on_plateau_options_default(void);

/* Makes a schedule with lr *= factor when a metric has not improved for more than `patience`
 * epochs.
 *
 * It is stepped by ht_scheduler_step_metric. NaN is not an improvement. The count of epochs begins
 * again after a reduction.
 *
 * optimizer: retained.
 * options: NULL takes the defaults.
 * Result: owned.
 * Source: torch.optim.lr_scheduler.ReduceLROnPlateau. */
HT_API ht_scheduler *ht_optim_reduce_lr_on_plateau(ht_optimizer *optimizer,
                                                   const ht_reduce_lr_on_plateau_options *options);

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

/* Multiplies lr by factor in the constructor, and divides it by factor at epoch total_iters.
 *
 * optimizer: retained.
 * factor: 0 < factor <= 1. PyTorch takes 0, and divides by it at the end.
 * total_iters: at least 1. */
HT_API ht_scheduler *ht_optim_constant_lr(ht_optimizer *optimizer, double factor,
                                          int64_t total_iters);

/* Makes a schedule with lr = initial lr (1 - epoch / total_iters)^power, which stays as it is from
 * epoch total_iters on: 0 for a power above 0.
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
 * eta_min: the rate that lr approaches in a period, at least 0. */
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
 * it after each batch. The constructor sets base_lr in all groups, whatever their rate.
 *
 * optimizer: retained.
 * base_lr, max_lr: the ends of the rate, at least 0.
 * options: NULL takes the defaults. step_size_up is at least 1, step_size_down and gamma at least
 * 0, and with cycle_momentum a momentum in [0, 1).
 * Errors: HT_ERR_ARGUMENT also for cycle_momentum with an optimizer that has neither momentum nor
 * beta1. */
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
 * The constructor sets the first rate in all groups, as their initial lr, too. That holds for
 * schedules made before it; in PyTorch, those keep their own.
 *
 * optimizer: retained.
 * max_lr: at least 0.
 * total_steps: at least 1.
 * options: NULL takes the defaults. pct_start is from 0 to 1, a momentum in [0, 1), and a factor
 * above 0.
 * Errors: as of ht_optim_cyclic_lr. A step after total_steps is HT_ERR_STATE of ht_scheduler_step,
 * and changes nothing. */
HT_API ht_scheduler *ht_optim_one_cycle_lr(ht_optimizer *optimizer, double max_lr,
                                           int64_t total_steps,
                                           const ht_one_cycle_lr_options *options);

/* Runs schedules one after another: schedule i + 1 begins at epoch milestones[i], from the initial
 * rates. The constructor restarts schedule 0 from these rates. A schedule of several ones begins
 * as it does alone; PyTorch steps some parts of a chain once more there.
 *
 * schedulers: `count` schedules of one optimizer (retained), none of which uses a metric. The
 * program does not step them.
 * count: at least 1.
 * milestones: count - 1 epochs, strictly increasing, at least 1; copied. May be NULL if count is 1.
 * Errors: HT_ERR_ARGUMENT for schedules of several optimizers, or one that takes a metric. */
HT_API ht_scheduler *ht_optim_sequential_lr(int count, ht_scheduler *const schedulers[],
                                            const int64_t milestones[]);

/* Steps all schedules at each step, in order.
 *
 * schedulers: as in ht_optim_sequential_lr, `count` of them.
 * Errors: as of ht_optim_sequential_lr. */
HT_API ht_scheduler *ht_optim_chained_scheduler(int count, ht_scheduler *const schedulers[]);

/* Moves lr to swa_lr in anneal_epochs epochs, and keeps it there: the rate for averaged parameters.
 *
 * optimizer: retained.
 * swa_lr: at least 0; one rate for all groups.
 * anneal_epochs: at least 0; PyTorch's default is 10. With 0 the constructor sets swa_lr.
 * linear: false anneals by half a cosine.
 * Source: torch.optim.swa_utils.SWALR. */
HT_API ht_scheduler *ht_optim_swa_lr(ht_optimizer *optimizer, double swa_lr, int64_t anneal_epochs,
                                     bool linear);

HT_END_DECLS
#endif
