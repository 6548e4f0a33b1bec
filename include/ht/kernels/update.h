/* SPDX-License-Identifier: MIT
 *
 * The arguments of the kernels of ht/kernels/optim.h, for files that do not need the list of these.
 */
#ifndef HT_KERNELS_UPDATE_H
#define HT_KERNELS_UPDATE_H

#include <math.h>

#include "ht/backend.h"

enum { HT_UPDATE_STATES = 3 };

/* n contiguous elements of one parameter, its gradient and its state tensors. */
typedef struct ht_update_part {
    ht_kernel_operand param, grad, state[HT_UPDATE_STATES];
    int64_t n, step; /* counted from 1 */
    double number;   /* of NADAM and ASGD, the same for all elements */
} ht_update_part;

/* A step for float32 or float64 parameters. For each optimizer: hyperparameters; state tensors.
 *   SGD       lr, momentum, dampening, weight_decay, nesterov; buf. Step 1 fills buf without
 *             reading it; a buf that begins later begins with step 1, too. buf is absent if
 *             momentum is 0;
 *   ADAM      lr, beta1, beta2, eps, weight_decay, decoupled (AdamW), amsgrad; m, v, then the
 *             greatest v if amsgrad;
 *   ADADELTA  lr, rho (beta1), eps, weight_decay; square average, accumulated delta;
 *   RMSPROP   lr, alpha (beta1), eps, weight_decay, momentum, centered; square average, then the
 *             average if centered, then the buffer if momentum is not 0;
 *   ADAMAX    lr, beta1, beta2, eps, weight_decay; m, u;
 *   ADAGRAD   lr, lr_decay (beta1), eps, weight_decay; sum of squares;
 *   NADAM     lr, beta1, beta2, eps, weight_decay, momentum_decay (dampening), decoupled; m, v. The
 *             number is the product of mu of all steps before;
 *   RADAM     lr, beta1, beta2, eps, weight_decay, decoupled; m, v;
 *   RPROP     etaminus (beta1), etaplus (beta2), step_size_min (eps), step_size_max (momentum);
 *             last gradient, step size;
 *   ASGD      lambd (beta1), t0 (eps), weight_decay; mean of p. The number is this step's rate.
 * The gradient is multiplied by grad_scale, and by *factor unless factor is absent. It is negated
 * if maximize is set. The step does nothing if *unless is present and not 0. *factor and *unless
 * are float64 in device memory: a captured step reads their values when it runs. The parts are the
 * call's table, so that this struct can grow. */
typedef struct ht_update_call {
    ht_kernel_call call;
    ht_kernel_operand factor, unless;
    double lr, beta1, beta2, eps, weight_decay, momentum, dampening, grad_scale;
    bool nesterov, maximize, decoupled, centered, amsgrad;
    double count, choice; /* of optimizers without a kernel */
} ht_update_call;

static inline ht_update_part *ht_update_parts(const ht_update_call *update)
{
    return (ht_update_part *)(void *)((char *)(uintptr_t)update + update->call.table);
}

/* The momentum of NADAM in step `step`. */
static inline double ht_nadam_mu(const ht_update_call *u, double step)
{
    return u->beta1 * (1 - 0.5 * pow(0.96, step * u->dampening));
}

/* RADAM's numerator over sqrt(v) + eps; 0 in the first steps, which do not adapt. */
static inline double ht_radam_rectified(const ht_update_call *u, double step)
{
    const double power = pow(u->beta2, step), most = 2 / (1 - u->beta2) - 1;
    const double rho = most - 2 * step * power / (1 - power);

    if (!(rho > 5))
        return 0;
    return sqrt(1 - power) * sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho));
}

/* The weight of ASGD's step `step` in the mean. */
static inline double ht_asgd_mu(const ht_update_call *u, double step)
{
    return 1 / fmax(1, step - 1 - u->eps);
}

#endif
