/* SPDX-License-Identifier: MIT
 *
 * Systems of linear equations, and inverses, by LU. A split matrix is solved by panels of columns
 * (lu_columns.c, then triangular.c for u). */
#include "core/algorithms/factor/decompositions.h"
#include "ht/arithmetics.h"
#include "ht/manipulations.h"
#include "ht/solvers.h"

static ht_status check_info(const char *what, const ht_tensor *a, int64_t info)
{
    if (info == 0)
        return HT_SUCCESS;
    return HT_FAIL(a->body->comm, HT_ERR_ARGUMENT, "%s: a is singular: pivot %lld of its LU is 0",
                   what, (long long)info);
}

/* x, which is b, in place, where each matrix lies on one rank. */
static ht_status solve_local(const char *what, ht_tensor *a, ht_tensor *x, int64_t *info)
{
    ht_tensor *lu, *pivots;
    ht_status status = ht__local_lu(what, a, &lu, &pivots, info);

    if (status == HT_SUCCESS)
        status = ht__local_swap_rows(what, x, pivots, false);
    if (status == HT_SUCCESS)
        status = ht__local_solve_triangular(what, lu, (ht_triangle){.unit = true}, x);
    if (status == HT_SUCCESS)
        status = ht__local_solve_triangular(what, lu, (ht_triangle){.upper = true}, x);
    return status;
}

static ht_status solve_split(const char *what, ht_tensor *a, ht_tensor *x, int64_t *info)
{
    ht_tensor *columns = ht__own_columns(what, a);
    int64_t *pivots;
    ht_status status;

    if (columns == NULL)
        return ht_error_get(NULL);
    pivots = ht__alloc((size_t)(ht__rows(a) + 1) * sizeof *pivots);
    status = ht__lu_columns(what, columns, x, pivots, info);
    ht__free(pivots);
    if (status != HT_SUCCESS || *info != 0)
        return status;
    return ht__solve_columns(what, columns, (ht_triangle){.upper = true}, x);
}

static ht_tensor *solve(const char *what, ht_tensor *a, ht_tensor *b)
{
    const bool is_split = ht__is_split_matrix(a), is_batch = a->body->ndim > 2;
    ht_tensor *x = is_batch ? ht__batch_of(what, b, b->body->dtype, 2,
                                           b->body->shape + b->body->ndim - 2)
                            : ht__columns_for(what, b);
    int64_t info = 0;
    ht_status status = x != NULL ? HT_SUCCESS : ht_error_get(NULL);

    if (status == HT_SUCCESS && is_batch)
        status = ht__copy_local(what, x->body, b->body);
    if (status != HT_SUCCESS)
        return NULL;
    if (is_split)
        status = solve_split(what, a, ht_tensor_local(x), &info);
    else
        status = solve_local(what, is_batch ? a : ht_tensor_local(a),
                             is_batch ? x : ht_tensor_local(x), &info);
    if (status == HT_SUCCESS && is_batch)
        status = ht__first_info(what, a, &info);
    if (status != HT_SUCCESS || check_info(what, a, info) != HT_SUCCESS)
        return NULL;
    return is_batch ? x : ht_resplit(x, b->body->split);
}

static ht_tensor *solve_quietly(const char *what, ht_tensor *a, ht_tensor *b)
{
    ht_section section = ht__section_begin(a);
    ht_tensor *x = solve(what, a, b);

    ht__section_end(section);
    return x;
}

/* gb = a^-H g, ga = - gb x^H. */
static void solve_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    static const char what[] = "ht_solve";
    ht_tensor *x = ht_node_saved(node, 1);

    gin[1] = ht_solve(ht__adjoint(ht_node_saved(node, 0)), ht__match_slabs(what, g, x->body));
    if (ht_node_needs(node, 0))
        gin[0] = ht_neg(ht__batch_product(what, gin[1], ht__adjoint(x)));
}

ht_tensor *ht_solve(ht_tensor *a, ht_tensor *b)
{
    static const char what[] = "ht_solve";
    HT_NAMED(what);
    ht_tensor *inputs[2] = {a, b}, *x;
    bool is_vector;
    ht_node *node;

    if (!ht__system_operands(what, &inputs[0], &inputs[1], &is_vector))
        return NULL;
    x = solve_quietly(what, inputs[0], inputs[1]);
    node = x != NULL ? ht_node_new(what, solve_backward, 2, inputs) : NULL;
    if (node != NULL) {
        ht_node_save(node, inputs[0]);
        ht_node_save(node, x);
        x = ht_node_set_output(node, x);
    }
    return ht__as_solved_for(x, is_vector, b);
}

/* ga = - y^H g y^H. */
static void inv_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    static const char what[] = "ht_inv";
    ht_tensor *yh = ht__adjoint(ht_node_saved(node, 0));

    gin[0] = ht_neg(ht__batch_product(what, ht__batch_product(what, yh, g), yh));
}

ht_tensor *ht_inv(ht_tensor *a)
{
    static const char what[] = "ht_inv";
    HT_NAMED(what);
    ht_section section;
    ht_tensor *y;
    ht_node *node;

    a = ht__matrix_operand(what, "a", a, HT_MATRIX_SQUARE, HT_KERNEL_LU);
    if (a == NULL)
        return NULL;
    if (ht__is_split_batch(a))
        return ht_resplit(ht_inv(ht_resplit(a, 0)), a->body->split);
    section = ht__section_begin(a);
    y = ht__identity_like(what, a);
    y = y != NULL ? solve(what, a, y) : NULL;
    ht__section_end(section);
    node = y != NULL ? ht_node_new(what, inv_backward, 1, &a) : NULL;
    if (node == NULL)
        return y;
    ht_node_save(node, y);
    return ht_node_set_output(node, y);
}
