/* SPDX-License-Identifier: MIT
 *
 * Matrix product of tensors of any split. Slabs of one operand travel by broadcast, one after
 * another, so that a rank holds its own parts and one foreign slab, never a whole split operand.
 * Where the inner axis is split, partial products travel, from each rank to each other. */
#include "core/collective/collective.h"
#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "ht/linalg.h"

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/kernels/nn.h"

/* A matrix for gemm: plain, or the transpose of a row-major one; others are copied. */
static ht_tensor *gemm_operand(ht_tensor *x, bool *transposed, int64_t *leading)
{
    const ht_body *body = x->body;
    int64_t rows = body->lshape[0], columns = body->lshape[1];
    int64_t row = body->stride[0], column = body->stride[1];

    *transposed = false;
    *leading = columns > 0 ? columns : 1;
    if ((column == 1 || columns == 1) && row >= columns) {
        *leading = rows == 1 ? *leading : row;
        return x;
    }
    if ((row == 1 || rows == 1) && column >= rows) {
        *transposed = true;
        *leading = columns == 1 ? (rows > 0 ? rows : 1) : column;
        return x;
    }
    return ht_copy(x);
}

/* c = a b + beta c for process-local matrices; c is row-major, and may be of a wider dtype. */
static ht_status gemm_local(ht_tensor *c, ht_tensor *a, ht_tensor *b, double beta)
{
    ht_gemm_call gemm = {.alpha = 1, .beta = beta};

    if (!ht__has_kernel("ht_matmul", c, HT_KERNEL_GEMM))
        return HT_ERR_UNSUPPORTED;
    a = ht_astype(a, c->body->dtype);
    b = ht_astype(b, c->body->dtype);
    if (a == NULL || b == NULL)
        return ht_error_get(NULL);
    a = gemm_operand(a, &gemm.trans_a, &gemm.lda);
    b = gemm_operand(b, &gemm.trans_b, &gemm.ldb);
    if (a == NULL || b == NULL)
        return ht_error_get(NULL);
    gemm.m = c->body->lshape[0];
    gemm.n = c->body->lshape[1];
    gemm.k = a->body->lshape[1];
    gemm.ldc = c->body->stride[0] > 0 ? c->body->stride[0] : 1;
    gemm.a = ht__body_data(a->body);
    gemm.b = ht__body_data(b->body);
    gemm.c = ht__body_data(c->body);
    if (gemm.m == 0 || gemm.n == 0)
        return HT_SUCCESS;
    if (gemm.k == 0)
        return beta == 0 ? ht__fill_local("ht_matmul", c->body, ht_number_real(0)) : HT_SUCCESS;
    return ht__gemm("ht_matmul", c, &gemm);
}

/* The slab of rank `root` on every rank, row-major. */
static ht_tensor *slab_of(ht_tensor *x, int root)
{
    const ht_body *body = x->body;
    int64_t shape[2] = {body->shape[0], body->shape[1]};
    ht_tensor *slab;

    if (body->comm->rank == root) {
        slab = ht_contiguous(ht_tensor_local(x));
    } else {
        shape[body->split] = ht__body_start(body, root + 1) - ht__body_start(body, root);
        slab = ht_empty_ext(2, shape, body->dtype, HT_NONE, body->storage->device, ht_comm_self());
    }
    if (slab == NULL || ht__comm_bcast(body->comm, slab, root) != HT_SUCCESS)
        return NULL;
    return slab;
}

/* a (m/P, k), b split: c rows += a[:, slab of b's rows] b_slab, or c[:, slab of columns] = a
 * b_slab. */
static ht_status rows_times_slabs(ht_tensor *c, ht_tensor *a, ht_tensor *b)
{
    bool by_rows = b->body->split == 0;

    for (int root = 0; root < b->body->comm->size; root++) {
        ht_scope *scope = ht_scope_open();
        int64_t start = ht__body_start(b->body, root), stop = ht__body_start(b->body, root + 1);
        ht_tensor *slab = slab_of(b, root);
        ht_status status = slab == NULL ? ht_error_get(NULL)
                           : by_rows ? gemm_local(c, ht_narrow(a, 1, start, stop), slab, root > 0)
                                     : gemm_local(ht_narrow(c, 1, start, stop), a, slab, 0);

        ht_scope_close(scope);
        if (status != HT_SUCCESS)
            return status;
    }
    return HT_SUCCESS;
}

