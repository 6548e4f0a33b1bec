/* SPDX-License-Identifier: MIT
 *
 * Products of matrices, and of batches of them, on this rank alone. Nothing travels. Operands with
 * suitable strides, transposed ones included, are used in place; others are copied. Batches at
 * equal distances are one call. They are one product if the right operand is a single matrix. */
#include "core/algorithms/product/product.h"

#include "ht/kernels/nn.h"
#include "ht/manipulations.h"

/* An operand whose matrices the kernel can read. */
typedef struct matrices {
    ht_tensor *x;
    bool transposed;
    int64_t leading; /* elements between rows, or columns where it is transposed */
} matrices;

static bool lies_well(const ht_body *x, matrices *found)
{
    const int64_t rows = x->lshape[x->ndim - 2], columns = x->lshape[x->ndim - 1];
    const int64_t row = x->stride[x->ndim - 2], column = x->stride[x->ndim - 1];

    if ((column == 1 || columns == 1) && (row >= columns || rows == 1)) {
        found->transposed = false;
        found->leading = rows == 1 ? columns : row;
    } else if ((row == 1 || rows == 1) && (column >= rows || columns == 1)) {
        found->transposed = true;
        found->leading = columns == 1 ? rows : column;
    } else {
        return false;
    }
    found->leading = found->leading > 0 ? found->leading : 1;
    return true;
}

static bool take(matrices *found, ht_tensor *x, ht_dtype dtype)
{
    x = ht_astype(x, dtype);
    if (x != NULL && !lies_well(x->body, found)) {
        x = ht_copy(x);
        if (x != NULL)
            lies_well(x->body, found); /* row-major */
    }
    found->x = x;
    return x != NULL;
}

/* Strides along the batch axes of c: 0 where x broadcasts. */
static ht_operand batches_of(const ht_body *x, const ht_body *c)
{
    ht_operand operand = {.data = ht__body_data(x)};

    for (int i = 0; i < c->ndim - 2; i++) {
        const int own = i - (c->ndim - x->ndim);

        operand.stride[i] = own < 0 || x->lshape[own] == 1 ? 0 : x->stride[own];
    }
    return operand;
}

/* The innermost axis of the batches: as the kernel's, or as more rows of one product. */
static void take_innermost(ht_gemm_call *gemm, ht_loop *batches)
{
    const int last = batches->ndim - 1;
    const int64_t count = batches->shape[last], *const c = batches->stride[0],
                  *const a = batches->stride[1], *const b = batches->stride[2];

    if (b[last] == 0 && !gemm->trans_a && a[last] == gemm->m * gemm->lda &&
        c[last] == gemm->m * gemm->ldc && count <= INT32_MAX / gemm->m) {
        gemm->m *= count;
        batches->shape[last] = 1;
    }
    gemm->batch = batches->shape[last];
    gemm->c_step = c[last];
    gemm->a_step = a[last];
    gemm->b_step = b[last];
}

/* One call for each place along the other axes. */
static ht_status run(const ht_tensor *c, ht_gemm_call *gemm, const ht_loop *batches)
{
    const int64_t size = (int64_t)ht_dtype_size(c->body->dtype);
    int64_t at[HT_MAX_NDIM] = {0};
    int axis;

    do {
        int64_t offset[3] = {0};
        ht_status status;

        for (int i = 0; i < batches->ndim - 1; i++) {
            for (int k = 0; k < 3; k++)
                offset[k] += at[i] * batches->stride[k][i] * size;
        }
        gemm->c.data = (char *)batches->operand[0].data + offset[0];
        gemm->a.data = (char *)batches->operand[1].data + offset[1];
        gemm->b.data = (char *)batches->operand[2].data + offset[2];
        status = ht__gemm("ht_matmul", c, gemm);
        if (status != HT_SUCCESS)
            return status;
        for (axis = batches->ndim - 2; axis >= 0 && ++at[axis] == batches->shape[axis]; axis--)
            at[axis] = 0;
    } while (axis >= 0);
    return HT_SUCCESS;
}

ht_status ht__product_local(ht_tensor *c, ht_tensor *a, ht_tensor *b, double beta)
{
    ht_gemm_call gemm = {.alpha = 1, .beta = beta};
    const ht_body *to;
    matrices left, right;
    ht_operand operands[3];
    ht_loop batches;

    if (c == NULL || a == NULL || b == NULL)
        return ht_error_get(NULL);
    if (!ht__has_kernel("ht_matmul", c, HT_KERNEL_GEMM))
        return HT_ERR_UNSUPPORTED;
    to = c->body;
    if (to->lsize == 0)
        return HT_SUCCESS;
    gemm.k = a->body->lshape[a->body->ndim - 1];
    if (gemm.k == 0)
        return beta == 0 ? ht__fill_local("ht_matmul", to, ht_number_real(0)) : HT_SUCCESS;
    if (!take(&left, a, to->dtype) || !take(&right, b, to->dtype))
        return ht_error_get(NULL);
    gemm.trans_a = left.transposed;
    gemm.lda = left.leading;
    gemm.trans_b = right.transposed;
    gemm.ldb = right.leading;
    gemm.m = to->lshape[to->ndim - 2];
    gemm.n = to->lshape[to->ndim - 1];
    gemm.ldc = to->stride[to->ndim - 2] > 0 ? to->stride[to->ndim - 2] : 1;
    operands[0] = batches_of(to, to);
    operands[1] = batches_of(left.x->body, to);
    operands[2] = batches_of(right.x->body, to);
    ht__loop_fill(&batches, to->ndim - 2, to->lshape, 3, operands);
    take_innermost(&gemm, &batches);
    return run(c, &gemm, &batches);
}
