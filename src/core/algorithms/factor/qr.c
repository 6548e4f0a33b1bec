/* SPDX-License-Identifier: MIT
 *
 * QR by the way that suits the split (qr_tree.c, qr_columns.c), and its gradient. */
#include "core/algorithms/factor/decompositions.h"
#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/decompositions.h"
#include "ht/manipulations.h"
#include "ht/solvers.h"

static const char what_qr[] = "ht_qr";

/* Whether a rank's rows are, on one rank at least, as many as the columns. */
static bool is_tall(const ht_tensor *x)
{
    int64_t most = 0;

    for (int rank = 0; rank < x->body->comm->size; rank++) {
        const int64_t rows = ht__body_start(x->body, rank + 1) - ht__body_start(x->body, rank);

        most = rows > most ? rows : most;
    }
    return most >= ht__columns(x);
}

static ht_status by_split(const char *what, ht_tensor *x, ht_tensor **q, ht_tensor **r)
{
    if (!ht__is_split_matrix(x))
        return ht__local_qr(what, x, q, r);
    if (x->body->split == 0 && is_tall(x))
        return ht__qr_tree(what, x, q, r);
    return ht__qr_columns(what, x, q, r);
}

/* Where the result lies: r of a tree is on every rank. */
static ht_tensor *in_place(const ht_tensor *x, ht_tensor *factor, bool is_r)
{
    const int split = x->body->split;

    if (x->body->ndim > 2 || split == HT_NONE ||
        (is_r && split == 0 && ht__is_split_matrix(x) && is_tall(x)))
        return factor;
    return ht_resplit(factor, split);
}

/* The factors are all that is left; what they are moved from is released before the next moves. */
ht_status ht__qr(const char *what, ht_tensor *x, ht_tensor **q, ht_tensor **r)
{
    ht_scope *step = ht_scope_open();
    ht_tensor *found_q = NULL, *found_r = NULL;
    const ht_status status = by_split(what, x, q != NULL ? &found_q : NULL, &found_r);

    found_q = status == HT_SUCCESS ? ht_retain(found_q) : NULL;
    found_r = status == HT_SUCCESS ? ht_retain(found_r) : NULL;
    ht_scope_close(step);
    if (status != HT_SUCCESS)
        return status;
    HT_STEP(found_r, in_place(x, found_r, true));
    if (q != NULL)
        HT_STEP(found_q, in_place(x, found_q, false));
    *r = ht_scope_adopt(found_r);
    if (q != NULL)
        *q = ht_scope_adopt(found_q);
    return *r != NULL && (q == NULL || *q != NULL) ? HT_SUCCESS : ht_error_get(NULL);
}

/* ---- the gradient ----------------------------------------------------------------------------
 * With m = r gr^H - gq^H q: gx = (gq + q (u + u^H)) r^-H, u the upper triangle of m with half of
 * the real diagonal. Each factor has a node of its own, as both are linear in gq and gr. */

static ht_tensor *symmetric_of_upper(ht_tensor *m)
{
    ht_tensor *upper = ht_triu(m, 1), *diagonal = ht_sub(ht_triu(m, 0), upper);

    if (diagonal == NULL)
        return NULL;
    if (ht_dtype_is_complex(m->body->dtype))
        diagonal = ht_astype(ht_real(diagonal), m->body->dtype);
    return ht_add(ht_add(upper, ht__adjoint(upper)), diagonal);
}

/* x r^-H */
static ht_tensor *over_adjoint(ht_tensor *x, ht_tensor *r)
{
    return ht__adjoint(ht_solve_triangular(r, ht__adjoint(x), true));
}

static bool is_invertible(const ht_tensor *q, const ht_tensor *r)
{
    if (ht__rows(r) == ht__columns(r))
        return true;
    HT_FAIL(q->body->comm, HT_ERR_UNSUPPORTED,
            "ht_qr: x is (%lld, %lld), expected at most as many columns as rows for a gradient",
            (long long)ht__rows(q), (long long)ht__columns(r));
    return false;
}

static void qr_q_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *q = ht_node_saved(node, 0), *r = ht_node_saved(node, 1), *m;

    if (!is_invertible(q, r))
        return;
    m = ht_neg(ht__batch_product(what_qr, ht__adjoint(q), g));
    gin[0] = over_adjoint(ht_add(g, ht__batch_product(what_qr, q, symmetric_of_upper(m))), r);
}

static void qr_r_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *q = ht_node_saved(node, 0), *r = ht_node_saved(node, 1), *m;

    if (!is_invertible(q, r))
        return;
    m = ht__batch_product(what_qr, g, ht__adjoint(r));
    gin[0] = over_adjoint(ht__batch_product(what_qr, q, symmetric_of_upper(m)), r);
}

static void record(ht_tensor *x, ht_backward_fn *backward, ht_tensor *y, ht_tensor *q, ht_tensor *r)
{
    ht_node *node = ht_node_new(what_qr, backward, 1, &x);

    if (node == NULL)
        return;
    ht_node_save(node, q);
    ht_node_save(node, r);
    ht_node_set_output(node, y);
}

/* Batches that are split along their matrices go by the first axis and back. */
static ht_status qr_of_batches(ht_tensor *x, ht_tensor **q, ht_tensor **r)
{
    const int split = x->body->split;
    ht_tensor *found_q = NULL, *found_r = NULL;
    ht_status status = ht_qr(ht_resplit(x, 0), q != NULL ? &found_q : NULL, &found_r);

    if (status != HT_SUCCESS)
        return status;
    found_r = ht_resplit(found_r, split);
    if (q != NULL)
        found_q = ht_resplit(found_q, split);
    if (found_r == NULL || (q != NULL && found_q == NULL))
        return ht_error_get(NULL);
    *r = found_r;
    if (q != NULL)
        *q = found_q;
    return HT_SUCCESS;
}

ht_status ht_qr(ht_tensor *x, ht_tensor **q, ht_tensor **r)
{
    HT_NAMED(what_qr);
    ht_tensor *found_q = NULL, *found_r = NULL;
    bool wants_q;
    ht_section section;
    ht_status status;

    x = ht__matrix_operand(what_qr, "x", x, HT_MATRIX_ANY, HT_KERNEL_QR);
    if (x == NULL || HT_IS_NULL_ON(x->body->comm, r, what_qr, "r"))
        return ht_error_get(NULL);
    if (ht__is_split_batch(x))
        return qr_of_batches(x, q, r);
    wants_q = q != NULL || (ht_is_grad_enabled() && ht__needs_grad(x));
    section = ht__section_begin(x);
    status = ht__qr(what_qr, x, wants_q ? &found_q : NULL, &found_r);
    ht__section_end(section);
    if (status != HT_SUCCESS)
        return status;
    if (wants_q) {
        record(x, qr_q_backward, found_q, found_q, found_r);
        record(x, qr_r_backward, found_r, found_q, found_r);
    }
    *r = found_r;
    if (q != NULL)
        *q = found_q;
    return HT_SUCCESS;
}
