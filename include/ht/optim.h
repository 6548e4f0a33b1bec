/* SPDX-License-Identifier: MIT
 *
 * Optimizers and learning-rate schedules. Constructors take a list value of parameters
 * (ht_module_parameters) and return owned optimizers. Not collective. Source: torch.optim. */
#ifndef HT_OPTIM_H
#define HT_OPTIM_H

#include <stdio.h>

#include "ht/tensor.h"
#include "ht/value.h"

HT_BEGIN_DECLS

typedef struct ht_sgd_options {
    size_t size; /* of this struct; set by the default function */
    double momentum, dampening, weight_decay;
    bool nesterov, maximize;
} ht_sgd_options;

typedef struct ht_adam_options {
    size_t size;
    double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8, 0 (AdamW: 0.01) */
    bool maximize;
} ht_adam_options;
typedef ht_adam_options ht_adamw_options, ht_adamax_options;

typedef struct ht_adadelta_options {
    size_t size;
    double rho, eps, weight_decay; /* 0.9, 1e-6, 0 */
    bool maximize;
} ht_adadelta_options;

typedef struct ht_adagrad_options {
    size_t size;
    double lr_decay, weight_decay, initial_accumulator_value, eps; /* 0, 0, 0, 1e-10 */
    bool maximize;
} ht_adagrad_options;

typedef struct ht_rmsprop_options {
    size_t size;
    double alpha, eps, weight_decay, momentum; /* 0.99, 1e-8, 0, 0 */
    bool centered, maximize;
} ht_rmsprop_options;

HT_API ht_sgd_options ht_sgd_options_default(void);
HT_API ht_adam_options ht_adam_options_default(void);
HT_API ht_adamw_options ht_adamw_options_default(void);
HT_API ht_adamax_options ht_adamax_options_default(void);
HT_API ht_adadelta_options ht_adadelta_options_default(void);
HT_API ht_adagrad_options ht_adagrad_options_default(void);
HT_API ht_rmsprop_options ht_rmsprop_options_default(void);

/* options NULL: defaults. Errors: HT_ERR_ARGUMENT for values out of range, naming value and range.
 */
HT_API ht_optimizer *ht_optim_sgd(ht_value *parameters, double lr, const ht_sgd_options *options);
HT_API ht_optimizer *ht_optim_adam(ht_value *parameters, double lr, const ht_adam_options *options);
HT_API ht_optimizer *ht_optim_adadelta(ht_value *parameters, double lr,
                                       const ht_adadelta_options *options);

/* Adam whose weight decay shrinks the parameter, p *= 1 - lr weight_decay, and stays out of the
 * running means. */
HT_API ht_optimizer *ht_optim_adamw(ht_value *parameters, double lr,
                                    const ht_adamw_options *options);

/* Adam whose root is the greater of beta2 u and |g| + eps, which the next step has as u. */
HT_API ht_optimizer *ht_optim_adamax(ht_value *parameters, double lr,
                                     const ht_adamax_options *options);

/* v = v + g^2 from initial_accumulator_value on, p -= lr / (1 + t lr_decay) g / (sqrt(v) + eps) in
 * the parameter's step t, counted from 0. */
HT_API ht_optimizer *ht_optim_adagrad(ht_value *parameters, double lr,
                                      const ht_adagrad_options *options);

/* v = alpha v + (1 - alpha) g^2, p -= lr g / (sqrt(v) + eps); centered: v less the square of the
 * running mean of g; momentum: the quotients are accumulated in a buffer. */
HT_API ht_optimizer *ht_optim_rmsprop(ht_value *parameters, double lr,
                                      const ht_rmsprop_options *options);

/* Adds a group: parameters with hyperparameters and a learning rate of their own (torch's
 * param_groups); their options are those of the optimizer's constructor, NULL: the first group's.
 * Before the optimizer goes to a data-parallel wrapper. Schedules act on each group from its own
 * rate. Errors, with nothing changed: HT_ERR_ARGUMENT for another kind of optimizer, or a parameter
 * that it has already; HT_ERR_STATE under a wrapper. */
