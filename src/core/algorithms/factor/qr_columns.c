/* SPDX-License-Identifier: MIT
 *
 * QR of a matrix of any shape split by columns, panel by panel, where a panel is the columns of one
 * rank. The owner factors its rows from the diagonal on; I - v t v^H are its reflectors. It
 * broadcasts v and t, and later ranks apply them to their columns. q grows from the columns of an
 * identity by the same broadcasts in the opposite order.
 *
 * In addition to x, a rank stores its own columns of r and of q, its own reflectors and one panel
 * of another rank. It receives the part of a matrix below its diagonal twice, in 2 P messages. With
 * reflectors, not projections, q is orthonormal for any rank of the matrix x. */
#include "core/algorithms/factor/decompositions.h"
#include "ht/complex_math.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/logical.h"
#include "ht/arithmetics.h"
#include "ht/manipulations.h"

/* A panel's place, and its reflectors where they are known. */
typedef struct panel {
    int root;
    int64_t start, rows, width, count; /* count: reflectors */
    ht_tensor *v, *t;                  /* of this rank's panel owned */
} panel;

static panel panel_at(const ht_tensor *a, int root)
{
    const int64_t start = ht__body_start(a->body, root);
    const int64_t width = ht__body_start(a->body, root + 1) - start;
    const int64_t rows = ht__rows(a) > start ? ht__rows(a) - start : 0;

    return (panel){.root = root,
                   .start = start,
                   .rows = rows,
                   .width = width,
                   .count = rows < width ? rows : width};
}

/* The owner's columns become r; only v and t are kept in addition. */
static ht_status factor(const char *what, ht_tensor *own, panel *p)
{
    ht_scope *step = ht_scope_open();
    ht_tensor *r;
    ht_status status = ht__local_qr_panel(what, own, &p->v, &r, &p->t);

    if (status == HT_SUCCESS)
        status = ht__copy_local(what, ht_narrow(own, 0, 0, p->count)->body, r->body);
    if (status == HT_SUCCESS)
        status = ht_fill_(ht_narrow(own, 0, p->count, p->rows), 0);
    p->v = status == HT_SUCCESS ? ht_retain(p->v) : NULL;
    p->t = status == HT_SUCCESS ? ht_retain(p->t) : NULL;
    ht_scope_close(step);
    return status;
}

static ht_status share(const char *what, const ht_tensor *a, panel *p)
{
    ht_comm *comm = a->body->comm;
    ht_status status;

    if (comm->rank != p->root) {
        p->v = ht__own_matrix(what, a, p->rows, p->count);
        p->t = ht__own_matrix(what, a, p->count, p->count);
    }
    if (p->v == NULL || p->t == NULL)
        return ht_error_get(NULL);
    status = ht__comm_bcast(comm, p->v, p->root);
    return status == HT_SUCCESS ? ht__comm_bcast(comm, p->t, p->root) : status;
}

/* x <- (I - v op(t) v^H) x, in place. */
static ht_status reflect(const char *what, const panel *p, ht_matrix_op t_op, ht_tensor *x)
{
    ht_tensor *w = ht__own_matrix(what, x, p->count, ht__columns(x));
    ht_tensor *u = ht__own_matrix(what, x, p->count, ht__columns(x));
    ht_status status;

    if (w == NULL || u == NULL)
        return ht_error_get(NULL);
    status = ht__local_product(what, w, 1, p->v, HT_MATRIX_ADJOINT, x, HT_MATRIX_PLAIN, 0);
    if (status == HT_SUCCESS)
        status = ht__local_product(what, u, 1, p->t, t_op, w, HT_MATRIX_PLAIN, 0);
    if (status == HT_SUCCESS)
        status = ht__local_product(what, x, -1, p->v, HT_MATRIX_PLAIN, u, HT_MATRIX_PLAIN, 1);
    return status;
}

