/* SPDX-License-Identifier: MIT
 *
 * Triangular systems. A rank solves for its own columns of the right-hand side, or for all columns
 * if each rank has them. For a split matrix the columns of one rank after another are broadcast,
 * from the end where the solution begins. A rank stores its own columns and one panel. */
#include "core/algorithms/factor/decompositions.h"
#include "ht/arithmetics.h"
#include "ht/manipulations.h"
#include "ht/solvers.h"

/* Columns start ... end - 1 of t have been solved for: x's other rows that they are in. */
static ht_status eliminate(const char *what, ht_tensor *panel, int64_t start, int64_t end,
                           bool upper, ht_tensor *x)
{
    const int64_t rows = ht__rows(x), from = upper ? 0 : end, to = upper ? start : rows;

    if (from == to)
        return HT_SUCCESS;
    return ht__local_product(what, ht_narrow(x, 0, from, to), -1, ht_narrow(panel, 0, from, to),
                             HT_MATRIX_PLAIN, ht_narrow(x, 0, start, end), HT_MATRIX_PLAIN, 1);
}

static ht_status solve_panel(const char *what, ht_tensor *t, int root, ht_triangle as, ht_tensor *x)
{
    const int64_t start = ht__body_start(t->body, root), end = ht__body_start(t->body, root + 1);
    ht_tensor *panel, *corner;
    ht_status status;

    if (start == end)
        return HT_SUCCESS;
    panel = ht__panel_of(what, t, root, 0);
    corner = panel != NULL ? ht_narrow(panel, 0, start, end) : NULL;
    if (corner == NULL)
        return ht_error_get(NULL);
    status = ht__local_solve_triangular(what, corner, as, ht_narrow(x, 0, start, end));
    return status == HT_SUCCESS ? eliminate(what, panel, start, end, as.upper, x) : status;
}

ht_status ht__solve_columns(const char *what, ht_tensor *t, ht_triangle as, ht_tensor *local)
{
    const int size = t->body->comm->size;
    ht_status status = HT_SUCCESS;

    if (!ht__is_split_matrix(t))
        return ht__local_solve_triangular(what, ht_tensor_local(t), as, local);
    if (as.op != HT_MATRIX_PLAIN) {
        t = as.op == HT_MATRIX_ADJOINT ? ht__adjoint(t) : ht_transpose(t, 0, 1);
        as.upper = !as.upper;
        as.op = HT_MATRIX_PLAIN;
    }
    t = ht_contiguous(ht_resplit(t, 1));
    if (t == NULL)
        return ht_error_get(NULL);
    for (int i = 0; i < size && status == HT_SUCCESS; i++) {
        ht_scope *scope = ht_scope_open();

        status = solve_panel(what, t, as.upper ? size - 1 - i : i, as, local);
        ht_scope_close(scope);
    }
    return status;
}

ht_tensor *ht__columns_for(const char *what, ht_tensor *b)
{
    if (b->body->split != HT_NONE && ht__columns(b) > 1)
        return ht__own_columns(what, b);
    b = ht_resplit(b, HT_NONE);
    if (b == NULL)
        return NULL;

    ht_tensor *own = ht__batch_of(what, b, b->body->dtype, 2, b->body->shape);

    if (own == NULL || ht__copy_local(what, own->body, b->body) != HT_SUCCESS)
        return NULL;
    return own;
}

static ht_tensor *solve_batches(const char *what, ht_tensor *t, ht_triangle as, ht_tensor *b)
{
    ht_tensor *x = ht__batch_of(what, b, b->body->dtype, 2, b->body->shape + b->body->ndim - 2);

    if (x == NULL || ht__copy_local(what, x->body, b->body) != HT_SUCCESS ||
        ht__local_solve_triangular(what, t, as, x) != HT_SUCCESS)
        return NULL;
    return x;
}

ht_tensor *ht__solve_triangle(const char *what, ht_tensor *t, ht_triangle as, ht_tensor *b)
{
    ht_tensor *x;

    if (t == NULL || b == NULL)
        return NULL;
    if (b->body->ndim > 2)
        return solve_batches(what, t, as, b);
    x = ht__columns_for(what, b);
    if (x == NULL || ht__solve_columns(what, t, as, ht_tensor_local(x)) != HT_SUCCESS)
        return NULL;
    return ht_resplit(x, b->body->split);
}

static ht_tensor *solve_once(ht_tensor *a, ht_tensor *b, bool upper)
{
    ht_section section = ht__section_begin(a);
    ht_tensor *x = ht__solve_triangle("ht_solve_triangular", a, (ht_triangle){.upper = upper}, b);

    ht__section_end(section);
    return x;
}

/* gb = a^-H g, ga = the triangle of - gb x^H. */
static void solve_triangular_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    static const char what[] = "ht_solve_triangular";
    ht_tensor *a = ht_node_saved(node, 0), *x = ht_node_saved(node, 1), *gb;
    const bool upper = *(bool *)ht_node_context(node, 0);

    gb = ht__solve_triangle(what, a, (ht_triangle){.upper = upper, .op = HT_MATRIX_ADJOINT},
                            ht__match_slabs(what, g, x->body));
    if (ht_node_needs(node, 0)) {
        ht_tensor *ga = ht_neg(ht__batch_product(what, gb, ht__adjoint(x)));

        gin[0] = upper ? ht_triu(ga, 0) : ht_tril(ga, 0);
    }
    gin[1] = gb;
}

ht_tensor *ht_solve_triangular(ht_tensor *a, ht_tensor *b, bool upper)
{
    static const char what[] = "ht_solve_triangular";
    HT_NAMED(what);
    ht_tensor *inputs[2] = {a, b}, *x;
    bool is_vector;
    ht_node *node;

    if (!ht__system_operands(what, &inputs[0], &inputs[1], &is_vector))
        return NULL;
    x = solve_once(inputs[0], inputs[1], upper);
    node = x != NULL ? ht_node_new(what, solve_triangular_backward, 2, inputs) : NULL;
    if (node != NULL) {
        ht_node_save(node, inputs[0]);
        ht_node_save(node, x);
        *(bool *)ht_node_context(node, sizeof upper) = upper;
        x = ht_node_set_output(node, x);
    }
    return ht__as_solved_for(x, is_vector, b);
}
