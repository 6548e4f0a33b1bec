/* SPDX-License-Identifier: MIT
 *
 * Numbers kept inside of bounds. */
#include "core/ops/drivers.h"
#include "ht/rounding.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/kernels/elementwise.h"
#include "ht/relational.h"

static bool is_none(ht_number bound, double infinity)
{
    return bound.kind == HT_NUMBER_REAL && bound.real == infinity;
}

/* A bound that is none raises no kind. */
static ht_dtype clip_dtype(ht_dtype dtype, ht_number low, ht_number high)
{
    if (!is_none(low, -INFINITY))
        dtype = ht__scalar_dtype(dtype, low);
    return is_none(high, INFINITY) ? dtype : ht__scalar_dtype(dtype, high);
}

/* What a bound is among the numbers of a dtype, where a conversion of integers would wrap. */
static ht_number inside(ht_dtype dtype, ht_number bound)
{
    const ht_number least = ht__dtype_end(dtype, false), greatest = ht__dtype_end(dtype, true);

    if (!ht__dtype_is_exact(dtype))
        return bound;
    if (bound.kind == HT_NUMBER_REAL) /* none */
        return bound.real < 0 ? least : greatest;
    if (bound.integer < least.integer)
        return least;
    return bound.integer > greatest.integer ? greatest : bound;
}

/* On the bounds themselves, too, as in PyTorch; NaN gets none. */
static void clip_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_number *bounds = ((const ht_beside *)ht_node_context(node, 0))->number;
    ht_tensor *x = ht_node_saved(node, 0), *low, *high;

    if (x == NULL)
        return;
    low = ht__number_beside("ht_backward", x, bounds[0], x->body->dtype);
    high = ht__number_beside("ht_backward", x, bounds[1], x->body->dtype);
    gin[0] = ht__grad_where(g, ht_mul(ht_ge(x, low), ht_le(x, high)));
}

static ht_tensor *clip(const char *what, ht_tensor *x, ht_number low, ht_number high)
{
    const ht_unary_op op = {what, HT_KERNEL_CLIP, HT_RESULT_SAME, HT_SAVE_INPUT,
                            .backward = clip_backward};
    const ht_dtype dtype = clip_dtype(x->body->dtype, low, high);

    if (ht_dtype_is_complex(dtype)) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: not defined for %s", what, ht_dtype_name(dtype));
        return NULL;
    }
    if (dtype == HT_BOOL) /* and no bounds */
        return ht_copy(x);
    return ht__unary_with(
        &op, ht_astype(x, dtype),
        &(ht_beside){.numbers = 2, .number = {inside(dtype, low), inside(dtype, high)}});
}

ht_tensor *ht_clip(ht_tensor *x, double min, double max)
{
    if (HT_IS_NULL(x, "ht_clip", "x"))
        return NULL;
    return clip("ht_clip", x, ht__number_of_double(x->body->dtype, min),
                ht__number_of_double(x->body->dtype, max));
}

ht_tensor *ht_clip_ext(ht_tensor *x, ht_number min, ht_number max)
{
    return HT_IS_NULL(x, "ht_clip_ext", "x") ? NULL : clip("ht_clip_ext", x, min, max);
}
