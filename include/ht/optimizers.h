/* SPDX-License-Identifier: MIT
 *
 * The optimizers. ht/optim.h steps them.
 *
 * In the formulas, p is a parameter, lr the learning rate of its parameter group and g = gradient +
 * weight_decay p. With maximize, g = -gradient + weight_decay p. In AdamW, g has no weight decay.
 * Running means and sums start at 0 unless a block says otherwise.
 *
 * Arguments that many functions share:
 *
 * parameters: a list value, such as ht_module_parameters returns, or a map of tensors; one tensor
 * is neither. The entries are different leaves of dtype float32 or float64, and not read-only
 * views, on any devices and communicators. They need not require gradients: a parameter without a
 * gradient is left alone. The optimizer retains each. Its state tensors have the dtype, the device,
 * the shape, the split and the slabs of their parameter, except in ht_optim_adafactor. A step
 * updates the part of this rank, unless a block says that it is collective.
 * lr: a finite number of at least 0.
 * options: NULL takes the defaults. A coefficient of a running mean (beta1, beta2, rho, alpha of
 * RMSprop) is in [0, 1). Every other number is finite and at least 0, unless a comment says
 * otherwise.
 *
 * Not collective. Constructors return owned objects, or NULL after an error. Errors of
 * constructors: HT_ERR_ARGUMENT for a value out of range, with the value and the range in the
 * message, and for parameters that are NULL or empty. HT_ERR_ARGUMENT for an entry that is not a
 * tensor, not a leaf, a read-only view, or in the list twice. HT_ERR_DTYPE for another dtype.
 * Parameters that are NULL because of an earlier error give NULL, without a second error.
 * Source: torch.optim. */
#ifndef HT_OPTIMIZERS_H
#define HT_OPTIMIZERS_H

#include "ht/optim.h"

HT_BEGIN_DECLS

typedef struct ht_sgd_options {
    size_t size;                              /* of this struct; set by the default function */
    double momentum, dampening, weight_decay; /* 0, 0, 0 */
    bool nesterov, maximize;                  /* false, false */
} ht_sgd_options;

typedef struct ht_adam_options {
    size_t size;                            /* of this struct; set by the default function */
    double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8, 0 (AdamW: 0.01) */
    bool amsgrad, maximize;                 /* false, false */
} ht_adam_options;
typedef ht_adam_options ht_adamw_options;

typedef struct ht_adamax_options {
    size_t size;                            /* of this struct; set by the default function */
    double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8, 0 */
    bool maximize;                          /* false */
} ht_adamax_options;

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
    int max_iter, max_eval;  /* 20 iterations and 0 evaluations of a step; 0 evaluations: 5 / 4 of
                                max_iter. All numbers here are at least 0 */
    double tolerance_grad;   /* 1e-7: the largest element of a gradient that is small enough */
    double tolerance_change; /* 1e-9: the same of the loss's or the parameters' change */
    int history_size;        /* 100 */
    bool strong_wolfe;       /* false: steps have length lr; true: a line search finds it */
    bool maximize;           /* false */
} ht_lbfgs_options;

/* Returns the default options of ht_optim_sgd: every number 0, every flag false. */
HT_API ht_sgd_options ht_sgd_options_default(void);

/* Returns the default options of ht_optim_adam: beta1 0.9, beta2 0.999, eps 1e-8, weight_decay 0,
 * every flag false. */
HT_API ht_adam_options ht_adam_options_default(void);

/* Returns the default options of ht_optim_adamw: those of ht_adam_options_default with weight_decay
 * 0.01. */
HT_API ht_adamw_options ht_adamw_options_default(void);

/* Returns the default options of ht_optim_adamax: beta1 0.9, beta2 0.999, eps 1e-8, weight_decay 0,
 * maximize false. */
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
 * nesterov, p -= lr (g + momentum v). A schedule may set momentum 0, which leaves v as it is.
 *
 * parameters, lr, options: see the top. nesterov needs momentum above 0 and dampening 0, else it is
 *   HT_ERR_ARGUMENT.
 * Source: torch.optim.SGD. */
HT_API ht_optimizer *ht_optim_sgd(ht_value *parameters, double lr, const ht_sgd_options *options);

