/* SPDX-License-Identifier: MIT
 *
 * Tools for gradients: the search for NaN in a backward pass, and drawings of graphs.
 *
 * Errors: a NULL tensor is HT_ERR_ARGUMENT unless an earlier error made it NULL (ht/error.h). */
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

/* Writes the graph of x to a file in the language DOT, which Graphviz draws.
 *
 * A box is a recorded operation, with the path of the layer whose forward ran it. An ellipse is a
 * leaf that requires a gradient, with its shape and dtype. Arrows go from operands to results.
 * x: a tensor that requires gradients, before the backward pass that releases its graph.
 * names: a map from names to leaves, such as ht_module_state_dict gives; NULL: no names.
 * path: of the file, which the lowest rank of the communicator of x writes.
 * Collective, agrees.
 * Errors: HT_ERR_ARGUMENT if names is not a map; HT_ERR_STATE if x does not require gradients;
 * HT_ERR_IO if the file cannot be written.
 * Source: torchviz.make_dot. */
HT_API ht_status ht_graph_dot(ht_tensor *x, const ht_value *names, const char *path);

HT_END_DECLS
#endif
