/* SPDX-License-Identifier: MIT
 *
 * Optimizers and learning-rate schedules.
 *
 * In the formulas, p is a parameter, lr the learning rate of its group and g = gradient +
 * weight_decay p. With maximize, g = -gradient + weight_decay p. In AdamW, g has no weight decay.
 * Running means and sums start at 0 unless a block says otherwise.
 *
 * Arguments that many functions share:
 *
 * parameters: a list value, such as ht_module_parameters returns. Its entries are different leaves
 * of dtype float32 or float64, and not read-only views. The optimizer retains each.
 * lr: a finite number of at least 0.
 * options: NULL takes the defaults. A coefficient of a running mean is in [0, 1); every other
 * number is finite and at least 0.
 *
 * Not collective, unless a block says otherwise. Constructors return owned objects, or NULL after
 * an error. Errors of constructors: HT_ERR_ARGUMENT for a value out of range, with the value and
 * the range in the message, and for an empty list of parameters; HT_ERR_DTYPE for a parameter of
 * another dtype. A function with a status, or that makes an object, has HT_ERR_ARGUMENT for a NULL
 * optimizer or schedule. Source: torch.optim, torch.optim.lr_scheduler. */
#ifndef HT_OPTIM_H
#define HT_OPTIM_H

#include <stdio.h>

#include "ht/tensor.h"
#include "ht/value.h"

HT_BEGIN_DECLS

typedef struct ht_sgd_options {
    size_t size;                              /* of this struct; set by the default function */
    double momentum, dampening, weight_decay; /* 0, 0, 0 */
    bool nesterov, maximize;                  /* false, false */
} ht_sgd_options;

typedef struct ht_adam_options {
    size_t size;                            /* of this struct; set by the default function */
    double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8, 0 (AdamW: 0.01) */
    bool maximize;                          /* false */
} ht_adam_options;
typedef ht_adam_options ht_adamw_options, ht_adamax_options;

typedef struct ht_adadelta_options {
    size_t size;                   /* of this struct; set by the default function */
    double rho, eps, weight_decay; /* 0.9, 1e-6, 0 */
    bool maximize;                 /* false */
} ht_adadelta_options;

typedef struct ht_adagrad_options {
    size_t size; /* of this struct; set by the default function */
    double lr_decay, weight_decay, initial_accumulator_value, eps; /* 0, 0, 0, 1e-10 */
    bool maximize;                                                 /* false */
} ht_adagrad_options;

typedef struct ht_rmsprop_options {
    size_t size;                               /* of this struct; set by the default function */
    double alpha, eps, weight_decay, momentum; /* 0.99, 1e-8, 0, 0 */
    bool centered, maximize;                   /* false, false */
} ht_rmsprop_options;

typedef struct ht_nadam_options {
    size_t size;                            /* of this struct; set by the default function */
    double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8, 0 */
    double momentum_decay;                  /* 4e-3 */
    bool decoupled_weight_decay, maximize;  /* false, false */
} ht_nadam_options;

typedef struct ht_radam_options {
    size_t size;                            /* of this struct; set by the default function */
    double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8, 0 */
    bool decoupled_weight_decay, maximize;  /* false, false */
} ht_radam_options;

typedef struct ht_rprop_options {
    size_t size;                         /* of this struct; set by the default function */
    double etaminus, etaplus;            /* 0.5, 1.2 */
    double step_size_min, step_size_max; /* 1e-6, 50 */
    bool maximize;                       /* false */
} ht_rprop_options;

typedef struct ht_asgd_options {
    size_t size;                           /* of this struct; set by the default function */
    double lambd, alpha, t0, weight_decay; /* 1e-4, 0.75, 1e6, 0 */
    bool maximize;                         /* false */
} ht_asgd_options;

typedef struct ht_sparse_adam_options {
    size_t size;              /* of this struct; set by the default function */
    double beta1, beta2, eps; /* 0.9, 0.999, 1e-8 */
    bool maximize;            /* false */
} ht_sparse_adam_options;

typedef struct ht_adafactor_options {
    size_t size;            /* of this struct; set by the default function */
    double beta2_decay;     /* -0.8; at most 0 */
    double eps1, eps2;      /* 0: the dtype's distance from 1 to the next number; 1e-3 */
    double d, weight_decay; /* 1, 0; d is at least 1 */
    bool maximize;          /* false */
} ht_adafactor_options;

