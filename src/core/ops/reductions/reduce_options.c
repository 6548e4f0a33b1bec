/* SPDX-License-Identifier: MIT
 *
 * The options of reductions: checks of the options that a function accepts, axes as a set,
 * masks. */
#include "core/ops/drivers/drivers.h"
#include "ht/factories.h"

#include "ht/kernels/elementwise.h"
#include "ht/manipulations.h"

ht_reduce_options ht_reduce_options_default(void)
{
    return (ht_reduce_options){.size = sizeof(ht_reduce_options), .dtype = HT_DTYPE_COUNT};
}

static bool refused(const char *what, const ht_tensor *x, const char *option)
{
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: options.%s is set, expected its default", what,
            option);
    return false;
}

/* Whether the function knows the options that are set. */
static bool check_taken(const char *what, const ht_tensor *x, const ht_reduce_options *o,
                        unsigned takes)
{
    if (o->dtype != HT_DTYPE_COUNT && !(takes & HT_TAKES_DTYPE))
        return refused(what, x, "dtype");
    if (o->ddof != 0 && !(takes & HT_TAKES_DDOF))
        return refused(what, x, "ddof");
    if (o->initial != NULL && !(takes & HT_TAKES_INITIAL))
        return refused(what, x, "initial");
    if (o->where != NULL && !(takes & HT_TAKES_WHERE))
        return refused(what, x, "where");
    return true;
}

static bool check_dtype(const char *what, const ht_tensor *x, const ht_reduce_options *o,
                        unsigned takes)
{
    const bool numbers = ht_dtype_is_floating(o->dtype) || ht_dtype_is_complex(o->dtype);

    if (o->dtype == HT_DTYPE_COUNT || numbers)
        return true;
    if ((unsigned)o->dtype < HT_DTYPE_COUNT && o->dtype != HT_BOOL && !(takes & HT_TAKES_FLOATING))
        return true;
    HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: options.dtype is %s, expected a %s one", what,
            (unsigned)o->dtype < HT_DTYPE_COUNT ? ht_dtype_name(o->dtype) : "none",
            takes & HT_TAKES_FLOATING ? "floating or complex" : "numeric");
    return false;
}

/* The result's dtype has it, or it would be lost. */
static bool check_initial(const char *what, const ht_tensor *x, const ht_reduce_options *o,
                          unsigned takes)
{
    ht_dtype dtype = o->dtype != HT_DTYPE_COUNT ? o->dtype : x->body->dtype;

    if (takes & HT_TAKES_DTYPE && o->dtype == HT_DTYPE_COUNT && ht__dtype_is_exact(dtype))
        dtype = HT_INT64; /* of sums and products */

    if (o->initial == NULL)
        return true;
    if (!ht__check_kind(what, x->body->comm, "options.initial", *o->initial))
        return false;
    if (ht_dtype_is_complex(dtype))
        return true;
    if (o->initial->kind == HT_NUMBER_INTEGER && dtype != HT_BOOL)
        return ht__check_number(what, x->body->comm, "options.initial", dtype, *o->initial);
    if (o->initial->kind == HT_NUMBER_REAL && ht_dtype_is_floating(dtype))
        return true;
    HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: options.initial is %.15g%s, of a higher kind than %s",
            what,
            o->initial->kind == HT_NUMBER_INTEGER ? (double)o->initial->integer : o->initial->real,
            o->initial->kind == HT_NUMBER_COMPLEX ? " and an imaginary part" : "",
            ht_dtype_name(dtype));
    return false;
}

static bool check_axes(const char *what, const ht_tensor *x, const ht_reduce_options *o,
                       ht_reduce_over *over)
{
    *over = (ht_reduce_over){.axes = o->axes == NULL ? UINT32_MAX : 0, .keepdims = o->keepdims};
    if (o->count < 0 || (o->axes == NULL && o->count != 0)) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: options.count is %d, expected %s", what,
                o->count, o->count < 0 ? "at least 0" : "0, because options.axes is NULL");
        return false;
    }
    for (int i = 0; i < o->count; i++) {
        int axis = o->axes[i];

        if (!ht__check_axis(what, x, &axis))
            return false;
        if (over->axes >> axis & 1) {
            HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: axis %d is given twice", what, axis);
            return false;
        }
        over->axes |= 1u << axis;
    }
    return true;
}

bool ht__reduce_options(const char *what, const ht_tensor *x, const ht_reduce_options *options,
                        unsigned takes, ht_reduce_options *filled, ht_reduce_over *over)
{
    *filled = options != NULL ? *options : ht_reduce_options_default();
    if (HT_IS_NULL(x, what, "x") ||
        HT_CHECK_OPTIONS(x->body->comm, what, filled, ht_reduce_options) != HT_SUCCESS)
        return false;
    if (filled->where != NULL && HT_IS_NULL(filled->where, what, "options.where"))
        return false;
    if (filled->where != NULL && filled->where->body->dtype != HT_BOOL) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: options.where is %s, expected bool", what,
                ht_dtype_name(filled->where->body->dtype));
        return false;
    }
    if (filled->where != NULL && takes & HT_TAKES_WHERE &&
        !ht__check_together_as(what, "x", x, "options.where", filled->where))
        return false;
    return check_taken(what, x, filled, takes) && check_dtype(what, x, filled, takes) &&
           check_initial(what, x, filled, takes) && check_axes(what, x, filled, over);
}

ht_tensor *ht__reduce_undone(const ht_reduce_over *over, ht_tensor *g, int ndim)
{
    if (over->keepdims || over->axes == UINT32_MAX)
        return g; /* one element broadcasts anyway */
    for (int i = 0; i < ndim && g != NULL; i++)
        g = over->axes >> i & 1 ? ht_expand_dims(g, i) : g;
    return g;
}

void ht__zero_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_body *x = ht__node_input(node, 0);

    if (g != NULL)
        gin[0] = ht_zeros_like_ext(g, x->dtype);
}

ht_tensor *ht__grad_where(ht_tensor *g, ht_tensor *mask)
{
    static const ht_broadcast_op op = {.name = "ht_backward", .kernel = HT_KERNEL_RELU_GRAD};

    return ht__binary(&op, g, mask);
}

static void masked_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht__grad_where(g, ht_node_saved(node, 1));
}

ht_tensor *ht__masked(const char *what, ht_tensor *x, ht_tensor *where)
{
    const ht_broadcast_op op = {.name = what,
                                .kernel = HT_KERNEL_RELU_GRAD,
                                .save_operands = true,
                                .backward = masked_backward};

    if (x == NULL)
        return NULL;
    where = ht__broadcast_to(what, "options.where", where, x->body->ndim, x->body->shape);
    if (where != NULL && x->body->dtype == HT_BOOL)
        x = ht_astype(x, HT_INT64);
    return where != NULL ? ht__binary(&op, x, where) : NULL;
}
