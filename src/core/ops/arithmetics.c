/* SPDX-License-Identifier: MIT
 *
 * Rows of the arithmetic operations, each beside its derivative. */
#include "ht/arithmetics.h"

#include "core/core.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

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

static void conj_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    (void)node;
    gin[0] = ht__conj(g);
}

static const ht_unary_op conj_op = {
    .name = "ht__conj", .kernel = HT_UNARY_CONJ, .backward = conj_backward};

ht_tensor *ht__conj(ht_tensor *x)
{
    return x != NULL && ht_dtype_is_complex(x->body->dtype) ? ht__unary(&conj_op, x) : x;
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

static const ht_binary_op add_op = {
    .name = "ht_add", .kernel = HT_BINARY_ADD, .backward = add_backward};
static const ht_binary_op sub_op = {
    .name = "ht_sub", .kernel = HT_BINARY_SUB, .no_bool = true, .backward = sub_backward};
static const ht_binary_op mul_op = {
    .name = "ht_mul", .kernel = HT_BINARY_MUL, .save_operands = true, .backward = mul_backward};
static const ht_binary_op div_op = {.name = "ht_div",
                                    .kernel = HT_BINARY_DIV,
                                    .result = HT_RESULT_FLOAT,
                                    .save_operands = true,
                                    .backward = div_backward};

/* The same under the names of operations in place. */
static const ht_binary_op add_in_place_op = {
    .name = "ht_add_", .kernel = HT_BINARY_ADD, .backward = add_backward};
static const ht_binary_op mul_for_add_op = {
    .name = "ht_add_", .kernel = HT_BINARY_MUL, .save_operands = true, .backward = mul_backward};
static const ht_binary_op mul_in_place_op = {.name = "ht_mul_scalar_",
                                             .kernel = HT_BINARY_MUL,
                                             .save_operands = true,
                                             .backward = mul_backward};
static const ht_binary_op mul_i64_in_place_op = {.name = "ht_mul_scalar_i64_",
                                                 .kernel = HT_BINARY_MUL,
                                                 .save_operands = true,
                                                 .backward = mul_backward};
static const ht_unary_op neg_op = {
    .name = "ht_neg", .kernel = HT_UNARY_NEG, .backward = neg_backward};

ht_tensor *ht_add(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&add_op, a, b);
}

ht_tensor *ht_sub(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&sub_op, a, b);
}

ht_tensor *ht_mul(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&mul_op, a, b);
}

ht_tensor *ht_div(ht_tensor *a, ht_tensor *b)
{
    return ht__binary(&div_op, a, b);
}

ht_tensor *ht_add_scalar(ht_tensor *a, double b)
{
    return ht__binary_scalar(&add_op, a, ht__real(b));
}

ht_tensor *ht_sub_scalar(ht_tensor *a, double b)
{
    return ht__binary_scalar(&sub_op, a, ht__real(b));
}

ht_tensor *ht_mul_scalar(ht_tensor *a, double b)
{
    return ht__binary_scalar(&mul_op, a, ht__real(b));
}

ht_tensor *ht_div_scalar(ht_tensor *a, double b)
{
    return ht__binary_scalar(&div_op, a, ht__real(b));
}

ht_tensor *ht_add_scalar_i64(ht_tensor *a, int64_t b)
{
    return ht__binary_scalar(&add_op, a, ht__integer(b));
}

ht_tensor *ht_sub_scalar_i64(ht_tensor *a, int64_t b)
{
    return ht__binary_scalar(&sub_op, a, ht__integer(b));
}

ht_tensor *ht_mul_scalar_i64(ht_tensor *a, int64_t b)
{
    return ht__binary_scalar(&mul_op, a, ht__integer(b));
}

ht_tensor *ht_neg(ht_tensor *x)
{
    if (x != NULL && x->body->dtype == HT_BOOL) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE, "ht_neg: not defined for bool");
        return NULL;
    }
    return ht__unary(&neg_op, x);
}