/* How ht_optim_muon adjusts the rate to a matrix of `rows` and `columns`: lr times that factor. */
typedef enum ht_muon_adjust_lr {
    HT_MUON_ORIGINAL,          /* sqrt(max(1, rows / columns)) */
    HT_MUON_MATCH_RMS_ADAMW,   /* 0.2 sqrt(max(rows, columns)) */
    HT_MUON_SPECTRAL_UNCLAMPED /* sqrt(rows / columns) */
} ht_muon_adjust_lr;

typedef struct ht_muon_options {
    size_t size;                   /* of this struct; set by the default function */
    double weight_decay, momentum; /* 0.1, 0.95 */
    bool nesterov;                 /* true */
    double a, b, c;                /* 3.4445, -4.7750, 2.0315: torch's ns_coefficients; finite */
    double eps;                    /* 1e-7 */
    int ns_steps;                  /* 5; 0 to 99 */
    int adjust_lr;                 /* HT_MUON_ORIGINAL; an ht_muon_adjust_lr */
} ht_muon_options;

typedef struct ht_lbfgs_options {
    size_t size;             /* of this struct; set by the default function */
    int max_iter, max_eval;  /* 20 iterations and 0 evaluations of a step; 0: 5 / 4 of max_iter */
    double tolerance_grad;   /* 1e-7: the largest element of a gradient that is small enough */
    double tolerance_change; /* 1e-9: the same of the loss's or the parameters' change */
    int history_size;        /* 100 */
    bool strong_wolfe;       /* false: steps have length lr; true: a line search finds it */
    bool maximize;           /* false */
} ht_lbfgs_options;

/* Returns the default options of ht_optim_sgd: every number 0, every flag false. */
HT_API ht_sgd_options ht_sgd_options_default(void);

/* Returns the default options of ht_optim_adam: beta1 0.9, beta2 0.999, eps 1e-8, weight_decay 0,
 * maximize false. */
HT_API ht_adam_options ht_adam_options_default(void);

/* Returns the default options of ht_optim_adamw: those of ht_adam_options_default with weight_decay
 * 0.01. */
HT_API ht_adamw_options ht_adamw_options_default(void);

/* Returns the default options of ht_optim_adamax: those of ht_adam_options_default. */
HT_API ht_adamax_options ht_adamax_options_default(void);

/* Returns the default options of ht_optim_adadelta: rho 0.9, eps 1e-6, weight_decay 0, maximize
 * false. */
HT_API ht_adadelta_options ht_adadelta_options_default(void);

/* Returns the default options of ht_optim_adagrad: eps 1e-10, every other number 0, maximize
 * false. */
HT_API ht_adagrad_options ht_adagrad_options_default(void);

/* Returns the default options of ht_optim_rmsprop: alpha 0.99, eps 1e-8, every other number 0,
 * every flag false. */
HT_API ht_rmsprop_options ht_rmsprop_options_default(void);

/* Returns the default options of ht_optim_nadam: beta1 0.9, beta2 0.999, eps 1e-8, weight_decay 0,
 * momentum_decay 4e-3, every flag false. */
HT_API ht_nadam_options ht_nadam_options_default(void);

/* Returns the default options of ht_optim_radam: beta1 0.9, beta2 0.999, eps 1e-8, weight_decay 0,
 * every flag false. */
HT_API ht_radam_options ht_radam_options_default(void);

/* Returns the default options of ht_optim_rprop: etaminus 0.5, etaplus 1.2, step_size_min 1e-6,
 * step_size_max 50, maximize false. */
HT_API ht_rprop_options ht_rprop_options_default(void);

/* Returns the default options of ht_optim_asgd: lambd 1e-4, alpha 0.75, t0 1e6, weight_decay 0,
 * maximize false. */
HT_API ht_asgd_options ht_asgd_options_default(void);

/* Returns the default options of ht_optim_sparse_adam: beta1 0.9, beta2 0.999, eps 1e-8, maximize
 * false. */
HT_API ht_sparse_adam_options ht_sparse_adam_options_default(void);

/* Returns the default options of ht_optim_adafactor, given at each field. */
HT_API ht_adafactor_options ht_adafactor_options_default(void);

/* Returns the default options of ht_optim_muon, given at each field. */
HT_API ht_muon_options ht_muon_options_default(void);

/* Returns the default options of ht_optim_lbfgs, given at each field. */
HT_API ht_lbfgs_options ht_lbfgs_options_default(void);

