/* SPDX-License-Identifier: MIT
 *
 * Automatic differentiation, define by run.
 *
 * Operations on tensors that require gradients record nodes. ht_backward runs the nodes in reverse
 * order of creation and adds to the gradients of leaves. A leaf is a tensor that no recorded
 * operation made. Split tensors are differentiated in the same way: the gradient of a replicated
 * operand is summed over the communicator.
 *
 * The rules are those of PyTorch, unless a comment names a difference. A gradient has the dtype of
 * its tensor. A gradient from an operation in a wider dtype is rounded to that dtype, and then
 * added to the gradients of other uses and passes. The gradient of a complex leaf z is dL/d(Re z) +
 * i dL/d(Im z).
 *
 * "Not differentiable" in a comment of any header means that the result has no history, as if
 * gradients were off. That is not an error: an operation on the result records its other operands
 * only. A loss that depends on nothing else is HT_ERR_STATE of ht_backward. A function in place
 * that is not differentiable ends the history of its first operand.
 *
 * Collectivity: ht_backward and ht_backward_ext are collective like the operations that they
 * differentiate. Calls that change a tensor or a graph are logically collective over the
 * communicator of their tensor. Queries, and calls without a tensor, are not collective. Tensors
 * that calls return are scoped (ht/object.h) unless their comment says borrowed.
 *
 * Errors: a NULL tensor is HT_ERR_ARGUMENT unless an earlier error made it NULL (ht/error.h), or a
 * comment says what NULL means. */
#ifndef HT_AUTOGRAD_H
#define HT_AUTOGRAD_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Sets whether operations on the leaf x are recorded and ht_backward gives it a gradient.
 *
 * requires_grad: true needs a floating or complex dtype. False keeps the gradient that x has.
 * Errors: HT_ERR_STATE unless x is a leaf. For true, HT_ERR_DTYPE if x is of integers or bool, and
 * HT_ERR_ARGUMENT if x is from ht_scalar. */
HT_API ht_status ht_tensor_set_requires_grad(ht_tensor *x, bool requires_grad);

/* Returns whether x requires gradients, or was made by a recorded operation; false for NULL. */
HT_API bool ht_tensor_requires_grad(const ht_tensor *x);

/* Returns whether x is a leaf: no recorded operation made it; false for NULL. */
HT_API bool ht_tensor_is_leaf(const ht_tensor *x);

/* Returns the gradient of the leaf x after ht_backward; NULL while it has none, and for NULL.
 *
 * In a data-parallel wrapper it is the average of the ranks. NULL with an error if that failed.
 * Result: borrowed, until x gets another one by ht_tensor_set_grad or in a data-parallel wrapper.
 * The next pass adds to it in place, or overwrites it after ht_optimizer_zero_grad or
 * ht_module_zero_grad. */
HT_API ht_tensor *ht_tensor_grad(const ht_tensor *x);

/* Replaces the gradient of x by grad.
 *
 * x: any tensor; it need not require gradients.
 * grad: retained; a read-only broadcast view is copied. NULL removes the gradient.
 * Errors: HT_ERR_SHAPE unless grad has the shape, dtype, device, communicator and slabs of x; the
 * error of a data-parallel wrapper whose average for x has failed. */
HT_API ht_status ht_tensor_set_grad(ht_tensor *x, ht_tensor *grad);

/* Adds d loss / d leaf to the gradient of every leaf that loss depends on, and releases the graph.
 *
 * An error from before the call that was not cleared stays (ht_error_get).
 *
 * loss: one element of a real dtype. If an earlier error made it NULL, that error is returned.
 * Errors: HT_ERR_SHAPE unless loss has one element. HT_ERR_DTYPE if it is complex. HT_ERR_STATE if
 * loss depends on nothing that requires gradients, an earlier pass released its graph, or a saved
 * tensor was written in place. */
HT_API ht_status ht_backward(ht_tensor *loss);

/* ht_backward from a tensor x of any shape, with a seed gradient.
 *
 * grad: the gradient of the result with respect to x, with the shape, device and communicator of x.
 *   It may have any split and any floating dtype; a complex dtype needs a complex x. NULL stands
 *   for ones, even if an error made it NULL.
 * keep: true keeps the graph for another pass.
 * Errors: HT_ERR_SHAPE if grad does not fit x. HT_ERR_STATE as for ht_backward. */
HT_API ht_status ht_backward_ext(ht_tensor *x, ht_tensor *grad, bool keep);

/* Returns a view of x that is cut off from the graph: the same memory without a history.
 *
 * A write through it changes x, and a backward pass that needs the old values reports an error.
 * Logically collective.
 * Result: the shape, dtype, split and slabs of x; a leaf that requires no gradients. */
HT_API ht_tensor *ht_detach(ht_tensor *x);

/* Turns recording on the calling thread on or off, and returns the previous setting.
 *
 * While it is off, operations record no graph:
 *     bool was = ht_set_grad_enabled(false);
 *     ...;
 *     ht_set_grad_enabled(was);
 *
 * enabled: true records; a thread begins with true. */
HT_API bool ht_set_grad_enabled(bool enabled);

/* Returns whether operations of the calling thread are recorded. */
HT_API bool ht_is_grad_enabled(void);

