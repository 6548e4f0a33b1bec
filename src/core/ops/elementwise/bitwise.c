/* SPDX-License-Identifier: MIT
 *
 * Rows of the operations on bits. */
#include "core/ops/drivers/drivers.h"
#include "ht/bitwise.h"

#include "ht/kernels/elementwise.h"

HT_BINARY(bitwise_and, .kernel = HT_KERNEL_BITWISE_AND)
HT_BINARY(bitwise_or, .kernel = HT_KERNEL_BITWISE_OR)
HT_BINARY(bitwise_xor, .kernel = HT_KERNEL_BITWISE_XOR)
HT_BINARY(left_shift, .kernel = HT_KERNEL_LEFT_SHIFT)
HT_BINARY(right_shift, .kernel = HT_KERNEL_RIGHT_SHIFT)
HT_UNARY(bitwise_not, .kernel = HT_KERNEL_BITWISE_NOT)
