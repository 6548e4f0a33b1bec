/* SPDX-License-Identifier: MIT
 *
 * ht_matmul: checks of its operands, and its gradient. Vectors become matrices of one row or
 * column. product.c decides which data travel. The scalar product of two vectors is one number of
 * each rank, added up. */
#include "core/algorithms/product/product.h"
#include "ht/linalg.h"

#include "core/autograd/autograd.h"
#include "core/ops/drivers/drivers.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

static const char what[] = "ht_matmul";

/* ---- matrices ------------------------------------------------------------------------------ */

/* Without a node; operands of any two dtypes. */
static ht_tensor *product_of(ht_tensor *a, ht_tensor *b)
{
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *c = NULL;

    if (a != NULL && b != NULL) {
        const ht_dtype dtype = ht_promote_types(a->body->dtype, b->body->dtype);
        ht_comm *outer = ht__together(a->body->comm);

        c = ht__product(ht_astype(a, dtype), ht_astype(b, dtype));
        ht__together_end(outer);
    }
    ht_set_grad_enabled(was);
    return c;
}

static ht_tensor *turned(ht_tensor *x)
{
    return x != NULL ? ht_transpose(ht__conj(x), -2, -1) : NULL;
}

/* The rows of all batches of x below each other, in the order of each rank's memory. Unless the
 * first axis is split, that is another order than without a split, but the same one for all x of a
 * split. NULL where the columns are split, too. */
static ht_tensor *all_rows(ht_tensor *x)
{
    const ht_body *from = x->body;
    const int size = from->comm->size, last = from->ndim - 1;
    ht_body *body;

    if (from->split == last)
        return NULL;
    x = ht_contiguous(x);
    if (x == NULL)
        return NULL;
    body = ht__body_view(x->body);
    body->ndim = 2;
    body->shape[1] = from->shape[last];
    body->shape[0] = 1;
    for (int i = 0; i < last; i++)
        body->shape[0] *= from->shape[i];
    if (from->split != HT_NONE) {
        ht_release(body->bounds);
        body->bounds = ht__bounds_new(size);
        body->split = 0;
        for (int rank = 0; rank <= size; rank++)
            body->bounds->start[rank] = ht__body_start(from, rank) *
                                        (body->shape[0] / from->shape[from->split]);
    }
    ht__body_settle(body);
    ht__body_lay_row_major(body);
    return ht__tensor_view(body);
}

/* The gradient of a matrix b that all batches were multiplied with: one product over all rows. NULL
 * where there is none. */
static ht_tensor *gradient_of_one(ht_tensor *a, ht_tensor *g)
{
    if (g->body->ndim != a->body->ndim || ht_tensor_size(a) == 0 || ht_tensor_size(g) == 0)
        return NULL;
    a = all_rows(ht__match_slabs(what, a, g->body));
    g = all_rows(g);
    return a != NULL && g != NULL ? product_of(turned(a), g) : NULL;
}

static ht_tensor *summed_to(ht_tensor *g, const ht_tensor *x)
{
    return g != NULL ? ht__sum_to(what, g, x->body->ndim, x->body->shape) : NULL;
}

static void product_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1);

    if (a == NULL || b == NULL)
        return;
    if (ht_node_needs(node, 0))
        gin[0] = summed_to(product_of(g, turned(b)), a);
    if (ht_node_needs(node, 1) && b->body->ndim == 2 && a->body->ndim > 2)
        gin[1] = gradient_of_one(a, g);
    if (ht_node_needs(node, 1) && gin[1] == NULL)
        gin[1] = summed_to(product_of(turned(a), g), b);
}

static ht_tensor *matrices(ht_tensor *a, ht_tensor *b)
{
    ht_tensor *inputs[2] = {a, b}, *c = product_of(a, b);
    ht_node *node = c != NULL ? ht_node_new(what, product_backward, 2, inputs) : NULL;

    if (node == NULL)
        return c;
    ht_node_save(node, a);
    ht_node_save(node, b);
    return ht_node_set_output(node, c);
}

/* ---- vectors ------------------------------------------------------------------------------- */

static void inner_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    for (int i = 0; i < 2; i++) {
        if (ht_node_needs(node, i))
            gin[i] = ht_mul(g, ht__conj(ht_node_saved(node, 1 - i)));
    }
}

/* The sum over the ranks: sums have int64 for integers, and no 16 bits. */
static ht_dtype sum_dtype(ht_dtype dtype)
{
    return ht__dtype_is_exact(dtype) ? HT_INT64 : ht__product_dtype(dtype);
}

