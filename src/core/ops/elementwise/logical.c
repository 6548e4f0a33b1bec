/* SPDX-License-Identifier: MIT
 *
 * Rows of the logical functions, and of the tests for kinds of numbers. */
#include "core/ops/drivers/drivers.h"
#include "ht/logical.h"

#include "ht/kernels/elementwise.h"

/* clang-format off */
#define TEST(f, name)    HT_UNARY_ONLY(f, .kernel = HT_KERNEL_##name, .result = HT_RESULT_BOOL)
#define CONNECT(f, name) HT_BINARY_ONLY(f, .kernel = HT_KERNEL_##name, .result = HT_RESULT_BOOL)
/* clang-format on */
TEST(logical_not, LOGICAL_NOT)
TEST(isnan, ISNAN)
TEST(isinf, ISINF)
TEST(isfinite, ISFINITE)
TEST(isposinf, ISPOSINF)
TEST(isneginf, ISNEGINF)
TEST(signbit, SIGNBIT)
CONNECT(logical_and, LOGICAL_AND)
CONNECT(logical_or, LOGICAL_OR)
CONNECT(logical_xor, LOGICAL_XOR)
