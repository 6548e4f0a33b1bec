/* SPDX-License-Identifier: MIT
 *
 * Optimizers and learning-rate schedules. Constructors take a list value of parameters
 * (ht_module_parameters) and return owned optimizers. Not collective. Source: torch.optim. */
#ifndef HT_OPTIM_H
#define HT_OPTIM_H

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
    double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8, 0 */
    bool maximize;
} ht_adam_options;

typedef struct ht_adamw_options {
    size_t size;
    double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8, 0.01 */
    bool maximize;
} ht_adamw_options;

typedef struct ht_adadelta_options {
    size_t size;
    double rho, eps, weight_decay; /* 0.9, 1e-6, 0 */
    bool maximize;
} ht_adadelta_options;

typedef struct ht_rmsprop_options {
    size_t size;
    double alpha, eps, weight_decay, momentum; /* 0.99, 1e-8, 0, 0 */
    bool centered, maximize;
} ht_rmsprop_options;

HT_API ht_sgd_options ht_sgd_options_default(void);
HT_API ht_adam_options ht_adam_options_default(void);
HT_API ht_adamw_options ht_adamw_options_default(void);
HT_API ht_adadelta_options ht_adadelta_options_default(void);
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

/* v = alpha v + (1 - alpha) g^2, p -= lr g / (sqrt(v) + eps); centered: v less the square of the
 * running mean of g; momentum: the quotients are accumulated in a buffer. */
HT_API ht_optimizer *ht_optim_rmsprop(ht_value *parameters, double lr,
                                      const ht_rmsprop_options *options);

/* One update from the gradients that are there; parameters without one are left alone. Under a
 * non-blocking data-parallel wrapper the update is only marked due. */
HT_API ht_status ht_optimizer_step(ht_optimizer *optimizer);

/* Forgets the gradients: the next backward pass overwrites them. */
HT_API ht_status ht_optimizer_zero_grad(ht_optimizer *optimizer);

HT_API double ht_optimizer_lr(const ht_optimizer *optimizer);
HT_API ht_status ht_optimizer_set_lr(ht_optimizer *optimizer, double lr);

/* Parameters in order, and one's state tensors by name ("exp_avg"; NULL before the first step).
 * Borrowed. Reading state finishes an outstanding deferred update first. */
HT_API int ht_optimizer_parameter_count(const ht_optimizer *optimizer);
HT_API ht_tensor *ht_optimizer_parameter(const ht_optimizer *optimizer, int index);
HT_API ht_tensor *ht_optimizer_state(ht_optimizer *optimizer, int index, const char *name);
HT_API int64_t ht_optimizer_steps(const ht_optimizer *optimizer);

/* Schedules hold the optimizer and set its learning rate at each step (usually once an epoch). */
HT_API ht_scheduler *ht_optim_step_lr(ht_optimizer *optimizer, int64_t step_size, double gamma);
HT_API ht_status ht_scheduler_step(ht_scheduler *scheduler);
HT_API int64_t ht_scheduler_epoch(const ht_scheduler *scheduler);

HT_END_DECLS
#endif