/* Stochastic gradient descent: p -= lr g.
 *
 * With momentum, v = momentum v + (1 - dampening) g, then p -= lr v. The first v is g. With
 * nesterov, p -= lr (g + momentum v).
 *
 * parameters, lr, options: see the top. nesterov needs momentum above 0 and dampening 0.
 * Source: torch.optim.SGD. */
HT_API ht_optimizer *ht_optim_sgd(ht_value *parameters, double lr, const ht_sgd_options *options);

/* Adam: p -= lr m' / (sqrt(v') + eps).
 *
 * The running means are m = beta1 m + (1 - beta1) g and v = beta2 v + (1 - beta2) g^2. In step t,
 * counted from 1, m' = m / (1 - beta1^t) and v' = v / (1 - beta2^t).
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.Adam. */
HT_API ht_optimizer *ht_optim_adam(ht_value *parameters, double lr, const ht_adam_options *options);

/* Adadelta: p -= lr d with d = sqrt(u + eps) / sqrt(v + eps) g.
 *
 * v = rho v + (1 - rho) g^2, and after d, u = rho u + (1 - rho) d^2.
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.Adadelta. */
HT_API ht_optimizer *ht_optim_adadelta(ht_value *parameters, double lr,
                                       const ht_adadelta_options *options);

/* AdamW: ht_optim_adam with decoupled weight decay.
 *
 * p *= 1 - lr weight_decay comes before the update; weight decay does not enter the running means.
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.AdamW. */
HT_API ht_optimizer *ht_optim_adamw(ht_value *parameters, double lr,
                                    const ht_adamw_options *options);

/* Adamax: p -= lr m' / u with u = max(beta2 u, |g| + eps).
 *
 * m' is that of ht_optim_adam. The new u is the state of the next step.
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.Adamax. */
HT_API ht_optimizer *ht_optim_adamax(ht_value *parameters, double lr,
                                     const ht_adamax_options *options);

/* Adagrad: v = v + g^2, p -= lr / (1 + t lr_decay) g / (sqrt(v) + eps).
 *
 * v starts at initial_accumulator_value. t counts the steps of the parameter from 0.
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.Adagrad. */
HT_API ht_optimizer *ht_optim_adagrad(ht_value *parameters, double lr,
                                      const ht_adagrad_options *options);

/* RMSprop: v = alpha v + (1 - alpha) g^2, p -= lr d with d = g / (sqrt(v) + eps).
 *
 * With centered, v less the square of the running mean of g takes the place of v in d. A negative
 * difference counts as 0. With momentum, b = momentum b + d, then p -= lr b.
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.RMSprop. */
HT_API ht_optimizer *ht_optim_rmsprop(ht_value *parameters, double lr,
                                      const ht_rmsprop_options *options);

/* NAdam: p -= lr ((1 - mu_t) g / (1 - M_t) + mu_(t+1) m / (1 - M_t mu_(t+1))) / (sqrt(v') + eps).
 *
 * m, v and v' are those of ht_optim_adam, mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2) and M_t =
 * mu_1 ... mu_t. With decoupled_weight_decay, p *= 1 - lr weight_decay comes first, and g is without
 * weight decay.
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.NAdam. */
HT_API ht_optimizer *ht_optim_nadam(ht_value *parameters, double lr,
                                    const ht_nadam_options *options);

/* RAdam: p -= lr m' r sqrt(1 - beta2^t) / (sqrt(v) + eps), or p -= lr m' in the first steps.
 *
 * m' and v are those of ht_optim_adam. decoupled_weight_decay acts as in ht_optim_nadam. The first
 * steps are those with rho of at most 5:
 *
 *     R = 2 / (1 - beta2) - 1
 *     rho = R - 2 t beta2^t / (1 - beta2^t)
 *     r = sqrt((rho - 4) (rho - 2) R / ((R - 4) (R - 2) rho))
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.RAdam. */
HT_API ht_optimizer *ht_optim_radam(ht_value *parameters, double lr,
                                    const ht_radam_options *options);

/* Rprop: p -= sign(g) s, with a step size s for each element, which starts at lr.
 *
 * s is multiplied by etaplus where g has the sign of the step before, and by etaminus where it has
 * the other sign. There g counts as 0, and the next step leaves s. s is limited to [step_size_min,
 * step_size_max]. Later changes of the rate have no effect.
 *
 * parameters, lr: see the top.
 * options: see the top. etaminus is in (0, 1), etaplus above 1.
 * Source: torch.optim.Rprop. */
