/* SPDX-License-Identifier: MIT
 *
 * Steps, hooks, clipping, groups and state of all optimizers. ht/optimizers.h makes them,
 * ht/schedules.h changes their learning rates.
 *
 * Not collective, unless a block says otherwise. A function with a status, or that makes an object,
 * has HT_ERR_ARGUMENT for a NULL optimizer. Source: torch.optim.Optimizer, torch.nn.utils. */
#ifndef HT_OPTIM_H
#define HT_OPTIM_H

#include <stdio.h>

#include "ht/tensor.h"
#include "ht/value.h"

HT_BEGIN_DECLS

/* Updates all parameters that have a gradient; others keep their values.
 *
 * Under a non-blocking data-parallel wrapper, this only marks the update as due. In the middle of a
 * group of accumulation_steps passes (ht_data_parallel_options), this does nothing.
 *
 * Data can be in error on a device: a target class that does not exist, for instance. If the device
 * of a parameter has already found such an error, this returns it and updates nothing. If the
 * device finds it later, the next call that waits for the device returns it. Until then the device
 * updates nothing, although the steps count: resume from a checkpoint.
 *
 * optimizer: the one to step. Not one of ht_optim_lbfgs.
 * Errors: HT_ERR_STATE if a parameter has changed its shape or device since its first step, and for
 * ht_optim_lbfgs; the status of a hook that is not HT_SUCCESS. */
HT_API ht_status ht_optimizer_step(ht_optimizer *optimizer);

/* Scales all gradients so that their common norm is at most max_norm: gradients *= max_norm / (norm
 * + 1e-6) where that factor is below 1.
 *
 * Call it between backward and step. The norm is that of all gradients as one vector. It is summed
 * in double, in an order that depends on shapes alone. Parameters without a gradient are left out.
 *
 * Under a data-parallel wrapper the gradients are the averages, and this waits for them. In the
 * middle of a group of accumulation_steps passes (ht_data_parallel_options), parameters of the
 * wrapper are left out; if none remains, the norm is 0.
 *
 * parameters: a list or map of tensors, or one tensor; their gradients are floating-point and not
 * split. An empty list has the norm 0.
 * max_norm: at least 0.
 * norm_type: above 0; INFINITY is the largest element.
 * error_if_nonfinite: true makes an infinite or NaN norm an error, HT_ERR_ARGUMENT; the gradients
 * then stay as they are.
 * Collective under a data-parallel wrapper, with the same bits on all ranks; else not collective.
 * Result: the norm before scaling; NaN after an error.
 * Errors: HT_ERR_ARGUMENT for a value out of range, a split gradient, a NULL list or an entry that
 * is not a tensor; HT_ERR_DTYPE for a gradient that is not floating-point.
 * Source: torch.nn.utils.clip_grad_norm_. */
HT_API double ht_clip_grad_norm_(ht_value *parameters, double max_norm, double norm_type,
                                 bool error_if_nonfinite);

/* Clears the gradients, computes the loss and its gradients (ht_backward), and returns the loss: a
 * tensor of one element, or NULL after an error. `user` is passed through. */
typedef ht_tensor *ht_loss_fn(void *user);

/* ht_optimizer_step after a call of closure; ht_optim_lbfgs calls it as often as it needs.
 *
 * Gradients are recorded during the call. Hooks before the step run after the closure; those of
 * ht_optim_lbfgs run before it.
 *
 * optimizer: the one to step.
 * closure: called with user.
 * loss: receives the loss of the first call, on success only; NULL: not wanted.
 * Errors: those of the closure, of ht_tensor_item for its loss, and of ht_optimizer_step;
 * HT_ERR_ARGUMENT if it returns NULL without an error; HT_ERR_STATE for ht_optim_lbfgs under a
 * data-parallel wrapper.
 * Source: torch.optim.Optimizer.step(closure). */
HT_API ht_status ht_optimizer_step_with(ht_optimizer *optimizer, ht_loss_fn *closure, void *user,
                                        double *loss);

/* Returns (sum |x|^norm_type)^(1 / norm_type) over all elements of all tensors.
 *
 * tensors: a list or map of floating-point tensors that are not split, or one tensor: gradients,
 * for instance.
 * norm_type: above 0; INFINITY is the largest element.
 * error_if_nonfinite: true makes an infinite or NaN norm an error, HT_ERR_ARGUMENT.
 * Result: NaN after an error, 0 for an empty list.
 * Errors: HT_ERR_ARGUMENT for a norm_type that is not above 0, a split tensor, NULL, a number, or
 * an entry that is not a tensor. HT_ERR_DTYPE for a tensor that is not floating-point.
 * Source: torch.nn.utils.get_total_norm. */
