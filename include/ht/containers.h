/* SPDX-License-Identifier: MIT
 *
 * Modules that contain other modules or parameters, and layers that leave the elements as they are.
 * Source: torch.nn.
 *
 * Constructors return owned modules, NULL after an error, and are not collective. A count below 0
 * is HT_ERR_ARGUMENT; 0 makes an empty container. HT_LIST passes a count and its items. An item
 * that is NULL is HT_ERR_ARGUMENT, or the earlier error that made it NULL.
 * ht_nn_sequential and ht_nn_flatten are in ht/nn.h.
 *
 * A list or map has no forward: ht_forward of it is HT_ERR_UNSUPPORTED. A program reaches the items
 * by ht_module_child, ht_module_find and ht_module_find_parameter. It adds more by ht_module_add
 * and ht_module_add_parameter, and exchanges them by ht_module_replace. */
#ifndef HT_CONTAINERS_H
#define HT_CONTAINERS_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* Returns a layer whose output is its input, any value. Source: torch.nn.Identity. */
HT_API ht_module *ht_nn_identity(void);

/* Returns a layer that runs module by ht_recomputed: activations inside of module are not kept for
 * the backward pass, which runs module a second time.
 *
 * module: of one tensor; taken over, also after an error, and named "0". It must live until the
 *   backward pass.
 * Source: torch.utils.checkpoint.checkpoint. */
HT_API ht_module *ht_nn_recomputed(ht_module *module);

/* Returns an ht_nn_sequential of count modules whose backward pass runs them again, in segments.
 *
 * A segment has count / segments modules, and the last one has the rest. Each segment but the last
 * runs by ht_recomputed, so that only its input is kept. The last one would run again at once, and
 * keeps its activations.
 * segments: 1 to count; 1 runs nothing again.
 * count, modules: of one tensor; taken over, also after an error, and named "0", "1", ... They and
 *   the layer itself must live until the backward pass.
 * Errors: HT_ERR_ARGUMENT for segments out of range.
 * Source: torch.utils.checkpoint.checkpoint_sequential. */
HT_API ht_module *ht_nn_recomputed_sequential(int segments, int count, ht_module *const modules[]);

/* Returns x with `axis` replaced by ndim axes of lengths shape; the inverse of ht_flatten.
 *
 * ndim, shape: at least one length. Their product is the length of axis; one may be -1, which
 *   means the rest.
 * Collective if axis is the split axis and elements change their rank, like ht_reshape.
 * Differentiable.
 * Result: scoped; a view where strides allow, and the split, like those of ht_reshape.
 * Errors: HT_ERR_SHAPE if the lengths do not fit, HT_ERR_ARGUMENT for an axis that x lacks, or for
 * ndim below 1.
 * Source: torch.unflatten. */
HT_API ht_tensor *ht_unflatten(ht_tensor *x, int axis, int ndim, const int64_t shape[]);

/* Returns ht_unflatten of axis to ndim, shape as a layer. shape is copied. The forward pass checks
 * axis and the lengths; HT_ERR_ARGUMENT for ndim outside of 1 to HT_MAX_NDIM. */
HT_API ht_module *ht_nn_unflatten(int axis, int ndim, const int64_t shape[]);

/* Returns a list of count modules, which are taken over, also after an error, and named "0", "1",
 * ...
 * Errors: those of ht_module_add.
 * Source: torch.nn.ModuleList. */
HT_API ht_module *ht_nn_module_list(int count, ht_module *const modules[]);

/* Appends module to a list or to an ht_nn_sequential, under the number of its children as a name.
 *
 * list: any module; whether it is a list is not checked.
 * module: taken over, also after an error.
 * Errors: those of ht_module_add. */
HT_API ht_status ht_nn_module_list_append(ht_module *list, ht_module *module);

/* Returns a map of count modules, which are taken over, also after an error, under their names.
 * Errors: HT_ERR_ARGUMENT for names that are NULL, empty or not distinct; those of ht_module_add.
 * Source: torch.nn.ModuleDict. */
HT_API ht_module *ht_nn_module_dict(int count, const char *const names[],
                                    ht_module *const modules[]);

/* Returns a list of count parameters, which are retained and named "0", "1", ...
 * Errors: those of ht_module_add_parameter.
 * Source: torch.nn.ParameterList. */
HT_API ht_module *ht_nn_parameter_list(int count, ht_tensor *const parameters[]);

/* Appends parameter to a list of parameters, under the number of its parameters as a name.
 *
 * list: any module; whether it is a list is not checked.
 * parameter: a leaf, retained.
 * Errors: those of ht_module_add_parameter. */
HT_API ht_status ht_nn_parameter_list_append(ht_module *list, ht_tensor *parameter);

/* Returns a map of count parameters, which are retained, under their names.
 * Errors: HT_ERR_ARGUMENT for names that are NULL, empty or not distinct; those of
 * ht_module_add_parameter.
 * Source: torch.nn.ParameterDict. */
HT_API ht_module *ht_nn_parameter_dict(int count, const char *const names[],
                                       ht_tensor *const parameters[]);

HT_END_DECLS
#endif
