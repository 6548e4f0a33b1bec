/* SPDX-License-Identifier: MIT
 *
 * The optimizer wrapper: what stands between a loss and an update. It accumulates gradients over
 * several batches, so that the update is by their true mean, lets the ranks exchange gradients only
 * before an update, clips, and scales losses for mixed precision. Source:
 * mmengine.optim.OptimWrapper, AmpOptimWrapper.
 *
 *     while (ht_dataloader_next(loader, &batch)) {
 *         ht_scope *step = ht_scope_open();
 *         ht_optim_wrapper_begin(wrapper, model);
 *         ht_optim_wrapper_update_params(wrapper, loss_of(model, &batch));
 *         ht_scope_close(step);
 *     } */
#ifndef HT_OPTIM_WRAPPER_H
#define HT_OPTIM_WRAPPER_H

#include "ht/module.h"
#include "ht/optim.h"

HT_BEGIN_DECLS

typedef struct ht_optim_wrapper ht_optim_wrapper;

/* Mixed precision: losses are multiplied, so that small gradients survive 16 bits, and gradients
 * divided again before they are clipped or used. An update with a gradient that is infinite or NaN
 * on some rank is skipped on all. In a join of ranks with different numbers of batches: static
 * only. */
typedef enum ht_loss_scaling {
    HT_LOSS_SCALING_NONE,
    HT_LOSS_SCALING_STATIC, /* by `scale` */
    HT_LOSS_SCALING_DYNAMIC /* from `scale` on: times backoff_factor after a skipped update, times
                               growth_factor after growth_interval good ones in a row */
} ht_loss_scaling;

typedef struct ht_optim_wrapper_options {
    size_t size;                 /* of this struct; set by the default function */
    int64_t accumulative_counts; /* 1: losses for each update */
    int64_t max_counts;          /* 0: losses in all, where that is known: the last update comes
                                    with the last loss, and is the mean of the ones that are left */
    double clip_norm, clip_norm_type; /* 0: none, 2: ht_clip_grad_norm_ before each update */
    double clip_value;                /* 0: none; ht_clip_grad_value_; one of the two */
    ht_loss_scaling loss_scaling;
    double scale, growth_factor, backoff_factor; /* 65536, 2, 0.5 */
    int64_t growth_interval;                     /* 2000 */
} ht_optim_wrapper_options;

HT_API ht_optim_wrapper_options ht_optim_wrapper_options_default(void);

/* Wraps `optimizer` (retained); options NULL: defaults. Owned. Not collective. */
HT_API ht_optim_wrapper *ht_optim_wrapper_new(ht_optimizer *optimizer,
                                              const ht_optim_wrapper_options *options);

/* Comes before each forward pass of `model` (retained until the next call): under a data-parallel
 * wrapper it decides whether the backward pass to come is exchanged between the ranks, which is so
 * only where an update follows. Not collective; all ranks make the same calls. */
HT_API ht_status ht_optim_wrapper_begin(ht_optim_wrapper *wrapper, ht_module *model);

/* Scales the loss (a mean over the batch) by 1 / the number of losses of this update, runs
 * backward, and when the update's last loss has come: clips, steps, and forgets the gradients.
 * HT_AVERAGE_WEIGHTED divides by the number of rows, whichever batch they were in, so that losses
 * are then not scaled. loss NULL: a rank without rows, or with an error that the program has not
 * cleared, one whose loss is missing (ht_data_parallel_backward). Collective where the model's
 * exchange is.
 * Errors: HT_ERR_STATE after max_counts losses, or for the optimizer of a data-parallel wrapper
 * that ht_optim_wrapper_begin did not get. */
HT_API ht_status ht_optim_wrapper_update_params(ht_optim_wrapper *wrapper, ht_tensor *loss);

/* What the last ht_optim_wrapper_update_params did. */
typedef struct ht_optim_update {
    int64_t count;     /* losses so far */
    double loss_scale; /* factor of the last one */
    bool synchronised; /* its backward pass was exchanged, or there is nobody to exchange with */
    bool stepped;      /* parameters were updated */
    bool skipped;      /* they were not, because of an infinite gradient or NaN */
    double amp_scale;  /* what mixed precision multiplied the loss with; 1 without */
    double lr;         /* at this time */
    double grad_norm;  /* before it was clipped; NaN where it was not measured */
} ht_optim_update;
HT_API ht_optim_update ht_optim_wrapper_last(const ht_optim_wrapper *wrapper);

/* Whether the next loss is followed by an update. */
HT_API bool ht_optim_wrapper_should_update(const ht_optim_wrapper *wrapper);

HT_API ht_optimizer *ht_optim_wrapper_optimizer(const ht_optim_wrapper *wrapper); /* borrowed */

/* "count", "optimizer" (ht_optimizer_state_dict) and with mixed precision "scaler" as a map.
 * Loading: HT_ERR_FORMAT, with nothing changed, when a state does not fit. Gradients are not in it:
 * a state from between two updates goes on with the mean of the losses that are left, and warns.
 * Scoped. */
HT_API ht_value *ht_optim_wrapper_state_dict(ht_optim_wrapper *wrapper);
HT_API ht_status ht_optim_wrapper_load_state_dict(ht_optim_wrapper *wrapper, const ht_value *state);

HT_END_DECLS
#endif