HT_API ht_optimizer *ht_optim_rprop(ht_value *parameters, double lr,
                                    const ht_rprop_options *options);

/* ASGD, averaged gradient descent: p = (1 - lambd eta) p - eta g.
 *
 * After step t, counted from 1, eta = lr / (1 + lambd lr t)^alpha; it starts at lr. The state "ax"
 * is the mean of p over the steps after t0: ax += mu (p - ax) with mu = 1 / max(1, t - 1 - t0).
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.ASGD. */
HT_API ht_optimizer *ht_optim_asgd(ht_value *parameters, double lr, const ht_asgd_options *options);

/* SparseAdam: ht_optim_adam in the rows whose gradient is not zero, for the weights of embeddings.
 *
 * p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps) in those rows. A row is an index of
 * the first axis. Rows whose gradient is zero keep their values and their moments, although t counts
 * every step. libht has no sparse gradients: a row that torch would list with a gradient of zeros is
 * left alone here.
 *
 * parameters, lr: see the top.
 * options: see the top. eps is above 0.
 * Collective if a parameter is split along another axis than the first.
 * Source: torch.optim.SparseAdam. */
HT_API ht_optimizer *ht_optim_sparse_adam(ht_value *parameters, double lr,
                                          const ht_sparse_adam_options *options);

/* Adafactor: p -= a u / max(1, rms(u) / d) with u = g / sqrt(max(v, eps1^2)).
 *
 * a = max(eps2, rms(p)) min(lr, 1 / sqrt(t)), where rms is the root of the mean square of all
 * elements. The state of a matrix is a row and a column: running means of the mean squares of its
 * rows and of its columns. v is their product, divided by the mean of the rows' (at least eps1). A
 * parameter of fewer than 2 axes has v itself as its state; more axes are batches of matrices. The
 * running means have weight t^beta2_decay for the new value. With weight_decay, p *= 1 - lr
 * weight_decay comes first, and g is without weight decay.
 *
 * parameters, lr: see the top.
 * options: see the top and the struct.
 * Steps are collective if a parameter is split.
 * Source: torch.optim.Adafactor. */
HT_API ht_optimizer *ht_optim_adafactor(ht_value *parameters, double lr,
                                        const ht_adafactor_options *options);

/* Muon: p -= lr f O, where O is nearly the orthogonal matrix next to the momentum.
 *
 * With m = momentum m + (1 - momentum) g, the matrix is x = m, or with nesterov x = (1 - momentum) g
 * + momentum m. O is x / norm(x) after ns_steps times x = a x + (b A + c A A) x, where A = x x^T; of a
 * tall matrix, x^T takes the place of x. The iteration works on bfloat16. f is the factor of
 * adjust_lr. p *= 1 - lr weight_decay comes first, and g is without weight decay.
 *
 * parameters: as at the top, all with 2 axes. Use another optimizer for biases and embeddings.
 * lr: see the top.
 * options: see the top and the struct.
 * Steps are collective if a parameter is split.
 * Errors: HT_ERR_SHAPE for a parameter that is not a matrix.
 * Source: torch.optim.Muon. */
HT_API ht_optimizer *ht_optim_muon(ht_value *parameters, double lr, const ht_muon_options *options);

/* L-BFGS: iterations p += t d, where d is the gradient times an approximate inverse Hessian.
 *
 * A step evaluates the loss several times: call ht_optimizer_step_with. It ends after max_iter
 * iterations or max_eval evaluations, or when a tolerance is reached. t is lr, in the very first
 * iteration lr min(1, 1 / sum |g|). With strong_wolfe, t is found by a line search from there. The
 * memory holds 2 history_size + 2 vectors of all parameters, and is part of the state.
 *
 * All ranks must take the same decisions. With parameters that ranks share, the closure returns the
 * same loss on all of them. A data-parallel wrapper averages the gradients; give it no optimizer.
 *
 * parameters, lr: see the top. There is one group only.
 * options: NULL takes the defaults.
 * Source: torch.optim.LBFGS. */
HT_API ht_optimizer *ht_optim_lbfgs(ht_value *parameters, double lr,
                                    const ht_lbfgs_options *options);

/* Adds a group of parameters to an optimizer made by ht_optim_sgd (torch's param_groups).
 *
 * The group has its own hyperparameters and learning rate. Add groups before the optimizer goes to
 * a data-parallel wrapper. A schedule changes each group from the group's own rate.
 *
 * optimizer: gets the group; unchanged after an error.
 * parameters, lr: as for ht_optim_sgd; no parameter is in the optimizer already.
 * options: NULL takes those of the first group.
 * Errors: HT_ERR_ARGUMENT for an optimizer of another kind, or a parameter that it already has;
 * HT_ERR_STATE under a wrapper. */
