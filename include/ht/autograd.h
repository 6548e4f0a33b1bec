/* SPDX-License-Identifier: MIT
 *
 * Automatic differentiation: define by run. Operations on tensors that require gradients record
 * nodes; ht_backward runs them in reverse order of creation and adds to the gradients of leaves. It
 * works through split tensors: the gradient of a replicated operand is summed over the
 * communicator. A gradient has the dtype of its tensor: what comes from an operation in a wider one
 * is rounded to it before it is added to what other uses and passes gave, as in PyTorch. The
 * gradient of a complex leaf z is dL/d(Re z) + i dL/d(Im z), as PyTorch's. */
#ifndef HT_AUTOGRAD_H
#define HT_AUTOGRAD_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Leaves only (tensors no recorded operation made); floating or complex dtypes only. */
HT_API ht_status ht_tensor_set_requires_grad(ht_tensor *x, bool requires_grad);
HT_API bool ht_tensor_requires_grad(const ht_tensor *x);
HT_API bool ht_tensor_is_leaf(const ht_tensor *x);

/* The gradient of a leaf after ht_backward; borrowed; NULL when there is none yet. */
HT_API ht_tensor *ht_tensor_grad(const ht_tensor *x);

/* Replaces the gradient (retained, a broadcast view copied; NULL removes it). Same shape, dtype,
 * device, communicator and slabs as x. */
HT_API ht_status ht_tensor_set_grad(ht_tensor *x, ht_tensor *grad);

/* Gradients of the real one-element tensor `loss` with respect to all leaves it depends on, added
 * to what is there. The graph is released. Collective like the operations it differentiates. An
 * error of before that was not cleared stays; one that made the loss NULL is returned. */
HT_API ht_status ht_backward(ht_tensor *loss);

/* As ht_backward from any tensor with the seed gradient `grad` (shape, device and communicator of
 * x, of any split and floating dtype; NULL: ones, whatever made it NULL); keep = true leaves the
 * graph for another pass. */
HT_API ht_status ht_backward_ext(ht_tensor *x, ht_tensor *grad, bool keep);

/* The same values cut off from the graph; a view. */
HT_API ht_tensor *ht_detach(ht_tensor *x);

/* While recording is off on a thread, operations leave no graph. Returns the previous setting:
 *     bool was = ht_set_grad_enabled(false); ...; ht_set_grad_enabled(was); */
HT_API bool ht_set_grad_enabled(bool enabled);
HT_API bool ht_is_grad_enabled(void);

/* Hooks. A tensor hook sees the gradient that arrives (complete, for a leaf: before accumulation)
 * and may return a replacement (as a seed), or NULL to keep it. After a write in place it is still
 * the gradient of the value that x had when the hook was registered. A ready hook runs once in a
 * pass, after all that reaches a leaf was accumulated. Returned ids remove hooks, also from within
 * one; 0 is never an id. */
typedef ht_tensor *ht_tensor_hook_fn(ht_tensor *grad, void *user);
typedef void ht_grad_ready_fn(ht_tensor *leaf, void *user);
HT_API uint64_t ht_tensor_register_hook(ht_tensor *x, ht_tensor_hook_fn *hook, void *user);
HT_API uint64_t ht_tensor_register_grad_ready_hook(ht_tensor *leaf, ht_grad_ready_fn *hook,
                                                   void *user);
HT_API ht_status ht_tensor_remove_hook(ht_tensor *x, uint64_t id);

/* Writing an operation of one's own: make the result with gradients off, then record it.
 * ht_node_new returns NULL when nothing needs a gradient; the calls below then do nothing.
 * `backward` reads ht_node_saved(node, i), and sets grad_inputs[i] (scoped tensors; NULL = zero)
 * for the inputs for which ht_node_needs(node, i). */
typedef void ht_backward_fn(ht_node *node, ht_tensor *grad_output, ht_tensor *grad_inputs[]);
HT_API ht_node *ht_node_new(const char *name, ht_backward_fn *backward, int count,
                            ht_tensor *const inputs[]);
HT_API void ht_node_save(ht_node *node, ht_tensor *x);     /* input or output; NULL allowed */
HT_API void *ht_node_context(ht_node *node, size_t bytes); /* zeroed plain memory, freed with it */
HT_API ht_tensor *ht_node_set_output(ht_node *node,
                                     ht_tensor *y); /* ends the recording; returns y */
HT_API ht_tensor *ht_node_saved(ht_node *node, int index);
HT_API bool ht_node_needs(const ht_node *node, int index);

HT_END_DECLS
#endif