ht_status ht__axpby(const char *what, double a, ht_tensor *x, double b, ht_tensor *y)
{
    const ht_backend *backend = ht__backend_of(y);

    if (x == NULL)
        return ht_error_get(NULL);
    if (backend->kernels.axpby == NULL)
        return ht__kernel_missing(what, y);
    ht__storage_touch(y->body->storage);
    if (backend->kernels.axpby(ht__stream_of(y), y->body->dtype, y->body->lsize, a,
                               ht__body_data(x->body), b, ht__body_data(y->body)) != 0)
        return ht__kernel_failed(y->body->comm, what);
    return HT_SUCCESS;
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
           ht__body_is_contiguous(b) && (a->storage != b->storage || a->offset == b->offset) &&
           ht__backend_of(y)->kernels.axpby != NULL;
}

ht_status ht_add_(ht_tensor *a, ht_tensor *b, double alpha)
{
    ht_scope *scope;
    ht_tensor *sum;
    ht_status status;

    if (HT_IS_NULL(a, "ht_add_", "a") || HT_IS_NULL(b, "ht_add_", "b"))
        return ht_error_get(NULL);
    if (ht__check_in_place("ht_add_", a, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    if (adds_in_place(a, b))
        return ht__axpby("ht_add_", alpha, b, 1, a);
    ht__compare_pause(1); /* the part of another rank may lie otherwise */
    scope = ht_scope_open();
    if (alpha != 1) { /* in the dtype of the sum, unless alpha's kind is higher */
        b = ht_astype(b, ht__binary_dtype(a->body, b->body));
        b = ht__binary_scalar(&mul_for_add_op, b, ht__real(alpha));
    }
    sum = ht__binary(&add_in_place_op, a, b);
    status = ht__check_result("ht_add_", a, sum);
    if (status == HT_SUCCESS)
        status = ht__replace_values("ht_add_", a, sum);
    ht_scope_close(scope);
    ht__compare_pause(-1);
    return status;
}

static ht_status mul_in_place(const ht_binary_op *op, ht_tensor *a, ht_number b)
{
    ht_scope *scope;
    ht_tensor *product;
    ht_status status;

    if (HT_IS_NULL(a, op->name, "a"))
        return ht_error_get(NULL);
    if (ht__check_in_place(op->name, a, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    scope = ht_scope_open();
    product = ht__binary_scalar(op, a, b);
    status = ht__check_result(op->name, a, product);
    if (status == HT_SUCCESS)
        status = ht__replace_values(op->name, a, product);
    ht_scope_close(scope);
    return status;
}

ht_status ht_mul_scalar_(ht_tensor *a, double b)
{
    return mul_in_place(&mul_in_place_op, a, ht__real(b));
}

ht_status ht_mul_scalar_i64_(ht_tensor *a, int64_t b)
{
    return mul_in_place(&mul_i64_in_place_op, a, ht__integer(b));
}

/* Every element summed gets the gradient of its sum. */
static void sum_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_reduce_context *context = ht_node_context(node, 0);
    const ht_body *x = ht__node_input(node, 0);

    if (context->axis != HT_NONE && !context->keepdim)
        g = ht_expand_dims(g, context->axis);
    gin[0] = ht_broadcast_to(g, x->ndim, x->shape);
}

static const ht_reduce_row sum_row = {
    .name = "ht_sum", .kernel = HT_REDUCE_SUM, .across = HT_OP_SUM, .backward = sum_backward};
static const ht_reduce_row sum_keepdim_row = {.name = "ht_sum_keepdim",
                                              .kernel = HT_REDUCE_SUM,
                                              .across = HT_OP_SUM,
                                              .backward = sum_backward};

ht_tensor *ht_sum(ht_tensor *x, int axis)
{
    return ht__reduce(&sum_row, x, axis, false);
}

ht_tensor *ht_sum_keepdim(ht_tensor *x, int axis)
{
    return ht__reduce(&sum_keepdim_row, x, axis, true);
}

static void cumsum_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[]);

static const ht_cumulative_row cumsum_row = {.name = "ht_cumsum",
                                             .kernel = HT_CUMULATIVE_CUMSUM,
                                             .across = HT_OP_SUM,
                                             .backward = cumsum_backward};

/* x[i] is in every later sum: gx = sum of g from i on, which a difference of sums would not be
 * where they cancel or are infinite. */
static void cumsum_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht__cumulative_reversed(&cumsum_row, g, *(int *)ht_node_context(node, 0));
}

ht_tensor *ht_cumsum(ht_tensor *x, int axis)
{
    return ht__cumulative(&cumsum_row, x, axis);
}
