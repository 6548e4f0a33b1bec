/* SPDX-License-Identifier: MIT
 *
 * Data-parallel training over MPI ranks: heat.nn.DataParallel. (One process over several devices is
 * another thing: torch's wrapper, ht_nn_device_parallel.)
 *
 * Blocking: gradients are averaged during backward, and step() updates at once. Non-blocking:
 * step() marks an update due; each layer's parameters are updated just before that layer runs in
 * the next forward pass, so that the exchange overlaps the rest of backward and the layers before
 * it. Both give the same parameters, bit for bit. */
#ifndef HT_DATA_PARALLEL_H
#define HT_DATA_PARALLEL_H

#include "ht/module.h"
#include "ht/optim.h"

HT_BEGIN_DECLS

typedef enum ht_averaging {
    HT_AVERAGE_MEAN,    /* sum / ranks */
    HT_AVERAGE_SUM,     /* sum */
    HT_AVERAGE_WEIGHTED /* sum of weight x gradient / sum of weights: the true mean of uneven
                           batches */
} ht_averaging;

/* Those of torch's DistributedDataParallel have its names; process_group is the communicator that
 * the constructor takes. */
typedef struct ht_data_parallel_options {
    size_t size;                        /* of this struct; set by the default function */
    bool blocking;                      /* false; ht_optim_data_parallel overrides it */
    ht_averaging averaging;             /* HT_AVERAGE_WEIGHTED */
    int optimizer_count;                /* 0: further optimizers, each with a step of its own */
    ht_optimizer *const *optimizers;    /* retained; the array is read at once */
    bool init_sync;                     /* true; false: the program vouches for equal models */
    bool broadcast_buffers;             /* true: rank 0's, before a forward that writes them, and in
                                           ht_module_eval */
    double bucket_cap_mb;               /* 25 */
    double first_bucket_mb;             /* 1 */
    bool gradient_as_bucket_view;       /* true */
    int accumulation_steps;             /* 1: backward passes of a step; see below */
    bool find_unused_parameters;        /* false: a parameter without a gradient is an error */
    bool static_graph;                  /* false: what the first pass did not use is never used */
    bool check_reduction;               /* false; does nothing, as in torch, and says so */
    int device_id_count, output_device; /* 0, -1: no more than one device for each rank */
    const int *device_ids;              /* read at once */
    int dim;                            /* 0; divides batches among the devices of a rank */
} ht_data_parallel_options;

HT_API ht_data_parallel_options ht_data_parallel_options_default(void);

/* Wraps `module` (retained) for training on `comm`, updated by `optimizer` (retained; NULL:
 * gradients are averaged during backward and the program updates by itself; then always blocking).
 * All ranks must bring the same model (the first difference is named); parameters, buffers and
 * optimizer state are broadcast from rank 0. An optimizer may hold a part of the parameters, but
 * none of other modules. Two trainable parameters whose memory overlaps (by ht_tensor_set_) are
 * HT_ERR_ARGUMENT, and ht_tensor_set_ does not bring them there afterwards; one tensor registered
 * in several modules is one parameter.
 *
 * A gradient of a wrapped parameter without a forward pass of the wrapper before it, or a second
 * one after it (of a penalty on the weight by itself, which belongs in the loss), is HT_ERR_STATE
 * of that backward and of the steps after it. Where one rank alone has it, all get it, with its
 * text, in the pass under way or in the next one, which updates nothing. A rank that makes no pass
 * after such an error leaves the others to HT_TIMEOUT.
 *
 * Owned. Collective over `comm`, agrees. Source: heat.nn.DataParallel,
 * torch.nn.parallel.DistributedDataParallel. */
HT_API ht_module *ht_nn_data_parallel(ht_module *module, ht_comm *comm, ht_optimizer *optimizer,
                                      bool blocking);
HT_API ht_module *ht_nn_data_parallel_ext(ht_module *module, ht_comm *comm, ht_optimizer *optimizer,
                                          const ht_data_parallel_options *options);

/* A wrapper for each child of `module` that has trainable parameters, in the child's place, with
 * those of the optimizers that hold its parameters: models whose parts are trained in turns, such
 * as a generator and its discriminator. A backward pass is exchanged by those wrappers only that
 * its loss reaches. A parameter of `module` itself is an error. Collective over `comm`, agrees.
 * Source: mmengine's MMSeparateDistributedDataParallel. */
HT_API ht_status ht_nn_data_parallel_separate(ht_module *module, ht_comm *comm, int count,
                                              ht_optimizer *const optimizers[],
                                              const ht_data_parallel_options *options);

/* The weight of this rank's next backward pass, for HT_AVERAGE_WEIGHTED: the number of samples that
 * its loss is a mean of. By default the length of dimension 0 of the forward's inputs. Backward
 * fails with HT_ERR_STATE unless a weight was set, where inputs differ in that length (a constant
 * of one element beside the batch), or the loss is made of forward passes that do; all ranks get
 * that where they await this pass's averages, and nothing is updated. 0: the rank contributes
 * nothing; else 1e-30 to 1e30. Not collective. */
HT_API ht_status ht_data_parallel_set_weight(ht_module *wrapper, double weight);

