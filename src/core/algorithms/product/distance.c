/* SPDX-License-Identifier: MIT
 *
 * Distances between the rows of two matrices. The rows of x and those of the result stay. The slabs
 * of y pass (ring.c), and each makes its columns of the result. A rank receives (P - 1) / P of y,
 * and stores two panels of it. If x is replicated nothing travels, and the result is split like y.
 *
 * By differences, one kernel makes a slab's columns. By expansion, a few rows at a time are
 * products of matrices, -2 x y^T. A kernel makes distances from them while they are in the
 * cache. */
#include "core/algorithms/parts/ring.h"
#include "core/ops/drivers/drivers.h"
#include "ht/spatial.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/nn.h"
#include "ht/kernels/reduce.h"
#include "ht/kernels/spatial.h"
#include "ht/linalg.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/rounding.h"
#include "ht/statistics.h"

enum {
    CACHED_BYTES = 1 << 18, /* of the result, between product and distance */
    MAX_RATIO = 1 << 10     /* of the largest distance to the smallest one, for sums in float64 */
};

/* One call; x and y of one floating dtype, float32 or float64. */
typedef struct metric {
    const char *what;
    ht_kernel kernel, expanded;
    bool expand;
    double factor;
} metric;

/* ---- on this rank ---------------------------------------------------------------------------- */

static ht_tensor *sums_of_squares(const metric *d, ht_tensor *x)
{
    const ht_reduce_over rows = {.axes = 1u << 1};

    return ht_astype(ht__sum_by(d->what, HT_KERNEL_SUM_SQUARES, x, &rows), x->body->dtype);
}

static ht_status by_differences(const metric *d, ht_tensor *out, ht_tensor *x, ht_tensor *y)
{
    ht_distance_call call = {.call.operands = 3,
                             .x = ht__operand_of(x->body, HT_READ),
                             .y = ht__operand_of(y->body, HT_READ),
                             .out = ht__operand_of(out->body, HT_WRITE),
                             .m = x->body->lshape[0],
                             .n = y->body->lshape[0],
                             .k = x->body->lshape[1],
                             .leading = out->body->stride[0],
                             .factor = d->factor};

    return HT_RUN(out, d->kernel, &call, d->what);
}

static ht_status by_expansion(const metric *d, ht_tensor *out, ht_tensor *x, ht_tensor *y)
{
    const int64_t m = x->body->lshape[0], n = y->body->lshape[0], k = x->body->lshape[1];
    const int64_t size = (int64_t)ht_dtype_size(out->body->dtype), ld = out->body->stride[0];
    const int64_t most = CACHED_BYTES / size / n + 1;
    ht_tensor *x_squares = sums_of_squares(d, x), *y_squares = sums_of_squares(d, y);
    ht_status status = HT_SUCCESS;

    if (x_squares == NULL || y_squares == NULL)
        return ht_error_get(NULL);
    for (int64_t i = 0; i < m && status == HT_SUCCESS; i += most) {
        const int64_t rows = m - i < most ? m - i : most;
        char *to = (char *)ht__body_data(out->body) + i * ld * size;
        ht_gemm_call product = {.alpha = -2, .trans_b = true, .m = rows, .n = n, .k = k};
        ht_distance_call call = {.call.operands = 3,
                                 .x = ht__operand_part(x_squares->body, i, rows, HT_READ),
                                 .y = ht__operand_of(y_squares->body, HT_READ),
                                 .m = rows,
                                 .n = n,
                                 .k = 1,
                                 .leading = ld,
                                 .factor = d->factor};

        product.lda = product.ldb = k;
        product.ldc = ld;
        product.a.data = (char *)ht__body_data(x->body) + i * k * size;
        product.b.data = ht__body_data(y->body);
        product.c.data = to;
        status = ht__gemm(d->what, out, &product);
        call.out = product.c;
        if (status == HT_SUCCESS)
            status = HT_RUN(out, d->expanded, &call, d->what);
    }
    return status;
}

/* The columns of the result that a slab of y makes. */
typedef struct columns {
    const metric *d;
    ht_tensor *out, *x; /* local parts */
} columns;

