/* SPDX-License-Identifier: MIT
 *
 * y = x W^T + b, x (rows, in), W (out, in), y (rows, out); leading axes of x count as rows.
 * dx = dy W, dW = dy^T x, db = the column sums of dy. */
#include "functional_impl.h"

static int64_t local_rows(const ht_tensor *x)
{
    const ht_body *body = x->body;
    int64_t rows = 1;

    for (int i = 0; i < body->ndim - 1; i++)
        rows *= body->lshape[i];
    return rows;
}

static bool gemm(const ht_tensor *device_of, const ht_gemm *job)
{
    const ht_kernels *kernels = &ht__backend_of(device_of)->kernels;

    if (kernels->gemm == NULL) {
        ht__kernel_missing("ht_linear", device_of);
        return false;
    }
    if (kernels->gemm(ht__stream_of(device_of), job) != 0) {
        ht__kernel_failed(device_of->body->comm, "ht_linear");
        return false;
    }
    return true;
}

static bool check(ht_tensor *x, ht_tensor *weight, ht_tensor *bias)
{
    const ht_body *a = x->body, *w = weight->body;

    if (!ht__check_batch("ht_linear", "x", x, 0) ||
        !ht__check_parameter("ht_linear", "weight", weight, x) ||
        (bias != NULL && !ht__check_parameter("ht_linear", "bias", bias, x)))
        return false;
    if (w->ndim != 2 || a->shape[a->ndim - 1] != w->shape[1]) {
        HT_FAIL(a->comm, HT_ERR_SHAPE,
                "ht_linear: x is %s, weight is %s: (..., in) and (out, in) needed",
                ht__shape_str(a->ndim, a->shape), ht__shape_str(w->ndim, w->shape));
        return false;
    }
    if (bias != NULL && (bias->body->ndim != 1 || bias->body->shape[0] != w->shape[0])) {
        HT_FAIL(a->comm, HT_ERR_SHAPE, "ht_linear: weight is %s, bias is %s: (out) needed",
                ht__shape_str(w->ndim, w->shape),
                ht__shape_str(bias->body->ndim, bias->body->shape));
        return false;
    }
    return true;
}

static ht_tensor *grad_x(ht_node *node, ht_tensor *dy, const ht_tensor *weight)
{
    int64_t out = weight->body->shape[0], in = weight->body->shape[1];
    ht_tensor *dx = ht__input_grad("ht_linear", node, 0, dy);

    if (dx == NULL || dx->body->lsize == 0)
        return dx;

    ht_gemm job = {.dtype = dx->body->dtype,
                   .m = local_rows(dy),
                   .n = in,
                   .k = out,
                   .lda = out,
                   .ldb = in,
                   .ldc = in,
                   .alpha = 1.0,
                   .a = ht__body_data(dy->body),
                   .b = ht__body_data(weight->body),
                   .c = ht__body_data(dx->body)};
    return gemm(dy, &job) ? dx : NULL;
}

static ht_tensor *grad_weight(ht_node *node, ht_tensor *dy, const ht_tensor *x)
{
    ht_tensor *dw = ht__parameter_grad("ht_linear", node, 1, dy);
    int64_t rows = local_rows(dy), out, in;

    if (dw == NULL)
        return NULL;
    out = dw->body->shape[0];
    in = dw->body->shape[1];

    ht_gemm job = {.dtype = dw->body->dtype,
                   .trans_a = true,
                   .m = out,
                   .n = in,
                   .k = rows,
                   .lda = out,
                   .ldb = in,
                   .ldc = in,
                   .alpha = 1.0,
                   .a = ht__body_data(dy->body),
                   .b = ht__body_data(x->body),
                   .c = ht__body_data(dw->body)};
    if (!(rows > 0 ? gemm(dy, &job) : ht_fill_(dw, 0.0) == HT_SUCCESS))
        return NULL;
    return ht__parameter_grad_done("ht_linear", dw, dy);
}

static ht_tensor *grad_bias(ht_node *node, ht_tensor *dy)
{
    ht_tensor *db = ht__parameter_grad("ht_linear", node, 2, dy);
    ht_dtype dtype = dy->body->dtype;
    ht_reduce_fn sum = ht__backend_of(dy)->kernels.reduce[HT_REDUCE_SUM][dtype];

    if (db == NULL)
        return NULL;
    if (sum == NULL) {
        ht__kernel_missing("ht_linear", dy);
        return NULL;
    }

    int64_t out = db->body->shape[0];
    ht_reduction columns = {
        .loop = {.ndim = 1,
                 .shape = {out},
                 .stride = {{1}, {1}},
                 .data = {ht__body_data(db->body), ht__body_data(dy->body)}},
        .ndim = 1,
        .shape = {local_rows(dy)},
        .stride = {out},
    };
    if (sum(ht__stream_of(dy), &columns) != 0) {
        ht__kernel_failed(dy->body->comm, "ht_linear");
        return NULL;
    }
    return ht__parameter_grad_done("ht_linear", db, dy);
}

static void linear_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    ht_tensor *dy = ht_contiguous(grad);

    if (dy == NULL)
        return;
    /* Parameters first: their gradients travel while the input's is computed. */
    if (ht_node_needs(node, 1))
        grad_inputs[1] = grad_weight(node, dy, ht_node_saved(node, 0));
    ht__backward_early(node, 1, grad_inputs);
    if (ht_node_needs(node, 2))
        grad_inputs[2] = grad_bias(node, dy);
    ht__backward_early(node, 2, grad_inputs);
    if (ht_node_needs(node, 0))
        grad_inputs[0] = grad_x(node, dy, ht_node_saved(node, 1));
}

ht_tensor *ht_linear(ht_tensor *x, ht_tensor *weight, ht_tensor *bias)
{
    int64_t shape[HT_MAX_NDIM], out, in;
    ht_tensor *y;
    ht_node *node;

    if (x == NULL || weight == NULL || !check(x, weight, bias))
        return NULL;
    x = ht_contiguous(x);
    weight = ht_contiguous(weight);
    bias = ht_contiguous(bias);
    if (x == NULL || weight == NULL)
        return NULL;

    out = weight->body->shape[0];
    in = weight->body->shape[1];
    for (int i = 0; i < x->body->ndim; i++)
        shape[i] = x->body->shape[i];
    shape[x->body->ndim - 1] = out;
    y = ht__batch_result("ht_linear", x, x->body->dtype, x->body->ndim, shape);
    if (y == NULL)
        return NULL;

    ht_gemm job = {.dtype = x->body->dtype,
                   .trans_b = true,
                   .m = local_rows(x),
                   .n = out,
                   .k = in,
                   .lda = in,
                   .ldb = in,
                   .ldc = out,
                   .alpha = 1.0,
                   .a = ht__body_data(x->body),
                   .b = ht__body_data(weight->body),
                   .bias = bias != NULL ? ht__body_data(bias->body) : NULL,
                   .c = ht__body_data(y->body)};
    if (y->body->lsize > 0 && !gemm(x, &job))
        return NULL;

    node = ht_node_new("ht_linear", linear_backward, bias != NULL ? 3 : 2,
                       (ht_tensor *[]){x, weight, bias});
    if (node == NULL)
        return y;
    ht_node_save(node, ht_node_needs(node, 1) ? x : NULL);
    ht_node_save(node, ht_node_needs(node, 0) ? weight : NULL);
    return ht_node_set_output(node, y);
}
