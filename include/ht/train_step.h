/* SPDX-License-Identifier: MIT
 *
 * One step of training, validation or testing with data, losses and logs as values: mmengine's
 * MMDistributedDataParallel. Works alike on a plain module and on a data-parallel wrapper. */
#ifndef HT_TRAIN_STEP_H
#define HT_TRAIN_STEP_H

#include "ht/module.h"
#include "ht/optim_wrapper.h"

HT_BEGIN_DECLS

typedef enum ht_forward_mode {
    HT_FORWARD_LOSS,   /* losses: a map, or one tensor, which is then "loss" */
    HT_FORWARD_PREDICT /* anything */
} ht_forward_mode;

/* Runs the model on what the preprocessor made, and turns its output into losses or predictions. */
typedef ht_value *ht_step_forward_fn(ht_module *model, ht_value *data, ht_forward_mode mode,
                                     void *user);

/* What comes before forward: moves, normalises, augments (the last in training only). */
typedef ht_value *ht_preprocess_fn(ht_value *data, bool training, void *user);

typedef struct ht_step_options {
    size_t size;                  /* of this struct; set by the default function */
    ht_preprocess_fn *preprocess; /* NULL: data as they are */
    ht_step_forward_fn *forward;  /* NULL: the module's forward of values, which finds the mode as
                                     the number "mode" in the map of data */
    void *user;                   /* of both */
    bool detect_anomalous_params; /* false; true: each trainable parameter that the loss does not
                                     reach is logged as an error, with name and shape */
} ht_step_options;

HT_API ht_step_options ht_step_options_default(void);

/* Preprocess, forward, ht_parse_losses, ht_optim_wrapper_update_params. Returns the log, with
 * "grad_norm" where an update measured it. The mode of the module (ht_module_train) is the
 * caller's. data NULL: a rank without rows, which helps the others; its log is empty. options NULL:
 * defaults. NULL after an error. Collective where the model's exchange is. Scoped. */
HT_API ht_value *ht_train_step(ht_module *model, ht_value *data, ht_optim_wrapper *wrapper,
                               const ht_step_options *options);

/* Preprocess and forward for predictions, without gradients, by the module inside data-parallel
 * wrappers: ranks may make different numbers of these steps. Not collective. Scoped. */
HT_API ht_value *ht_val_step(ht_module *model, ht_value *data, const ht_step_options *options);
HT_API ht_value *ht_test_step(ht_module *model, ht_value *data, const ht_step_options *options);

/* Each entry is averaged, a list is the sum of its averages; *total is the sum of the entries whose
 * name contains "loss", and *log (which may be NULL) is {"loss": total, the averages}, without
 * graphs. Numbers come to the log as they are. Errors: HT_ERR_ARGUMENT when an entry is of another
 * kind, or none is a loss. */
HT_API ht_status ht_parse_losses(ht_value *losses, ht_tensor **total, ht_value **log);

/* The number, or one-element tensor, under `key` in a log; NaN when there is none. */
HT_API double ht_log_number(const ht_value *log, const char *key);

HT_END_DECLS
#endif
