/* SPDX-License-Identifier: MIT
 *
 * Averages of the parameters of a model over a training run: stochastic weight averaging and
 * exponential moving averages. ht_optim_swa_lr (ht/schedules.h) is the schedule for it.
 *
 *     ht_module *averaged = ht_nn_averaged_model(net, NULL);
 *
 *     for each epoch:
 *         train net;
 *         ht_averaged_model_update_parameters(averaged, net);
 *     ht_update_bn(averaged, next_batch, batches);
 *
 * Source: torch.optim.swa_utils. */
#ifndef HT_AVERAGED_MODEL_H
#define HT_AVERAGED_MODEL_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* Returns the next average of a tensor, of its shape, or NULL after an error. It runs with
 * gradients off.
 *
 * average: the one so far; value: that of the module, on the device of average. Both are borrowed.
 * updates: the number of updates before this one, at least 1.
 * user: that of the options. */
typedef ht_tensor *ht_average_fn(ht_tensor *average, ht_tensor *value, int64_t updates, void *user);

typedef struct ht_averaged_model_options {
    size_t size;            /* of this struct; set by the default function */
    double decay;           /* -1: the mean of all updates; 0 to 1: an exponential average */
    bool use_buffers;       /* false: buffers are copied; true: they are averaged like parameters */
    ht_average_fn *average; /* NULL; else averages in place of decay, which is -1 */
    void *user;             /* NULL; the last argument of average, not owned */
} ht_averaged_model_options;

/* Returns the default options of ht_nn_averaged_model, given at each field. Not collective. */
HT_API ht_averaged_model_options ht_averaged_model_options_default(void);

/* Returns a module with a copy of module, whose parameters become averages of those of module.
 *
 * Its child is called "module", and its buffer "n_averaged" counts the updates.
 * module: not retained; the copy is that of ht_module_clone, without a wrapper of module.
 * options: NULL takes the defaults.
 * Not collective.
 * Result: owned. Its forward is that of the copy, on the devices of module. "n_averaged" is
 * process-local, of int64 and without axes.
 * Errors: HT_ERR_ARGUMENT if decay is neither -1 nor from 0 to 1, or if both decay and average are
 * set. Those of ht_module_clone.
 * Source: torch.optim.swa_utils.AveragedModel. */
HT_API ht_module *ht_nn_averaged_model(ht_module *module, const ht_averaged_model_options *options);

/* Moves each averaged parameter a towards the parameter p of module:
 *
 *     a = p                           the first update
 *     a = a + (p - a) / (updates + 1) the mean; updates counts those before
 *     a = decay a + (1 - decay) p     an exponential average
 *     a = average(a, p, updates)      a function of the options
 *
 * averaged: of ht_nn_averaged_model. On many ranks, all ranks have the same average of a parameter
 *   or buffer that is the same on all of them. Running statistics of a BatchNorm layer are those of
 *   a rank's own batches, unless ht_module_eval of a data-parallel wrapper has given rank 0's to
 *   all. SyncBatchNorm layers have the same ones on all ranks.
 * module: of the same structure; a wrapper is looked through.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT if averaged is another module, or if the numbers of parameters or buffers
 * differ. HT_ERR_SHAPE if a shape differs. Those of the function average, or HT_ERR_ARGUMENT if it
 * returns NULL without one.
 * Source: torch.optim.swa_utils.AveragedModel.update_parameters, get_ema_multi_avg_fn. */
HT_API ht_status ht_averaged_model_update_parameters(ht_module *averaged, ht_module *module);

/* Returns the inputs of the next batch as a value for ht_forward_value, or NULL after the last one
 * or after an error. user is that of ht_update_bn. */
typedef ht_value *ht_next_batch_fn(void *user);

/* Recomputes the running statistics of the BatchNorm and SyncBatchNorm layers of module: the means
 * over batches of one pass over the data.
 *
 * The layers begin with mean 0 and variance 1 and count their batches from 0. The pass runs in
 * training and records nothing. The modes of all its modules, and the momentum of its layers, are
 * restored afterwards. A module without such layers that track statistics runs no batch. Other
 * layers, such as instance normalisation, are left out. Under a data-parallel wrapper the BatchNorm
 * layers of each rank have the statistics of its own batches. ht_module_eval then gives those of
 * rank 0 to all ranks; SyncBatchNorm layers have those of all batches.
 * next, user: the source of batches, and its argument.
 * Collective as ht_forward is, in training.
 * Errors: those of the layers. The error of next, if it returned NULL after one; the statistics are
 * then those of the batches before.
 * Source: torch.optim.swa_utils.update_bn. */
HT_API ht_status ht_update_bn(ht_module *module, ht_next_batch_fn *next, void *user);

HT_END_DECLS
#endif
