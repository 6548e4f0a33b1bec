/* SPDX-License-Identifier: MIT
 *
 * Rows of the arithmetic operations, each beside its derivative. */
#include "core/ops/drivers.h"
#include "ht/arithmetics.h"

#include "ht/manipulations.h"
#include "ht/kernels/elementwise.h"
#include "ht/kernels/reduce.h"
#include "ht/relational.h"

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
    .name = "ht__conj", .kernel = HT_KERNEL_CONJ, .backward = conj_backward};

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
    .name = "ht_add", .kernel = HT_KERNEL_ADD, .backward = add_backward};
static const ht_binary_op sub_op = {
    .name = "ht_sub", .kernel = HT_KERNEL_SUB, .no_bool = true, .backward = sub_backward};
static const ht_binary_op mul_op = {
    .name = "ht_mul", .kernel = HT_KERNEL_MUL, .save_operands = true, .backward = mul_backward};
static const ht_binary_op div_op = {.name = "ht_div",
                                    .kernel = HT_KERNEL_DIV,
                                    .result = HT_RESULT_FLOAT,
                                    .save_operands = true,
                                    .backward = div_backward};

static const ht_unary_op neg_op = {
    .name = "ht_neg", .kernel = HT_KERNEL_NEG, .backward = neg_backward};

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

/* A row under the name of another function. */
static ht_binary_op named(ht_binary_op op, const char *what)
{
    op.name = what;
    return op;
}

static ht_tensor *double_beside(const ht_binary_op *of, const char *what, ht_tensor *a, double b)
{
    const ht_binary_op op = named(*of, what);

    return ht__binary_scalar(&op, a, ht__number_of_double(a != NULL ? a->body->dtype : HT_BOOL, b));
}

