/* SPDX-License-Identifier: MIT
 *
 * Convolutions by matrix products: every floating dtype, layout, stride, padding, dilation, group.
 */
#ifndef HT_BACKENDS_CPU_NN_CONV_PLAIN_H
#define HT_BACKENDS_CPU_NN_CONV_PLAIN_H

#include "ht/kernels/nn.h"

int ht__cpu_conv_plain_forward(const ht_conv_call *conv, const void *x, const void *weight,
                               const void *bias, void *y);
int ht__cpu_conv_plain_backward_data(const ht_conv_call *conv, const void *dy, const void *weight,
                                     void *dx);
int ht__cpu_conv_plain_backward_weight(const ht_conv_call *conv, const void *x, const void *dy,
                                       void *dweight, void *dbias);

#endif