HT_API double ht_get_total_norm(ht_value *tensors, double norm_type, bool error_if_nonfinite);

/* The second half of ht_clip_grad_norm_: gradients *= max_norm / (total_norm + 1e-6) where that
 * factor is below 1.
 *
 * parameters, max_norm: as for ht_clip_grad_norm_.
 * total_norm: the norm of all gradients; NaN makes all of them NaN.
 * Collective as ht_clip_grad_norm_ is.
 * Errors: those of ht_clip_grad_norm_.
 * Source: torch.nn.utils.clip_grads_with_norm_. */
HT_API ht_status ht_clip_grads_with_norm_(ht_value *parameters, double max_norm, double total_norm);

/* Joins the elements of all parameters, in their order, into one vector.
 *
 * parameters: a list or map of tensors, at least one. One tensor is not a list.
 * Collective if a parameter is split. Differentiable.
 * Result: (elements), of the dtype to which all promote; scoped. Split and balanced if a parameter
 * is split.
 * Errors: HT_ERR_ARGUMENT for another value, an empty list or an entry that is not a tensor.
 * Source: torch.nn.utils.parameters_to_vector. */
HT_API ht_tensor *ht_parameters_to_vector(ht_value *parameters);

/* Sets the parameters to the elements of a vector, as ht_parameters_to_vector lays them out.
 *
 * vector: (elements of all parameters); converted to their dtypes. Not retained.
 * parameters: as for ht_parameters_to_vector. They may be leaves that require gradients; nothing is
 *   recorded.
 * Collective if a parameter is split.
 * Errors: HT_ERR_SHAPE for a vector of another length; HT_ERR_ARGUMENT as for
 * ht_parameters_to_vector. HT_ERR_STATE for a parameter that cannot be written, HT_ERR_COMM for one
 * on another communicator; parameters before it have their new values then.
 * Source: torch.nn.utils.vector_to_parameters. */
HT_API ht_status ht_vector_to_parameters(ht_tensor *vector, ht_value *parameters);

/* Limits each element of each gradient to [-limit, limit]; NaN stays.
 *
 * parameters: as for ht_clip_grad_norm_, with the same exceptions under a data-parallel wrapper.
 * limit: at least 0.
 * Collective as ht_clip_grad_norm_ is.
 * Errors: HT_ERR_ARGUMENT for another limit; those of ht_clip_grad_norm_ for the gradients.
 * Source: torch.nn.utils.clip_grad_value_. */
HT_API ht_status ht_clip_grad_value_(ht_value *parameters, double limit);

/* A hook of steps: it gets the optimizer, and `user` of its registration. Anything but HT_SUCCESS
 * ends the step, which returns that. */
typedef ht_status ht_step_hook_fn(ht_optimizer *optimizer, void *user);

/* Registers a hook that runs with user before each step of optimizer.
 *
 * Hooks run in the order of their registration. A hook may register and remove hooks. It does not
 * run for calls of ht_optimizer_step that do nothing because gradients are accumulated.
 *
 * user: not owned. It must live until the hook is removed, or optimizer is gone.
 * Result: an id for ht_optimizer_remove_hook; 0 after an error and never otherwise.
 * Errors: HT_ERR_ARGUMENT if optimizer or hook is NULL.
 * Source: torch.optim.Optimizer.register_step_pre_hook. */
HT_API uint64_t ht_optimizer_register_step_pre_hook(ht_optimizer *optimizer, ht_step_hook_fn *hook,
                                                    void *user);

/* Registers a hook that runs with user after each step of optimizer that succeeded.
 *
 * Under a non-blocking data-parallel wrapper, updates may still be due then.
 * Order, result and errors are those of ht_optimizer_register_step_pre_hook. */
HT_API uint64_t ht_optimizer_register_step_post_hook(ht_optimizer *optimizer, ht_step_hook_fn *hook,
                                                     void *user);

/* Removes the hook with that id from optimizer.
 *
 * Errors: HT_ERR_ARGUMENT if it has no such hook. */
HT_API ht_status ht_optimizer_remove_hook(ht_optimizer *optimizer, uint64_t id);

/* Sets how a data-parallel wrapper runs the steps of this optimizer, and returns `optimizer`.
 *
 * This overrides the setting of the wrapper. NULL stays NULL, without an error.
 *
 * optimizer: changed and returned; no reference is added.
 * blocking: true updates at once; false updates each layer before its next forward pass.
 * Source: heat.optim.DataParallelOptimizer, which wraps an optimizer for the same purpose. */
