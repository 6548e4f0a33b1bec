/* SPDX-License-Identifier: MIT
 *
 * Incremental SVD (Brand 2006) of columns that are added later. One QR gives q r = (u, columns),
 * and moves data like ht_qr. The new matrix is then q (r diag(s, 1)) diag(vh, 1). Every rank
 * computes the SVD of the middle factor, whose rows and columns are the kept and the new ones. */
#include "core/algorithms/spectral/spectra.h"
#include "ht/arithmetics.h"
#include "ht/decompositions.h"
#include "ht/factories.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"

static const char what[] = "ht_isvd";

typedef struct update {
    ht_tensor *columns, *u, *s, *vh;
    int64_t rank;
} update;

/* diag(s, 1), as the factors of columns. */
static ht_tensor *scales_of(const update *o, const ht_tensor *like)
{
    const int64_t d = ht__columns(o->columns);
    ht_tensor *both[2] = {ht_resplit(o->s, HT_NONE), NULL};

    both[1] = ht_ones_ext(1, &d, o->s->body->dtype, HT_NONE, like->body->storage->device,
                          like->body->comm);
    return both[0] != NULL && both[1] != NULL ? ht__concatenate(what, 2, both, 0) : NULL;
}

static ht_status extend(const update *o, ht_matrix_svd *to)
{
    ht_tensor *both[2] = {o->u, ht_resplit(o->columns, o->u->body->split)}, *q, *r, *vh;
    const int64_t before = ht__columns(o->u);
    int64_t count;
    ht_status status;

    both[0] = both[1] != NULL ? ht__concatenate(what, 2, both, 1) : NULL;
    if (both[0] == NULL || ht__qr(what, both[0], &q, &r) != HT_SUCCESS)
        return ht_error_get(NULL);
    r = ht_mul(ht_resplit(r, HT_NONE), scales_of(o, q));
    status = r != NULL ? ht__svd(what, r, to) : ht_error_get(NULL);
    if (status != HT_SUCCESS)
        return status;
    count = ht_tensor_size(to->s);
    count = o->rank > 0 && o->rank < count ? o->rank : count;
    to->u = ht_resplit(ht_matmul(q, ht_narrow(to->u, 1, 0, count)), o->u->body->split);
    to->s = ht__owned(ht_narrow(to->s, 0, 0, count));
    vh = ht__adjoint(ht_narrow(to->v, 1, 0, count));
    both[0] = vh != NULL ? ht_matmul(ht_narrow(vh, 1, 0, before), o->vh) : NULL;
    both[1] = vh != NULL ? ht_narrow(vh, 1, before, ht__columns(vh)) : NULL;
    if (both[0] == NULL || both[1] == NULL)
        return ht_error_get(NULL);
    to->v = ht__concatenate(what, 2, both, 1);
    return to->u != NULL && to->s != NULL && to->v != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* The three matrices as kernels take them, of the dtype that all four operands promote to. */
static bool prepare(update *o)
{
    const ht_dtype dtype = ht__operands_dtype(4, (ht_tensor *[]){o->columns, o->u, o->s, o->vh});
    const struct {
        const char *name;
        ht_tensor **x;
    } matrices[] = {{"columns", &o->columns}, {"u", &o->u}, {"vh", &o->vh}};

    for (int i = 0; i < 3; i++) {
        *matrices[i].x = ht__matrix_operand_as(what, matrices[i].name, *matrices[i].x,
                                               HT_MATRIX_ANY, HT_KERNEL_SVD, dtype);
        if (*matrices[i].x == NULL)
            return false;
    }
    return true;
}

static bool check(const update *o)
{
    const ht_body *n = o->columns->body, *u = o->u->body, *s = o->s->body, *vh = o->vh->body;

    if (n->ndim != 2 || u->ndim != 2 || s->ndim != 1 || vh->ndim != 2 ||
        n->shape[0] != u->shape[0] || u->shape[1] != s->shape[0] || vh->shape[0] != s->shape[0]) {
        HT_FAIL(n->comm, HT_ERR_SHAPE,
                "%s: columns is %s, u is %s, s is %s and vh is %s, expected (m, d), (m, r), (r) "
                "and (r, n)",
                what, ht__shape_str(n->ndim, n->shape), ht__shape_str(u->ndim, u->shape),
                ht__shape_str(s->ndim, s->shape), ht__shape_str(vh->ndim, vh->shape));
        return false;
    }
    if (o->rank >= 0 && u->split != 1 && vh->split != 0)
        return true;
    HT_FAIL(n->comm, HT_ERR_ARGUMENT,
            "%s: rank is %lld, the split of u is %s and that of vh is %s, expected rank of at "
            "least 0, u not split along 1 and vh not along 0",
            what, (long long)o->rank, ht__int_str(u->split), ht__int_str(vh->split));
    return false;
}

ht_status ht_isvd(ht_tensor *columns, ht_tensor *u, ht_tensor *s, ht_tensor *vh, int64_t rank,
                  ht_tensor **new_u, ht_tensor **new_s, ht_tensor **new_vh)
{
    HT_NAMED(what);
    ht_matrix_svd found = {.vectors = true};
    update o = {.columns = columns, .u = u, .s = s, .vh = vh, .rank = rank};
    ht_section section;
    ht_status status;

    if (!prepare(&o) || HT_IS_NULL(s, what, "s") ||
        ht__wide_operand(what, "s", s, s->body->dtype) == NULL ||
        HT_IS_NULL_ON(o.vh->body->comm, new_u, what, "new_u") ||
        HT_IS_NULL_ON(o.vh->body->comm, new_s, what, "new_s") ||
        HT_IS_NULL_ON(o.vh->body->comm, new_vh, what, "new_vh") ||
        !ht__check_together_as(what, "columns", o.columns, "u", o.u) ||
        !ht__check_together_as(what, "columns", o.columns, "s", s) ||
        !ht__check_together_as(what, "columns", o.columns, "vh", o.vh) || !check(&o))
        return ht_error_get(NULL);
    section = ht__section_begin(o.columns);
    status = extend(&o, &found);
    ht__section_end(section);
    if (status != HT_SUCCESS)
        return status;
    *new_u = found.u;
    *new_s = found.s;
    *new_vh = found.v;
    return HT_SUCCESS;
}
