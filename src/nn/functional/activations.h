/* SPDX-License-Identifier: MIT
 *
 * The activations: a row each makes the function (activation.c), its gradient, and the layer
 * (layers/activation.c). */
#ifndef HT_NN_FUNCTIONAL_ACTIVATIONS_H
#define HT_NN_FUNCTIONAL_ACTIVATIONS_H

/* clang-format off */
/* Function and layer of x: ht_NAME, the layer's name, the kernel K of the value, and INPUT or OUTPUT,
 * what K_GRAD(g, that) takes for the gradient. SLOPE: the kernel K_SLOPE gives the derivative with
 * the value, where the device has it; else as INPUT. */
#define HT_ACTIVATIONS(X) \
    X(relu, "ReLU", RELU, OUTPUT) \
    X(gelu, "GELU", GELU, SLOPE) \
    X(silu, "SiLU", SILU, SLOPE) \
    X(mish, "Mish", MISH, SLOPE) \
    X(sigmoid, "Sigmoid", SIGMOID, OUTPUT)

/* Functions of x and a number, both kernels' param[0]: the number's name and PyTorch's default
 * follow. */
#define HT_ACTIVATIONS_WITH_NUMBER(X) \
    X(leaky_relu, "LeakyReLU", LEAKY_RELU, INPUT, negative_slope, 0.01)
/* clang-format on */

#endif
