/* SPDX-License-Identifier: MIT
 *
 * One step of training, validation or testing, with data, losses and logs as values.
 *
 * The functions take a plain module or a data-parallel wrapper. Source: mmengine's
 * MMDistributedDataParallel. */
#ifndef HT_TRAIN_STEP_H
#define HT_TRAIN_STEP_H

#include "ht/module.h"
#include "ht/optim_wrapper.h"

HT_BEGIN_DECLS

typedef enum ht_forward_mode {
    HT_FORWARD_LOSS,   /* returns losses: a map, or a tensor that is the entry "loss" */
    HT_FORWARD_PREDICT /* returns predictions of any form */
} ht_forward_mode;

/* A function that runs a model on preprocessed data, and makes its output losses or predictions.
 *
 * model: the module or its data-parallel wrapper.
 * data: those that the preprocess function returned.
 * mode: losses or predictions.
 * user: ht_step_options.user.
 * Result: scoped. NULL after an error; a NULL without one is HT_ERR_STATE. If the inputs cannot be
 * made, ht_forward of model with NULL tells ranks that wait in a layer of the model. */
typedef ht_value *ht_step_forward_fn(ht_module *model, ht_value *data, ht_forward_mode mode,
                                     void *user);

/* A function that prepares data for forward: moves, normalises, augments.
 *
 * data: those of the step.
 * training: true in ht_train_step only; data are augmented only then.
 * user: ht_step_options.user.
 * Result: scoped, or data itself. NULL after an error; a NULL without one is HT_ERR_STATE. */
typedef ht_value *ht_preprocess_fn(ht_value *data, bool training, void *user);

typedef struct ht_step_options {
    size_t size;                  /* of this struct; set by the default function */
    ht_preprocess_fn *preprocess; /* NULL: data unchanged */
    ht_step_forward_fn *forward;  /* NULL: ht_forward_value of the module. The data must be a map.
                                     The module gets a copy of it with one more entry, the mode as
                                     the number "mode"; the map of the program stays as it is */
    void *user;                   /* of both functions */
    bool detect_anomalous_params; /* false; true: each trainable parameter that the loss does not
                                     reach is logged as an error, with name and shape */
} ht_step_options;

/* Returns the default options of a step, given at each field. Not collective. */
HT_API ht_step_options ht_step_options_default(void);

/* Runs one training step: ht_optim_wrapper_begin, preprocess, forward, ht_parse_losses,
 * ht_optim_wrapper_update_params.
 *
 * The caller sets the mode of the module (ht_module_train), and need not call
 * ht_optim_wrapper_begin.
 *
 * model: the module or its data-parallel wrapper.
 * data: of the batch. NULL: a rank without rows, which takes part in the exchange; its log has no
 * losses.
 * wrapper: updates the parameters.
 * options: NULL takes the defaults.
 * Collective if the model exchanges gradients. A step that fails on one rank before its loss is
 * there counts as a missing loss (ht_data_parallel_backward), so no rank waits for it.
 * Result: the log of ht_parse_losses, with "grad_norm" if the update measured it; scoped. NULL
 * after an error.
 * Errors: HT_ERR_STATE if preprocess or forward returns NULL without an error. HT_ERR_ARGUMENT if
 * the data are not a map and options have no forward. Those of the functions above. */
HT_API ht_value *ht_train_step(ht_module *model, ht_value *data, ht_optim_wrapper *wrapper,
                               const ht_step_options *options);

/* Runs preprocess and forward for predictions, without gradients.
 *
 * It runs the module inside data-parallel wrappers, so ranks can make different numbers of these
 * steps.
 *
 * model: the module or its data-parallel wrapper.
 * data: of the batch. NULL gives NULL.
 * options: NULL takes the defaults.
 * Not collective.
 * Result: the predictions, scoped; NULL after an error.
 * Errors: HT_ERR_STATE if preprocess or forward returns NULL without an error. HT_ERR_ARGUMENT if
 * the data are not a map and options have no forward. */
HT_API ht_value *ht_val_step(ht_module *model, ht_value *data, const ht_step_options *options);

/* ht_val_step of `model` on `data` with `options`, under its own name in errors. Not collective. */
HT_API ht_value *ht_test_step(ht_module *model, ht_value *data, const ht_step_options *options);

/* Turns the losses of a model into one loss and a log.
 *
 * Each entry is averaged; a list counts as the sum of its averages. The entries whose name contains
 * "loss" are summed; they are tensors or lists. Numbers under other names go to the log unchanged.
 *
 * losses: a map of tensors, lists of tensors and numbers; or one tensor, taken as the entry "loss".
 * total: *total is the sum, differentiable and scoped; NULL after an error.
 * log: *log is {"loss": total, the averages}, scoped and without graphs; NULL after an error. The
 * total replaces an entry "loss". log may be NULL.
 * Collective if a tensor is split, else not collective.
 * Errors: HT_ERR_ARGUMENT for an entry of another kind, an empty list, or without a loss. If an
 * earlier error left no loss, that error is returned. */
HT_API ht_status ht_parse_losses(ht_value *losses, ht_tensor **total, ht_value **log);

/* Returns the number, or the one element of a tensor, under `key` in a log; NaN if there is none.
 *
 * log, key: NULL gives NaN without an error, and so does an entry of another kind.
 * Collective if the tensor is split, which those of ht_parse_losses are not.
 * Result: NaN after an error.
 * Errors: those of ht_item: HT_ERR_SHAPE for a tensor of several elements, HT_ERR_DTYPE for a
 * complex one. */
HT_API double ht_log_number(const ht_value *log, const char *key);

HT_END_DECLS
#endif
