/* SPDX-License-Identifier: MIT
 *
 * Shared by the functions of this folder: the launch of a kernel, and results of the right
 * shape. */
#ifndef HT_NN_FUNCTIONAL_FUNCTIONAL_H
#define HT_NN_FUNCTIONAL_FUNCTIONAL_H

#include "core/tensor/graph.h"
#include "ht/functional.h"
#include "nn/functional/operands.h"

/* True when autograd would record an operation on x. */
static inline bool ht__records(const ht_tensor *x)
{
    return x != NULL && ht_is_grad_enabled() && ht__needs_grad(x);
}

/* True if `valid`, else false after HT_ERR_ARGUMENT: "WHAT: NAME is VALUE, expected EXPECTED". x:
 * NULL in a constructor. */
bool ht__check_parameter(const char *what, const ht_tensor *x, bool valid, const char *name,
                         double value, const char *expected);

/* A tensor of another shape with x's device, communicator and, along axis 0, x's slabs. Scoped. */
ht_tensor *ht__batch_result(const char *what, const ht_tensor *x, ht_dtype dtype, int ndim,
                            const int64_t shape[]);
ht_tensor *ht__batch_result_channels_last(const char *what, const ht_tensor *x, ht_dtype dtype,
                                          const int64_t shape[4]);

/* The strides of an image in one of the two layouts that kernels take. x's own strides may be
 * anything along axes of length 1, which kernels compute with nevertheless. */
void ht__image_strides(const ht_body *x, int64_t stride[4]);

/* Memory for the gradient of input `index`, with its slabs and layout, on dy's device. Scoped. */
ht_tensor *ht__input_grad(const char *what, const ht_node *node, int index, const ht_tensor *dy);

/* Memory for the gradient of the replicated operand `index`: its leaf's own where that may be
 * written, else new. Where x is split it is process-local and of the dtype `partial`, which is to
 * lose nothing of a sum: ht__parameter_grad_done adds the ranks' parts up. */
ht_tensor *ht__parameter_grad(const char *what, ht_node *node, int index, const ht_tensor *x,
                              ht_dtype partial);
ht_tensor *ht__parameter_grad_done(const char *what, ht_tensor *grad, const ht_tensor *x);

#endif
