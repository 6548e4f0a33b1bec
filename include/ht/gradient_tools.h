/* SPDX-License-Identifier: MIT
 *
 * Tools for gradients: the search for NaN in a backward pass, comparisons with differences,
 * drawings of graphs, and functions that run again instead of keeping what they saved.
 *
 * Errors: a NULL tensor, function or path is HT_ERR_ARGUMENT unless an earlier error made it NULL
 * (ht/error.h). */
#ifndef HT_GRADIENT_TOOLS_H
#define HT_GRADIENT_TOOLS_H

#include "ht/autograd.h"
#include "ht/value.h"

HT_BEGIN_DECLS

/* Turns the search for NaN in backward passes of the calling thread on or off, and returns the
 * previous setting.
 *
 * While it is on, a backward pass ends with HT_ERR_ARGUMENT at the first operation that makes a NaN
 * in a gradient. The message names the operation, its operand, and the layer whose forward ran it.
 * Gradients of earlier operations stay as they were. The search reads each gradient once more, and
 * a split gradient costs one small reduction, so it is for the search for errors only.
 *
 * enabled: the same on all ranks; a thread begins with false.
 * Not collective.
 * Source: torch.autograd.set_detect_anomaly. */
HT_API bool ht_set_detect_anomaly(bool enabled);

/* Returns whether backward passes of the calling thread search for NaN. Not collective.
 *
 * Source: torch.is_anomaly_enabled. */
HT_API bool ht_is_anomaly_enabled(void);

/* Returns y = f(inputs): a tensor of any shape, split and floating or complex dtype, the same at
 * each call. user is that of ht_gradcheck. */
typedef ht_tensor *ht_gradcheck_fn(ht_tensor *inputs[], void *user);

typedef struct ht_gradcheck_options {
    size_t size; /* of this struct; set by the default function */
    double eps;  /* 1e-6: the step of the differences, more than 0 and finite */
    double atol; /* 1e-5: the error that is allowed anywhere, at least 0 */
    double rtol; /* 1e-3: the error that is allowed relative to the difference, at least 0 */
} ht_gradcheck_options;

/* Returns the default options of ht_gradcheck, given at each field. Not collective. */
HT_API ht_gradcheck_options ht_gradcheck_options_default(void);

/* Compares the gradients of f with central differences:
 *
 *     |gradient - difference| <= atol + rtol |difference|
 *
 * The gradients are those of one number, the sum of w y with fixed weights w from 0.5 to 1.5. Real
 * and imaginary parts of a complex y have separate weights, and each part of a complex input is a
 * number to be compared. f runs twice for each number. Other leaves of the graph of f get
 * gradients, too; those of inputs are as before afterwards.
 * f, user: the function, and its second argument.
 * count, inputs: those that require gradients are compared. They are float64 or complex128 leaves,
 *   of any split, that share no memory.
 * options: NULL takes the defaults.
 * Collective as f and its gradient are; split inputs make it collective.
 * Result: HT_SUCCESS if all gradients fit.
 * Errors: HT_ERR_ARGUMENT at the first gradient that does not fit; the message has the input, the
 * element in row-major order, and both numbers. HT_ERR_ARGUMENT for a count below 0, an option
 * outside its range, or if f returns NULL without an error. HT_ERR_DTYPE for another dtype.
 * HT_ERR_STATE for an input that is not a leaf. Those of f.
 * Source: torch.autograd.gradcheck. */
HT_API ht_status ht_gradcheck(ht_gradcheck_fn *f, int count, ht_tensor *inputs[], void *user,
                              const ht_gradcheck_options *options);

/* Writes the graph of x to a file in the language DOT, which Graphviz draws.
 *
 * A box is a recorded operation, with the path of the layer whose forward ran it. An ellipse is a
 * leaf that requires a gradient, with its shape and dtype. Arrows go from operands to results.
 * x: a tensor that requires gradients, before the backward pass that releases its graph. After that
 *   pass, the file has the last operation alone, without an error.
 * names: a map from names to leaves, such as ht_module_state_dict gives. Numbers, and tensors that
 *   are not leaves of the graph, are ignored. NULL: no names.
 * path: of the file, which the lowest rank of the communicator of x writes.
 * Collective, agrees.
 * Errors: HT_ERR_ARGUMENT if names is not a map; HT_ERR_STATE if x does not require gradients;
 * HT_ERR_IO if the file cannot be written.
 * Source: torchviz.make_dot. */
HT_API ht_status ht_graph_dot(ht_tensor *x, const ht_value *names, const char *path);

/* Returns y = f(inputs), by operations of the library. user is that of ht_recomputed. */
typedef ht_tensor *ht_recomputed_fn(ht_tensor *inputs[], void *user);

/* Returns f(inputs), and keeps nothing of f for the backward pass but its inputs: the pass runs f a
 * second time when it comes there.
 *
 * Between the passes, memory is that of the inputs and the result. The gradients have the bits that
 * they have without the call, and hooks of tensors outside of f run once. In its second run f gets
 * the same random numbers, and the same device and communicator in use. Running statistics and
 * counters of the library's layers do not move again. Forward hooks of modules inside f run twice,
 * backward hooks once. f may itself call ht_recomputed; the inner inputs are kept, too.
 * f, user: the function, and its second argument (borrowed until the graph is released). In both
 *   runs f makes the same operations; modules in it stay in their mode (training or evaluation)
 *   until the backward pass. f does not write its inputs in place, and registers no hooks on
 *   leaves. It runs no forward pass of a data-parallel wrapper; f inside such a wrapper's module
 *   is fine. If f waits for other ranks (SyncBatchNorm, ht_allreduce), both runs come to the same
 *   exchanges. A rank that fails before one of them gives an error to the ranks that wait there.
 *   It does not for ht_barrier, ht_gather, ht_allgather, ht_scatter, ht_reduce_scatter and
 *   non-blocking calls.
 * count, inputs: given to f; items may be NULL. The second run uses the current values of other
 *   tensors, such as parameters.
 * Collective as f is, in forward and again in backward.
 * Result: that of f. If gradients are off, f just runs.
 * Errors: those of f, or HT_ERR_STATE if it returns NULL without one. HT_ERR_ARGUMENT for a
 * negative count. HT_ERR_STATE of the backward pass if an input was written in place, if f made
 * other operations, or if an earlier second run has failed.
 * Source: torch.utils.checkpoint.checkpoint, with use_reentrant=False. */
HT_API ht_tensor *ht_recomputed(ht_recomputed_fn *f, int count, ht_tensor *inputs[], void *user);

HT_END_DECLS
#endif
