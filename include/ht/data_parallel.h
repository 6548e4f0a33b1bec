/* SPDX-License-Identifier: MIT
 *
 * Data-parallel training over MPI ranks: heat.nn.DataParallel. For one process with several devices
 * (torch's wrapper of that name) see ht_nn_device_parallel.
 *
 * Blocking: gradients are averaged during backward, and step() updates at once. Non-blocking:
 * step() marks an update as due. Each layer's parameters are updated just before that layer runs in
 * the next forward pass. So the exchange overlaps the rest of backward and the preceding layers.
 * Both modes give the same parameters, bit for bit.
 *
 * `wrapper` is always a module of ht_nn_data_parallel or ht_nn_data_parallel_ext. Errors:
 * HT_ERR_ARGUMENT for NULL or another module; functions without a status then return false or
 * NULL. */
#ifndef HT_DATA_PARALLEL_H
#define HT_DATA_PARALLEL_H

#include "ht/module.h"
#include "ht/optim.h"

HT_BEGIN_DECLS

typedef enum ht_averaging {
    HT_AVERAGE_MEAN,    /* sum / ranks */
    HT_AVERAGE_SUM,     /* sum */
    HT_AVERAGE_WEIGHTED /* sum of (weight * gradient) / sum of weights: the true mean of uneven
                           batches */
} ht_averaging;

/* Options of ht_nn_data_parallel_ext; the same on all ranks.
 *
 * Options that torch's DistributedDataParallel has too have its names. Its process_group is the
 * communicator that the constructor takes. */
typedef struct ht_data_parallel_options {
    size_t size;                     /* of this struct; set by the default function */
    bool blocking;                   /* false; ht_optim_data_parallel overrides it */
    ht_averaging averaging;          /* HT_AVERAGE_WEIGHTED */
    int optimizer_count;             /* 0: number of further optimizers; each has its own step */
    ht_optimizer *const *optimizers; /* retained; the array is read at once */
    bool init_sync;                  /* true: compare the models, then broadcast model and
                                        optimizer state of rank 0; false: the program ensures
                                        equal models. Options are compared in either case */
    bool broadcast_buffers;          /* true: send rank 0's buffers before a forward that writes
                                        them, and in ht_module_eval */
    double bucket_cap_mb;            /* 25: MB of a bucket of gradients; above 0 */
    double first_bucket_mb;          /* 1: MB of the first bucket; above 0 */
    bool gradient_as_bucket_view;    /* true: gradients are views of their bucket */
    int accumulation_steps;          /* 1: passes of a step, from 1 on; ht_data_parallel_complete */
    bool find_unused_parameters;     /* false: a parameter without a gradient is an error */
    bool static_graph;               /* false; true: parameters that the first pass did not use
                                        are never used */
    bool check_reduction;            /* false; has no effect, as in torch, and is logged */
    int device_id_count, output_device; /* 0, -1: at most one device for each rank */
    const int *device_ids;              /* read at once */
    int dim;                            /* 0; divides batches among the devices of a rank */
} ht_data_parallel_options;

/* Returns the default options of ht_nn_data_parallel_ext, given at each field. Not collective. */
HT_API ht_data_parallel_options ht_data_parallel_options_default(void);

/* Wraps `module` for training on `comm`: gradients are averaged over the ranks.
 *
 * All ranks pass the same model; the first difference is named. Parameters, buffers and optimizer
 * state are broadcast from rank 0. Two trainable parameters must not overlap in memory (by
 * ht_tensor_set_); ht_tensor_set_ refuses to make them overlap later. A tensor that is registered
 * in several modules is one parameter.
 *
 * Each backward pass needs a forward pass of the wrapper before it. A wrapped parameter must not
 * get a gradient without one, or a second gradient after it. A penalty on the parameters belongs in
 * the loss for that reason. Such a gradient is HT_ERR_STATE of that backward and of the steps after
 * it. If one rank alone has the error, all ranks get it, with its text: in the current pass or the
 * next one, which updates nothing. If a rank makes no pass after such an error, the others wait
 * until HT_TIMEOUT.
 *
 * module: retained; its trainable parameters are process-local, float32 or float64.
 * comm: the ranks to average over; retained.
 * optimizer: retained; updates parameters of `module` only, all or a part of them. NULL averages
 * gradients during backward, and the program updates; this is always blocking.
 * blocking: true or false, see the top.
 * Collective over `comm`, agrees.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for a module without trainable parameters, overlapping parameters, an
 * optimizer with parameters of other modules, or models that differ between ranks (SyncBatchNorm on
 * some of them). HT_ERR_STATE for a module that a wrapper contains already, and for a parameter or
 * the optimizer of another wrapper. HT_ERR_COMM for split parameters. HT_ERR_DTYPE for another
 * dtype.
 * Source: heat.nn.DataParallel, torch.nn.parallel.DistributedDataParallel. */