HT_API ht_optimizer *ht_optim_data_parallel(ht_optimizer *optimizer, bool blocking);

/* Clears the gradients of all parameters of `optimizer`: the next backward pass overwrites them.
 * Until then ht_tensor_grad gives NULL. ht_copy keeps a gradient. In PyTorch, one that the program
 * holds stays as it is.
 *
 * In the middle of a group of accumulation_steps passes of a data-parallel wrapper, this does
 * nothing. */
HT_API ht_status ht_optimizer_zero_grad(ht_optimizer *optimizer);

/* Returns the learning rate of the first parameter group of `optimizer`; NaN if it is NULL. */
HT_API double ht_optimizer_lr(const ht_optimizer *optimizer);

/* Sets the learning rate of all parameter groups of `optimizer` to `lr`, from the next step on.
 *
 * Errors: HT_ERR_ARGUMENT unless lr is finite and at least 0. */
HT_API ht_status ht_optimizer_set_lr(ht_optimizer *optimizer, double lr);

/* Returns the number of parameter groups of `optimizer`, 0 if it is NULL. The constructor makes
 * group 0. */
HT_API int ht_optimizer_group_count(const ht_optimizer *optimizer);

/* Returns the parameter group of parameter `index` of `optimizer`, or -1 if it has no such
 * parameter. */
HT_API int ht_optimizer_group_of(const ht_optimizer *optimizer, int index);

/* Returns the learning rate of parameter group `group` of `optimizer`, or NaN if it has no such
 * group. */
HT_API double ht_optimizer_group_lr(const ht_optimizer *optimizer, int group);

/* Sets the learning rate of parameter group `group` of `optimizer` to `lr`, from the next step on.
 *
 * Errors: HT_ERR_ARGUMENT if the parameter group does not exist, or unless lr is finite and at
 * least 0. */
HT_API ht_status ht_optimizer_set_group_lr(ht_optimizer *optimizer, int group, double lr);

/* Prints a line to `stream` for each parameter group of `optimizer`: the optimizer's name, the
 * number of parameters, the options and the learning rate. NULL prints nothing, without an
 * error. */
HT_API void ht_optimizer_print(const ht_optimizer *optimizer, FILE *stream);

/* Returns the number of parameters (tensors, not elements) of `optimizer` in all groups, 0 if it is
 * NULL. */
HT_API int ht_optimizer_parameter_count(const ht_optimizer *optimizer);

/* Returns parameter `index` of `optimizer`, borrowed; NULL if it has no such parameter.
 *
 * Parameters are in the order of their lists, group by group. */
HT_API ht_tensor *ht_optimizer_parameter(const ht_optimizer *optimizer, int index);

/* Returns a state tensor of a parameter, borrowed. Finishes a due update first.
 *
 * optimizer: the owner of the state.
 * index: the index of the parameter (ht_optimizer_parameter).
 * name: the key of the tensor in ht_optimizer_state_dict, "exp_avg" for instance.
 * Result: NULL before the first step of the parameter, and for an unknown index, or a name that is
 * unknown or NULL. */
HT_API ht_tensor *ht_optimizer_state(ht_optimizer *optimizer, int index, const char *name);

/* Returns the number of steps of `optimizer` so far, 0 if it is NULL. */
HT_API int64_t ht_optimizer_steps(const ht_optimizer *optimizer);

/* Returns the state of `optimizer` as a map, as torch's state_dict does. Finishes a due update
 * first.
 *
 *     "optimizer":    {"Adam": 1}
 *     "step":         calls of step() so far
 *     "param_groups": [{"lr", "initial_lr" (with a schedule), each option by its name, "params":
 *                       int64 tensor of indices in "state"}, ...]
 *     "state":        [{"step", each tensor by its name, once there was an update; NAdam's
 *                       "mu_product", ASGD's "eta"}, ...]
 *     "memory":       LBFGS's, by torch's names
 *
 * Result: scoped. The tensors are the optimizer's own, and change with it: copy those that must not
 * change. */
HT_API ht_value *ht_optimizer_state_dict(ht_optimizer *optimizer);

/* Loads a state of ht_optimizer_state_dict: copies its tensors, and takes its options and rates.
 *
 * Finishes a due update first. Under a data-parallel wrapper, every rank loads the same state.
 *
 * optimizer: of the same kind, with the same groups and parameters; unchanged if the state does not
 * fit.
 * state: not retained.
 * Errors: HT_ERR_FORMAT, which names the first difference, if the state does not fit. */
HT_API ht_status ht_optimizer_load_state_dict(ht_optimizer *optimizer, const ht_value *state);

HT_END_DECLS
#endif
