/* SPDX-License-Identifier: MIT
 *
 * DASO, distributed asynchronous and selective optimization.
 *
 * Gradients are averaged inside a node after each batch. Parameters are averaged between the nodes
 * only after some batches, and mostly without waiting. Use it if the network between nodes is slow
 * compared with that inside a node. doc/daso.md says when to use it and how it works.
 *
 * A NULL detector or ht_daso is HT_ERR_ARGUMENT, except where a block says what it gives.
 *
 * Source: heat.optim.DASO; Coquelin et al., Journal of Big Data 9:14 (2022).
 *
 *     ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);
 *     ht_daso *daso = ht_optim_daso(optimizer, epochs, HT_COMM_WORLD, NULL);
 *     ht_module *model = ht_nn_data_parallel_multi_gpu(net, daso, HT_COMM_WORLD);
 *
 *     ht_daso_set_last_batch(daso, batches - 1);
 *     for each epoch:
 *         for each batch:
 *             ht_backward(loss of ht_forward(model, batch));
 *             ht_daso_step(daso);
 *             ht_daso_zero_grad(daso);
 *         ht_daso_epoch_loss_logic(daso, mean of the losses, false);
 */
#ifndef HT_DASO_H
#define HT_DASO_H

#include "ht/module.h"
#include "ht/optim.h"
#include "ht/optim_wrapper.h"

HT_BEGIN_DECLS

/* Detects that a metric has stopped improving. Source: heat.optim.utils.DetectMetricPlateau. */
typedef struct ht_plateau_detector ht_plateau_detector;

typedef struct ht_plateau_detector_options {
    size_t size;      /* of this struct; set by the default function */
    bool maximize;    /* false: a lower metric is better */
    int64_t patience; /* 10: values without improvement before a plateau */
    double threshold; /* 1e-4: an improvement exceeds this part of |best|; from 0 to below 1 */
    bool absolute;    /* false; true: an improvement exceeds threshold itself, finite, at least 0 */
    int64_t cooldown; /* 0: values after a plateau that do not count */
} ht_plateau_detector_options;

/* Returns the default options of a plateau detector, given at each field. Not collective. */
HT_API ht_plateau_detector_options ht_plateau_detector_options_default(void);

/* Makes a plateau detector. Not collective.
 *
 * options: NULL takes the defaults. patience and cooldown are at least 0. The range of threshold is
 * given at its field and at absolute; NaN is outside.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for a value out of range. */
HT_API ht_plateau_detector *ht_plateau_detector_new(const ht_plateau_detector_options *options);

/* Takes the next value of the metric and returns true on a plateau. The name is Heat's.
 *
 * A plateau is more than `patience` values in a row without improvement. Counting then starts
 * again.
 *
 * detector: changed.
 * metric: NaN is not an improvement.
 * Not collective.
 * Result: false after an error, too. */
HT_API bool ht_plateau_detector_test_if_improving(ht_plateau_detector *detector, double metric);

/* Clears the best value and the counts of `detector`.
 *
 * Not collective.
 * Errors: HT_ERR_ARGUMENT if detector is NULL. */
HT_API ht_status ht_plateau_detector_reset(ht_plateau_detector *detector);

/* Returns the settings and counts of `detector` as a map of numbers, scoped. Not collective. */
HT_API ht_value *ht_plateau_detector_get_state(const ht_plateau_detector *detector);

/* Loads a state of ht_plateau_detector_get_state, settings included. Not collective.
 *
 * detector: unchanged if the state does not fit.
 * state: not retained.
 * Errors: HT_ERR_FORMAT if a number is missing or invalid. */
HT_API ht_status ht_plateau_detector_set_state(ht_plateau_detector *detector,
                                               const ht_value *state);

typedef struct ht_daso ht_daso;

/* Options of ht_optim_daso; the same on all ranks.
 *
 * The first group is the reference's. Its use_mpi_groups is left out: it chooses between two ways
 * to make the same communicators. */
