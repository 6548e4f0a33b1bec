/* SPDX-License-Identifier: MIT
 *
 * Factorisations of matrices that lie on one rank each: one kernel for a batch. */
#include "core/algorithms/factor/decompositions.h"
#include "ht/complex_math.h"
#include "ht/kernels/nn.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The arguments of a kernel for x. */
static ht_factor_call factor_of(const ht_tensor *x)
{
    const ht_body *body = x->body;
    ht_factor_call call = {.call.operands = 7,
                           .batch = 1,
                           .m = body->lshape[body->ndim - 2],
                           .n = body->lshape[body->ndim - 1]};

    for (int i = 0; i < body->ndim - 2; i++)
        call.batch *= body->lshape[i];
    return call;
}

/* A new result with this number of rows and columns for each matrix. */
static ht_tensor *matrices(const char *what, const ht_tensor *x, int64_t rows, int64_t columns)
{
    return ht__batch_of(what, x, x->body->dtype, 2, (int64_t[]){rows, columns});
}

static ht_tensor *vectors(const char *what, const ht_tensor *x, ht_dtype dtype, int64_t length)
{
    return ht__batch_of(what, x, dtype, 1, &length);
}

static ht_tensor *copy_of(const char *what, ht_tensor *x)
{
    ht_tensor *copy = matrices(what, x, ht__rows(x), ht__columns(x));

    if (copy == NULL || ht__copy_local(what, copy->body, x->body) != HT_SUCCESS)
        return NULL;
    return copy;
}

/* Runs a kernel that leaves an info for each matrix; *info: the smallest but 0, and 1
 * of those below. */
static ht_status run_with_info(const char *what, const ht_tensor *x, ht_kernel kernel,
                               ht_factor_call *call, int64_t *info)
{
    ht_tensor *each = ht__batch_of(what, x, HT_INT64, 0, NULL);
    int64_t *values;
    ht_status status;

    *info = 0;
    if (each == NULL)
        return ht_error_get(NULL);
    status = ht__fill_local(what, each->body, ht_number_integer(0));
    call->info = ht__operand_if_any(each, HT_WRITE);
    if (status == HT_SUCCESS)
        status = HT_RUN(x, kernel, call, what);
    if (status != HT_SUCCESS || call->batch == 0)
        return status;
    values = ht__alloc((size_t)call->batch * sizeof *values);
    status = ht__get_local(what, each->body, values);
    for (int64_t i = 0; i < call->batch; i++) {
        const int64_t value = values[i] < 0 ? 1 : values[i];

        if (value > 0 && (*info == 0 || value < *info))
            *info = value;
    }
    ht__free(values);
    return status;
}

ht_status ht__local_qr(const char *what, ht_tensor *x, ht_tensor **q, ht_tensor **r)
{
    ht_factor_call call = factor_of(x);
    const int64_t k = least(call.m, call.n);
    ht_tensor *a = ht_contiguous(x);

    *r = matrices(what, x, k, call.n);
    if (q != NULL)
        *q = matrices(what, x, call.m, k);
    if (a == NULL || *r == NULL || (q != NULL && *q == NULL))
        return ht_error_get(NULL);
    call.a = ht__operand_if_any(a, HT_READ);
    call.q = ht__operand_if_any(q != NULL ? *q : NULL, HT_WRITE);
    call.r = ht__operand_if_any(*r, HT_WRITE);
    return HT_RUN(x, HT_KERNEL_QR, &call, what);
}

ht_status ht__local_qr_panel(const char *what, ht_tensor *x, ht_tensor **v, ht_tensor **r,
                             ht_tensor **t)
{
    ht_factor_call call = factor_of(x);
    const int64_t k = least(call.m, call.n);
    ht_tensor *a = ht_contiguous(x);

    *v = matrices(what, x, call.m, k);
    *r = matrices(what, x, k, call.n);
    *t = matrices(what, x, k, k);
    if (a == NULL || *v == NULL || *r == NULL || *t == NULL)
        return ht_error_get(NULL);
    call.a = ht__operand_if_any(a, HT_READ);
    call.q = ht__operand_if_any(*v, HT_WRITE);
    call.r = ht__operand_if_any(*r, HT_WRITE);
    call.t = ht__operand_if_any(*t, HT_WRITE);
    return HT_RUN(x, HT_KERNEL_QR_PANEL, &call, what);
}

ht_status ht__local_cholesky(const char *what, ht_tensor *x, ht_tensor **l, int64_t *info)
{
    ht_factor_call call = factor_of(x);

    *l = copy_of(what, x);
    if (*l == NULL)
        return ht_error_get(NULL);
    call.q = ht__operand_if_any(*l, HT_WRITE);
    return run_with_info(what, x, HT_KERNEL_CHOLESKY, &call, info);
}

ht_status ht__local_lu(const char *what, ht_tensor *x, ht_tensor **lu, ht_tensor **pivots,
                       int64_t *info)
{
    ht_factor_call call = factor_of(x);

    *lu = copy_of(what, x);
    *pivots = vectors(what, x, HT_INT64, least(call.m, call.n));
    if (*lu == NULL || *pivots == NULL)
        return ht_error_get(NULL);
    call.q = ht__operand_if_any(*lu, HT_WRITE);
    call.pivots = ht__operand_if_any(*pivots, HT_WRITE);
    return run_with_info(what, x, HT_KERNEL_LU, &call, info);
}