/* a's panels one after another; mine: this rank's reflectors. */
static ht_status factor_all(const char *what, ht_tensor *a, panel *mine)
{
    const int rank = a->body->comm->rank;
    ht_tensor *local = ht_tensor_local(a);
    ht_status status = HT_SUCCESS;

    for (int root = 0; root < a->body->comm->size && status == HT_SUCCESS; root++) {
        panel p = panel_at(a, root);
        ht_tensor *below;
        ht_scope *scope;

        if (p.count == 0)
            continue;
        below = ht_narrow(local, 0, p.start, p.start + p.rows);
        if (rank == root)
            status = factor(what, below, &p);
        if (rank == root)
            *mine = p;
        scope = ht_scope_open();
        if (status == HT_SUCCESS)
            status = share(what, a, &p);
        if (status == HT_SUCCESS && rank > root)
            status = reflect(what, &p, HT_MATRIX_ADJOINT, below);
        ht_scope_close(scope);
    }
    return status;
}

/* Columns that end before a panel begins are zero where its reflectors act. */
static ht_status form_q(const char *what, const ht_tensor *a, const panel *mine, ht_tensor *q)
{
    const int rank = a->body->comm->rank;
    ht_tensor *local = ht_tensor_local(q);
    ht_status status = HT_SUCCESS;

    for (int root = a->body->comm->size - 1; root >= 0 && status == HT_SUCCESS; root--) {
        panel p = rank == root ? *mine : panel_at(a, root);
        ht_scope *scope = ht_scope_open();

        if (panel_at(a, root).count > 0)
            status = share(what, a, &p);
        if (status == HT_SUCCESS && p.count > 0 && ht__body_start(q->body, rank + 1) > p.start)
            status = reflect(what, &p, HT_MATRIX_PLAIN,
                             ht_narrow(local, 0, p.start, p.start + p.rows));
        ht_scope_close(scope);
    }
    return status;
}

/* The signs that make the diagonal of r positive, on every rank. */
static ht_tensor *signs_of(ht_tensor *r)
{
    ht_tensor *negative = ht_signbit(ht_real(ht_diagonal(r, 0, 0, 1)));

    return ht_resplit(ht_where(negative, ht_scalar(-1), ht_scalar(1)), HT_NONE);
}

/* The first rows of a, their diagonal made positive: in place, unless there are more. */
static ht_tensor *finished_r(ht_tensor *a, ht_tensor *signs)
{
    signs = signs != NULL ? ht_expand_dims(signs, 1) : NULL;
    if (ht__rows(a) > ht__order(a))
        return ht_mul(ht_narrow(a, 0, 0, ht__order(a)), signs);
    return signs != NULL && ht_mul_(a, signs) == HT_SUCCESS ? a : NULL;
}

static ht_tensor *finished_q(const char *what, const ht_tensor *a, const panel *mine,
                             ht_tensor *signs)
{
    ht_tensor *q = ht_eye_ext(ht__rows(a), ht__order(a), a->body->dtype, 1,
                              a->body->storage->device, a->body->comm);

    if (q == NULL || form_q(what, a, mine, q) != HT_SUCCESS || signs == NULL)
        return NULL;
    return ht_mul_(q, signs) == HT_SUCCESS ? q : NULL;
}

ht_status ht__qr_columns(const char *what, ht_tensor *x, ht_tensor **q, ht_tensor **r)
{
    ht_tensor *a = ht__own_columns(what, x), *signs = NULL;
    panel mine = {0};
    ht_status status = a != NULL ? factor_all(what, a, &mine) : ht_error_get(NULL);

    if (status == HT_SUCCESS)
        signs = signs_of(ht_narrow(a, 0, 0, ht__order(a)));
    if (signs != NULL && q != NULL)
        *q = finished_q(what, a, &mine, signs);
    ht_release(mine.v);
    ht_release(mine.t);
    if (signs == NULL || (q != NULL && *q == NULL))
        return ht_error_get(NULL);
    *r = finished_r(a, signs);
    return *r != NULL ? HT_SUCCESS : ht_error_get(NULL);
}
