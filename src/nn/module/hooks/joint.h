/* SPDX-License-Identifier: MIT
 *
 * A place in the graph where the gradients of several tensors meet. */
#ifndef HT_NN_MODULE_HOOKS_JOINT_H
#define HT_NN_MODULE_HOOKS_JOINT_H

#include "core/tensor/graph.h"

/* Receives the gradients of all tensors of a joint; NULL for a tensor that got none. It may replace
 * items by gradients that fit their tensors. */
typedef void ht_joint_fn(ht_tensor *grads[], void *user);

/* Replaces each of the tensors that needs a gradient by a view of it. A backward pass that reaches
 * any of the views calls run once, after the last gradient of the views, and hands the gradients on.
 *
 * what: named in errors; not copied.
 * user: an object, retained as long as the graph leads here.
 * joined: set to whether any tensor was replaced. */
ht_status ht__joint(const char *what, int count, ht_tensor *tensors[], ht_joint_fn *run, void *user,
                    bool *joined);

#endif