HT_API ht_module *ht_nn_data_parallel(ht_module *module, ht_comm *comm, ht_optimizer *optimizer,
                                      bool blocking);

/* ht_nn_data_parallel of `module`, `comm` and `optimizer` with options: averaging, further
 * optimizers, buckets, accumulation.
 *
 * options: NULL takes the defaults, which are non-blocking.
 * Collective over `comm`, agrees.
 * Errors: also HT_ERR_ARGUMENT for a value out of range, or for options that differ between ranks;
 * HT_ERR_UNSUPPORTED for several devices; HT_ERR_DEVICE for parameters on another device than that
 * of device_ids. */
HT_API ht_module *ht_nn_data_parallel_ext(ht_module *module, ht_comm *comm, ht_optimizer *optimizer,
                                          const ht_data_parallel_options *options);

/* Replaces each child of `module` that has trainable parameters by a wrapper.
 *
 * Use it for models whose parts are trained in turns, such as a generator and its discriminator. A
 * child's wrapper gets the optimizers that hold parameters of the child. A backward pass is
 * exchanged only by the wrappers that its loss reaches. The wrappers are made in the order of the
 * children.
 *
 * module: changed; its children stay as they are after an error.
 * comm: the ranks to average over.
 * count: number of optimizers, at least 0.
 * optimizers: retained; each holds parameters of one child.
 * options: of every wrapper; NULL takes the defaults. optimizer_count and optimizers are ignored.
 * Collective over `comm`, agrees.
 * Errors: HT_ERR_ARGUMENT for a trainable parameter of `module` itself, or an optimizer without
 * parameters of `module`; HT_ERR_STATE for a parameter that two children use; those of
 * ht_nn_data_parallel_ext.
 * Source: mmengine's MMSeparateDistributedDataParallel. */
HT_API ht_status ht_nn_data_parallel_separate(ht_module *module, ht_comm *comm, int count,
                                              ht_optimizer *const optimizers[],
                                              const ht_data_parallel_options *options);

/* Sets the weight of this rank's next backward pass, for HT_AVERAGE_WEIGHTED.
 *
 * The weight is the number of samples that the loss is a mean of. By default it is the length of
 * axis 0 of the inputs of forward. A weight must be set if inputs differ in that length: a
 * constant of one element next to the batch, for instance. It must also be set if the loss comes
 * from forward passes with different lengths. Otherwise backward fails with HT_ERR_STATE. All ranks
 * get that error when they wait for the averages of this pass, and nothing is updated.
 *
 * The weight holds for one pass. Set it before the forward pass, or after all forward passes of the
 * loss. Under the other averages a rank with the weight 0 contributes zeros, too, and another
 * weight changes nothing. There the weight is 0 by default only if no input of the loss's forward
 * passes has rows. If all ranks have the weight 0, the pass gives no gradients, without an
 * error. If a loss reaches several wrappers, they need the same averaging. Under
 * HT_AVERAGE_WEIGHTED they also need the same weight, and under HT_AVERAGE_MEAN the same
 * accumulation_steps. Under all of them, either all have the weight 0 or none. Otherwise backward
 * fails in the same way.
 *
 * wrapper: see the top.
 * weight: 0, for a rank that contributes nothing, or 1e-30 to 1e30.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT for a weight out of range. */
HT_API ht_status ht_data_parallel_set_weight(ht_module *wrapper, double weight);