static ht_tensor *inner_product(ht_tensor *a, ht_tensor *b)
{
    const ht_dtype dtype = ht_promote_types(a->body->dtype, b->body->dtype);
    ht_tensor *c, *y;

    a = ht__match_slabs(what, a, a->body->split != HT_NONE ? a->body : b->body);
    b = a != NULL ? ht__match_slabs(what, b, a->body) : NULL;
    if (b == NULL)
        return NULL;
    c = ht__tensor_new(ht__body_new(what, a->body->comm, a->body->storage->device, sum_dtype(dtype),
                                    HT_SHAPE(1, 1), HT_NONE, NULL));
    if (c == NULL ||
        ht__product_local(c, ht_expand_dims(ht_tensor_local(a), 0),
                          ht_expand_dims(ht_tensor_local(b), 1), 0) != HT_SUCCESS ||
        (a->body->split != HT_NONE &&
         ht__comm_sum(a->body->comm, c, HT_SUM_ALL, 1, what) != HT_SUCCESS))
        return NULL;
    y = ht_reshape(ht_astype(c, dtype), HT_SHAPE());
    return ht__without_base(y);
}

static ht_tensor *vectors(ht_tensor *a, ht_tensor *b)
{
    ht_tensor *inputs[2] = {a, b}, *c;
    const bool was = ht_set_grad_enabled(false);
    ht_comm *outer = ht__together(a->body->comm);
    ht_node *node;

    c = inner_product(a, b);
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    node = c != NULL ? ht_node_new(what, inner_backward, 2, inputs) : NULL;
    if (node == NULL)
        return c;
    ht_node_save(node, a);
    ht_node_save(node, b);
    return ht_node_set_output(node, c);
}

/* ---- all of them --------------------------------------------------------------------------- */

static bool check(const ht_tensor *a, const ht_tensor *b)
{
    const ht_body *x = a->body, *y = b->body;
    int64_t left, right;

    if (x->ndim < 1 || y->ndim < 1) {
        HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: a is %s, b is %s, expected vectors or matrices", what,
                ht__shape_str(x->ndim, x->shape), ht__shape_str(y->ndim, y->shape));
        return false;
    }
    left = x->shape[x->ndim - 1];
    right = y->shape[y->ndim > 1 ? y->ndim - 2 : 0];
    if (left != right) {
        HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: a is %s, b is %s: inner sizes %lld and %lld differ",
                what, ht__shape_str(x->ndim, x->shape), ht__shape_str(y->ndim, y->shape),
                (long long)left, (long long)right);
        return false;
    }
    for (int i = 3; i <= x->ndim && i <= y->ndim; i++) {
        left = x->shape[x->ndim - i];
        right = y->shape[y->ndim - i];
        if (left == right || left == 1 || right == 1)
            continue;
        HT_FAIL(x->comm, HT_ERR_SHAPE,
                "%s: a is %s, b is %s: batches of %lld and %lld do not broadcast", what,
                ht__shape_str(x->ndim, x->shape), ht__shape_str(y->ndim, y->shape), (long long)left,
                (long long)right);
        return false;
    }
    return true;
}

static ht_tensor *without_last(ht_tensor *x)
{
    return ht__without_base(x != NULL ? ht_squeeze(x, -1) : NULL);
}

static ht_tensor *multiply(ht_tensor *a, ht_tensor *b)
{
    if (a->body->ndim == 1 && b->body->ndim == 1)
        return vectors(a, b);
    if (b->body->ndim == 1)
        return without_last(matrices(a, ht_expand_dims(b, 1)));
    if (a->body->ndim == 1) /* the rows of b's transpose with it as their column */
        return without_last(matrices(ht_transpose(b, -2, -1), ht_expand_dims(a, 1)));
    return matrices(a, b);
}

ht_tensor *ht_matmul(ht_tensor *a, ht_tensor *b)
{
    HT_NAMED(what);

    if (HT_IS_NULL(a, what, "a") || HT_IS_NULL(b, what, "b") || !ht__check_together(what, a, b) ||
        !check(a, b))
        return NULL;
    if (a->body->dtype != HT_BOOL || b->body->dtype != HT_BOOL)
        return multiply(a, b);
    /* Whether there is a pair of ones: a sum of such does not go back to 0, however it is rounded.
     */
    a = ht_astype(a, HT_FLOAT32);
    b = ht_astype(b, HT_FLOAT32);
    a = a != NULL && b != NULL ? multiply(a, b) : NULL;
    return a != NULL ? ht_ne(a, ht_scalar(0)) : NULL;
}