typedef struct ht_daso_options {
    size_t size;                   /* of this struct; set by the default function */
    int64_t warmup_epochs;         /* 4: first epochs, in which all ranks average each batch */
    int64_t cooldown_epochs;       /* 4: last epochs, which do the same. Both are at least 0, and
                                      together at most all epochs */
    ht_scheduler *scheduler;       /* NULL; retained; stepped at the end of each epoch */
    double stability_level;        /* 0.05: threshold of the plateau detector, in [0, 1) */
    int64_t max_global_skips;      /* 8: largest number of batches between exchanges of nodes; at
                                      least 1 */
    int64_t sending_chunk_size;    /* 10000000: elements of one message; at least 1 */
    ht_dtype downcast_type;        /* HT_BFLOAT16: dtype in which float32 parameters travel in
                                      blocking exchanges; HT_FLOAT16; HT_FLOAT32: not rounded */
    int64_t skip_reduction_factor; /* 2: divides the skips on a plateau; at least 2 */
    int64_t local_skip_factor;     /* 4: max_global_skips over this is the largest local skip; at
                                      least 1 */
    bool verbose;                  /* false; true: decisions are logged at the level of warnings */

    /* Beyond the reference. */
    bool downcast_asynchronous; /* false; true: exchanges of the cycling phase use downcast_type */
    bool exchange_momentum;     /* false; true: blocking exchanges average the optimizer's state
                                   tensors too. Not in float16, where squares of small gradients
                                   are 0 */
    double outer_lr;            /* 0: off; else the blocking exchange that ends an epoch of the
                                   cycling phase is a step of SGD with Nesterov momentum. It starts
                                   from the last agreed value and follows the difference to the
                                   mean (DiLoCo). Finite, at least 0 */
    double outer_momentum;      /* 0.9, in [0, 1) */
} ht_daso_options;

/* Returns the default options of ht_optim_daso, given at each field. Not collective. */
HT_API ht_daso_options ht_daso_options_default(void);

/* Makes a DASO optimizer around `local_optimizer`, for a run on all ranks of `comm`.
 *
 * local_optimizer: updates the parameters of this rank; retained.
 * total_epochs: of the run, at least 1.
 * comm: retained.
 * options: NULL takes the defaults.
 * Collective over `comm`, agrees.
 * Result: owned. Its release waits for pending exchanges, so all ranks release it at the same
 * point.
 * Errors: HT_ERR_ARGUMENT for a value out of range, for values that differ between ranks, and if
 * warm-up and cool-down are longer than the run; the same error on all ranks.
 * Source: heat.optim.DASO. */
HT_API ht_daso *ht_optim_daso(ht_optimizer *local_optimizer, int64_t total_epochs, ht_comm *comm,
                              const ht_daso_options *options);

/* Wraps `module` so that gradients are averaged over the ranks of a node; `daso` exchanges between
 * nodes.
 *
 * All ranks pass the same model. Parameters, buffers and optimizer state are broadcast from rank 0
 * of `comm`. The text on wrappers in data_parallel.h holds inside the node, requests to stop
 * included. Joins are the exception: all ranks take part in each batch. A rank without rows calls
 * ht_data_parallel_backward(wrapper, NULL).
 *
 * module: retained; this calls ht_daso_set_model for it.
 * daso: uses the wrapper.
 * comm: the communicator of `daso`.
 * Collective over `comm`, agrees.
 * Result: owned.
 * Errors: HT_ERR_COMM for another communicator; those of ht_nn_data_parallel.
 * Source: heat.nn.DataParallelMultiGPU. */
HT_API ht_module *ht_nn_data_parallel_multi_gpu(ht_module *module, ht_daso *daso, ht_comm *comm);