/* Runs the backward pass of a step's loss: scales the seed by the weight and starts the exchange.
 *
 * ht_backward(loss) does the same for a loss that reaches the wrapped parameters. A rank without
 * rows calls this with NULL to contribute zeros. After an error that the program has not cleared,
 * NULL stands for a missing loss, here and in ht_backward(NULL): the call returns that error. All
 * ranks get the error when they wait for the averages of this pass, and nothing is updated.
 *
 * With several wrappers, ht_backward(NULL) takes those whose forward pass has failed, and those
 * that made its inputs. If none has failed, it takes all whose forward pass has no backward pass
 * yet and whose graph this thread had not freed before the error. That is too much where the loss
 * of a discriminator fails while its generator waits. Call this with NULL then, for each wrapper
 * that the loss would have reached.
 *
 * If a loss reaches several wrappers of a communicator, their passes begin in the order in which
 * the wrappers were made. Calls with NULL for these wrappers, without rows or after an error, must
 * come in that order, too. If ranks begin passes of different wrappers, every wrapper of the
 * communicator returns HT_ERR_STATE from then on. The message names two of these wrappers. Release
 * all of them, and wrap the modules again. A call with NULL also takes rank 0's buffers, as a
 * forward pass does. Forward passes may run in another order than the wrappers were made in.
 * Disable gradients (ht_set_grad_enabled) for a training forward pass that no backward pass
 * follows, such as a generator's for the loss of its discriminator. A rank without rows leaves it
 * out.
 *
 * wrapper: of the model that made the loss.
 * loss: a mean over the samples of the weight. NULL: see above.
 * Logically collective.
 * Errors: those of ht_backward. HT_ERR_STATE for a NULL loss if the model has SyncBatchNorm layers.
 * Run a batch of no rows instead. */
HT_API ht_status ht_data_parallel_backward(ht_module *wrapper, ht_tensor *loss);

/* Completes a group of accumulated passes at the end of an epoch: averages or sums the pending
 * passes.
 *
 * With accumulation_steps = k, the wrapper counts backward passes and synchronises the last of each
 * k. Until then ht_optimizer_step, ht_optimizer_zero_grad and the two ht_clip_grad_ functions do
 * nothing; the norm is 0. So the loop is the usual one, and calls all of them after every pass. The
 * gradient is the mean over the samples (HT_AVERAGE_WEIGHTED), the mean over ranks and passes
 * (HT_AVERAGE_MEAN), or the sum of the k passes (HT_AVERAGE_SUM). ht_optim_wrapper does all of this
 * by itself.
 *
 * Ranks may have different numbers of pending passes, at least one each. HT_AVERAGE_WEIGHTED
 * divides by the weights of all pending passes. HT_AVERAGE_MEAN is the mean over ranks of each
 * rank's mean over its own pending passes.
 *
 *     if (ht_data_parallel_complete(dp)) {
 *         ht_clip_grad_norm_(parameters, 1, 2, false);
 *         ht_optimizer_step(optimizer);
 *         ht_optimizer_zero_grad(optimizer);
 *     }
 *
 * wrapper: see the top.
 * Collective: ranks with different numbers of groups need a join.
 * Result: true if clipping, step and zero_grad must follow; false if no pass is pending, or after
 * an error. */
HT_API bool ht_data_parallel_complete(ht_module *wrapper);

/* ht_data_parallel_complete for programs that do not clip: then all optimizers of `wrapper` step
 * and zero their gradients. Without a pending pass nothing happens.
 *
 * Collective: ranks with different numbers of groups need a join.
 * Errors: those of ht_optimizer_step. */
HT_API ht_status ht_data_parallel_flush(ht_module *wrapper);

/* Begins a region in which gradients only accumulate on this rank. Regions nest.
 *
 * Backward passes of forward passes in the region are not exchanged. The first backward pass after
 * them sends the sum, as torch's does. Under HT_AVERAGE_MEAN the gradient of k passes is therefore
 * k times the mean over ranks and passes, which accumulation_steps = k gives: divide each loss by
 * k.
 *
 * The forward pass decides. So a backward pass in a region whose forward pass ran before it is
 * HT_ERR_STATE, on all ranks. A step with unsent gradients is HT_ERR_STATE too.
 *
 * wrapper: without accumulation_steps.
 * Logically collective.
 * Errors: HT_ERR_STATE if accumulation_steps is above 1.
 * Source: DistributedDataParallel.no_sync. */
HT_API ht_status ht_data_parallel_no_sync_begin(ht_module *wrapper);

/* Ends the innermost region of ht_data_parallel_no_sync_begin on `wrapper`.
 *
 * Logically collective.
 * Errors: HT_ERR_STATE without a region. */
HT_API ht_status ht_data_parallel_no_sync_end(ht_module *wrapper);

/* Decides for the next forward passes of `wrapper` whether their gradients are exchanged.
 *
 * It is ht_data_parallel_no_sync_begin for code that decides for each forward pass.
 *
 * sync: false is a region that lasts until true. true does not end regions of no_sync_begin.
 * Logically collective.
 * Errors: HT_ERR_STATE for false if accumulation_steps is above 1. */
