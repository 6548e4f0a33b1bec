/* SPDX-License-Identifier: MIT
 *
 * The inside of the optimizer wrapper. */
#ifndef HT_NN_OPTIM_WRAPPER_IMPL_H
#define HT_NN_OPTIM_WRAPPER_IMPL_H

#include "data_parallel.h"
#include "ht/optim_wrapper.h"

struct ht_optim_wrapper {
    ht_object base;
    ht_optimizer *optimizer; /* retained */
    ht_module *model;        /* retained; of the last begin, NULL before it */
    ht_optim_wrapper_options options;
    int64_t first; /* losses that had come when a state was loaded: their gradients are lost */
    ht_optim_update last;
};

#endif
