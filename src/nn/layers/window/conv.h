/* SPDX-License-Identifier: MIT
 *
 * Whether a module is a layer of conv2d.c or of window/conv.c. Its struct begins with the handles of
 * weight and bias, like the struct of linear.c. transposed: receives the groups of a transposed
 * convolution, and 0 for any other. */
#ifndef HT_NN_LAYERS_WINDOW_CONV_H
#define HT_NN_LAYERS_WINDOW_CONV_H

#include "nn/module/module.h"

bool ht__nn_is_conv2d(const ht_module *module);
bool ht__nn_is_conv(const ht_module *module, int64_t *transposed);

#endif
