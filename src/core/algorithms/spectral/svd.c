/* SPDX-License-Identifier: MIT
 *
 * Singular values. A tall matrix has those of its factor r (qr_tree.c), whose vectors are
 * multiplied by q. A wide matrix is replaced by its adjoint. For other matrices the columns of r,
 * which is split like x, are made orthogonal (jacobi.c): r v = y. Then y = u diag(s) by its own QR,
 * which gives an orthonormal u for any rank of the matrix x. Nothing is squared: small singular
 * values are exact to roundings of the largest.
 *
 * At the peak a rank stores ten times its part of a square matrix x in addition to x, or 5.5 times
 * it for values alone. */
#include "core/algorithms/spectral/jacobi.h"
#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/decompositions.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/rounding.h"

static const char what_svd[] = "ht_svd";

/* Where the matrices lie on one rank each; v is adjoint to what LAPACK gives. */
static ht_status svd_local(const char *what, ht_tensor *x, ht_matrix_svd *to)
{
    ht_tensor *q = NULL, *r = x, *u, *vh;
    int64_t info = 0;
    ht_status status = HT_SUCCESS;

    if (ht__rows(x) >= 2 * ht__columns(x))
        status = ht__local_qr(what, x, to->vectors ? &q : NULL, &r);
    if (status == HT_SUCCESS)
        status = to->vectors ? ht__local_svd(what, r, &u, &to->s, &vh, &info)
                             : ht__local_svd(what, r, NULL, &to->s, NULL, &info);
    if (status == HT_SUCCESS)
        status = ht__first_info(what, x, &info);
    if (status == HT_SUCCESS && info > 0)
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: the iteration did not converge", what);
    if (status != HT_SUCCESS || !to->vectors)
        return status;
    to->u = q != NULL ? ht__batch_product(what, q, u) : u;
    to->v = ht__adjoint(vh);
    return to->u != NULL && to->v != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status svd_tall(const char *what, ht_tensor *x, ht_matrix_svd *to)
{
    ht_tensor *q = NULL, *r;
    ht_status status = ht__qr(what, x, to->vectors ? &q : NULL, &r);

    if (status == HT_SUCCESS)
        status = svd_local(what, r, to);
    if (status != HT_SUCCESS || !to->vectors)
        return status;
    to->u = ht__batch_product(what, q, to->u);
    return to->u != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* Owned: x v = q y, where the columns of y are orthogonal; q and v where to->vectors. */
static ht_status make_orthogonal(const char *what, ht_tensor *x, const ht_matrix_svd *to,
                                 ht_tensor **q, ht_tensor **y, ht_tensor **v)
{
    const int64_t n = ht__columns(x);
    ht_scope *step = ht_scope_open();
    ht_tensor *turns = NULL, *factor = NULL, *r;
    ht_status status = ht__qr_columns(what, x, to->vectors ? &factor : NULL, &r);

    if (status == HT_SUCCESS && to->vectors) {
        turns = ht_eye_ext(n, n, x->body->dtype, 1, x->body->storage->device, x->body->comm);
        status = turns != NULL ? HT_SUCCESS : ht_error_get(NULL);
    }
    if (status == HT_SUCCESS)
        status = ht__jacobi(what, r, turns, false);
    if (status == HT_SUCCESS) {
        *q = ht_retain(factor);
        *y = ht_retain(r);
        *v = ht_retain(turns);
    }
    ht_scope_close(step);
    return status;
}

/* y = u diag(s), where u is wanted: owned. s: scoped. */
static ht_status lengths_of(const char *what, ht_tensor *y, ht_matrix_svd *to, ht_tensor **u)
{
    ht_scope *step = ht_scope_open();
    ht_tensor *found = NULL, *r;
    ht_status status = ht__qr_columns(what, y, to->vectors ? &found : NULL, &r);

    if (status == HT_SUCCESS)
        to->s = ht__in_order(what, ht_resplit(ht_abs(ht_diagonal(r, 0, 0, 1)), HT_NONE), true);
    *u = status == HT_SUCCESS ? ht_retain(found) : NULL;
    to->s = ht_scope_return(step, to->s);
    return to->s != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* At least as many rows as columns, any split. */
static ht_status svd_columns(const char *what, ht_tensor *x, ht_matrix_svd *to)
{
    ht_tensor *q = NULL, *y = NULL, *v = NULL, *u = NULL;
    ht_status status = make_orthogonal(what, x, to, &q, &y, &v);

    if (status == HT_SUCCESS)
        status = lengths_of(what, y, to, &u);
    ht_release(y);
    if (status == HT_SUCCESS && to->vectors) {
        HT_STEP(q, ht__batch_product(what, q, u));
        ht_release(u);
        u = NULL;
        HT_STEP(q, ht_resplit(q, 0));
        HT_STEP(v, ht_resplit(v, 0));
        to->u = ht__scoped(ht_retain(q));
        to->v = ht__scoped(ht_retain(v));
        status = q != NULL && v != NULL ? HT_SUCCESS : ht_error_get(NULL);
    }
    ht_release(q);
    ht_release(u);
    ht_release(v);
    return status;
}

static ht_status svd_adjoint(const char *what, ht_tensor *x, ht_matrix_svd *to)
{
    ht_tensor *kept;
    ht_status status;

    x = ht__adjoint(x);
    if (x == NULL)
        return ht_error_get(NULL);
    status = ht__svd_of_split(what, x, to);
    kept = to->u;
    to->u = to->v;
    to->v = kept;
    return status;
}

static int64_t longest_slab(const ht_tensor *x)
{
    int64_t most = 0;

    for (int rank = 0; rank < x->body->comm->size; rank++) {
        const int64_t rows = ht__body_start(x->body, rank + 1) - ht__body_start(x->body, rank);

        most = rows > most ? rows : most;
    }
    return most;
}

ht_status ht__svd_of_split(const char *what, ht_tensor *x, ht_matrix_svd *to)
{
    const int64_t m = ht__rows(x), n = ht__columns(x), slab = longest_slab(x);

    if (x->body->split == 0 && slab >= n)
        return svd_tall(what, x, to);
    if (m < n || (x->body->split == 1 && slab >= m))
        return svd_adjoint(what, x, to);
    return svd_columns(what, x, to);
}

ht_status ht__svd(const char *what, ht_tensor *x, ht_matrix_svd *to)
{
    const int split = x->body->split;
    ht_status status = ht__check_finite(what, x);

    if (status != HT_SUCCESS)
        return status;
    if (ht__is_split_matrix(x))
        return ht__svd_of_split(what, x, to);
    status = svd_local(what, x, to);
    if (status == HT_SUCCESS && to->vectors && x->body->ndim == 2 && split != HT_NONE) {
        to->u = split == 0 ? ht_resplit(to->u, 0) : to->u;
        to->v = split == 1 ? ht_resplit(to->v, 0) : to->v;
        status = to->u != NULL && to->v != NULL ? HT_SUCCESS : ht_error_get(NULL);
    }
    return status;
}

ht_status ht_svd(ht_tensor *x, ht_tensor **u, ht_tensor **s, ht_tensor **vh)
{
    HT_NAMED(what_svd);
    ht_matrix_svd found = {.vectors = u != NULL || vh != NULL};
    ht_section section;
    ht_status status;

    x = ht__matrix_operand(what_svd, "x", x, HT_MATRIX_ANY, HT_KERNEL_SVD);
    if (x == NULL || HT_IS_NULL_ON(x->body->comm, s, what_svd, "s"))
        return ht_error_get(NULL);
    section = ht__section_begin(x);
    if (ht__is_split_batch(x))
        x = ht_resplit(x, 0);
    status = x != NULL ? ht__svd(what_svd, x, &found) : ht_error_get(NULL);
    if (status == HT_SUCCESS && vh != NULL)
        found.v = ht__without_base(ht__adjoint(found.v));
    ht__section_end(section);
    if (status != HT_SUCCESS || (vh != NULL && found.v == NULL))
        return ht_error_get(NULL);
    *s = found.s;
    if (u != NULL)
        *u = ht__without_base(found.u);
    if (vh != NULL)
        *vh = found.v;
    return HT_SUCCESS;
}