HT_API ht_status ht_optim_sgd_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                              double lr, const ht_sgd_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_adam: adds to `optimizer` a group
 * of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_adam_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                               double lr, const ht_adam_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_adamw: adds to `optimizer` a group
 * of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_adamw_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                double lr, const ht_adamw_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_adamax: adds to `optimizer` a
 * group of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_adamax_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                 double lr, const ht_adamax_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_adadelta: adds to `optimizer` a
 * group of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_adadelta_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                   double lr, const ht_adadelta_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_adagrad: adds to `optimizer` a
 * group of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_adagrad_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                  double lr, const ht_adagrad_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_rmsprop: adds to `optimizer` a
 * group of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_rmsprop_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                  double lr, const ht_rmsprop_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_nadam: adds to `optimizer` a group
 * of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_nadam_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                double lr, const ht_nadam_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_radam: adds to `optimizer` a group
 * of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_radam_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                double lr, const ht_radam_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_rprop: adds to `optimizer` a group
 * of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_rprop_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                double lr, const ht_rprop_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_asgd: adds to `optimizer` a group
 * of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_asgd_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                               double lr, const ht_asgd_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_sparse_adam: adds to `optimizer` a
 * group of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_sparse_adam_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                      double lr,
                                                      const ht_sparse_adam_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_adafactor: adds to `optimizer` a
 * group of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_adafactor_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                                    double lr, const ht_adafactor_options *options);

/* ht_optim_sgd_add_param_group for an optimizer made by ht_optim_muon: adds to `optimizer` a
 * group of `parameters` with rate `lr` and `options` (NULL: the first group's). Same errors. */
HT_API ht_status ht_optim_muon_add_param_group(ht_optimizer *optimizer, ht_value *parameters,
                                               double lr, const ht_muon_options *options);

/* Updates all parameters that have a gradient; others keep their values.
 *
 * Under a non-blocking data-parallel wrapper, this only marks the update as due. In the middle of a
 * group of accumulation_steps passes (ht_data_parallel_options), this does nothing.
 *
 * Data can be in error on a device: a target class that does not exist, for instance. If the device
 * of a parameter has already found such an error, this returns it and updates nothing. If the
 * device finds it later, the next call that waits for the device returns it. Until then the device
 * updates nothing, although the steps count: resume from a checkpoint.
 *
 * optimizer: the one to step. Not one of ht_optim_lbfgs.
 * Errors: HT_ERR_STATE if a parameter has changed its shape or device since its first step. */
HT_API ht_status ht_optimizer_step(ht_optimizer *optimizer);

/* Scales all gradients so that their common norm is at most max_norm: gradients *= max_norm / (norm
 * + 1e-6) where that factor is below 1.
 *
 * Call it between backward and step. The norm is that of all gradients as one vector. It is summed
 * in double, in an order that depends on shapes alone. Parameters without a gradient are left out.
 *
 * Under a data-parallel wrapper the gradients are the averages, and this waits for them. In the
 * middle of a group of accumulation_steps passes (ht_data_parallel_options), parameters of the
 * wrapper are left out; if none remains, the norm is 0.
 *
 * parameters: a list of tensors; their gradients are floating-point and not split.
 * max_norm: at least 0.
 * norm_type: above 0; INFINITY is the largest element.
 * error_if_nonfinite: true makes an infinite or NaN norm an error, HT_ERR_ARGUMENT; the gradients
 * then stay as they are.
 * Collective under a data-parallel wrapper, with the same bits on all ranks; else not collective.
 * Result: the norm before scaling; NaN after an error.
 * Errors: HT_ERR_ARGUMENT for a value out of range or a split gradient; HT_ERR_DTYPE.
 * Source: torch.nn.utils.clip_grad_norm_. */
HT_API double ht_clip_grad_norm_(ht_value *parameters, double max_norm, double norm_type,
                                 bool error_if_nonfinite);

/* Clears the gradients, computes the loss and its gradients (ht_backward), and returns the loss: a
 * tensor of one element, or NULL after an error. `user` is passed through. */
typedef ht_tensor *ht_loss_fn(void *user);