ht_status ht__local_svd(const char *what, ht_tensor *x, ht_tensor **u, ht_tensor **s,
                        ht_tensor **vh, int64_t *info)
{
    ht_factor_call call = factor_of(x);
    const int64_t k = least(call.m, call.n);
    ht_tensor *a = ht_contiguous(x);

    *s = vectors(what, x, ht__dtype_real(x->body->dtype), k);
    if (u != NULL) {
        *u = matrices(what, x, call.m, k);
        *vh = matrices(what, x, k, call.n);
    }
    if (a == NULL || *s == NULL || (u != NULL && (*u == NULL || *vh == NULL)))
        return ht_error_get(NULL);
    call.a = ht__operand_if_any(a, HT_READ);
    call.q = ht__operand_if_any(u != NULL ? *u : NULL, HT_WRITE);
    call.r = ht__operand_if_any(u != NULL ? *vh : NULL, HT_WRITE);
    call.real = ht__operand_if_any(*s, HT_WRITE);
    return run_with_info(what, x, HT_KERNEL_SVD, &call, info);
}

ht_status ht__local_eigh(const char *what, ht_tensor *x, ht_tensor **w, ht_tensor **v,
                         int64_t *info)
{
    ht_factor_call call = factor_of(x);
    ht_tensor *vectors_ = copy_of(what, x);

    *w = vectors(what, x, ht__dtype_real(x->body->dtype), call.n);
    if (vectors_ == NULL || *w == NULL)
        return ht_error_get(NULL);
    call.vectors = v != NULL;
    call.q = ht__operand_if_any(vectors_, HT_WRITE);
    call.real = ht__operand_if_any(*w, HT_WRITE);
    if (v != NULL)
        *v = vectors_;
    return run_with_info(what, x, HT_KERNEL_EIGH, &call, info);
}

ht_status ht__local_swap_rows(const char *what, ht_tensor *x, ht_tensor *pivots, bool backwards)
{
    ht_factor_call call = factor_of(x);

    call.count = pivots->body->lshape[pivots->body->ndim - 1];
    call.backwards = backwards;
    call.q = ht__operand_if_any(x, HT_WRITE);
    call.pivots = ht__operand_if_any(pivots, HT_READ);
    if (x->body->lsize == 0)
        return HT_SUCCESS;
    return HT_RUN(x, HT_KERNEL_SWAP_ROWS, &call, what);
}

ht_status ht__local_solve_triangular(const char *what, ht_tensor *t, ht_triangle as, ht_tensor *b)
{
    const ht_factor_call sizes = factor_of(b);
    ht_triangular_call call = {.call.operands = 2,
                               .batch = sizes.batch,
                               .m = sizes.m,
                               .n = sizes.n,
                               .upper = as.upper,
                               .unit = as.unit,
                               .right = as.right,
                               .op = as.op};

    t = ht_contiguous(t);
    if (t == NULL)
        return ht_error_get(NULL);
    if (b->body->lsize == 0)
        return HT_SUCCESS;
    call.t = ht__operand_if_any(t, HT_READ);
    call.b = ht__operand_if_any(b, HT_WRITE);
    return HT_RUN(b, HT_KERNEL_SOLVE_TRIANGULAR, &call, what);
}

/* Row-major, as gemm reads it: the adjoint of a complex matrix is conjugated first. */
static ht_tensor *factor_for(ht_tensor *x, ht_matrix_op op)
{
    return ht_contiguous(op == HT_MATRIX_ADJOINT ? ht__conj(x) : x);
}

ht_status ht__local_product(const char *what, ht_tensor *c, double alpha, ht_tensor *a,
                            ht_matrix_op a_op, ht_tensor *b, ht_matrix_op b_op, double beta)
{
    const ht_factor_call to = factor_of(c);
    ht_gemm_call gemm = {.alpha = alpha, .beta = beta, .m = to.m, .n = to.n, .batch = to.batch};

    a = factor_for(a, a_op);
    b = factor_for(b, b_op);
    if (a == NULL || b == NULL)
        return ht_error_get(NULL);

    const ht_factor_call left = factor_of(a), right = factor_of(b);

    gemm.trans_a = a_op != HT_MATRIX_PLAIN;
    gemm.trans_b = b_op != HT_MATRIX_PLAIN;
    gemm.k = gemm.trans_a ? left.m : left.n;
    gemm.lda = left.n > 0 ? left.n : 1;
    gemm.ldb = right.n > 0 ? right.n : 1;
    gemm.ldc = to.n > 0 ? to.n : 1;
    gemm.a_step = left.m * left.n;
    gemm.b_step = right.m * right.n;
    gemm.c_step = to.m * to.n;
    if (c->body->lsize == 0)
        return HT_SUCCESS;
    if (gemm.k == 0)
        return beta == 0 ? ht__fill_local(what, c->body, ht_number_real(0)) : HT_SUCCESS;
    gemm.a.data = ht__body_data(a->body);
    gemm.b.data = ht__body_data(b->body);
    gemm.c.data = ht__body_data(c->body);
    return ht__gemm(what, c, &gemm);
}

ht_tensor *ht__batch_product(const char *what, ht_tensor *a, ht_tensor *b)
{
    ht_tensor *c;

    if (a == NULL || b == NULL)
        return NULL;
    if (a->body->ndim == 2)
        return ht_matmul(a, b);
    c = matrices(what, a, ht__rows(a), ht__columns(b));
    if (c == NULL ||
        ht__local_product(what, c, 1, a, HT_MATRIX_PLAIN, b, HT_MATRIX_PLAIN, 0) != HT_SUCCESS)
        return NULL;
    return c;
}