/* Sets the model whose parameters and buffers `daso` exchanges.
 *
 * ht_nn_data_parallel_multi_gpu calls this. Call it yourself for a model whose gradients the
 * program averages inside nodes, with the same parameters on all ranks.
 *
 * daso: gets the model.
 * module: retained. Its trainable parameters are those of the optimizer. It can be on any device:
 * the exchanged data are copied to the CPU.
 * Collective, agrees.
 * Errors: HT_ERR_ARGUMENT if the parameters are not the optimizer's; HT_ERR_SHAPE for models of
 * different sizes; HT_ERR_STATE while an exchange of the previous model is pending. */
HT_API ht_status ht_daso_set_model(ht_daso *daso, ht_module *module);

/* Sets the index of the last batch of an epoch. Call it before the first step.
 *
 * daso: changed between epochs only.
 * last_batch: counted from 0; the same on all ranks, which is checked.
 * Collective, agrees.
 * Errors: HT_ERR_ARGUMENT for an index below 0, or one that differs between ranks; HT_ERR_STATE
 * within an epoch. */
HT_API ht_status ht_daso_set_last_batch(ht_daso *daso, int64_t last_batch);

/* ht_daso_set_last_batch of `daso` with the number of batches of `loader` less one.
 *
 * loader: read now and not retained; has at least one batch.
 * Collective, agrees.
 * Errors: HT_ERR_ARGUMENT for a loader without batches; those of ht_daso_set_last_batch. */
HT_API ht_status ht_daso_set_loader(ht_daso *daso, const ht_dataloader *loader);

/* Trains `daso` with mixed precision: `wrapper` updates the local optimizer.
 *
 * The program calls ht_optim_wrapper_update_params, then ht_daso_step after each batch, which now
 * only exchanges. A skipped update is skipped on all ranks of the node.
 *
 * wrapper: around the local optimizer; retained. NULL ends mixed precision.
 * Logically collective.
 * Errors: HT_ERR_ARGUMENT for a wrapper around another optimizer. */
HT_API ht_status ht_daso_add_scaler(ht_daso *daso, ht_optim_wrapper *wrapper);

/* Ends a batch: updates the parameters of this rank from their gradients, then does the exchange
 * that is due.
 *
 * P is the number of nodes. The weight w_i of node i is its number of ranks over the mean of all
 * nodes.
 *
 * - Blocking: x = the mean over all ranks, of parameters and floating-point buffers.
 * - Sending: one rank of each node, in turns, sends w_i x_i, without waiting.
 * - Receiving, S batches later: x = (n x + sum of the sent w_i x_i) / (n + P) with n = 2 S, or 1 if
 *   S = 0. The rank that sent computes this and broadcasts it inside its node.
 *
 * If the program also steps the optimizer, each batch updates twice, which is logged as a warning.
 *
 * A rank whose forward, backward or update has failed calls this, too. The call waits for the next
 * exchange, in which all ranks get the error. If forward has failed and no backward pass has begun
 * since, this begins the pass that the other ranks of the node wait for. If the loss failed after
 * forward, the rank first calls ht_data_parallel_backward(wrapper, NULL), or
 * ht_optim_wrapper_update_params(scaler, NULL).
 *
 * daso: has a model and a last batch.
 * Collective.
 * Errors: HT_ERR_STATE without a model or last batch, after the last batch, or if parameters are
 * not finite after an exchange. The error of a rank whose batch has failed. The same on all ranks,
 * but in different batches if the nodes have no exchange between them. */
HT_API ht_status ht_daso_step(ht_daso *daso);

/* ht_optimizer_zero_grad of the local optimizer of `daso`. Not collective. */
HT_API ht_status ht_daso_zero_grad(ht_daso *daso);

/* Ends an epoch after its last batch: its mean loss decides how the next epoch exchanges.
 *
 * daso: changed; its scheduler is stepped with the mean loss.
 * loss: of this rank, or the average over all ranks.
 * loss_globally_averaged: false averages `loss` over the ranks first; true takes it as the average.
 * Collective.
 * Errors: HT_ERR_STATE before the last batch; HT_ERR_ARGUMENT if an averaged loss differs between
 * ranks; those of the scheduler's step. */
