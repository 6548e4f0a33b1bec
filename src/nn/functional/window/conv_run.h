/* SPDX-License-Identifier: MIT
 *
 * The kernels of convolution, on tensors. */
#ifndef HT_NN_FUNCTIONAL_WINDOW_CONV_RUN_H
#define HT_NN_FUNCTIONAL_WINDOW_CONV_RUN_H

#include "ht/kernels/nn.h"
#include "nn/functional/functional.h"

/* (N, channels, length...) with the slabs of x, in the layout that the backend prefers. Scoped. */
ht_tensor *ht__conv_result(const char *what, const ht_tensor *x, int64_t channels,
                           const int64_t length[2]);

/* Operands of an ht_conv_call; what the kernel may lack is NULL. */
typedef struct ht_conv_operands {
    const ht_tensor *x, *weight, *bias, *y;
} ht_conv_operands;

/* Runs a kernel of convolution, which writes what ht/kernels/nn.h says of it; job has the geometry.
 * Nothing where a rank has no rows. NULL for an operand that is needed: the error there is. */
ht_status ht__conv_run(const char *what, ht_kernel kernel, ht_conv_call *job,
                       ht_conv_operands operands);

/* grads[1] and grads[2] <- the gradients of weight and bias that the node needs. */
void ht__conv_parameter_grads(const char *what, ht_node *node, ht_conv_call job, ht_tensor *x,
                              ht_tensor *dy, ht_tensor *grads[]);

#endif
