/* SPDX-License-Identifier: MIT
 *
 * y = x W^T + b, x (rows, in), W (out, in), y (rows, out); leading axes of x count as rows.
 * dx = dy W, dW = dy^T x, db = the column sums of dy. */
#include "core/autograd/autograd.h"
#include "core/ops/ops.h"
#include "nn/functional/functional.h"
#include "ht/kernels/nn.h"
#include "ht/kernels/reduce.h"
#include "ht/manipulations.h"

enum { X, WEIGHT, BIAS, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x", "*i", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_REQUIRED},
    {"weight", "oi", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_REQUIRED},
    {"bias", "o", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_OPTIONAL},
};

/* A large weight is processed block by block of its rows. In data-parallel training each block's
 * gradient travels while the next is made, and arrives in time for the same block of the next
 * forward pass. Blocks depend on the shape alone, and with them the rounding. */
enum {
    BLOCK = 2 * 1024 * 1024, /* bytes; the last block may have up to twice as many */
    LEAST_ROWS = 256,        /* fewer make a slower product */
    ROWS_ALIGN = 64
};

typedef struct block_walk {
    int64_t rows;
    size_t row_bytes;
    int64_t begin, end; /* the present block */
} block_walk;

static bool next_block(block_walk *walk)
{
    int64_t wanted = BLOCK / ((int64_t)walk->row_bytes + 1); /* rows may be empty */
    int64_t length = (wanted + ROWS_ALIGN - 1) / ROWS_ALIGN * ROWS_ALIGN;

    length = length > LEAST_ROWS ? length : LEAST_ROWS;
    walk->begin = walk->end;
    walk->end = walk->rows - walk->begin < 2 * length ? walk->rows : walk->begin + length;
    return walk->begin < walk->rows;
}

static int64_t local_rows(const ht_tensor *x)
{
    const ht_body *body = x->body;
    int64_t rows = 1;

    for (int i = 0; i < body->ndim - 1; i++)
        rows *= body->lshape[i];
    return rows;
}

static bool gemm(const ht_tensor *c, ht_gemm_call *job)
{
    return ht__gemm("ht_linear", c, job) == HT_SUCCESS;
}

/* y[:, begin ... end) for blocks of a large weight's rows: it may come in parts (ht__body_first).
 * Blocks depend on the shape alone, and with them the rounding. */
