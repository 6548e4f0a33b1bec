/* SPDX-License-Identifier: MIT
 *
 * Rows of rounding, absolute values, signs and clipping, and of numbers instead of NaN. */
#include "core/ops/drivers/drivers.h"
#include "ht/rounding.h"

#include <float.h>
#include <math.h>

#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/elementwise.h"
#include "ht/logical.h"
#include "ht/relational.h"

/* z / |z|; of real numbers their sign. */
static void abs_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_mul(g, ht_sign(ht_node_saved(node, 0)));
}

/* The gradient for complex numbers is the part of g across to z, over |z|: (g - Re(g conj(s)) s) /
 * |z| with s = z / |z|, and 0 where z is 0. */
static void sign_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *z = ht_node_saved(node, 0), *s, *across;

    if (z == NULL)
        return;
    if (!ht_dtype_is_complex(z->body->dtype)) {
        ht__zero_backward(node, g, gin);
        return;
    }
    s = ht_sign(z);
    across = ht_sub(g, ht_mul(ht_real(ht_mul(g, ht__conj(s))), s));
    gin[0] = ht_where(ht_eq(z, ht_scalar(0)), ht_scalar(0), ht_div(across, ht_abs(z)));
}

static void frac_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    (void)node;
    gin[0] = g;
}

static void copysign_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *b = ht_node_saved(node, 1);

    if (ht_node_needs(node, 0))
        gin[0] = ht_mul(g, ht_mul(ht_sign(ht_node_saved(node, 0)), ht_copysign(ht_scalar(1), b)));
    if (ht_node_needs(node, 1))
        gin[1] = b != NULL ? ht_zeros_like(b) : NULL;
}

/* clang-format off */
HT_UNARY(ceil, .kernel = HT_KERNEL_CEIL, .backward = ht__zero_backward)
HT_UNARY(floor, .kernel = HT_KERNEL_FLOOR, .backward = ht__zero_backward)
HT_UNARY(trunc, .kernel = HT_KERNEL_TRUNC, .backward = ht__zero_backward)
HT_UNARY(round, .kernel = HT_KERNEL_ROUND, .backward = ht__zero_backward)
HT_UNARY(sign, .kernel = HT_KERNEL_SIGN, .save = HT_SAVE_INPUT, .backward = sign_backward)
HT_UNARY(abs, .kernel = HT_KERNEL_ABS, .result = HT_RESULT_REAL, .save = HT_SAVE_INPUT,
         .backward = abs_backward)
HT_BINARY(copysign, .kernel = HT_KERNEL_COPYSIGN, .result = HT_RESULT_FLOAT, .save_operands = true,
          .backward = copysign_backward)
/* clang-format on */

static const ht_unary_op frac_op = {.name = "ht_modf",
                                    .kernel = HT_KERNEL_FRAC,
                                    .result = HT_RESULT_FLOAT,
                                    .backward = frac_backward};

ht_status ht_modf(ht_tensor *x, ht_tensor **fraction, ht_tensor **whole)
{
    ht_unary_op cut = trunc_op;
    ht_tensor *f, *w;

    cut.name = "ht_modf";
    cut.result = HT_RESULT_FLOAT;
    if (HT_IS_NULL(x, "ht_modf", "x") ||
        HT_IS_NULL_ON(x->body->comm, fraction, "ht_modf", "fraction") ||
        HT_IS_NULL_ON(x->body->comm, whole, "ht_modf", "whole"))
        return ht_error_get(NULL);
    f = ht__unary(&frac_op, x);
    w = f != NULL ? ht__unary(&cut, x) : NULL;
    if (w == NULL)
        return ht_error_get(NULL);
    *fraction = f;
    *whole = w;
    return HT_SUCCESS;
}

ht_tensor *ht_fabs(ht_tensor *x)
{
    ht_unary_op op = abs_op;

    op.name = "ht_fabs";
    op.result = HT_RESULT_FLOAT;
    if (HT_IS_NULL(x, op.name, "x"))
        return NULL;
    if (ht_dtype_is_complex(x->body->dtype)) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: not defined for %s", op.name,
                ht_dtype_name(x->body->dtype));
        return NULL;
    }
    return ht__unary(&op, x);
}

enum { FAR = 400 }; /* decimals beyond any number's */

