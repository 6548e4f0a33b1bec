/* SPDX-License-Identifier: MIT
 *
 * Rows of the comparisons. */
#include "core/ops/drivers.h"
#include "ht/relational.h"

#include "ht/arithmetics.h"
#include "ht/kernels/elementwise.h"

static const ht_binary_op eq_op = {"ht_eq", HT_KERNEL_EQ, HT_RESULT_BOOL, .save_operands = false};
static const ht_binary_op ne_op = {"ht_ne", HT_KERNEL_NE, HT_RESULT_BOOL, .save_operands = false};
static const ht_binary_op lt_op = {"ht_lt", HT_KERNEL_LT, HT_RESULT_BOOL, .no_complex = true};
static const ht_binary_op le_op = {"ht_le", HT_KERNEL_LE, HT_RESULT_BOOL, .no_complex = true};
static const ht_binary_op gt_op = {"ht_gt", HT_KERNEL_GT, HT_RESULT_BOOL, .no_complex = true};
static const ht_binary_op ge_op = {"ht_ge", HT_KERNEL_GE, HT_RESULT_BOOL, .no_complex = true};

ht_tensor *ht_eq(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&eq_op, a, b);
}

ht_tensor *ht_ne(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&ne_op, a, b);
}

ht_tensor *ht_lt(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&lt_op, a, b);
}

ht_tensor *ht_le(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&le_op, a, b);
}

ht_tensor *ht_gt(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&gt_op, a, b);
}

ht_tensor *ht_ge(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&ge_op, a, b);
}

ht_status ht_equal(ht_tensor *a, ht_tensor *b, bool *equal)
{
    static const ht_binary_op op = {"ht_equal", HT_KERNEL_NE, HT_RESULT_BOOL,
                                    .save_operands = false};
    const ht_reduce_over all = {.axes = UINT32_MAX};
    double different = 1;
    ht_scope *scope;
    ht_status status;

    if (HT_IS_NULL(a, "ht_equal", "a") || HT_IS_NULL(b, "ht_equal", "b") ||
        HT_IS_NULL(equal, "ht_equal", "equal"))
        return ht_error_get(NULL);
    *equal = false;
    if (!ht__body_same_shape(a->body, b->body))
        return HT_SUCCESS;
    scope = ht_scope_open();
    status = ht__item(op.name, ht__sum_over(op.name, ht__binary(&op, a, b), &all), &different);
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        *equal = different == 0;
    return status;
}
