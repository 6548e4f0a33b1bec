/* SPDX-License-Identifier: MIT
 *
 * Rows of the comparisons. */
#include "core/ops/drivers/drivers.h"
#include "ht/relational.h"

#include "ht/arithmetics.h"
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

ht_status ht_equal(ht_tensor *a, ht_tensor *b, bool *equal)
{
    static const ht_broadcast_op op = {
        .name = "ht_equal", .kernel = HT_KERNEL_NE, .result = HT_RESULT_BOOL};
    const ht_reduce_over all = {.axes = UINT32_MAX};
    double different = 1;
    ht_scope *scope;
    ht_status status;

    if (HT_IS_NULL(a, "ht_equal", "a") || HT_IS_NULL(b, "ht_equal", "b") ||
        HT_IS_NULL_ON(a->body->comm, equal, "ht_equal", "equal"))
        return ht_error_get(NULL);
    if (!ht__body_same_shape(a->body, b->body)) {
        *equal = false;
        return HT_SUCCESS;
    }
    scope = ht_scope_open();
    status = ht__item(op.name, ht__sum_over(op.name, ht__binary(&op, a, b), &all), &different);
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        *equal = different == 0;
    return status;
}
