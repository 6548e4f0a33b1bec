/* SPDX-License-Identifier: MIT
 *
 * Convolutions over 1 to 3 axes, and what their transposed forms need of them. */
#ifndef HT_NN_FUNCTIONAL_WINDOW_CONV_H
#define HT_NN_FUNCTIONAL_WINDOW_CONV_H

#include "nn/functional/window/windows.h"

enum { HT_CONV_X, HT_CONV_WEIGHT, HT_CONV_BIAS, HT_CONV_OPERANDS };

/* Checks operands of a convolution over `spatial` axes, their dtypes, shapes and places, and the
 * options; the weight's second axis are the other channels of a group. */
bool ht__conv_prepare(const char *what, int spatial, bool transposed,
                      ht_tensor *in[HT_CONV_OPERANDS], const ht_conv_options *options);

/* The convolution of operands that are prepared, with padding, stride and dilation of the options,
 * and nothing else of them but groups. Scoped. */
ht_tensor *ht__convolve(const char *what, ht_tensor *const in[HT_CONV_OPERANDS],
                        const ht_conv_options *options);

#endif