static ht_status make_columns(void *user, ht_tensor *slab, int64_t start, int64_t stop)
{
    const columns *c = user;
    ht_tensor *y = slab != NULL ? ht_contiguous(slab) : NULL;
    ht_tensor *out = ht_narrow(c->out, 1, start, stop);

    if (y == NULL || out == NULL)
        return ht_error_get(NULL);
    if (out->body->lsize == 0)
        return HT_SUCCESS;
    return c->d->expand && c->x->body->lshape[1] > 0 ? by_expansion(c->d, out, c->x, y)
                                                     : by_differences(c->d, out, c->x, y);
}

/* ---- on all ranks ---------------------------------------------------------------------------- */

static ht_tensor *by_rows(ht_tensor *x)
{
    if (x != NULL && x->body->split == 1)
        x = ht_resplit(x, 0);
    return x != NULL ? ht_contiguous(x) : NULL;
}

static ht_tensor *distances(const metric *d, ht_tensor *x, ht_tensor *y)
{
    const bool same = x == y;
    columns c = {.d = d};
    const ht_body *rows, *others;
    ht_tensor *out;
    ht_status status;

    x = by_rows(x);
    y = same ? x : by_rows(y);
    if (x == NULL || y == NULL)
        return NULL;
    rows = x->body;
    others = y->body;
    out = ht__tensor_new(ht__body_new(d->what, rows->comm, rows->storage->device, rows->dtype,
                                      HT_SHAPE(rows->shape[0], others->shape[0]),
                                      rows->split != HT_NONE     ? 0
                                      : others->split != HT_NONE ? 1
                                                                 : HT_NONE,
                                      rows->split != HT_NONE ? rows->bounds : others->bounds));
    if (out == NULL || !ht__has_kernel(d->what, out, d->kernel))
        return NULL;
    c.out = ht_tensor_local(out);
    c.x = ht_tensor_local(x);
    status = rows->split != HT_NONE && others->split != HT_NONE
                 ? ht__ring(y, make_columns, &c, d->what)
                 : make_columns(&c, ht_tensor_local(y), 0, others->lshape[0]);
    return status == HT_SUCCESS ? out : NULL;
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* With w the weight of each difference: gx = sum over columns of w (x - y), gy that of rows of
 * w (y - x). The difference of two sums cancels where rows are far from the origin and near each
 * other, by the ratio of the two distances. So sums are in float64, from an origin among the rows.
 * That is exact to roundings of float32 up to a ratio of 2^29. In float64, a ratio above MAX_RATIO
 * takes differences of pairs, which are exact, and k passes over w. For float32 w is stored in
 * float64, twice the size of the result. */
static ht_tensor *weighted(ht_tensor *w, ht_tensor *x, ht_tensor *y)
{
    ht_tensor *sums = ht_sum(w, 1);

    if (sums == NULL)
        return NULL;
    return ht_sub(ht_mul(ht_expand_dims(sums, 1), x), ht_matmul(w, y));
}

/* A row among the others, where it is finite. */
static ht_tensor *origin(ht_tensor *x)
{
    ht_tensor *row = ht_resplit(ht_narrow(x, 0, 0, x->body->shape[0] > 0), HT_NONE);

    return row != NULL ? ht_where(ht_isfinite(row), row, ht_scalar(0)) : NULL;
}

/* The largest absolute value of x, where it is finite; 0 after an error. */
static double reach(const char *what, ht_tensor *x)
{
    double value = 0;
    ht_tensor *finite = ht_where(ht_isfinite(x), x, ht_scalar(0));
    ht_tensor *most = finite != NULL ? ht_max(ht_abs(finite), HT_NONE) : NULL;

    return most != NULL && ht__item(what, most, &value) == HT_SUCCESS ? value : 0;
}

/* Whether sums about the origin lose digits of a distance; x and y are of float64, about it. */
static bool cancels(const char *what, ht_tensor *x, ht_tensor *y, ht_tensor *distance)
{
    double nearest = INFINITY;
    ht_tensor *apart, *least;

    if (ht_tensor_size(distance) == 0 || ht_tensor_size(x) == 0)
        return false;
    apart = ht_where(ht_gt(distance, ht_scalar(0)), distance, ht_scalar(INFINITY));
    least = apart != NULL ? ht_min(apart, HT_NONE) : NULL;
    if (least == NULL || ht__item(what, least, &nearest) != HT_SUCCESS)
        return false;
    return fmax(reach(what, x), reach(what, y)) > MAX_RATIO * nearest;
}

/* The gradients by w (x - y), or by w sign(x - y), which are not sums of products: column by column
 * of x and y. */
static void by_columns(const char *what, ht_node *node, ht_tensor *w, bool sign, ht_tensor *x,
                       ht_tensor *y, ht_tensor *gin[])
{
    const int64_t k = x->body->shape[1];

    for (int i = 0; i < 2; i++)
        gin[i] = ht_node_needs(node, i) ? ht__grad_zeros(what, (i == 0 ? x : y)->body, w) : NULL;
    for (int64_t l = 0; l < k; l++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = ht_narrow(x, 1, l, l + 1), *b = ht_narrow(y, 1, l, l + 1), *terms;

        a = a != NULL ? ht_resplit(a, w->body->split == 0 ? 0 : HT_NONE) : NULL;
        b = b != NULL ? ht_resplit(b, w->body->split == 1 ? 0 : HT_NONE) : NULL;
        terms = a != NULL && b != NULL ? ht_sub(a, ht_transpose(b, 0, 1)) : NULL;
        terms = terms != NULL ? ht_mul(w, sign ? ht_sign(terms) : terms) : NULL;
        if (terms != NULL && gin[0] != NULL)
            ht_copy_(ht_narrow(gin[0], 1, l, l + 1), ht_expand_dims(ht_sum(terms, 1), 1));
        if (terms != NULL && gin[1] != NULL)
            ht_copy_(ht_narrow(gin[1], 1, l, l + 1), ht_neg(ht_expand_dims(ht_sum(terms, 0), 1)));
        ht_scope_close(scope);
    }
}

/* `distance` is read if x and y are of float64. */
static void give(const char *what, ht_node *node, ht_tensor *w, ht_tensor *x, ht_tensor *y,
                 ht_tensor *distance, ht_tensor *gin[])
{
    const ht_dtype dtype = x->body->dtype;
    ht_tensor *row, *a, *b;

    w = ht_astype(w, HT_FLOAT64);
    a = w != NULL ? ht_astype(x, HT_FLOAT64) : NULL;
    b = a != NULL ? ht_astype(y, HT_FLOAT64) : NULL;
    row = b != NULL ? origin(a->body->shape[0] > 0 ? a : b) : NULL;
    if (row == NULL)
        return;
    if (row->body->shape[0] > 0) {
        a = ht_sub(a, row);
        b = ht_sub(b, row);
    }
    if (a == NULL || b == NULL)
        return;
    if (dtype == HT_FLOAT64 && cancels(what, a, b, distance)) {
        by_columns(what, node, w, false, x, y, gin);
        return;
    }
    if (ht_node_needs(node, 0))
        gin[0] = ht_astype(weighted(w, a, b), dtype);
    if (ht_node_needs(node, 1))
        gin[1] = ht_astype(weighted(ht_transpose(w, 0, 1), b, a), dtype);
}

static void euclidean_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *x = ht_node_saved(node, 0), *y = ht_node_saved(node, 1);
    ht_tensor *out = ht_node_saved(node, 2);

    if (x != NULL && y != NULL && out != NULL)
        give("ht_cdist", node, ht__grad_where(ht_div(g, out), ht_ne(out, ht_scalar(0))), x, y, out,
             gin);
}