/* Adam: p -= lr m' / (sqrt(v') + eps).
 *
 * The running means are m = beta1 m + (1 - beta1) g and v = beta2 v + (1 - beta2) g^2. In step t,
 * counted from 1, m' = m / (1 - beta1^t) and v' = v / (1 - beta2^t). With amsgrad, v' is made of
 * the greatest v of all steps so far.
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
 * m' is that of ht_optim_adam. u is a state tensor: the next step reads the new one.
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
 * With centered, v less the square of the running mean of g replaces v in d. A negative difference
 * counts as 0. With momentum, b = momentum b + d, then p -= lr b.
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.RMSprop. */
HT_API ht_optimizer *ht_optim_rmsprop(ht_value *parameters, double lr,
                                      const ht_rmsprop_options *options);

/* NAdam: p -= lr ((1 - mu_t) g / (1 - M_t) + mu_(t+1) m / (1 - M_t mu_(t+1))) / (sqrt(v') + eps).
 *
 * m, v and v' are those of ht_optim_adam, mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2) and M_t =
 * mu_1 ... mu_t. With decoupled_weight_decay, p *= 1 - lr weight_decay comes first, and g is
 * without weight decay.
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
 * After step t, counted from 1, eta = lr / (1 + lambd lr t)^alpha; it starts at lr. The state
 * tensor "ax" is the mean of p over the steps after t0: ax += mu (p - ax) with
 * mu = 1 / max(1, t - 1 - t0).
 *
 * parameters, lr, options: see the top.
 * Source: torch.optim.ASGD. */
HT_API ht_optimizer *ht_optim_asgd(ht_value *parameters, double lr, const ht_asgd_options *options);

/* SparseAdam: ht_optim_adam in the rows whose gradient is not zero, for the weights of embeddings.
 *
 * p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps) in those rows. A row is an index of
 * the first axis. Rows whose gradient is zero keep their values and their moments, although t
 * counts every step. libht has no sparse gradients: a row that torch would list with a gradient of
 * zeros is left alone here.
 *
 * parameters, lr: see the top.
 * options: see the top. eps is above 0.
 * Steps are collective if a parameter is split along another axis than the first.
 * Source: torch.optim.SparseAdam. */
HT_API ht_optimizer *ht_optim_sparse_adam(ht_value *parameters, double lr,
                                          const ht_sparse_adam_options *options);

/* Adafactor: p -= a u / max(1, rms(u) / d) with u = g / sqrt(max(v, eps1^2)).
 *
 * a = max(eps2, rms(p)) min(lr, 1 / sqrt(t)) in step t, counted from 1. rms is the root of the mean
 * square of all elements. The state tensors of a matrix (m, n) are r (m, 1), the running mean of
 * g^2 along its rows, and c (1, n), that along its columns. v is r c / max(mean(r), eps1). More
 * axes are batches of matrices. The state tensor of a parameter of fewer than 2 axes is v itself,
 * the running mean of g^2. Running means have weight t^beta2_decay for the new value. With
 * weight_decay, p *= 1 - lr weight_decay comes first, and g is without weight decay.
 *
 * parameters, lr: see the top.
 * options: see the top and the struct.
 * Steps are collective if a parameter is split.
 * Source: torch.optim.Adafactor. */
HT_API ht_optimizer *ht_optim_adafactor(ht_value *parameters, double lr,
                                        const ht_adafactor_options *options);

/* Muon: p -= lr f O, where O is nearly the orthogonal matrix next to the momentum.
 *
 * With m = momentum m + (1 - momentum) g, the matrix is x = m, or with nesterov x = (1 - momentum)
 * g + momentum m. O is x / norm(x) after ns_steps times x = a x + (b A + c A A) x, where A = x x^T;
 * for a tall matrix, x^T replaces x. The iteration works on bfloat16. f is the factor of adjust_lr.
 * p *= 1 - lr weight_decay comes first, and g is without weight decay.
 *
 * parameters: see the top; all have 2 axes. Use another optimizer for biases and embeddings.
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
 * options: NULL takes the defaults. Tolerances are finite.
 * Steps are collective if a parameter is split.
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
 * Errors: those of ht_optim_sgd. HT_ERR_ARGUMENT for an optimizer of another kind, or a parameter
 * that it already has; HT_ERR_STATE under a wrapper. */
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

HT_END_DECLS
#endif