static bool make_y(const ht_tensor *x, ht_tensor *weight, ht_tensor *bias, const ht_tensor *y)
{
    int64_t out = weight->body->shape[0], in = weight->body->shape[1];
    size_t element = ht_dtype_size(weight->body->dtype);
    block_walk walk = {.rows = out, .row_bytes = (size_t)in * element};

    while (next_block(&walk)) {
        size_t begin = (size_t)walk.begin * element;
        ht_gemm_call job = {.trans_b = true,
                            .m = local_rows(x),
                            .n = walk.end - walk.begin,
                            .k = in,
                            .lda = in,
                            .ldb = in,
                            .ldc = out,
                            .alpha = 1.0,
                            .a.data = ht__body_data(x->body)};

        job.b.data = (char *)ht__body_first(weight->body, walk.end * in) + begin * (size_t)in;
        if (bias != NULL)
            job.bias.data = (char *)ht__body_first(bias->body, walk.end) + begin;
        job.c.data = (char *)ht__body_data(y->body) + begin;
        if (!gemm(y, &job))
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

    ht_gemm_call job = {.m = local_rows(dy),
                        .n = in,
                        .k = out,
                        .lda = out,
                        .ldb = in,
                        .ldc = in,
                        .alpha = 1.0,
                        .a.data = ht__body_data(dy->body),
                        .b.data = ht__body_data(weight->body),
                        .c.data = ht__body_data(dx->body)};
    return gemm(dx, &job) ? dx : NULL;
}

/* Block by block: finished parts can travel while the rest is computed. */
static bool make_grad_weight(ht_node *node, const ht_tensor *dy, const ht_tensor *x,
                             const ht_tensor *dw)
{
    int64_t out = dw->body->shape[0], in = dw->body->shape[1];
    size_t element = ht_dtype_size(dw->body->dtype);
    block_walk walk = {.rows = out, .row_bytes = (size_t)in * element};

    while (next_block(&walk)) {
        size_t begin = (size_t)walk.begin * element;
        ht_gemm_call job = {.trans_a = true,
                            .m = walk.end - walk.begin,
                            .n = in,
                            .k = local_rows(dy),
                            .lda = out,
                            .ldb = in,
                            .ldc = in,
                            .alpha = 1.0,
                            .a.data = (char *)ht__body_data(dy->body) + begin,
                            .b.data = ht__body_data(x->body),
                            .c.data = (char *)ht__body_data(dw->body) + begin * (size_t)in};

        if (!gemm(dw, &job))
            return false;
        ht__backward_filling(node, 1, dw, walk.end * in);
    }
    return true;
}

static ht_tensor *grad_weight(ht_node *node, ht_tensor *dy, ht_tensor *x)
{
    ht_tensor *dw = ht__parameter_grad("ht_linear", node, 1, dy,
                                       ht__product_dtype(dy->body->dtype));

    if (dw == NULL)
        return NULL;
    dy = ht_astype(dy, dw->body->dtype);
    x = ht_astype(x, dw->body->dtype);
    if (dy == NULL || x == NULL ||
        !(local_rows(dy) > 0 ? make_grad_weight(node, dy, x, dw) : ht_fill_(dw, 0.0) == HT_SUCCESS))
        return NULL;
    return ht__parameter_grad_done("ht_linear", dw, dy);
}

static ht_tensor *grad_bias(ht_node *node, ht_tensor *dy)
{
    if (dy->body->split != HT_NONE)
        return ht__sum_to("ht_linear", dy, 1, &dy->body->shape[dy->body->ndim - 1]);

    ht_tensor *db = ht__parameter_grad("ht_linear", node, 2, dy, dy->body->dtype);

    if (db == NULL || !ht__has_kernel("ht_linear", dy, HT_KERNEL_SUM))
        return NULL;

    int64_t out = db->body->shape[0];
    ht_reduction columns = {
        .loop = {.call.operands = 2,
                 .operand = {ht__operand_of(db->body, HT_WRITE), ht__operand_of(dy->body, HT_READ)},
                 .ndim = 1,
                 .shape = {out},
                 .stride = {{1}, {1}}},
        .ndim = 1,
        .shape = {local_rows(dy)},
        .stride = {out},
    };
    return HT_RUN(dy, HT_KERNEL_SUM, &columns, "ht_linear") == HT_SUCCESS ? db : NULL;
}

static void linear_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *dy = ht_contiguous(g), *saved; /* NULL where it was overwritten: an error */

    if (dy == NULL)
        return;
    /* Parameters first: their gradients travel while the input's is computed. */
    if (ht_node_needs(node, 2))
        gin[2] = grad_bias(node, dy);
    ht__backward_early(node, 2, gin);
    if (ht_node_needs(node, 1) && (saved = ht_node_saved(node, 0)) != NULL)
        gin[1] = grad_weight(node, dy, saved);
    ht__backward_early(node, 1, gin);
    if (ht_node_needs(node, 0) && (saved = ht_node_saved(node, 1)) != NULL)
        gin[0] = grad_x(node, dy, saved);
}

/* The weight (in) of one output, whose axis the result lacks; the bias is (). */
static ht_tensor *one_output(ht_tensor *x, ht_tensor *weight, ht_tensor *bias)
{
    return ht_squeeze(
        ht_linear(x, ht_expand_dims(weight, 0), bias != NULL ? ht_expand_dims(bias, 0) : NULL), -1);
}

ht_tensor *ht_linear(ht_tensor *x, ht_tensor *weight, ht_tensor *bias)
{
    ht_tensor *in[OPERANDS] = {x, weight, bias}, *y;
    int64_t shape[HT_MAX_NDIM];
    ht_node *node;

    if (weight != NULL && ht_tensor_ndim(weight) == 1)
        return one_output(x, weight, bias);
    if (!HT_PREPARE("ht_linear", rules, in))
        return NULL;
    x = in[X];
    for (int i = 0; i < x->body->ndim; i++)
        shape[i] = x->body->shape[i];
    shape[x->body->ndim - 1] = in[WEIGHT]->body->shape[0];
    y = ht__batch_result("ht_linear", x, x->body->dtype, x->body->ndim, shape);
    if (y == NULL)
        return NULL;

    if (y->body->lsize > 0 && !make_y(x, in[WEIGHT], in[BIAS], y))
        return NULL;

    node = ht_node_new("ht_linear", linear_backward, in[BIAS] != NULL ? 3 : 2, in);
    if (node == NULL)
        return y;
    ht_node_save(node, ht_node_needs(node, 1) ? x : NULL);
    ht_node_save(node, ht_node_needs(node, 0) ? in[WEIGHT] : NULL);
    return ht_node_set_output(node, y);
}