HT_API ht_status ht_optim_sgd_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                              double lr, const ht_sgd_options *options);
HT_API ht_status ht_optim_adam_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                               double lr, const ht_adam_options *options);
HT_API ht_status ht_optim_adamw_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                double lr, const ht_adamw_options *options);
HT_API ht_status ht_optim_adamax_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                 double lr, const ht_adamax_options *options);
HT_API ht_status ht_optim_adadelta_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                   double lr, const ht_adadelta_options *options);
HT_API ht_status ht_optim_adagrad_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                  double lr, const ht_adagrad_options *options);
HT_API ht_status ht_optim_rmsprop_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                  double lr, const ht_rmsprop_options *options);

/* One update from the gradients that are there; parameters without one are left alone. Under a
 * non-blocking data-parallel wrapper the update is only marked due. An error in the data that the
 * parameters' device has found (a target that there is not) is returned, and nothing is updated.
 * One that it finds only later is returned by whatever waits for the device next; until then it
 * updates nothing, though these steps count: go on from a checkpoint. */
HT_API ht_status ht_optimizer_step(ht_optimizer *optimizer);

/* Limits gradients, between backward and step; parameters without one are left out. Under a
 * data-parallel wrapper they are the averages, which this waits for: collective there, and the same
 * on all ranks; elsewhere not collective. In the middle of a group of its accumulation_steps, where
 * step() does nothing, these do nothing either: such parameters are left out, and with nothing else
 * in the list the norm is 0. Gradients must not be split. Source: torch.nn.utils.
 *
 * norm: of all gradients as one vector, summed in double in an order that depends on shapes alone;
 * norm_type 1, 2 or INFINITY. Where it is above max_norm, gradients *= max_norm / (norm + 1e-6).
 * Returns the norm before, NaN after an error; error_if_nonfinite makes an infinite or NaN norm one
 * (HT_ERR_ARGUMENT), with nothing changed.
 *
 * value: each element to [-limit, limit]; NaN stays. */
HT_API double ht_clip_grad_norm_(ht_value *parameters, double max_norm, double norm_type,
                                 bool error_if_nonfinite);
HT_API ht_status ht_clip_grad_value_(ht_value *parameters, double limit);

/* How a data-parallel wrapper is to run this optimizer's step, whatever its own setting: at once
 * (blocking), or with each layer's next forward. Returns `optimizer`. Not collective. Source:
 * heat.optim.DataParallelOptimizer, which wraps an optimizer for the same purpose. */
HT_API ht_optimizer *ht_optim_data_parallel(ht_optimizer *optimizer, bool blocking);

/* Forgets the gradients: the next backward pass overwrites them. */
HT_API ht_status ht_optimizer_zero_grad(ht_optimizer *optimizer);

/* The learning rate of the first group; set: of all groups. */
HT_API double ht_optimizer_lr(const ht_optimizer *optimizer);
HT_API ht_status ht_optimizer_set_lr(ht_optimizer *optimizer, double lr);

/* Groups, counted from 0: a constructor makes the first. group_of: of a parameter by its place, -1
 * when there is none. NAN: no such group. A rate that is set acts from the next step() on. */
HT_API int ht_optimizer_group_count(const ht_optimizer *optimizer);
HT_API int ht_optimizer_group_of(const ht_optimizer *optimizer, int index);
HT_API double ht_optimizer_group_lr(const ht_optimizer *optimizer, int group);
HT_API ht_status ht_optimizer_set_group_lr(ht_optimizer *optimizer, int group, double lr);

/* A line for each group: the optimizer's name, how many parameters, options, learning rate. */
HT_API void ht_optimizer_print(const ht_optimizer *optimizer, FILE *stream);

/* Parameters in order, group by group, and one's state tensors by name ("exp_avg"; NULL before the
 * first step). Borrowed. Reading state finishes an outstanding deferred update first. */
HT_API int ht_optimizer_parameter_count(const ht_optimizer *optimizer);
HT_API ht_tensor *ht_optimizer_parameter(const ht_optimizer *optimizer, int index);
HT_API ht_tensor *ht_optimizer_state(ht_optimizer *optimizer, int index, const char *name);
HT_API int64_t ht_optimizer_steps(const ht_optimizer *optimizer);