/* ht_optimizer_step after a call of closure; ht_optim_lbfgs calls it as often as it needs.
 *
 * Gradients are recorded during the call. Hooks before the step run after the closure; those of
 * ht_optim_lbfgs run before it.
 *
 * optimizer: the one to step.
 * closure: called with user.
 * loss: receives the loss of the first call; NULL: not wanted.
 * Errors: those of the closure and of ht_optimizer_step; HT_ERR_STATE for ht_optim_lbfgs under a
 * data-parallel wrapper.
 * Source: torch.optim.Optimizer.step(closure). */
HT_API ht_status ht_optimizer_step_with(ht_optimizer *optimizer, ht_loss_fn *closure, void *user,
                                        double *loss);

/* Returns (sum |x|^norm_type)^(1 / norm_type) over all elements of all tensors.
 *
 * tensors: a list of floating-point tensors that are not split: gradients, for instance.
 * norm_type: above 0; INFINITY is the largest element.
 * error_if_nonfinite: true makes an infinite or NaN norm an error, HT_ERR_ARGUMENT.
 * Result: NaN after an error, 0 for an empty list.
 * Errors: HT_ERR_ARGUMENT for a split tensor; HT_ERR_DTYPE.
 * Source: torch.nn.utils.get_total_norm. */
HT_API double ht_get_total_norm(ht_value *tensors, double norm_type, bool error_if_nonfinite);

/* The second half of ht_clip_grad_norm_: gradients *= max_norm / (total_norm + 1e-6) where that
 * factor is below 1.
 *
 * parameters, max_norm: as for ht_clip_grad_norm_.
 * total_norm: the norm of all gradients; NaN makes all of them NaN.
 * Collective as ht_clip_grad_norm_ is.
 * Errors: those of ht_clip_grad_norm_.
 * Source: torch.nn.utils.clip_grads_with_norm_. */
HT_API ht_status ht_clip_grads_with_norm_(ht_value *parameters, double max_norm, double total_norm);

/* Joins the elements of all parameters, in their order, into one vector.
 *
 * parameters: a list of tensors, at least one.
 * Collective if a parameter is split. Differentiable.
 * Result: (elements), of the dtype to which all promote; scoped.
 * Errors: HT_ERR_ARGUMENT for an empty list or an entry that is not a tensor.
 * Source: torch.nn.utils.parameters_to_vector. */
HT_API ht_tensor *ht_parameters_to_vector(ht_value *parameters);

/* Sets the parameters to the elements of a vector, as ht_parameters_to_vector lays them out.
 *
 * vector: (elements of all parameters); converted to their dtypes. Not retained.
 * parameters: a list of tensors, at least one.
 * Collective if a parameter is split.
 * Errors: HT_ERR_SHAPE for a vector of another length; HT_ERR_ARGUMENT as for
 * ht_parameters_to_vector.
 * Source: torch.nn.utils.vector_to_parameters. */
HT_API ht_status ht_vector_to_parameters(ht_tensor *vector, ht_value *parameters);

/* Limits each element of each gradient to [-limit, limit]; NaN stays.
 *
 * parameters: as for ht_clip_grad_norm_, with the same exceptions under a data-parallel wrapper.
 * limit: at least 0.
 * Collective as ht_clip_grad_norm_ is.
 * Errors: HT_ERR_ARGUMENT for a limit below 0 or a split gradient; HT_ERR_DTYPE.
 * Source: torch.nn.utils.clip_grad_value_. */
HT_API ht_status ht_clip_grad_value_(ht_value *parameters, double limit);

/* A hook of steps: it gets the optimizer, and `user` of its registration. Anything but HT_SUCCESS
 * ends the step, which returns that. */
typedef ht_status ht_step_hook_fn(ht_optimizer *optimizer, void *user);

/* Registers a hook that runs with user before each step of optimizer.
 *
 * Hooks run in the order of their registration. A hook may register and remove hooks. It does not run
 * for calls of ht_optimizer_step that do nothing because gradients are accumulated.
 *
 * user: not owned.
 * Result: an id for ht_optimizer_remove_hook; 0 after an error and never otherwise.
 * Errors: HT_ERR_ARGUMENT if optimizer or hook is NULL.
 * Source: torch.optim.Optimizer.register_step_pre_hook. */
HT_API uint64_t ht_optimizer_register_step_pre_hook(ht_optimizer *optimizer, ht_step_hook_fn *hook,
                                                    void *user);

/* Registers a hook that runs with user after each step of optimizer that succeeded.
 *
 * Under a non-blocking data-parallel wrapper, updates may still be due then.
 * Order, result and errors are those of ht_optimizer_register_step_pre_hook. */