/* Receives the gradient of a tensor; returns a replacement, or NULL to keep grad.
 *
 * It runs with gradients off. The pass reaches a tensor at the same point on all ranks of its
 * communicator. So a hook that all of them registered may call collective functions of it. An error
 * that the hook raises (ht_error_raise) ends the pass.
 * grad: borrowed, with the shape, dtype, split and slabs of the tensor. Sums over ranks, as for a
 *   replicated operand, have been made. For the result of an operation it is complete. For a leaf
 *   it is the gradient that arrives from one use, before it is accumulated: the hook runs once for
 *   each use. PyTorch runs it once, with their sum. After a write in place it is still the gradient
 *   of the value that the tensor had when the hook was registered.
 * user: as it was registered.
 * Result: fits grad as the seed of ht_backward_ext fits its tensor. Scoped, or kept alive by the
 *   program; the pass does not release it. */
typedef ht_tensor *ht_tensor_hook_fn(ht_tensor *grad, void *user);

/* Receives a leaf once in a pass, after all of its gradient was accumulated, with gradients off.
 * leaf is borrowed. user is as it was registered. An error that the hook raises is returned by
 * ht_backward. */
typedef void ht_grad_ready_fn(ht_tensor *leaf, void *user);

/* Registers a hook that a backward pass calls with the gradient of x.
 *
 * hook: called with user; several hooks of x run in the order of registration. It runs in each pass
 * that reaches x, even after x was released.
 * user: not owned. It must live until the hook is removed, or x and the graphs that contain it are
 * gone.
 * Result: an id for ht_tensor_remove_hook; 0 after an error and never otherwise.
 * Errors: HT_ERR_ARGUMENT if hook is NULL. HT_ERR_STATE unless x requires gradients. */
HT_API uint64_t ht_tensor_register_hook(ht_tensor *x, ht_tensor_hook_fn *hook, void *user);

/* Registers a hook that a backward pass calls once, when the gradient of leaf is complete.
 *
 * hook: called with leaf and user; no longer called once leaf was released.
 * user: not owned. It must live until the hook is removed, or leaf is gone.
 * Result: an id for ht_tensor_remove_hook; 0 after an error and never otherwise.
 * Errors: HT_ERR_ARGUMENT if hook is NULL. HT_ERR_STATE unless leaf is a leaf that requires
 * gradients. */
HT_API uint64_t ht_tensor_register_grad_ready_hook(ht_tensor *leaf, ht_grad_ready_fn *hook,
                                                   void *user);

/* Removes the hook of x that has this id; a hook may call it, also for itself.
 * Errors: HT_ERR_ARGUMENT if x has no hook of this id. */
HT_API ht_status ht_tensor_remove_hook(ht_tensor *x, uint64_t id);

/* Computes the gradients of the inputs of a recorded operation.
 *
 * It runs with gradients off, and reads the tensors that the operation saved with
 * ht_node_saved(node, i). An error that it raises (ht_error_raise) or meets ends the pass.
 *
 * grad_output: the gradient of the output, with its shape, dtype, split and slabs; borrowed.
 * grad_inputs: receives one scoped tensor for each input; NULL stands for zero. Only inputs for
 *   which ht_node_needs(node, i) is true are read. A gradient is converted to the dtype and slabs
 *   of its input, and summed over axes along which the input was broadcast. */
typedef void ht_backward_fn(ht_node *node, ht_tensor *grad_output, ht_tensor *grad_inputs[]);

/* Begins to record an operation of the program's own, which made its result with gradients off.
 *
 * name: for messages; borrowed, and not copied.
 * backward: runs in a backward pass. It is not NULL, which is not checked.
 * count, inputs: the operands, read at once; items may be NULL.
 * Result: a node for ht_node_set_output, which takes it over; NULL if no input needs a gradient or
 *   recording is off. ht_node_save, ht_node_context and ht_node_set_output accept that NULL.
 * Errors: HT_ERR_STATE if the history of an input is out of date, because its memory was written
 * through another tensor. The node that is returned then makes ht_node_set_output return NULL. */
HT_API ht_node *ht_node_new(const char *name, ht_backward_fn *backward, int count,
                            ht_tensor *const inputs[]);

/* Saves the input or output x in node for the backward pass. x may be NULL; it takes an index, too.
 * node keeps the memory of x, not the handle. Nothing happens if node is NULL. */
HT_API void ht_node_save(ht_node *node, ht_tensor *x);

/* Returns plain memory of node, zeroed and freed with it; NULL if node is NULL.
 *
 * bytes: the size; the first call for a node allocates, later calls return the same memory. */
HT_API void *ht_node_context(ht_node *node, size_t bytes);

/* Ends the recording: node becomes the history of y, and is taken over.
 *
 * A history that y has is replaced. A y of integers or bool gets none.
 *
 * node: NULL leaves y as it is.
 * y: the result of the operation. It may be a view of an input; a write to it is then HT_ERR_STATE
 *   while gradients are recorded. It must not be an input itself, which is not checked: operations
 *   in place cannot be recorded this way.
 * Result: y itself, which stays with its owner. NULL if y is NULL, which does not raise a new
 *   error, and after the error of ht_node_new. */
HT_API ht_tensor *ht_node_set_output(ht_node *node, ht_tensor *y);

/* Returns the tensor that the call number index (from 0) of ht_node_save saved in node.
 *
 * Result: scoped, without a history. NULL without an error if it was saved as NULL, index is out of
 *   range or node is NULL.
 * Errors: HT_ERR_STATE, with NULL, if it was written in place since. Inside ht_recomputed, also
 * those of its second run. */
HT_API ht_tensor *ht_node_saved(ht_node *node, int index);

/* Returns whether input number index (from 0) of node needs a gradient: false for an index out of
 * range, and if node is NULL. */
HT_API bool ht_node_needs(const ht_node *node, int index);

HT_END_DECLS
#endif