/* torch's state_dict, as a map:
 *
 *     "optimizer":    {"Adam": 1}
 *     "step":         calls of step() so far
 *     "param_groups": [{"lr", "initial_lr" (with a schedule), each option by its name, "params":
 *                       int64 tensor of places in "state"}, ...]
 *     "state":        [{"step", each tensor by its name, once there was an update}, ...]
 *
 * The tensors are the optimizer's own: copy those that are to stay as they are. Finishes an
 * outstanding deferred update first, and so does loading, which copies and takes the options over,
 * too. HT_ERR_FORMAT, with nothing changed and the first difference named, when a state does not
 * fit. Under a data-parallel wrapper every rank loads the same. Scoped. */
HT_API ht_value *ht_optimizer_state_dict(ht_optimizer *optimizer);
HT_API ht_status ht_optimizer_load_state_dict(ht_optimizer *optimizer, const ht_value *state);

/* Schedules hold the optimizer (retained) and set the learning rate of each of its groups at each
 * step, usually once an epoch, from the rate that it has: several can be combined. Owned. Source:
 * torch.optim.lr_scheduler, with its bits. Under a data-parallel wrapper every rank has its own and
 * steps it alike.
 *
 * lr *= gamma after every step_size epochs. */
HT_API ht_scheduler *ht_optim_step_lr(ht_optimizer *optimizer, int64_t step_size, double gamma);

/* lr *= gamma at each of `count` epochs (copied; counted from 1, in any order). */
HT_API ht_scheduler *ht_optim_multi_step_lr(ht_optimizer *optimizer, int count,
                                            const int64_t milestones[], double gamma);

/* lr *= gamma after every epoch. */
HT_API ht_scheduler *ht_optim_exponential_lr(ht_optimizer *optimizer, double gamma);

/* lr = eta_min + (first lr - eta_min) (1 + cos(pi epoch / t_max)) / 2. */
HT_API ht_scheduler *ht_optim_cosine_annealing_lr(ht_optimizer *optimizer, int64_t t_max,
                                                  double eta_min);

/* From start_factor times lr, at once, to end_factor times lr in total_iters epochs: with 0 < start
 * < end = 1, a warm-up. */
HT_API ht_scheduler *ht_optim_linear_lr(ht_optimizer *optimizer, double start_factor,
                                        double end_factor, int64_t total_iters);

typedef struct ht_reduce_lr_on_plateau_options {
    size_t size;
    bool maximize;    /* false: the metric is to fall */
    double factor;    /* 0.1 */
    int64_t patience; /* 10: epochs without improvement that are borne */
    double threshold; /* 1e-4: an improvement is at least this part of the best, */
    bool absolute;    /* or with true, at least this; false */
    int64_t cooldown; /* 0: epochs after a reduction in which none are counted */
    double min_lr;    /* 0 */
    double eps;       /* 1e-8: a reduction by no more than this is not made */
} ht_reduce_lr_on_plateau_options;

HT_API ht_reduce_lr_on_plateau_options ht_reduce_lr_on_plateau_options_default(void);

/* lr *= factor when the metric has not improved for more than `patience` epochs. */
HT_API ht_scheduler *ht_optim_reduce_lr_on_plateau(ht_optimizer *optimizer,
                                                   const ht_reduce_lr_on_plateau_options *options);

/* The end of an epoch. step_metric is for the schedule above, and takes the metric, which must be
 * the same on every rank of a data-parallel run; the others ignore it. */
HT_API ht_status ht_scheduler_step(ht_scheduler *scheduler);
HT_API ht_status ht_scheduler_step_metric(ht_scheduler *scheduler, double metric);
HT_API int64_t ht_scheduler_epoch(const ht_scheduler *scheduler);

/* The epoch and what else a schedule remembers, as a map of numbers; the learning rate itself is
 * the optimizer's. Loading: HT_ERR_FORMAT, with nothing changed, when a state does not fit. Scoped.
 */
HT_API ht_value *ht_scheduler_state_dict(ht_scheduler *scheduler);
HT_API ht_status ht_scheduler_load_state_dict(ht_scheduler *scheduler, const ht_value *state);

HT_END_DECLS
#endif