/* The backward pass of a step's loss (a mean over the weight's samples): scales the seed by the
 * weight and starts the exchange. ht_backward(loss) does the same for a loss that reaches the
 * wrapped parameters; a rank with no rows calls this with NULL to contribute zeros. With an error
 * that the program has not cleared, NULL is a loss that is missing (ht_backward(NULL), too):
 * returns that error; all ranks get it where they await this pass's averages, and nothing is
 * updated. */
HT_API ht_status ht_data_parallel_backward(ht_module *wrapper, ht_tensor *loss);

/* Accumulation. With accumulation_steps = k the wrapper counts backward passes and synchronises the
 * last of each k; before that ht_optimizer_step, ht_optimizer_zero_grad and the two ht_clip_grad_
 * functions do nothing (the norm is then 0), so the loop is the usual one, with all of them after
 * every pass. The gradient is the mean over the samples (HT_AVERAGE_WEIGHTED), over ranks and
 * passes (MEAN), or the sum of the k passes. ht_optim_wrapper does all of this by itself.
 *
 * complete: the end of an epoch. Passes that do not fill a group are averaged as one, their own
 * mean, and clipping, step and zero_grad are to follow. False when there are none, and nothing is
 * to follow; after an error, too:
 *
 *     if (ht_data_parallel_complete(dp)) {
 *         ht_clip_grad_norm_(parameters, 1, 2, false);
 *         ht_optimizer_step(optimizer);
 *         ht_optimizer_zero_grad(optimizer);
 *     }
 *
 * flush: the same for programs that do not clip; all optimizers of the wrapper step and zero their
 * gradients. Both collective: ranks with different numbers of groups need a join. */
HT_API bool ht_data_parallel_complete(ht_module *wrapper);
HT_API ht_status ht_data_parallel_flush(ht_module *wrapper);

/* Accumulation by the program: between the two, forward passes have backward passes that only
 * accumulate on this rank, and the first one after them sends the sum. Regions nest. Forward
 * decides: a backward pass inside a region whose forward pass ran before it is HT_ERR_STATE, on all
 * ranks, and so is a step with gradients that were not sent. Not with accumulation_steps. Logically
 * collective. Source: DistributedDataParallel.no_sync.
 */
HT_API ht_status ht_data_parallel_no_sync_begin(ht_module *wrapper);
HT_API ht_status ht_data_parallel_no_sync_end(ht_module *wrapper);

/* The same for code that decides anew for each forward pass: false is a region until true. */
HT_API ht_status ht_data_parallel_set_sync(ht_module *wrapper, bool sync);

/* Ranks with different numbers of batches. Between begin and end each rank makes as many steps as
 * it has data for; at the end a rank takes part in the others' exchanges with zeros until all are
 * there, and the model and the state of optimizers go from a rank that made most steps to all.
 * HT_AVERAGE_WEIGHTED divides by the weights that came, as ever; a mean divides by all ranks, or,
 * with divide_by_initial_world_size false, by those that still have data.
 *
 * throw_on_early_termination: every forward pass asks whether all ranks have data, and when one has
 * none, forward on the others and the end on that one return HT_ERR_STATE, with the join over:
 * which SyncBatchNorm needs. Not while another wrapper of the communicator is in a join. options
 * NULL: defaults; the same on all ranks. Collective, and so is the end; the end calls
 * ht_data_parallel_flush: whoever clips calls ht_data_parallel_complete before it. Source:
 * DistributedDataParallel.join. */
typedef struct ht_join_options {
    size_t size;                       /* of this struct; set by the default function */
    bool divide_by_initial_world_size; /* true */
    bool enable;                       /* true; false: both calls do nothing */
    bool throw_on_early_termination;   /* false */
} ht_join_options;

HT_API ht_join_options ht_join_options_default(void);
HT_API ht_status ht_data_parallel_join_begin(ht_module *wrapper, const ht_join_options *options);
HT_API ht_status ht_data_parallel_join_end(ht_module *wrapper);

/* Finishes every outstanding exchange and update: what eval, saving and reading do by themselves.
 */
HT_API ht_status ht_data_parallel_drain(ht_module *wrapper);

/* A rank that has to stop (a signal, a limit of time) asks for it; all stop together. The request
 * travels with the next synchronised backward pass, in a message that is sent anyway under
 * HT_AVERAGE_WEIGHTED, and is there once the pass after that one has begun: stop_requested, asked
 * by all ranks at the same point of the program, then is true on all of them at the same step, and
 * stays so. Under the
 * other averages nothing is sent that it could go with, and stop_requested exchanges a small
 * message: it is collective then. A request reaches the ranks of the wrapper's communicator, so one
 * node alone of ht_nn_data_parallel_multi_gpu, or of a wrapper on a part of the world: the others
 * would wait at their next exchange. There a program asks all by itself, with ht_allreduce or,
 * without waiting, ht_iallreduce (HT_OP_MAX) every so many steps; doc/checkpoints.md shows it. */
HT_API ht_status ht_data_parallel_request_stop(ht_module *wrapper);
HT_API bool ht_data_parallel_stop_requested(ht_module *wrapper);

HT_API ht_module *ht_data_parallel_module(ht_module *wrapper); /* borrowed */

HT_END_DECLS
#endif
