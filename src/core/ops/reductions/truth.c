/* SPDX-License-Identifier: MIT
 *
 * Whether all or any elements are true, and whether those of two tensors are equal or close. */
#include "core/ops/drivers/drivers.h"
#include "ht/logical.h"

#include "ht/kernels/elementwise.h"
#include "ht/kernels/reduce.h"
#include "ht/relational.h"

static ht_tensor *isclose(const char *what, ht_tensor *a, ht_tensor *b, double rtol, double atol,
                          bool equal_nan)
{
    const ht_broadcast_op op = {
        .name = what, .kernel = HT_KERNEL_ISCLOSE, .result = HT_RESULT_BOOL};

    return ht__binary_with(&op, a, b, &(ht_params){.param = {rtol, atol, equal_nan}});
}

ht_tensor *ht_isclose(ht_tensor *a, ht_tensor *b, double rtol, double atol, bool equal_nan)
{
    return isclose("ht_isclose", a, b, rtol, atol, equal_nan);
}

/* Truth is counted: the ranks' counts add up. */
static ht_status count(const char *what, ht_tensor *truth, double *found)
{
    const ht_reduce_over all = {.axes = UINT32_MAX};

    return truth != NULL ? ht__item(what, ht__sum_over(what, truth, &all), found)
                         : ht_error_get(NULL);
}

ht_status ht_allclose(ht_tensor *a, ht_tensor *b, double rtol, double atol, bool equal_nan,
                      bool *close)
{
    const char *what = "ht_allclose";
    HT_NAMED(what);
    ht_scope *scope;
    ht_tensor *is_close;
    ht_status status;
    double found = 1;

    if (HT_IS_NULL(a, what, "a") || HT_IS_NULL(b, what, "b") ||
        HT_IS_NULL_ON(a->body->comm, close, what, "close"))
        return ht_error_get(NULL);
    scope = ht_scope_open();
    is_close = isclose(what, a, b, rtol, atol, equal_nan);
    status = count(what, is_close != NULL ? ht_logical_not(is_close) : NULL, &found);
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        *close = found == 0;
    return status;
}

ht_status ht_equal(ht_tensor *a, ht_tensor *b, bool *equal)
{
    HT_NAMED("ht_equal");
    static const ht_broadcast_op op = {
        .name = "ht_equal", .kernel = HT_KERNEL_NE, .result = HT_RESULT_BOOL};
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
    status = count(op.name, ht__binary(&op, a, b), &different);
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        *equal = different == 0;
    return status;
}

/* Extremes of truth: 0 and 1, of which ranks without elements have the one that changes nothing. */
static ht_tensor *extreme(const char *what, ht_kernel kernel, ht_reduce_op across, ht_tensor *x,
                          const ht_reduce_over *over)
{
    const ht_reduce_row row = {.name = what, .kernel = kernel, .across = across};

    return ht__reduce_over(&row, ht_astype(x, HT_BOOL), over);
}

ht_tensor *ht_all(ht_tensor *x, int axis)
{
    ht_reduce_over over;

    return ht__reduce_axis("ht_all", x, axis, &over)
               ? extreme("ht_all", HT_KERNEL_MIN, HT_OP_MIN, x, &over)
               : NULL;
}

ht_tensor *ht_any(ht_tensor *x, int axis)
{
    ht_reduce_over over;

    return ht__reduce_axis("ht_any", x, axis, &over)
               ? extreme("ht_any", HT_KERNEL_MAX, HT_OP_MAX, x, &over)
               : NULL;
}

static ht_tensor *extreme_ext(const char *what, ht_kernel kernel, ht_reduce_op across, ht_tensor *x,
                              const ht_reduce_options *options)
{
    ht_reduce_options o;
    ht_reduce_over over;

    return ht__reduce_options(what, x, options, 0, &o, &over)
               ? extreme(what, kernel, across, x, &over)
               : NULL;
}

ht_tensor *ht_all_ext(ht_tensor *x, const ht_reduce_options *options)
{
    return extreme_ext("ht_all_ext", HT_KERNEL_MIN, HT_OP_MIN, x, options);
}

ht_tensor *ht_any_ext(ht_tensor *x, const ht_reduce_options *options)
{
    return extreme_ext("ht_any_ext", HT_KERNEL_MAX, HT_OP_MAX, x, options);
}
