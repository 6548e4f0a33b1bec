/* SPDX-License-Identifier: MIT
 *
 * Rows of the arithmetic operations and their derivatives. */
#include "core/ops/drivers/drivers.h"
#include "ht/arithmetics.h"

#include "ht/kernels/elementwise.h"

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

/* clang-format off */
HT_BINARY_ONLY(add, .kernel = HT_KERNEL_ADD, .backward = add_backward)
HT_BINARY(sub, .kernel = HT_KERNEL_SUB, .backward = sub_backward)
HT_BINARY(mul, .kernel = HT_KERNEL_MUL, .save_operands = true, .backward = mul_backward)
HT_BINARY(div, .kernel = HT_KERNEL_DIV, .result = HT_RESULT_FLOAT, .save_operands = true,
          .backward = div_backward)
HT_UNARY(neg, .kernel = HT_KERNEL_NEG, .backward = neg_backward)
/* clang-format on */

ht_tensor *ht_pos(ht_tensor *x)
{
    return HT_IS_NULL(x, "ht_pos", "x") ? NULL : ht_copy(x);
}

/* A row under the name of another function. */
static ht_broadcast_op named(ht_broadcast_op op, const char *what)
{
    op.name = what;
    return op;
}

static ht_tensor *with_double(const ht_broadcast_op *of, const char *what, ht_tensor *a, double b)
{
    const ht_broadcast_op op = named(*of, what);

    return ht__binary_scalar(&op, a, ht__number_of_double(a != NULL ? a->body->dtype : HT_BOOL, b));
}

static ht_tensor *with_number(const ht_broadcast_op *of, const char *what, ht_tensor *a,
                              ht_number b)
{
    const ht_broadcast_op op = named(*of, what);

    return ht__binary_scalar(&op, a, b);
}

ht_tensor *ht_add_scalar(ht_tensor *a, double b)
{
    return with_double(&add_op, "ht_add_scalar", a, b);
}

ht_tensor *ht_add_scalar_ext(ht_tensor *a, ht_number b)
{
    return with_number(&add_op, "ht_add_scalar_ext", a, b);
}

ht_tensor *ht_sub_scalar(ht_tensor *a, double b)
{
    return with_double(&sub_op, "ht_sub_scalar", a, b);
}

ht_tensor *ht_sub_scalar_ext(ht_tensor *a, ht_number b)
{
    return with_number(&sub_op, "ht_sub_scalar_ext", a, b);
}

ht_tensor *ht_mul_scalar(ht_tensor *a, double b)
{
    return with_double(&mul_op, "ht_mul_scalar", a, b);
}

ht_tensor *ht_mul_scalar_ext(ht_tensor *a, ht_number b)
{
    return with_number(&mul_op, "ht_mul_scalar_ext", a, b);
}

ht_tensor *ht_div_scalar(ht_tensor *a, double b)
{
    return with_double(&div_op, "ht_div_scalar", a, b);
}

ht_tensor *ht_div_scalar_ext(ht_tensor *a, ht_number b)
{
    return with_number(&div_op, "ht_div_scalar_ext", a, b);
}

ht_tensor *ht__add_number(const char *what, ht_tensor *x, ht_number number)
{
    return with_number(&add_op, what, x, number);
}

ht_tensor *ht__mul_number(const char *what, ht_tensor *x, ht_number number)
{
    return with_number(&mul_op, what, x, number);
}

ht_status ht__axpby(const char *what, double a, ht_tensor *x, double b, ht_tensor *y)
{
    const ht_params factors = {.param = {a, b}};
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
 * and x is y or shares no memory with it. */
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

    if (ht__check_in_place(what, "a", a, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    if (!ht__check_kind(what, a->body->comm, "alpha", alpha))
        return HT_ERR_ARGUMENT;
    if (alpha.kind == HT_NUMBER_REAL && adds_in_place(a, b))
        return ht__axpby(what, alpha.real, b, 1, a);
    scope = ht_scope_open();
    if (!is_one(alpha, ht__binary_dtype(a, b))) {
        const ht_dtype dtype = ht__binary_dtype(a, b); /* that of the sum */

        b = b->body->number != NULL ? ht__number_like(what, a, *b->body->number, dtype)
                                    : ht_astype(b, dtype);
        b = ht__binary_scalar(&mul, b, alpha);
    }
    sum = ht__binary(&add, a, b);
    status = ht__check_result(what, "a", a, sum);
    if (status == HT_SUCCESS)
        status = ht__replace_values(what, "a", a, sum);
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