/* Distances are those of the values, exp(factor distance^2). */
static void gaussian_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const double factor = *(double *)ht_node_context(node, 0);
    ht_tensor *x = ht_node_saved(node, 0), *y = ht_node_saved(node, 1);
    ht_tensor *out = ht_node_saved(node, 2);

    if (x != NULL && y != NULL && out != NULL)
        give("ht_rbf", node, ht_mul_scalar(ht_mul(g, out), 2 * factor), x, y,
             ht_sqrt(ht_div_scalar(ht_log(out), factor)), gin);
}

static void manhattan_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *x = ht_node_saved(node, 0), *y = ht_node_saved(node, 1);

    if (x != NULL && y != NULL)
        by_columns("ht_manhattan", node, g, true, x, y, gin);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool check(const char *what, const ht_tensor *x, const ht_tensor *y)
{
    const ht_body *a = x->body, *b = y->body;

    if (!ht__check_together_as(what, "x", x, "y", y))
        return false;
    if (a->ndim != 2 || b->ndim != 2 || a->shape[1] != b->shape[1]) {
        HT_FAIL(a->comm, HT_ERR_SHAPE,
                "%s: x is %s, y is %s, expected two matrices with the same number of columns", what,
                ht__shape_str(a->ndim, a->shape), ht__shape_str(b->ndim, b->shape));
        return false;
    }
    if (ht_dtype_is_complex(a->dtype) || ht_dtype_is_complex(b->dtype)) {
        HT_FAIL(a->comm, HT_ERR_DTYPE, "%s: not defined for %s", what,
                ht_dtype_name(ht_dtype_is_complex(a->dtype) ? a->dtype : b->dtype));
        return false;
    }
    return true;
}