HT_API ht_status ht_daso_epoch_loss_logic(ht_daso *daso, double loss, bool loss_globally_averaged);

/* Returns `daso` to the start of its first epoch.
 *
 * A pending exchange is received first. All ranks then take the mean of their parameters and
 * buffers, in full precision. Without a model, nothing is exchanged. Call this too if the program
 * has loaded parameters after wrapping: from then on 16-bit differences are taken from the new
 * values.
 *
 * Collective.
 * Errors: those of the exchange. */
HT_API ht_status ht_daso_reset(ht_daso *daso);

typedef enum ht_daso_phase { HT_DASO_WARMUP, HT_DASO_CYCLING, HT_DASO_COOLDOWN } ht_daso_phase;

/* The state of a run, the same on all ranks. */
typedef struct ht_daso_report {
    ht_daso_phase phase;
    int64_t epoch, batch; /* the next ones */
    int64_t global_skip;  /* batches from one exchange of nodes to the next; 0: blocking */
    int64_t local_skip;   /* batches from one averaging inside nodes to the next */
    int64_t wait;         /* batches from sending to receiving */
    /* The last step. */
    bool local_sync;   /* its gradients were averaged inside nodes */
    bool blocking;     /* it averaged parameters over all ranks */
    int sent;          /* rank inside its node that sent; -1: none */
    int64_t staleness; /* S of the received exchange; -1: none */
} ht_daso_report;

/* Returns the state of `daso`; NULL gives zeros, with -1 in sent and staleness. Not collective. */
HT_API ht_daso_report ht_daso_get_report(const ht_daso *daso);

/* Returns the name of `phase`: "warm-up", "cycling" or "cool-down"; NULL for any other value. Not
 * collective. */
HT_API const char *ht_daso_phase_name(ht_daso_phase phase);

/* Prints a line on `daso` to `stream`, the same on all ranks: "DASO, 4 nodes, 8 ranks in 2 groups,
 * epoch 5 of 20: cycling, ...". A NULL daso prints nothing. Not collective. */
HT_API void ht_daso_print(const ht_daso *daso, FILE *stream);

/* Returns the state of `daso` as a map, for ht_checkpoint_save next to the model's and the
 * optimizer's.
 *
 * It holds the phase, the skips, the plateau detector, and the optimizer state and integer buffers
 * of each rank. Within a cycling epoch, it also holds the last agreed values, and the parameters
 * and floating-point buffers of each rank. At other times these are in the model's own state, which
 * is saved with it. A pending exchange is received first. So a run that saves, and a run that
 * resumes from the file, continue with the same bits. ht_daso_load_state_dict, which agrees on its
 * errors, loads the map into `daso`.
 *
 * Call this before the state of the model and of the optimizer is taken. It also gives all ranks
 * the same state tensors of the optimizer. A rank without an update may lack some until then, and
 * ht_checkpoint_save refuses an optimizer state that differs between ranks.
 *
 * daso: has a model (ht_nn_data_parallel_multi_gpu).
 * Collective.
 * Result: scoped; NULL after an error.
 * Errors: HT_ERR_STATE without a model. */
HT_API ht_value *ht_daso_state_dict(ht_daso *daso);

/* Loads a state of ht_daso_state_dict on all ranks, after the model's and the optimizer's own.
 *
 * A state of another number of ranks, or of ranks on other nodes, is accepted only if it was saved
 * between two epochs. It loads the mean of the optimizers' state tensors and the maximum of integer
 * buffers. A state of an earlier version has no integer buffers, and leaves them as they are.
 *
 * daso: has a model and a last batch (ht_daso_set_last_batch); unchanged after these errors.
 * state: not retained.
 * Collective, agrees.
 * Errors: HT_ERR_FORMAT for a state that does not fit. HT_ERR_STATE without a model or a last
 * batch, or for a state of other ranks or nodes that was saved within an epoch. */
HT_API ht_status ht_daso_load_state_dict(ht_daso *daso, const ht_value *state);

HT_END_DECLS
#endif