/* The same factor on both sides, so that one of both is 1. */
ht_tensor *ht_round_ext(ht_tensor *x, int decimals)
{
    static const ht_unary_op op = {
        .name = "ht_round_ext", .kernel = HT_KERNEL_ROUND_DECIMALS, .backward = ht__zero_backward};
    ht_unary_op whole = round_op;

    whole.name = op.name;
    if (HT_IS_NULL(x, op.name, "x"))
        return NULL;
    decimals = decimals < -FAR ? -FAR : decimals > FAR ? FAR : decimals;
    if (decimals == 0 || (decimals > 0 && ht_dtype_is_integer(x->body->dtype)))
        return ht__unary(&whole, x);
    return ht__unary_with(&op, x,
                          &(ht_params){.param = {decimals > 0 ? pow(10, decimals) : 1,
                                                 decimals < 0 ? pow(10, -decimals) : 1}});
}

static bool is_none(ht_number bound, double infinity)
{
    return bound.kind == HT_NUMBER_REAL && bound.real == infinity;
}

/* A missing bound does not raise the kind. */
static ht_dtype clip_dtype(ht_dtype dtype, ht_number low, ht_number high)
{
    if (!is_none(low, -INFINITY))
        dtype = ht__scalar_dtype(dtype, low);
    return is_none(high, INFINITY) ? dtype : ht__scalar_dtype(dtype, high);
}

/* The value of a bound in a dtype, where a conversion of integers would wrap. */
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
    ht_tensor *x = ht_node_saved(node, 0);

    if (x != NULL)
        gin[0] = ht__grad_where(
            g, ht_mul(ht_ge(x, ht_node_saved(node, 1)), ht_le(x, ht_node_saved(node, 2))));
}

static ht_tensor *clip(const char *what, ht_tensor *x, ht_number low, ht_number high)
{
    const ht_broadcast_op op = {what, HT_KERNEL_CLIP, HT_RESULT_SAME, .save_operands = true,
                                .backward = clip_backward};
    const ht_dtype dtype = clip_dtype(x->body->dtype, low, high);
    ht_tensor *in[3] = {x};

    if (dtype == HT_BOOL) /* and no bounds */
        return ht_copy(x);
    in[0] = ht_astype(x, dtype);
    in[1] = ht__number(inside(dtype, low));
    in[2] = ht__number(inside(dtype, high));
    return ht__broadcast(&op, 3, in, NULL);
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
    static const char what[] = "ht_clip_ext";

    if (HT_IS_NULL(x, what, "x") || !ht__check_kind(what, x->body->comm, "min", min) ||
        !ht__check_kind(what, x->body->comm, "max", max))
        return NULL;
    return clip(what, x, min, max);
}

static void nan_to_num_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *x = ht_node_saved(node, 0);

    gin[0] = x != NULL ? ht__grad_where(g, ht_isfinite(x)) : NULL;
}

static ht_tensor *nan_to_num(const char *what, ht_tensor *x, double nan, double posinf,
                             double neginf)
{
    const ht_unary_op op = {.name = what,
                            .kernel = HT_KERNEL_NAN_TO_NUM,
                            .save = HT_SAVE_INPUT,
                            .backward = nan_to_num_backward};

    return ht__unary_with(&op, x, &(ht_params){.param = {nan, posinf, neginf}});
}

/* The greatest finite number. */
static double greatest(ht_dtype dtype)
{
    return dtype == HT_FLOAT16    ? 65504
           : dtype == HT_BFLOAT16 ? 0x1.fep127
           : dtype == HT_FLOAT32  ? FLT_MAX
                                  : DBL_MAX;
}

ht_tensor *ht_nan_to_num(ht_tensor *x)
{
    double most;

    if (HT_IS_NULL(x, "ht_nan_to_num", "x"))
        return NULL;
    most = greatest(x->body->dtype);
    return ht__dtype_is_exact(x->body->dtype) ? ht_copy(x)
                                              : nan_to_num("ht_nan_to_num", x, 0, most, -most);
}

ht_tensor *ht_nan_to_num_ext(ht_tensor *x, double nan, double posinf, double neginf)
{
    if (HT_IS_NULL(x, "ht_nan_to_num_ext", "x"))
        return NULL;
    return ht__dtype_is_exact(x->body->dtype)
               ? ht_copy(x)
               : nan_to_num("ht_nan_to_num_ext", x, nan, posinf, neginf);
}