/* a split by columns, b (k, n/P): c columns += a_slab b[slab of a's columns, :]. */
static ht_status slabs_times_columns(ht_tensor *c, ht_tensor *a, ht_tensor *b)
{
    for (int root = 0; root < a->body->comm->size; root++) {
        ht_scope *scope = ht_scope_open();
        int64_t start = ht__body_start(a->body, root), stop = ht__body_start(a->body, root + 1);
        ht_tensor *slab = slab_of(a, root);
        ht_status status = slab != NULL
                               ? gemm_local(c, slab, ht_narrow(b, 0, start, stop), root > 0)
                               : ht_error_get(NULL);

        ht_scope_close(scope);
        if (status != HT_SUCCESS)
            return status;
    }
    return HT_SUCCESS;
}

/* Begins to send rank `to` its `rows` of `part`, and to receive those of this rank. Owned; for
 * ht_wait. */
static ht_request *pass_on(ht_comm *comm, ht_tensor *part, int64_t rows, int to, ht_tensor *come,
                           int from)
{
    int64_t *send = ht__alloc(2 * ((size_t)comm->size + 1) * sizeof *send);
    int64_t *recv = send + comm->size + 1;
    ht_request *request;

    for (int r = 0; r <= comm->size; r++) {
        send[r] = r > to ? rows : 0;
        recv[r] = r > from ? come->body->lshape[0] : 0;
    }
    request = ht__comm_alltoall_axis(comm, part, 0, send, come, 0, recv, "ht_matmul");
    ht__free(send);
    return request;
}

static ht_tensor *rows_for(const ht_tensor *c, int64_t rows)
{
    const int64_t shape[2] = {rows, c->body->shape[1]};

    return ht_empty_ext(2, shape, c->body->dtype, HT_NONE, c->body->storage->device,
                        ht_comm_self());
}

/* c's rows for rank `to`, as far as they come from this rank's part of the inner axis. */
static ht_status make_part(ht_tensor *part, ht_tensor *c, int to, ht_tensor *a, ht_tensor *b,
                           double beta)
{
    int64_t start = ht__body_start(c->body, to), stop = ht__body_start(c->body, to + 1);

    return gemm_local(ht_narrow(part, 0, 0, stop - start), ht_narrow(a, 0, start, stop), b, beta);
}

/* sum <- come, or sum += come. */
static ht_status add_come(ht_request **request, ht_tensor *sum, ht_tensor *come, bool first)
{
    ht_status status = ht_wait(request);

    if (status != HT_SUCCESS)
        return status;
    return first ? ht__copy_local("ht_matmul", sum->body, come->body) : ht_add_(sum, come, 1);
}

/* The inner axis is split: every rank has a partial product of each row slab of c. It makes that of
 * the rank `step` places further, sends it there, and makes the next one while it travels; its own
 * comes last. What comes is added as it comes, so the order depends on the ranks alone. Two slabs
 * are under way, in buffers of their own on both sides. */
static ht_status sum_of_partials(ht_tensor *c, ht_tensor *a, ht_tensor *b, ht_comm *comm)
{
    const int size = comm->size, rank = comm->rank;
    const int64_t most = ht__body_start(c->body, 1); /* canonical slabs: no other is longer */
    ht_tensor *sum = ht_tensor_local(c), *parts[2], *come[2];
    ht_request *requests[2] = {NULL, NULL};
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < 2; i++) {
        parts[i] = rows_for(c, most);
        come[i] = rows_for(c, c->body->lshape[0]);
        if (parts[i] == NULL || come[i] == NULL)
            return ht_error_get(NULL);
    }
    for (int step = 1; step < size && status == HT_SUCCESS; step++) {
        int now = step % 2, to = (rank + step) % size, from = (rank - step + size) % size;

        status = make_part(parts[now], c, to, a, b, 0);
        if (status == HT_SUCCESS) {
            requests[now] = pass_on(comm, parts[now],
                                    ht__body_start(c->body, to + 1) - ht__body_start(c->body, to),
                                    to, come[now], from);
            status = requests[now] != NULL ? HT_SUCCESS : ht_error_get(NULL);
        }
        if (status == HT_SUCCESS && step > 1)
            status = add_come(&requests[1 - now], sum, come[1 - now], step == 2);
    }
    if (status == HT_SUCCESS)
        status = make_part(sum, c, rank, a, b, size > 2);
    if (status == HT_SUCCESS && size > 1)
        status = add_come(&requests[(size - 1) % 2], sum, come[(size - 1) % 2], false);
    ht_release(requests[0]);
    ht_release(requests[1]);
    return status;
}

/* This rank's part of the inner axis of an operand that is not split along it. */
static ht_tensor *inner_part(ht_tensor *x, int axis, const ht_body *other)
{
    if (x->body->split == axis)
        return ht_tensor_local(x);
    return ht_narrow(ht_tensor_local(x), axis, other->split_start,
                     other->split_start + other->lshape[other->split]);
}

