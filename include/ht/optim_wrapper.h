/* SPDX-License-Identifier: MIT
 *
 * The optimizer wrapper: all steps between a loss and an update.
 *
 * It accumulates gradients over several batches, so that an update uses their true mean. It lets
 * the ranks exchange gradients only before an update. It clips gradients, and scales losses for
 * mixed precision. Source: mmengine.optim.OptimWrapper, AmpOptimWrapper.
 *
 *     while (ht_dataloader_next(loader, &batch)) {
 *         ht_scope *step = ht_scope_open();
 *         ht_optim_wrapper_begin(wrapper, model);
 *         ht_optim_wrapper_update_params(wrapper, loss_of(model, &batch));
 *         ht_scope_close(step);
 *     }
 */
#ifndef HT_OPTIM_WRAPPER_H
#define HT_OPTIM_WRAPPER_H

#include "ht/module.h"
#include "ht/optim.h"

HT_BEGIN_DECLS

typedef struct ht_optim_wrapper ht_optim_wrapper;

/* How losses are scaled for mixed precision.
 *
 * Losses are multiplied by a scale, so that small gradients survive 16 bits. Gradients are divided
 * by it before they are clipped or used. An update is skipped on all ranks if a gradient is
 * infinite or NaN on one of them. In a join of ranks with different numbers of batches only static
 * scaling is possible. */
typedef enum ht_loss_scaling {
    HT_LOSS_SCALING_NONE,
    HT_LOSS_SCALING_STATIC, /* by `scale` */
    HT_LOSS_SCALING_DYNAMIC /* starts with `scale`; times backoff_factor after a skipped update,
                               times growth_factor after growth_interval good ones in a row;
                               neither takes it out of the normal numbers of float32 */
} ht_loss_scaling;

typedef struct ht_optim_wrapper_options {
    size_t size;                 /* of this struct; set by the default function */
    int64_t accumulative_counts; /* 1: losses for each update; at least 1 */
    int64_t max_counts;          /* 0: unknown; else the number of losses in all. The last update
                                    then comes with the last loss, and uses the remaining ones */
    double clip_norm, clip_norm_type; /* 0: off, 2: ht_clip_grad_norm_ before each update. clip_norm
                                         is finite, at least 0; its type is above 0, which the
                                         update checks */
    double clip_value;                /* 0: off; ht_clip_grad_value_; finite, at least 0; not with
                                         clip_norm */
    ht_loss_scaling loss_scaling;     /* HT_LOSS_SCALING_NONE, which ignores the rest */
    double scale;                     /* 65536; finite, above 0 */
    double growth_factor;             /* 2; finite, at least 1 */
    double backoff_factor;            /* 0.5; above 0, below 1 */
    int64_t growth_interval;          /* 2000: updates; at least 1 */
} ht_optim_wrapper_options;

/* Returns the default options of ht_optim_wrapper_new, given at each field. Not collective. */
HT_API ht_optim_wrapper_options ht_optim_wrapper_options_default(void);

/* Wraps `optimizer`.
 *
 * optimizer: retained.
 * options: NULL takes the defaults.
 * Not collective.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for a value out of range, or both ways to clip. */
HT_API ht_optim_wrapper *ht_optim_wrapper_new(ht_optimizer *optimizer,
                                              const ht_optim_wrapper_options *options);

/* Prepares a forward pass of `model`; call it before each one.
 *
 * Under a data-parallel wrapper it decides whether the following backward pass is exchanged between
 * the ranks. That is so only if an update follows.
 *
 * wrapper: changed.
 * model: the module or its data-parallel wrapper; not retained. It lives at least until
 *   ht_optim_wrapper_update_params returns.
 * Not collective; all ranks make the same calls.
 * Errors: HT_ERR_STATE if the data-parallel wrapper accumulates by itself (accumulation_steps).
 * HT_ERR_UNSUPPORTED in a join with dynamic scaling, or static scaling and a communication hook. */
HT_API ht_status ht_optim_wrapper_begin(ht_optim_wrapper *wrapper, ht_module *model);

/* Runs backward on a loss; with the last loss of an update it clips, steps and clears the
 * gradients.
 *
 * The loss is scaled by 1 / (number of losses of this update). HT_AVERAGE_WEIGHTED divides by the
 * number of rows over all these batches; losses are then not scaled.
 *
 * wrapper: changed.
 * loss: a mean over the batch. NULL: this rank has no rows. After an error that the program has not
 * cleared, NULL is a missing loss (ht_data_parallel_backward); without a data-parallel wrapper,
 * that error is returned, by ht_backward(NULL).
 * Collective if the model exchanges gradients.
 * Errors: HT_ERR_STATE after max_counts losses, and for the optimizer of a data-parallel wrapper
 * that was not passed to ht_optim_wrapper_begin. Those of ht_backward, ht_optimizer_step and the
 * functions that clip. */
HT_API ht_status ht_optim_wrapper_update_params(ht_optim_wrapper *wrapper, ht_tensor *loss);

/* The effects of one ht_optim_wrapper_update_params. */
typedef struct ht_optim_update {
    int64_t count;     /* losses so far */
    double loss_scale; /* factor of the last loss, 1 / (losses of its update) */
    bool synchronised; /* an update was due, so the ranks exchanged gradients */
    bool stepped;      /* parameters were updated */
    bool skipped;      /* they were not, because a gradient was infinite or NaN */
    double amp_scale;  /* factor of mixed precision; 1 without */
    double lr;         /* learning rate of the first parameter group */
    double grad_norm;  /* before clipping; NaN if it was not measured */
} ht_optim_update;

/* Returns the effects of the last ht_optim_wrapper_update_params of `wrapper`. Not collective.
 *
 * Result: a count of 0 before the first one. For a NULL wrapper, without an error, loss_scale, lr
 * and grad_norm are NaN and all else is 0. */
HT_API ht_optim_update ht_optim_wrapper_last(const ht_optim_wrapper *wrapper);

/* Returns true if an update follows the next loss of `wrapper`; false for NULL. Not collective. */
HT_API bool ht_optim_wrapper_should_update(const ht_optim_wrapper *wrapper);

/* Returns the optimizer of `wrapper`, borrowed; NULL for NULL. Not collective. */
HT_API ht_optimizer *ht_optim_wrapper_optimizer(const ht_optim_wrapper *wrapper);

/* Returns the state of `wrapper` as a map: "count", "optimizer" (ht_optimizer_state_dict) and, with
 * mixed precision, "scaler".
 *
 * Gradients are not part of it.
 *
 * Not collective.
 * Result: scoped. */
HT_API ht_value *ht_optim_wrapper_state_dict(ht_optim_wrapper *wrapper);

/* Loads a state of ht_optim_wrapper_state_dict, the optimizer's included.
 *
 * If the state was saved between two updates, the next update is the mean of the remaining losses,
 * with a warning.
 *
 * wrapper: unchanged if the state does not fit.
 * state: not retained.
 * Not collective.
 * Errors: HT_ERR_FORMAT if the state does not fit. */
HT_API ht_status ht_optim_wrapper_load_state_dict(ht_optim_wrapper *wrapper, const ht_value *state);

HT_END_DECLS
#endif
