/* SPDX-License-Identifier: MIT
 *
 * The learning rate times gamma after every step_size epochs. */
#include "optim_impl.h"

#include <math.h>

/* One factor at a time from what the optimizer has now, so that a rate the program set meanwhile is
 * kept, and the bits are those of torch's chain of products. */
static double step_lr(const ht_scheduler *scheduler, int64_t epoch)
{
    double lr = ht_optimizer_lr(scheduler->optimizer);

    return epoch % scheduler->step_size == 0 ? lr * scheduler->gamma : lr;
}

static const ht_scheduler_type type = {.name = "StepLR", .lr = step_lr};

ht_scheduler *ht_optim_step_lr(ht_optimizer *optimizer, int64_t step_size, double gamma)
{
    ht_scheduler *scheduler;

    if (optimizer == NULL)
        return NULL;
    if (step_size < 1) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_optim_step_lr: step_size is %lld, expected at least 1",
                (long long)step_size);
        return NULL;
    }
    if (ht__optim_check_range("ht_optim_step_lr", "gamma", gamma, 0, INFINITY) != HT_SUCCESS)
        return NULL;
    scheduler = ht__scheduler_new(&type, optimizer);
    scheduler->step_size = step_size;
    scheduler->gamma = gamma;
    return scheduler;
}
