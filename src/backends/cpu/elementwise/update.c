/* SPDX-License-Identifier: MIT
 *
 * The optimizers as the table has them: by dtype to the templates of update.inc.c. */
#include "backends/cpu/level.h"

#define HT_TEMPLATE "backends/cpu/elementwise/update.inc.c"
#include "backends/cpu/foreach_dtype.h"

typedef void update_fn(const ht_update *update);

static int update(const char *what, update_fn *single, update_fn *wide, const ht_update *u)
{
    if (u->dtype != HT_FLOAT32 && u->dtype != HT_FLOAT64)
        return ht__kernel_bad_dtype(what, u->dtype);
    (u->dtype == HT_FLOAT32 ? single : wide)(u);
    return 0;
}

static int update_sgd(void *stream, const ht_update *u)
{
    (void)stream;
    return update("SGD", update_sgd_HT_FLOAT32, update_sgd_HT_FLOAT64, u);
}

static int update_adam(void *stream, const ht_update *u)
{
    (void)stream;
    return update("Adam", update_adam_HT_FLOAT32, update_adam_HT_FLOAT64, u);
}

static int update_adadelta(void *stream, const ht_update *u)
{
    (void)stream;
    return update("Adadelta", update_adadelta_HT_FLOAT32, update_adadelta_HT_FLOAT64, u);
}

static int update_rmsprop(void *stream, const ht_update *u)
{
    (void)stream;
    return update("RMSprop", update_rmsprop_HT_FLOAT32, update_rmsprop_HT_FLOAT64, u);
}

void HT_LEVEL_NAME(ht__fill_update)(ht_kernels *k)
{
    k->update[HT_UPDATE_SGD] = update_sgd;
    k->update[HT_UPDATE_ADAM] = update_adam;
    k->update[HT_UPDATE_ADADELTA] = update_adadelta;
    k->update[HT_UPDATE_RMSPROP] = update_rmsprop;
}
