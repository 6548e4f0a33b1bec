/* SPDX-License-Identifier: MIT
 *
 * Rows of the comparisons. */
#include "core/ops/drivers/drivers.h"
#include "ht/relational.h"

#include "ht/kernels/elementwise.h"

/* clang-format off */
#define COMPARISON(f, name) HT_BINARY_ONLY(f, .kernel = HT_KERNEL_##name, .result = HT_RESULT_BOOL)
/* clang-format on */
COMPARISON(eq, EQ)
COMPARISON(ne, NE)
COMPARISON(lt, LT)
COMPARISON(le, LE)
COMPARISON(gt, GT)
COMPARISON(ge, GE)
