/* SPDX-License-Identifier: MIT
 *
 * Rows of the arithmetic operations and their derivatives. */
#include "core/ops/drivers/drivers.h"
#include "ht/arithmetics.h"

#include <float.h>

#include "ht/exponential.h"
#include "ht/complex_math.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/elementwise.h"
#include "ht/logical.h"
#include "ht/relational.h"
#include "ht/rounding.h"

static void add_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    (void)node;
    gin[0] = gin[1] = g;
}

static void sub_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = g;
    if (ht_node_needs(node, 1))
        gin[1] = ht_neg(g);
}

static void mul_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    if (ht_node_needs(node, 0))
        gin[0] = ht_mul(g, ht__conj(ht_node_saved(node, 1)));
    if (ht_node_needs(node, 1))
        gin[1] = ht_mul(g, ht__conj(ht_node_saved(node, 0)));
}

/* d(a / b) = da / b - a db / b^2 */
static void div_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *b = ht__conj(ht_node_saved(node, 1)), *ga = ht_div(g, b);

    gin[0] = ga;
    if (ht_node_needs(node, 1))
        gin[1] = ht_neg(ht_mul(ga, ht_div(ht__conj(ht_node_saved(node, 0)), b)));
}

static void neg_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    (void)node;
    gin[0] = ht_neg(g);
}

/* b a^(b - 1), and a^b log a; 0 where the factor is, whatever the other one. */
static void pow_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1), *zero = ht_scalar(0);
    ht_tensor *slope, *flat;

    if (ht_node_needs(node, 0)) {
        slope = ht_mul(b, ht_pow(a, ht_sub(b, ht_scalar(1))));
        gin[0] = ht_mul(g, ht__conj(ht_where(ht_eq(b, zero), zero, slope)));
    }
    if (ht_node_needs(node, 1)) {
        slope = ht_mul(ht_pow(a, b), ht_log(a));
        flat = ht_logical_and(ht_eq(a, zero), ht_ge(ht_real(b), zero));
        gin[1] = ht_mul(g, ht__conj(ht_where(flat, zero, slope)));
    }
}

/* a - b floor(a / b), of the exact quotient. */
static void remainder_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = g;
    if (ht_node_needs(node, 1))
        gin[1] = ht_neg(ht_mul(g, ht_floordiv(ht_node_saved(node, 0), ht_node_saved(node, 1))));
}

/* a - b trunc(a / b), where a / b may be rounded away from 0: what was taken from a is nearly a
 * multiple of b. */
static void fmod_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1);

    gin[0] = g;
    if (ht_node_needs(node, 1))
        gin[1] = ht_neg(ht_mul(g, ht_round(ht_div(ht_sub(a, ht_fmod(a, b)), b))));
}

/* 0 where both are 0. */
static void hypot_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1), *y = ht_hypot(a, b);

    if (ht_node_needs(node, 0))
        gin[0] = ht__grad_where(ht_mul(g, ht_div(a, y)), ht_ne(y, ht_scalar(0)));
    if (ht_node_needs(node, 1))
        gin[1] = ht__grad_where(ht_mul(g, ht_div(b, y)), ht_ne(y, ht_scalar(0)));
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
HT_BINARY_ONLY(add, .kernel = HT_KERNEL_ADD, .backward = add_backward)
HT_BINARY(sub, .kernel = HT_KERNEL_SUB, .backward = sub_backward)
HT_BINARY(mul, .kernel = HT_KERNEL_MUL, .save_operands = true, .backward = mul_backward)
HT_BINARY(div, .kernel = HT_KERNEL_DIV, .result = HT_RESULT_FLOAT, .save_operands = true,
          .backward = div_backward)
HT_BINARY(pow, .kernel = HT_KERNEL_POW, .save_operands = true, .backward = pow_backward)
HT_BINARY(floordiv, .kernel = HT_KERNEL_FLOORDIV)
HT_BINARY(remainder, .kernel = HT_KERNEL_REMAINDER, .save_operands = true,
          .backward = remainder_backward)
HT_BINARY(fmod, .kernel = HT_KERNEL_FMOD, .save_operands = true, .backward = fmod_backward)
HT_BINARY(gcd, .kernel = HT_KERNEL_GCD)
HT_BINARY(lcm, .kernel = HT_KERNEL_LCM)
HT_BINARY(hypot, .kernel = HT_KERNEL_HYPOT, .result = HT_RESULT_FLOAT, .save_operands = true,
          .backward = hypot_backward)
