/* SPDX-License-Identifier: MIT
 *
 * Cholesky factors. A split matrix is factored panel by panel, where a panel is the columns of one
 * rank. The owner factors the panel's corner and solves for the rows below. It broadcasts the
 * panel, and later ranks subtract its product from their columns. A rank stores its own columns and
 * one panel, and receives half of the matrix, in P messages. */
#include "core/algorithms/factor/decompositions.h"
#include "ht/arithmetics.h"
#include "ht/decompositions.h"
#include "ht/manipulations.h"

static const char what[] = "ht_cholesky";

/* The panel of this rank, which begins in row `start` of its columns. */
static ht_status factor(ht_tensor *local, int64_t start, int64_t *info)
{
    const ht_triangle adjoint = {.right = true, .op = HT_MATRIX_ADJOINT};
    const int64_t end = start + ht__columns(local), rows = ht__rows(local);
    ht_tensor *corner = ht_narrow(local, 0, start, end), *l;
    int64_t found;
    ht_status status = ht__local_cholesky(what, corner, &l, &found);

    if (found > 0)
        *info = start + found;
    if (status == HT_SUCCESS)
        status = ht__copy_local(what, corner->body, l->body);
    if (status == HT_SUCCESS && end < rows)
        status = ht__local_solve_triangular(what, l, adjoint, ht_narrow(local, 0, end, rows));
    return status;
}

/* This rank's columns from their own diagonal on, less what the panel from row `start` on gives. */
static ht_status take_off(ht_tensor *columns, ht_tensor *panel, int64_t start)
{
    const int64_t first = columns->body->split_start, rows = ht__rows(columns);
    const int64_t last = first + columns->body->lshape[1];

    return ht__local_product(what, ht_narrow(ht_tensor_local(columns), 0, first, rows), -1,
                             ht_narrow(panel, 0, first - start, rows - start), HT_MATRIX_PLAIN,
                             ht_narrow(panel, 0, first - start, last - start), HT_MATRIX_ADJOINT,
                             1);
}

static ht_status factor_all(ht_tensor *columns, int64_t *info)
{
    const int rank = columns->body->comm->rank;
    ht_status status = HT_SUCCESS;

    for (int root = 0; root < columns->body->comm->size && status == HT_SUCCESS; root++) {
        const int64_t start = ht__body_start(columns->body, root);
        ht_scope *scope;
        ht_tensor *panel;

        if (start == ht__body_start(columns->body, root + 1))
            continue;
        scope = ht_scope_open();
        if (rank == root)
            status = factor(ht_tensor_local(columns), start, info);
        panel = status == HT_SUCCESS ? ht__panel_of(what, columns, root, start) : NULL;
        if (panel == NULL)
            status = ht_error_get(NULL);
        else if (rank > root && columns->body->lsize > 0)
            status = take_off(columns, panel, start);
        ht_scope_close(scope);
    }
    return status;
}

static ht_tensor *cholesky(ht_tensor *a)
{
    int64_t info = 0;
    ht_status status;
    ht_tensor *l;

    if (ht__is_split_matrix(a)) {
        l = ht__own_columns(what, a);
        status = l != NULL ? factor_all(l, &info) : ht_error_get(NULL);
    } else {
        status = ht__local_cholesky(what, a, &l, &info);
    }
    if (status == HT_SUCCESS)
        status = ht__first_info(what, a, &info);
    if (status == HT_SUCCESS && info > 0)
        status = HT_FAIL(a->body->comm, HT_ERR_ARGUMENT,
                         "%s: a is not positive definite: its leading minor of order %lld is not "
                         "positive",
                         what, (long long)info);
    if (status != HT_SUCCESS)
        return NULL;
    if (ht__is_split_matrix(a))
        l = ht_tril(l, 0);
    return a->body->ndim == 2 ? ht_resplit(l, a->body->split) : l;
}

/* l^-H x */
static ht_tensor *under_adjoint(ht_tensor *l, ht_tensor *x)
{
    return ht__solve_triangle(what, l, (ht_triangle){.op = HT_MATRIX_ADJOINT}, x);
}

/* With f the lower triangle of l^H g with half of its diagonal: the Hermitian part of
 * l^-H f l^-1. */
static void cholesky_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *l = ht_node_saved(node, 0), *f;

    f = ht__batch_product(what, ht__adjoint(l), g);
    if (f == NULL)
        return;
    f = ht_mul_scalar(ht_add(ht_tril(f, 0), ht_tril(f, -1)), 0.5);
    f = under_adjoint(l, ht__adjoint(under_adjoint(l, f)));
    gin[0] = ht_mul_scalar(ht_add(f, ht__adjoint(f)), 0.5);
}

ht_tensor *ht_cholesky(ht_tensor *a)
{
    HT_NAMED(what);
    ht_section section;
    ht_tensor *l;
    ht_node *node;

    a = ht__matrix_operand(what, "a", a, HT_MATRIX_SQUARE, HT_KERNEL_CHOLESKY);
    if (a == NULL)
        return NULL;
    if (ht__is_split_batch(a))
        return ht_resplit(ht_cholesky(ht_resplit(a, 0)), a->body->split);
    section = ht__section_begin(a);
    l = cholesky(a);
    ht__section_end(section);
    node = l != NULL ? ht_node_new(what, cholesky_backward, 1, &a) : NULL;
    if (node == NULL)
        return l;
    ht_node_save(node, l);
    return ht_node_set_output(node, l);
}
