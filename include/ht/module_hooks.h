/* SPDX-License-Identifier: MIT
 *
 * Hooks of modules for the backward pass, and for states. Those of the forward pass are in
 * ht/module.h.
 *
 * Hooks of one kind run in the order of registration. ht_module_remove_hook removes any of them,
 * and a hook may remove itself. ht_module_clone copies hooks with their module.
 *
 * A hook reports an error by ht_error_raise, or leaves that of a call that failed. It ends the pass
 * (ht_backward returns it), or the call that makes or loads the state, which returns it. Calls that
 * take a communicator (ht_module_save_state, ht_module_load_state, ...) return it on all ranks. The
 * map that a hook returns after an error is ignored.
 *
 * Operands of a hook are borrowed, and a prefix is valid during the call. A tensor or map that a
 * hook returns, or replaces another by, is scoped or kept alive by the program. user is not owned.
 * It must live until the hook is removed, or the module, its clones and the graphs of its forward
 * passes are gone.
 *
 * With a hook of the backward pass, all outputs of a forward pass share one node of the graph. A
 * second ht_backward over another output fails unless the first one keeps the graph. The outputs
 * keep module alive, a data-parallel wrapper too.
 *
 * A data-parallel wrapper with weighted averages scales a pass by its weight, mostly the number of
 * rows, and hooks see the scaled gradients (doc/data-parallelism.md).
 *
 * A registration returns an id for ht_module_remove_hook; 0 after an error and never otherwise.
 *
 * No call here is collective.
 * Errors: HT_ERR_ARGUMENT if module or hook is NULL. */
#ifndef HT_MODULE_HOOKS_H
#define HT_MODULE_HOOKS_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* Receives the gradients of the output of module before the backward pass goes through it.
 *
 * grad_outputs: count gradients, one for each tensor of the output, in order; borrowed. NULL for a
 *   tensor that got none. The hook may replace items, by scoped tensors that fit.
 * user: as it was registered. */
typedef void ht_module_backward_pre_hook_fn(ht_module *module, int count, ht_tensor *grad_outputs[],
                                            void *user);

/* Receives the gradients of the inputs of module after the backward pass went through it.
 *
 * input_count, grad_inputs: a gradient for each tensor of the inputs, in order; borrowed. NULL for
 *   a tensor that got none. The hook may replace items, by scoped tensors that fit; an item of a
 *   tensor that needs no gradient is ignored.
 * output_count, grad_outputs: the gradients of the output, after the hooks before the backward
 *   pass.
 * user: as it was registered. */
typedef void ht_module_backward_hook_fn(ht_module *module, int input_count,
                                        ht_tensor *grad_inputs[], int output_count,
                                        ht_tensor *const grad_outputs[], void *user);

/* Registers a hook that runs with user before each backward pass goes through module.
 *
 * The hook takes effect in forward passes that begin after the call. It runs once in a backward
 * pass that reaches the output of such a forward pass.
 * Source: torch.nn.Module.register_full_backward_pre_hook. */
HT_API uint64_t ht_module_register_full_backward_pre_hook(ht_module *module,
                                                          ht_module_backward_pre_hook_fn *hook,
                                                          void *user);

/* Registers a hook that runs with user after each backward pass went through module.
 *
 * The hook takes effect in forward passes that begin after the call. It runs once in a backward
 * pass that reaches an input of such a forward pass. If no input needs a gradient, it runs when the
 * pass reaches the output.
 * Source: torch.nn.Module.register_full_backward_hook. */
HT_API uint64_t ht_module_register_full_backward_hook(ht_module *module,
                                                      ht_module_backward_hook_fn *hook, void *user);

/* Receives a module before its tensors are put into a state.
 *
 * prefix: the path of module and a dot, which names of its tensors begin with; "" for the root.
 * user: as it was registered. */
typedef void ht_module_state_pre_hook_fn(ht_module *module, const char *prefix, void *user);

/* Receives a state of the complete tree; returns another map, or NULL to keep state.
 *
 * state: a map that the hook may change. Before a load it is a copy of the caller's map, with the
 *   same tensors. After ht_module_state_dict it is the map that the call returns, whose tensors are
 *   those of the tree.
 * prefix: the path of module and a dot, which names of its tensors begin with; "" for the root.
 * user: as it was registered. */
typedef ht_value *ht_module_state_hook_fn(ht_module *module, ht_value *state, const char *prefix,
                                          void *user);

/* Receives a module after a state was loaded into it and all modules below it.
 *
 * missing, unexpected: maps, as ht_module_load_state_dict_ext returns them. Unlike in PyTorch, they
 *   were checked before, so a change of them makes or prevents no error.
 * user: as it was registered. */
typedef void ht_module_load_hook_fn(ht_module *module, ht_value *missing, ht_value *unexpected,
                                    void *user);

/* Registers a hook that runs with user before a state is made of module or of a tree that contains
 * it: by ht_module_state_dict, and by the functions that write states to files.
 *
 * Parents come before children.
 * Source: torch.nn.Module.register_state_dict_pre_hook. */
HT_API uint64_t ht_module_register_state_dict_pre_hook(ht_module *module,
                                                       ht_module_state_pre_hook_fn *hook,
                                                       void *user);

/* Registers a hook that runs with user on each state of module or of a tree that contains it.
 *
 * Children come before parents.
 * Errors: HT_ERR_ARGUMENT, from the call that makes the state, if the result of hook is not a map.
 * Source: torch.nn.Module.register_state_dict_post_hook. */
HT_API uint64_t ht_module_register_state_dict_post_hook(ht_module *module,
                                                        ht_module_state_hook_fn *hook, void *user);

/* Registers a hook that runs with user on each state that is loaded into module or into a tree that
 * contains it, before the state is checked: from a map or from a file.
 *
 * It can rename tensors of older states. Parents come before children.
 * Errors: HT_ERR_ARGUMENT, from the call that loads the state, if the result of hook is not a map.
 * Source: torch.nn.Module.register_load_state_dict_pre_hook. */
HT_API uint64_t ht_module_register_load_state_dict_pre_hook(ht_module *module,
                                                            ht_module_state_hook_fn *hook,
                                                            void *user);

/* Registers a hook that runs with user after a state was loaded into module or into a tree that
 * contains it.
 *
 * Children come before parents. An error of the hook does not undo the load.
 * Source: torch.nn.Module.register_load_state_dict_post_hook. */
HT_API uint64_t ht_module_register_load_state_dict_post_hook(ht_module *module,
                                                             ht_module_load_hook_fn *hook,
                                                             void *user);

HT_END_DECLS
#endif