HT_API ht_status ht_data_parallel_set_sync(ht_module *wrapper, bool sync);

/* Options of ht_data_parallel_join_begin; the same on all ranks. */
typedef struct ht_join_options {
    size_t size;                       /* of this struct; set by the default function */
    bool divide_by_initial_world_size; /* true: a mean divides by all ranks; false: by those that
                                          still have data */
    bool enable;                       /* true; false: begin and end do nothing */
    bool throw_on_early_termination;   /* false; true: the first rank without data ends the join */
} ht_join_options;

/* Returns the default options of ht_data_parallel_join_begin, given at each field. Not
 * collective. */
HT_API ht_join_options ht_join_options_default(void);

/* Begins a join: each rank makes as many steps as it has data for, until ht_data_parallel_join_end.
 *
 * HT_AVERAGE_WEIGHTED divides by the weights that were contributed, with or without a join.
 *
 * With throw_on_early_termination, every forward pass asks whether all ranks have data. If one has
 * none, forward on the others and the end on that one return HT_ERR_STATE, and the join is over. No
 * rank made that forward pass. So a missing loss with that error begins no backward pass, and
 * training may continue after ht_error_clear. SyncBatchNorm needs this.
 *
 * wrapper: if throw_on_early_termination is false, no other wrapper of its communicator may be in a
 *   join in which it is false.
 * options: NULL takes the defaults.
 * Collective, agrees.
 * Errors: HT_ERR_STATE for a second join, of this wrapper or of another one that `wrapper`
 * excludes. HT_ERR_UNSUPPORTED for SyncBatchNorm without throw_on_early_termination;
 * HT_ERR_ARGUMENT for options that differ between ranks; those of pending passes.
 * Source: DistributedDataParallel.join. */
HT_API ht_status ht_data_parallel_join_begin(ht_module *wrapper, const ht_join_options *options);

/* Ends a join: takes part in the exchanges of the other ranks with zeros until all ranks are here.
 *
 * The model and the state of the optimizers are then sent from a rank with the most steps to all.
 * All gradients are zeroed, even if all ranks made the same number of steps. It calls
 * ht_data_parallel_flush first. A program that clips calls ht_data_parallel_complete before it.
 *
 * wrapper: in a join.
 * Collective.
 * Errors: HT_ERR_STATE without a join, or if it ended early (throw_on_early_termination); those of
 * ht_data_parallel_flush. The join is over then, too. */
HT_API ht_status ht_data_parallel_join_end(ht_module *wrapper);

/* Finishes every pending exchange and update of `wrapper`.
 *
 * ht_module_eval, saving, and reading a parameter do this by themselves.
 *
 * Logically collective.
 * Errors: those of the pending passes, updates and communication hooks. */
HT_API ht_status ht_data_parallel_drain(ht_module *wrapper);

/* Asks all ranks to stop together, because this rank has to: a signal, or a limit of time.
 *
 * Under HT_AVERAGE_WEIGHTED the request travels with the next synchronised backward pass, in a
 * message that is sent anyway. It has arrived when the pass after that one begins. Under the other
 * averages ht_data_parallel_stop_requested exchanges it.
 *
 * A request reaches the ranks of the wrapper's communicator only. That is one node for
 * ht_nn_data_parallel_multi_gpu, and a part of the world for a wrapper on that part. Ranks outside
 * would wait at their next exchange. There a program asks all ranks by itself every few steps: with
 * ht_allreduce or, without waiting, ht_iallreduce (HT_OP_MAX). doc/checkpoints.md shows it.
 *
 * wrapper: of this rank's model.
 * Not collective. */
HT_API ht_status ht_data_parallel_request_stop(ht_module *wrapper);

/* Returns true if a rank of `wrapper` has asked to stop (ht_data_parallel_request_stop).
 *
 * All ranks ask at the same point of the program. The result is then true on all of them at the
 * same step, and stays true.
 *
 * Logically collective under HT_AVERAGE_WEIGHTED, which exchanges nothing for it; collective under
 * the other averages, which exchange a small message.
 * Result: false also after an error. */
HT_API bool ht_data_parallel_stop_requested(ht_module *wrapper);

/* Returns the wrapped module of `wrapper`, borrowed. Not collective. */
HT_API ht_module *ht_data_parallel_module(ht_module *wrapper);

HT_END_DECLS
#endif
