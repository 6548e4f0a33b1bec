/* SPDX-License-Identifier: MIT
 *
 * Steps of optimizers, whose arguments are an ht_update_call (ht/kernels/update.h). One call
 * updates all parameters of a group on a device. */
#ifndef HT_KERNELS_OPTIM_H
#define HT_KERNELS_OPTIM_H

#include "ht/kernels/update.h"

/* clang-format off */
#define HT_OPTIM_KERNELS(X) \
    X(UPDATE_SGD) X(UPDATE_ADAM) X(UPDATE_ADADELTA) X(UPDATE_RMSPROP) X(UPDATE_ADAGRAD) \
    X(UPDATE_ADAMAX) X(UPDATE_NADAM) X(UPDATE_RADAM) X(UPDATE_RPROP) X(UPDATE_ASGD)
/* clang-format on */

#define HT_KERNEL_ID(name) HT_KERNEL_##name,
enum {
    HT_KERNEL_BEFORE_OPTIM = HT_KERNELS_OPTIM - 1,
    HT_OPTIM_KERNELS(HT_KERNEL_ID) HT_KERNELS_OPTIM_END
};
#undef HT_KERNEL_ID

#endif