/* What slabs or ranks add to is rounded to 16 bits once, at the end. */
static ht_dtype partial_dtype(const ht_body *a, const ht_body *b)
{
    bool whole = a->split != 1 && b->split != 0;

    return a->comm->size > 1 && !whole ? ht__product_dtype(a->dtype) : a->dtype;
}

static ht_tensor *multiply(ht_tensor *a, ht_tensor *b)
{
    if (a == NULL || b == NULL)
        return NULL;

    int sa = a->body->split, sb = b->body->split;
    bool inner = sa == 1 ? sb != 1 : sa == HT_NONE && sb == 0;
    int split = inner || sa == 0 ? 0 : sb == 1 ? 1 : HT_NONE;
    int64_t shape[2] = {a->body->shape[0], b->body->shape[1]};
    ht_bounds *bounds = inner        ? NULL
                        : split == 0 ? a->body->bounds
                        : split == 1 ? b->body->bounds
                                     : NULL;
    ht_tensor *c = ht__tensor_new(ht__body_new("ht_matmul", a->body->comm, a->body->storage->device,
                                               partial_dtype(a->body, b->body), 2, shape, split,
                                               bounds));
    ht_status status;

    if (c == NULL)
        return NULL;
    if (inner && sa == 1 && sb == 0)
        b = ht__match_slabs("ht_matmul", b,
                            &(ht_body){.split = 0,
                                       .ndim = 2,
                                       .comm = b->body->comm,
                                       .shape = {b->body->shape[0], shape[1]},
                                       .bounds = a->body->bounds});
    if (b == NULL)
        return NULL;
    if (inner)
        status = sum_of_partials(c, ht_astype(inner_part(a, 1, b->body), c->body->dtype),
                                 ht_astype(inner_part(b, 0, a->body), c->body->dtype),
                                 a->body->comm);
    else if (sa == 0 && sb != HT_NONE)
        status = rows_times_slabs(ht_tensor_local(c), ht_tensor_local(a), b);
    else if (sa == 1)
        status = slabs_times_columns(ht_tensor_local(c), a, ht_tensor_local(b));
    else
        status = gemm_local(ht_tensor_local(c), ht_tensor_local(a), ht_tensor_local(b), 0);
    return status == HT_SUCCESS ? ht_astype(c, a->body->dtype) : NULL;
}

static void matmul_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    if (ht_node_needs(node, 0))
        gin[0] = ht_matmul(g, ht_transpose(ht__conj(ht_node_saved(node, 1)), 0, 1));
    if (ht_node_needs(node, 1))
        gin[1] = ht_matmul(ht_transpose(ht__conj(ht_node_saved(node, 0)), 0, 1), g);
}

static bool check(const ht_tensor *a, const ht_tensor *b)
{
    const ht_body *x = a->body, *y = b->body;

    if (x->ndim != 2 || y->ndim != 2) {
        HT_FAIL(x->comm, HT_ERR_SHAPE, "ht_matmul: expected two matrices, a is %s, b is %s",
                ht__shape_str(x->ndim, x->shape), ht__shape_str(y->ndim, y->shape));
        return false;
    }
    if (x->shape[1] != y->shape[0]) {
        HT_FAIL(x->comm, HT_ERR_SHAPE,
                "ht_matmul: a is %s, b is %s: inner sizes %lld and %lld differ",
                ht__shape_str(2, x->shape), ht__shape_str(2, y->shape), (long long)x->shape[1],
                (long long)y->shape[0]);
        return false;
    }
    return true;
}

ht_tensor *ht_matmul(ht_tensor *a, ht_tensor *b)
{
    ht_tensor *inputs[2] = {a, b}, *c;
    ht_dtype dtype;
    ht_comm *outer;
    ht_node *node;
    bool was;

    if (HT_IS_NULL(a, "ht_matmul", "a") || HT_IS_NULL(b, "ht_matmul", "b") ||
        !ht__check_together("ht_matmul", a, b) || !check(a, b))
        return NULL;
    if (a->body->dtype == HT_BOOL && b->body->dtype == HT_BOOL) {
        HT_FAIL(a->body->comm, HT_ERR_DTYPE,
                "ht_matmul: a and b are bool, which has no sums (ht_astype)");
        return NULL;
    }
    dtype = ht_promote_types(a->body->dtype, b->body->dtype);
    was = ht_set_grad_enabled(false);
    outer = ht__together(a->body->comm);
    c = multiply(ht_astype(a, dtype), ht_astype(b, dtype));
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    node = c != NULL ? ht_node_new("ht_matmul", matmul_backward, 2, inputs) : NULL;
    if (node == NULL)
        return c;
    ht_node_save(node, a);
    ht_node_save(node, b);
    return ht_node_set_output(node, c);
}
