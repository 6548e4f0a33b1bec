/* SPDX-License-Identifier: MIT
 *
 * DASO, distributed asynchronous and selective optimization: gradients are averaged inside a node
 * after each batch, parameters between the nodes now and then, and mostly without waiting. For
 * networks between nodes that are slow beside those inside; doc/daso.md says when to use it and how
 * it works. Source: heat.optim.DASO; Coquelin et al., Journal of Big Data 9:14 (2022).
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
 *         ht_daso_epoch_loss_logic(daso, mean of the losses, false); */
#ifndef HT_DASO_H
#define HT_DASO_H

#include "ht/module.h"
#include "ht/optim.h"
#include "ht/optim_wrapper.h"

HT_BEGIN_DECLS

/* Finds out when a metric has stopped improving. Source: heat.optim.utils.DetectMetricPlateau. */
typedef struct ht_plateau_detector ht_plateau_detector;

typedef struct ht_plateau_detector_options {
    size_t size;      /* of this struct; set by the default function */
    bool maximize;    /* false: the metric is to fall */
    int64_t patience; /* 10: values without improvement that are borne */
    double threshold; /* 1e-4: an improvement is at least this part (below 1) of the best's size, */
    bool absolute;    /* or with true, at least this; false */
    int64_t cooldown; /* 0: values after a plateau that are not counted */
} ht_plateau_detector_options;

HT_API ht_plateau_detector_options ht_plateau_detector_options_default(void);

/* options NULL: defaults. Owned. Not collective. HT_ERR_ARGUMENT for values out of range. */
HT_API ht_plateau_detector *ht_plateau_detector_new(const ht_plateau_detector_options *options);

/* Takes the next value; true when more than `patience` in a row were no improvement: a plateau,
 * with which counting starts again. NaN is no improvement. The name is Heat's. */
HT_API bool ht_plateau_detector_test_if_improving(ht_plateau_detector *detector, double metric);

/* Forgets the best value and the counts. */
HT_API ht_status ht_plateau_detector_reset(ht_plateau_detector *detector);

/* Settings and counts as a map of numbers. set_state: HT_ERR_FORMAT, with nothing changed, when an
 * entry is missing. Scoped. */
HT_API ht_value *ht_plateau_detector_get_state(const ht_plateau_detector *detector);
HT_API ht_status ht_plateau_detector_set_state(ht_plateau_detector *detector,
                                               const ht_value *state);

typedef struct ht_daso ht_daso;

/* The first eight are the reference's. Its use_mpi_groups, which chooses between two ways to make
 * the same communicators, has nothing to choose here. */
typedef struct ht_daso_options {
    size_t size;                   /* of this struct; set by the default function */
    int64_t warmup_epochs;         /* 4: the first, in which all ranks average after each batch, */
    int64_t cooldown_epochs;       /* 4: and the last ones */
    ht_scheduler *scheduler;       /* NULL; retained; stepped at the end of each epoch */
    double stability_level;        /* 0.05: the threshold of the plateau detector */
    int64_t max_global_skips;      /* 8: batches from one exchange between nodes to the next */
    int64_t sending_chunk_size;    /* 10000000 elements travel as one message */
    ht_dtype downcast_type;        /* HT_BFLOAT16: what blocking exchanges of float32 parameters
                                      travel as between nodes; HT_FLOAT16; HT_FLOAT32: as they are */
    int64_t skip_reduction_factor; /* 2 */
    int64_t local_skip_factor;     /* 4 */
    bool verbose;                  /* false; true: decisions are logged as warnings are */

    /* Beyond the reference; the same on all ranks. */
    bool downcast_asynchronous; /* false; exchanges of the cycling phase in downcast_type, too */
    bool exchange_momentum;     /* false; blocking exchanges average the optimizer's state, too;
                                   not in float16, where squares of small gradients are 0 */
    double outer_lr;            /* 0: none; the blocking exchange that ends an epoch of the cycling
                                   phase is a step of SGD with Nesterov momentum from the value that
                                   was agreed before, along the difference to the mean (DiLoCo) */
    double outer_momentum;      /* 0.9, in [0, 1) */
} ht_daso_options;

HT_API ht_daso_options ht_daso_options_default(void);

/* DASO around `local_optimizer` (retained), which updates this rank's parameters, for a run of
 * `total_epochs` on all ranks of `comm` (retained). options NULL: defaults. Owned; the release
 * waits for what is outstanding, so that all ranks make it alike. Collective over `comm`, agrees.
 * Errors: HT_ERR_ARGUMENT for values out of range, or warm-up and cool-down longer than the run;
 * the same on all ranks. Source: heat.optim.DASO. */
HT_API ht_daso *ht_optim_daso(ht_optimizer *local_optimizer, int64_t total_epochs, ht_comm *comm,
                              const ht_daso_options *options);

/* The data-parallel wrapper that averages gradients over the ranks of a node, and leaves the
 * exchange between nodes to `daso`, whose communicator `comm` is. All ranks must bring the same
 * model; parameters, buffers and optimizer state are broadcast from rank 0 of `comm`. What is said
 * of wrappers in data_parallel.h holds inside the node, requests to stop included, but joins: all
 * ranks take part in each batch, and one without rows calls ht_data_parallel_backward(wrapper,
 * NULL). Owned. Collective over `comm`, agrees. Source: heat.nn.DataParallelMultiGPU. */
