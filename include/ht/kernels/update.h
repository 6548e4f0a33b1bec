/* SPDX-License-Identifier: MIT
 *
 * The arguments of the kernels of ht/kernels/optim.h, for who has no need of their list. */
#ifndef HT_KERNELS_UPDATE_H
#define HT_KERNELS_UPDATE_H

#include "ht/backend.h"

enum { HT_UPDATE_STATES = 3 };

/* n contiguous elements of one parameter, its gradient and its states. */
typedef struct ht_update_part {
    ht_kernel_operand param, grad, state[HT_UPDATE_STATES];
    int64_t n, step; /* counted from 1 */
} ht_update_part;

/* Hyperparameters by optimizer, and states; float32 and float64:
 *   SGD       lr, momentum, dampening, weight_decay, nesterov; buf (absent: momentum 0), which the
 *             first step fills without reading it
 *   ADAM      lr, beta1, beta2, eps, weight_decay, decoupled (AdamW); m, v
 *   ADADELTA  lr, rho (beta1), eps, weight_decay; square average, accumulated delta
 *   RMSPROP   lr, alpha (beta1), eps, weight_decay, momentum, centered; square average, then the
 *             average where centered, then the buffer where momentum is not 0
 *   ADAMAX    lr, beta1, beta2, eps, weight_decay; m, u
 *   ADAGRAD   lr, lr_decay (beta1), eps, weight_decay; sum of squares
 * The gradient is multiplied by grad_scale, and by *factor unless that is absent; and negated when
 * maximize is set. Where *unless is there and not 0 nothing is done. Both are a float64 in device
 * memory: a step that is captured reads what they hold when it runs. The parts are the call's
 * table, so that the struct may grow. */
typedef struct ht_update_call {
    ht_kernel_call call;
    ht_kernel_operand factor, unless;
    double lr, beta1, beta2, eps, weight_decay, momentum, dampening, grad_scale;
    bool nesterov, maximize, decoupled, centered;
} ht_update_call;

static inline ht_update_part *ht_update_parts(const ht_update_call *update)
{
    return (ht_update_part *)(void *)((char *)(uintptr_t)update + update->call.table);
}

#endif