/* The dtype of the result, and the one in which it is computed. */
static ht_dtype result_dtype(const ht_tensor *x, const ht_tensor *y, ht_dtype *computed)
{
    ht_dtype dtype = ht_promote_types(x->body->dtype, y->body->dtype);

    dtype = ht__dtype_is_exact(dtype) ? HT_FLOAT32 : dtype;
    *computed = dtype == HT_FLOAT64 ? HT_FLOAT64 : HT_FLOAT32;
    return dtype;
}

static ht_tensor *all_distances(const metric *d, ht_backward_fn *backward, ht_tensor *x,
                                ht_tensor *y)
{
    HT_NAMED(d->what);
    ht_tensor *inputs[2], *out;
    ht_dtype dtype, computed;
    ht_comm *outer;
    ht_node *node;
    bool was;

    if (HT_IS_NULL(x, d->what, "x") || HT_IS_NULL(y, d->what, "y") || !check(d->what, x, y))
        return NULL;
    dtype = result_dtype(x, y, &computed);
    inputs[1] = ht_astype(y, computed);
    inputs[0] = x == y ? inputs[1] : ht_astype(x, computed);
    if (inputs[0] == NULL || inputs[1] == NULL)
        return NULL;
    was = ht_set_grad_enabled(false);
    outer = ht__together(x->body->comm);
    out = distances(d, inputs[0], inputs[1]);
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    node = out != NULL ? ht_node_new(d->what, backward, 2, inputs) : NULL;
    if (node == NULL)
        return ht_astype(out, dtype);
    *(double *)ht_node_context(node, sizeof(double)) = d->factor;
    ht_node_save(node, inputs[0]);
    ht_node_save(node, inputs[1]);
    ht_node_save(node, out);
    return ht_astype(ht_node_set_output(node, out), dtype);
}

ht_tensor *ht_cdist(ht_tensor *x, ht_tensor *y, bool expand)
{
    const metric d = {"ht_cdist", HT_KERNEL_EUCLIDEAN, HT_KERNEL_EXPANDED_EUCLIDEAN, expand, 0};

    return all_distances(&d, euclidean_backward, x, y);
}

ht_tensor *ht_manhattan(ht_tensor *x, ht_tensor *y)
{
    const metric d = {"ht_manhattan", HT_KERNEL_MANHATTAN, HT_KERNEL_MANHATTAN, false, 0};

    return all_distances(&d, manhattan_backward, x, y);
}

ht_tensor *ht_rbf(ht_tensor *x, ht_tensor *y, double sigma, bool expand)
{
    const metric d = {"ht_rbf", HT_KERNEL_GAUSSIAN, HT_KERNEL_EXPANDED_GAUSSIAN, expand,
                      -1 / (2 * sigma * sigma)};

    if (HT_IS_NULL(x, d.what, "x"))
        return NULL;
    if (!(sigma > 0)) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: sigma is %g, expected more than 0", d.what,
                sigma);
        return NULL;
    }
    return all_distances(&d, gaussian_backward, x, y);
}