HT_BINARY(copysign, .kernel = HT_KERNEL_COPYSIGN, .result = HT_RESULT_FLOAT, .save_operands = true,
          .backward = copysign_backward)
HT_UNARY(neg, .kernel = HT_KERNEL_NEG, .backward = neg_backward)
/* clang-format on */

ht_tensor *ht_pos(ht_tensor *x)
{
    return HT_IS_NULL(x, "ht_pos", "x") ? NULL : ht_copy(x);
}

ht_status ht_divmod(ht_tensor *a, ht_tensor *b, ht_tensor **quotient, ht_tensor **rest)
{
    ht_broadcast_op floor = floordiv_op, remainder = remainder_op;
    ht_tensor *q, *r;

    floor.name = remainder.name = "ht_divmod";
    if (HT_IS_NULL(a, "ht_divmod", "a") || HT_IS_NULL(b, "ht_divmod", "b") ||
        HT_IS_NULL_ON(a->body->comm, quotient, "ht_divmod", "quotient") ||
        HT_IS_NULL_ON(a->body->comm, rest, "ht_divmod", "rest"))
        return ht_error_get(NULL);
    q = ht__binary(&floor, a, b);
    r = q != NULL ? ht__binary(&remainder, a, b) : NULL;
    if (r == NULL)
        return ht_error_get(NULL);
    *quotient = q;
    *rest = r;
    return HT_SUCCESS;
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

    return ht__unary_with(&op, x, &(ht_beside){.param = {nan, posinf, neginf}});
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

/* A row under the name of another function. */
static ht_broadcast_op named(ht_broadcast_op op, const char *what)
{
    op.name = what;
    return op;
}

static ht_tensor *double_beside(const ht_broadcast_op *of, const char *what, ht_tensor *a, double b)
{
    const ht_broadcast_op op = named(*of, what);

    return ht__binary_scalar(&op, a, ht__number_of_double(a != NULL ? a->body->dtype : HT_BOOL, b));
}

static ht_tensor *beside(const ht_broadcast_op *of, const char *what, ht_tensor *a, ht_number b)
{
    const ht_broadcast_op op = named(*of, what);

    return ht__binary_scalar(&op, a, b);
}

ht_tensor *ht_add_scalar(ht_tensor *a, double b)
{
    return double_beside(&add_op, "ht_add_scalar", a, b);
}

ht_tensor *ht_add_scalar_ext(ht_tensor *a, ht_number b)
{
    return beside(&add_op, "ht_add_scalar_ext", a, b);
}

ht_tensor *ht_sub_scalar(ht_tensor *a, double b)
{
    return double_beside(&sub_op, "ht_sub_scalar", a, b);
}

ht_tensor *ht_sub_scalar_ext(ht_tensor *a, ht_number b)
{
    return beside(&sub_op, "ht_sub_scalar_ext", a, b);
}

ht_tensor *ht_mul_scalar(ht_tensor *a, double b)
{
    return double_beside(&mul_op, "ht_mul_scalar", a, b);
}

ht_tensor *ht_mul_scalar_ext(ht_tensor *a, ht_number b)
{
    return beside(&mul_op, "ht_mul_scalar_ext", a, b);
}

ht_tensor *ht_div_scalar(ht_tensor *a, double b)
{
    return double_beside(&div_op, "ht_div_scalar", a, b);
}

ht_tensor *ht_div_scalar_ext(ht_tensor *a, ht_number b)
{
    return beside(&div_op, "ht_div_scalar_ext", a, b);
}

ht_tensor *ht__add_number(const char *what, ht_tensor *x, ht_number number)
{
    return beside(&add_op, what, x, number);
}

ht_tensor *ht__mul_number(const char *what, ht_tensor *x, ht_number number)
{
    return beside(&mul_op, what, x, number);
}

ht_status ht__axpby(const char *what, double a, ht_tensor *x, double b, ht_tensor *y)
{
    const ht_beside factors = {.param = {a, b}};
    ht_operand operands[3] = {ht__operand(y->body)};

    if (x == NULL)
        return ht_error_get(NULL);
    if (!ht__has_kernel(what, y, HT_KERNEL_AXPBY)) /* before y counts as written */
        return HT_ERR_UNSUPPORTED;
    ht__storage_touch(y->body->storage);
    operands[1] = operands[2] = operands[0]; /* strides of y fit both */
    operands[1].data = ht__body_data(x->body);
    return ht__elementwise(what, HT_KERNEL_AXPBY, y->body->dtype, y->body, 3, operands, &factors);
}

/* Whether the sum can be made in the memory of y: there is nothing to convert, broadcast or record,
 * and x is y or apart from it. */
static bool adds_in_place(const ht_tensor *y, const ht_tensor *x)
{
    const ht_body *a = y->body, *b = x->body;

    if (ht_is_grad_enabled() && (ht__needs_grad(y) || ht__needs_grad(x)))
        return false;
    return (a->dtype == HT_FLOAT32 || a->dtype == HT_FLOAT64) && a->dtype == b->dtype &&
           a->storage->device == b->storage->device && a->comm == b->comm && a->split == b->split &&
           a->bounds == b->bounds && ht__body_same_shape(a, b) && ht__body_is_contiguous(a) &&
           ht__body_is_contiguous(b) && (a == b || a->storage != b->storage) &&
           ht__kernel_is_there(a->storage->device, HT_KERNEL_AXPBY, a->dtype);
}

/* Whether there is nothing to multiply by in this dtype, which one of a higher kind would raise. */
static bool is_one(ht_number number, ht_dtype dtype)
{
    return (number.kind == HT_NUMBER_INTEGER && number.integer == 1) ||
           (number.kind == HT_NUMBER_REAL && number.real == 1 && !ht__dtype_is_exact(dtype));
}

static ht_status add_in_place(const char *what, ht_tensor *a, ht_tensor *b, ht_number alpha)
{
    const ht_broadcast_op add = named(add_op, what), mul = named(mul_op, what);
    ht_scope *scope;
    ht_tensor *sum;
    ht_status status;

    if (ht__check_in_place(what, a, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    if (alpha.kind == HT_NUMBER_REAL && adds_in_place(a, b))
        return ht__axpby(what, alpha.real, b, 1, a);
    scope = ht_scope_open();
    if (!is_one(alpha, ht__binary_dtype(a, b))) {
        const ht_dtype dtype = ht__binary_dtype(a, b); /* that of the sum */

        b = b->body->number != NULL ? ht__number_beside(what, a, *b->body->number, dtype)
                                    : ht_astype(b, dtype);
        b = ht__binary_scalar(&mul, b, alpha);
    }
    sum = ht__binary(&add, a, b);
    status = ht__check_result(what, a, sum);
    if (status == HT_SUCCESS)
        status = ht__replace_values(what, a, sum);
    ht_scope_close(scope);
    return status;
}

ht_status ht_add_(ht_tensor *a, ht_tensor *b, double alpha)
{
    if (HT_IS_NULL(a, "ht_add_", "a") || HT_IS_NULL(b, "ht_add_", "b"))
        return ht_error_get(NULL);
    return add_in_place("ht_add_", a, b, ht__number_of_double(ht__binary_dtype(a, b), alpha));
}

ht_status ht_add_ext_(ht_tensor *a, ht_tensor *b, ht_number alpha)
{
    if (HT_IS_NULL(a, "ht_add_ext_", "a") || HT_IS_NULL(b, "ht_add_ext_", "b"))
        return ht_error_get(NULL);
    return add_in_place("ht_add_ext_", a, b, alpha);
}

static ht_status mul_in_place(const char *what, ht_tensor *a, ht_number b)
{
    const ht_broadcast_op mul = named(mul_op, what);

    return ht__binary_scalar_(&mul, a, b);
}

ht_status ht_mul_scalar_(ht_tensor *a, double b)
{
    if (HT_IS_NULL(a, "ht_mul_scalar_", "a"))
        return ht_error_get(NULL);
    return mul_in_place("ht_mul_scalar_", a, ht__number_of_double(a->body->dtype, b));
}

ht_status ht_mul_scalar_ext_(ht_tensor *a, ht_number b)
{
    if (HT_IS_NULL(a, "ht_mul_scalar_ext_", "a"))
        return ht_error_get(NULL);
    return mul_in_place("ht_mul_scalar_ext_", a, b);
}