HT_API uint64_t ht_optimizer_register_step_post_hook(ht_optimizer *optimizer, ht_step_hook_fn *hook,
                                                     void *user);

/* Removes the hook with that id from optimizer.
 *
 * Errors: HT_ERR_ARGUMENT if it has no such hook. */
HT_API ht_status ht_optimizer_remove_hook(ht_optimizer *optimizer, uint64_t id);

/* Sets how a data-parallel wrapper runs the steps of this optimizer, and returns `optimizer`.
 *
 * This overrides the setting of the wrapper. NULL stays NULL.
 *
 * optimizer: changed and returned; no reference is added.
 * blocking: true updates at once; false updates each layer before its next forward pass.
 * Source: heat.optim.DataParallelOptimizer, which wraps an optimizer for the same purpose. */
HT_API ht_optimizer *ht_optim_data_parallel(ht_optimizer *optimizer, bool blocking);

/* Clears the gradients of all parameters of `optimizer`: the next backward pass overwrites them.
 * Until then ht_tensor_grad gives NULL.
 *
 * In the middle of a group of accumulation_steps passes of a data-parallel wrapper, this does
 * nothing. */
HT_API ht_status ht_optimizer_zero_grad(ht_optimizer *optimizer);

/* Returns the learning rate of the first group of `optimizer`; NaN if it is NULL. */
HT_API double ht_optimizer_lr(const ht_optimizer *optimizer);

/* Sets the learning rate of all groups of `optimizer` to `lr`, from the next step on.
 *
 * Errors: HT_ERR_ARGUMENT unless lr is finite and at least 0. */
HT_API ht_status ht_optimizer_set_lr(ht_optimizer *optimizer, double lr);

/* Returns the number of groups of `optimizer`, 0 if it is NULL. The constructor makes group 0. */
HT_API int ht_optimizer_group_count(const ht_optimizer *optimizer);

/* Returns the group of parameter `index` of `optimizer`, or -1 if it has no such parameter. */
HT_API int ht_optimizer_group_of(const ht_optimizer *optimizer, int index);

/* Returns the learning rate of group `group` of `optimizer`, or NaN if it has no such group. */
HT_API double ht_optimizer_group_lr(const ht_optimizer *optimizer, int group);

/* Sets the learning rate of group `group` of `optimizer` to `lr`, from the next step on.
 *
 * Errors: HT_ERR_ARGUMENT if the group does not exist, or unless lr is finite and at least 0. */
HT_API ht_status ht_optimizer_set_group_lr(ht_optimizer *optimizer, int group, double lr);

/* Prints a line to `stream` for each group of `optimizer`: the optimizer's name, the number of
 * parameters, the options and the learning rate. */
HT_API void ht_optimizer_print(const ht_optimizer *optimizer, FILE *stream);

/* Returns the number of parameters (tensors, not elements) of `optimizer` in all groups, 0 if it is
 * NULL. */
HT_API int ht_optimizer_parameter_count(const ht_optimizer *optimizer);

/* Returns parameter `index` of `optimizer`, borrowed; NULL if it has no such parameter.
 *
 * Parameters are in the order of their lists, group by group. */
HT_API ht_tensor *ht_optimizer_parameter(const ht_optimizer *optimizer, int index);

/* Returns a state tensor of a parameter, borrowed. Finishes a pending deferred update first.
 *
 * optimizer: the owner of the state.
 * index: the index of the parameter (ht_optimizer_parameter).
 * name: the key of the tensor in ht_optimizer_state_dict, "exp_avg" for instance.
 * Result: NULL before the first step of the parameter, and for an unknown index or name. */
HT_API ht_tensor *ht_optimizer_state(ht_optimizer *optimizer, int index, const char *name);

/* Returns the number of steps of `optimizer` so far, 0 if it is NULL. */
HT_API int64_t ht_optimizer_steps(const ht_optimizer *optimizer);

/* Returns the state of `optimizer` as a map, as torch's state_dict does. Finishes a pending
 * deferred update first.
 *
 *     "optimizer":    {"Adam": 1}
 *     "step":         calls of step() so far
 *     "param_groups": [{"lr", "initial_lr" (with a schedule), each option by its name, "params":
 *                       int64 tensor of places in "state"}, ...]
 *     "state":        [{"step", each tensor by its name, once there was an update; NAdam's
 *                       "mu_product", ASGD's "eta"}, ...]
 *     "memory":       LBFGS's, by torch's names
 *
 * Result: scoped. The tensors are the optimizer's own, and change with it: copy those that must not
 * change. */