static ht_tensor *beside(const ht_binary_op *of, const char *what, ht_tensor *a, ht_number b)
{
    const ht_binary_op op = named(*of, what);

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
    const ht_binary_op add = named(add_op, what), mul = named(mul_op, what);
    ht_scope *scope;
    ht_tensor *sum;
    ht_status status;

    if (ht__check_in_place(what, a, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    if (alpha.kind == HT_NUMBER_REAL && adds_in_place(a, b))
        return ht__axpby(what, alpha.real, b, 1, a);
    scope = ht_scope_open();
    if (!is_one(alpha, ht__binary_dtype(a->body, b->body))) {
        b = ht_astype(b, ht__binary_dtype(a->body, b->body)); /* that of the sum */
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
    return add_in_place("ht_add_", a, b,
                        ht__number_of_double(ht__binary_dtype(a->body, b->body), alpha));
}

ht_status ht_add_ext_(ht_tensor *a, ht_tensor *b, ht_number alpha)
{
    if (HT_IS_NULL(a, "ht_add_ext_", "a") || HT_IS_NULL(b, "ht_add_ext_", "b"))
        return ht_error_get(NULL);
    return add_in_place("ht_add_ext_", a, b, alpha);
}

static ht_status mul_in_place(const char *what, ht_tensor *a, ht_number b)
{
    const ht_binary_op mul = named(mul_op, what);
    ht_scope *scope;
    ht_tensor *product;
    ht_status status;

    if (ht__check_in_place(what, a, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    scope = ht_scope_open();
    product = ht__binary_scalar(&mul, a, b);
    status = ht__check_result(what, a, product);
    if (status == HT_SUCCESS)
        status = ht__replace_values(what, a, product);
    ht_scope_close(scope);
    return status;
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

/* Every element summed gets the gradient of its sum. */
static void sum_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ht_body *x = ht__node_input(node, 0);

    g = ht__reduce_undone(ht_node_context(node, 0), g, x->ndim);
    gin[0] = ht_broadcast_to(g, x->ndim, x->shape);
}

static const ht_reduce_row sum_row = {
    .name = "ht_sum", .kernel = HT_KERNEL_SUM, .across = HT_OP_SUM, .backward = sum_backward};
static const ht_reduce_row sum_ext_row = {
    .name = "ht_sum_ext", .kernel = HT_KERNEL_SUM, .across = HT_OP_SUM, .backward = sum_backward};

ht_tensor *ht_sum(ht_tensor *x, int axis)
{
    return ht__reduce(&sum_row, x, axis);
}

ht_tensor *ht__sum_over(const char *what, ht_tensor *x, const ht_reduce_over *over)
{
    ht_reduce_row row = sum_ext_row;

    row.name = what;
    row.wide = true;
    return ht__reduce_over(&row, x, over);
}

/* x in the dtype that is asked for, if there is one, and that of the result. */
static ht_tensor *as_asked(ht_tensor *x, const ht_reduce_options *o, ht_dtype *result)
{
    *result = o->dtype;
    if (o->dtype != HT_DTYPE_COUNT)
        return ht_astype(x, o->dtype);
    *result = ht__dtype_is_exact(x->body->dtype) ? HT_INT64 : x->body->dtype;
    return x;
}

ht_tensor *ht_sum_ext(ht_tensor *x, const ht_reduce_options *options)
{
    const unsigned takes = HT_TAKES_DTYPE | HT_TAKES_INITIAL | HT_TAKES_WHERE;
    const char *what = "ht_sum_ext";
    ht_reduce_options o;
    ht_reduce_over over;
    ht_dtype dtype;
    ht_tensor *y;

    if (!ht__reduce_options(what, x, options, takes, &o, &over))
        return NULL;
    x = as_asked(x, &o, &dtype);
    if (o.where != NULL)
        x = ht__masked(what, x, o.where);
    if (o.initial == NULL)
        return ht_astype(ht__reduce_over(&sum_ext_row, x, &over), dtype);
    y = ht__sum_over(what, x, &over);
    return ht_astype(y != NULL ? beside(&add_op, what, y, *o.initial) : NULL, dtype);
}

/* 1 where x is 0, as bool; NULL for NULL. */
static ht_tensor *is_zero(const char *what, ht_tensor *x)
{
    return x != NULL ? ht_eq(x, ht__number_beside(what, x, HT_NUM(0), x->body->dtype)) : NULL;
}

/* The product of the others: that of all that are not 0, over this one, times 0 where one of the
 * others is 0. */
static void prod_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    static const ht_reduce_row product_row = {
        .name = "ht_backward", .kernel = HT_KERNEL_PROD, .across = HT_OP_PROD, .wide = true};
    const ht_reduce_over *over = ht_node_context(node, 0);
    const ht_reduce_over kept = {over->axes, true};
    ht_tensor *x = ht_node_saved(node, 0), *zeros, *wide, *others, *count;
    ht_dtype dtype;

    if (x == NULL)
        return;
    dtype = ht__dtype_wide(x->body->dtype);
    zeros = is_zero("ht_backward", x);
    wide = ht_add(ht_astype(x, dtype), ht_astype(zeros, dtype)); /* 1 for 0 */
    others = ht_div(ht__reduce_over(&product_row, wide, &kept), wide);
    count = ht_sub(ht__sum_over("ht_backward", zeros, &kept), ht_astype(zeros, HT_FLOAT64));
    others = ht_mul(others, ht_astype(is_zero("ht_backward", count), dtype));
    g = ht_astype(ht__reduce_undone(over, g, x->body->ndim), dtype);
    gin[0] = ht_astype(ht_mul(g, ht__conj(others)), x->body->dtype);
}

static const ht_reduce_row prod_row = {.name = "ht_prod",
                                       .kernel = HT_KERNEL_PROD,
                                       .across = HT_OP_PROD,
                                       .backward = prod_backward,
                                       .save = true};

ht_tensor *ht_prod(ht_tensor *x, int axis)
{
    return ht__reduce(&prod_row, x, axis);
}

/* x where the mask is set, else 1: less 0, which leaves a -0 as it is (0 more would not), or -1. */
static ht_tensor *ones_outside(const char *what, ht_tensor *x, ht_tensor *where)
{
    ht_tensor *one;

    x = ht__masked(what, x, where);
    if (x == NULL)
        return NULL;
    one = ht__number_beside(what, x, HT_NUM(1), x->body->dtype);
    return ht_sub(x, ht_sub(ht_astype(where, x->body->dtype), one));
}

ht_tensor *ht_prod_ext(ht_tensor *x, const ht_reduce_options *options)
{
    const unsigned takes = HT_TAKES_DTYPE | HT_TAKES_INITIAL | HT_TAKES_WHERE;
    ht_reduce_row row = prod_row;
    ht_reduce_options o;
    ht_reduce_over over;
    ht_dtype dtype;

    row.name = "ht_prod_ext";
    if (!ht__reduce_options(row.name, x, options, takes, &o, &over))
        return NULL;
    x = as_asked(x, &o, &dtype);
    if (o.where != NULL)
        x = ones_outside(row.name, x, o.where);
    row.wide = o.initial != NULL;
    x = ht__reduce_over(&row, x, &over);
    if (x != NULL && o.initial != NULL)
        x = beside(&mul_op, row.name, x, *o.initial);
    return ht_astype(x, dtype);
}

static void cumsum_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[]);

static const ht_cumulative_row cumsum_row = {.name = "ht_cumsum",
                                             .kernel = HT_KERNEL_CUMSUM,
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