HT_API ht_module *ht_nn_data_parallel_multi_gpu(ht_module *module, ht_daso *daso, ht_comm *comm);

/* The model whose parameters and buffers are exchanged: ht_nn_data_parallel_multi_gpu does this.
 * For a model whose gradients the program averages inside nodes by itself, with the same parameters
 * on all ranks. Its trainable parameters and the optimizer's must be the same ones. On any device:
 * what travels is copied to the CPU. Retained. Collective, agrees. Errors: HT_ERR_ARGUMENT,
 * HT_ERR_SHAPE for models of different sizes. */
HT_API ht_status ht_daso_set_model(ht_daso *daso, ht_module *module);

/* The index of an epoch's last batch, from 0; the same on all ranks, which is checked. By the
 * loader: its number of batches less one. Before the first step. Collective, agrees. */
HT_API ht_status ht_daso_set_last_batch(ht_daso *daso, int64_t last_batch);
HT_API ht_status ht_daso_set_loader(ht_daso *daso, const ht_dataloader *loader);

/* Mixed precision: `wrapper` updates the local optimizer (ht_optim_wrapper_update_params), and
 * ht_daso_step, still called after each batch, only exchanges. An update that is skipped is skipped
 * by a node. NULL: no longer. Retained. Not collective. */
HT_API ht_status ht_daso_add_scaler(ht_daso *daso, ht_optim_wrapper *wrapper);

/* The end of a batch: updates this rank's parameters from their gradients, then does what is due,
 * with P nodes and weights w_i, the ranks of a node over the mean of all nodes:
 *
 * - blocking: x = the mean over all ranks, of parameters and floating-point buffers;
 * - sending: one rank of each node, in turns, sends w_i x_i, without waiting;
 * - receiving, S batches later: x = (n x + sum of the w_i x_i that were sent) / (n + P) with n = 2
 * S (1 for S = 0), made by the rank that sent and broadcast inside its node.
 *
 * A program that steps the optimizer as well updates twice, of which it is warned.
 * Logically collective. Errors, the same on all ranks: HT_ERR_STATE without a model or last batch,
 * after the last batch, or when parameters are not finite after an exchange. */
HT_API ht_status ht_daso_step(ht_daso *daso);

HT_API ht_status ht_daso_zero_grad(ht_daso *daso);

/* The end of an epoch, after its last batch: decides from its mean loss what the next one does. The
 * loss of this rank is averaged over ranks first unless it is the average already
 * (loss_globally_averaged). Collective. Errors: HT_ERR_STATE before the last batch;
 * HT_ERR_ARGUMENT when a loss that is said to be averaged differs between ranks. */
HT_API ht_status ht_daso_epoch_loss_logic(ht_daso *daso, double loss, bool loss_globally_averaged);

/* Back to the first epoch. What is outstanding is received first; then all ranks take the mean of
 * their parameters and buffers, in full precision. Also for parameters that the program has loaded
 * after the wrapping: 16-bit differences count from them now. Collective. */
HT_API ht_status ht_daso_reset(ht_daso *daso);

typedef enum ht_daso_phase { HT_DASO_WARMUP, HT_DASO_CYCLING, HT_DASO_COOLDOWN } ht_daso_phase;

/* How things stand, the same on all ranks. Not collective. */
typedef struct ht_daso_report {
    ht_daso_phase phase;
    int64_t epoch, batch; /* those that come next */
    int64_t global_skip;  /* batches from one exchange between nodes to the next; 0: blocking */
    int64_t local_skip;   /* batches from one averaging inside nodes to the next */
    int64_t wait;         /* batches from sending to receiving */
    /* What the last step did. */
    bool local_sync;   /* gradients had been averaged inside nodes */
    bool blocking;     /* parameters, over all ranks */
    int sent;          /* place in its node of the rank that sent; -1: none */
    int64_t staleness; /* S of what was received; -1: nothing */
} ht_daso_report;

HT_API ht_daso_report ht_daso_get_report(const ht_daso *daso);
HT_API const char *ht_daso_phase_name(ht_daso_phase phase); /* "warm-up", "cycling", "cool-down" */

/* "DASO, 4 nodes, 8 ranks in 2 groups, epoch 5 of 20: cycling, ...". Rank by rank the same. */
HT_API void ht_daso_print(const ht_daso *daso, FILE *stream);

/* Phase, skips, the plateau detector, what was last agreed, and the ranks' own parameters and
 * optimizer state, as a map for ht_checkpoint_save beside the model's and the optimizer's. What is
 * outstanding is received first, so that a run that saves goes on as the one that is resumed from
 * its file, bit for bit. Scoped. Collective.
 *
 * Loading, after the model's and the optimizer's own, restores all ranks. A state of another number
 * of ranks, or of ranks on other nodes, is taken from between two epochs only, with the mean of the
 * optimizers' states. Collective, agrees. Errors, with nothing changed: HT_ERR_FORMAT for a state
 * that does not fit, HT_ERR_STATE for one of other ranks or nodes from within an epoch, or without
 * a model. */
HT_API ht_value *ht_daso_state_dict(ht_daso *daso);
HT_API ht_status ht_daso_load_state_dict(ht_daso *daso, const ht_value *state);

HT_END_DECLS
#endif