HT_API ht_value *ht_optimizer_state_dict(ht_optimizer *optimizer);

/* Loads a state of ht_optimizer_state_dict: copies its tensors, and takes its options and rates.
 *
 * Finishes a pending deferred update first. Under a data-parallel wrapper, every rank loads the
 * same state.
 *
 * optimizer: of the same kind, with the same groups and parameters; unchanged if the state does not
 * fit.
 * state: not retained.
 * Errors: HT_ERR_FORMAT, which names the first difference, if the state does not fit. */
HT_API ht_status ht_optimizer_load_state_dict(ht_optimizer *optimizer, const ht_value *state);

/* Makes a schedule with lr *= gamma after every step_size epochs.
 *
 * A schedule sets the learning rate of each group at each ht_scheduler_step, usually once an epoch.
 * It starts from the rate that the group has, so that several schedules can be combined. The rates
 * have the bits of torch's. Under a data-parallel wrapper every rank has its own schedule, and all
 * step theirs at the same point.
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

/* Makes a schedule with lr = eta_min + (first lr - eta_min) (1 + cos(pi epoch / t_max)) / 2.
 *
 * After t_max epochs the rate rises again.
 *
 * optimizer: retained. The first lr of a group is its rate when its first schedule was made.
 * t_max: in epochs, at least 1.
 * eta_min: finite, at least 0.
 * Result: owned.
 * Source: torch.optim.lr_scheduler.CosineAnnealingLR. */
HT_API ht_scheduler *ht_optim_cosine_annealing_lr(ht_optimizer *optimizer, int64_t t_max,
                                                  double eta_min);

/* Makes a schedule that goes linearly from start_factor lr to end_factor lr in total_iters epochs.
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
    int64_t patience; /* 10: epochs without improvement before a reduction */
    double threshold; /* 1e-4: an improvement is larger than this part of the best, */
    bool absolute;    /* or with true, larger than this; false */
    int64_t cooldown; /* 0: epochs after a reduction that do not count */
    double min_lr;    /* 0; no rate is reduced below it */
    double eps;       /* 1e-8: a reduction by at most this is not made */
} ht_reduce_lr_on_plateau_options;

/* Returns the default options of ht_optim_reduce_lr_on_plateau, given at each field. */
HT_API ht_reduce_lr_on_plateau_options ht_reduce_lr_on_plateau_options_default(void);

/* Makes a schedule with lr *= factor when a metric has not improved for more than `patience`
 * epochs.
 *
 * It is stepped by ht_scheduler_step_metric. NaN is not an improvement.
 *
 * optimizer: retained.
 * options: NULL takes the defaults.
 * Result: owned.
 * Source: torch.optim.lr_scheduler.ReduceLROnPlateau. */
HT_API ht_scheduler *ht_optim_reduce_lr_on_plateau(ht_optimizer *optimizer,
                                                   const ht_reduce_lr_on_plateau_options *options);

/* Ends an epoch of `scheduler`: counts it and sets the learning rates.
 *
 * Errors: HT_ERR_ARGUMENT for a schedule that needs a metric. */
HT_API ht_status ht_scheduler_step(ht_scheduler *scheduler);

/* ht_scheduler_step with the metric of the epoch.
 *
 * scheduler: ht_optim_reduce_lr_on_plateau reads the metric; other schedules ignore it.
 * metric: the same on every rank of a data-parallel run. */
HT_API ht_status ht_scheduler_step_metric(ht_scheduler *scheduler, double metric);

/* Returns the number of epochs that `scheduler` has ended, 0 if it is NULL. */
HT_API int64_t ht_scheduler_epoch(const ht_scheduler *scheduler);

/* Returns the state of `scheduler` as a map of numbers, scoped: "last_epoch" and the numbers of its
 * rule. The learning rates are part of the optimizer's state. */
HT_API ht_value *ht_scheduler_state_dict(ht_scheduler *scheduler);

/* Loads a state of ht_scheduler_state_dict.
 *
 * scheduler: of the same kind; unchanged if the state does not fit.
 * state: not retained.
 * Errors: HT_ERR_FORMAT if a number is missing or invalid. */
HT_API ht_status ht_scheduler_load_state_dict(ht_scheduler *scheduler, const ht_value *state);

HT_END_DECLS
#endif
