/* SPDX-License-Identifier: MIT
 *
 * Uses of singular values: pseudo-inverses, least squares, polar factors. They are products of the
 * factors of ht_svd, which decide how data move. */
#include "core/algorithms/spectral/spectra.h"
#include "ht/arithmetics.h"
#include "ht/decompositions.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/solvers.h"

/* Where each matrix lies on a rank, or one is split; x is dealt out first where it must be. */
static ht_status factor(const char *what, ht_tensor *x, ht_matrix_svd *to)
{
    to->vectors = true;
    return ht__svd(what, x, to);
}

/* x diag(d): d (..., k) times the columns of x. */
static ht_tensor *times_columns(ht_tensor *x, ht_tensor *d)
{
    d = d != NULL ? ht_expand_dims(d, -2) : NULL;
    return ht_mul(x, d);
}

/* ---- pseudo-inverses ------------------------------------------------------------------------ */

static double default_rtol(const ht_tensor *a)
{
    const int64_t longest = ht__rows(a) > ht__columns(a) ? ht__rows(a) : ht__columns(a);

    return (double)longest *
           (ht_dtype_size(ht__dtype_real(a->body->dtype)) == 4 ? 0x1p-23 : 0x1p-52);
}

/* 1 / s, 0 for those that count as 0. */
static ht_tensor *inverses(ht_tensor *s, double rtol)
{
    const int axis = s->body->ndim - 1;
    ht_tensor *largest = ht_narrow(s, axis, 0, s->body->shape[axis] > 0);
    ht_tensor *counts = ht_gt(s, ht_mul_scalar_ext(largest, HT_NUM(rtol)));

    return ht_where(counts, ht_div(ht_scalar(1), s), ht_scalar(0));
}

static ht_tensor *pinv(const char *what, ht_tensor *a, double rtol)
{
    ht_matrix_svd f = {0};
    const int split = a->body->split;
    ht_tensor *y;

    if (ht__is_split_batch(a))
        a = ht_resplit(a, 0);
    if (a == NULL || factor(what, a, &f) != HT_SUCCESS)
        return NULL;
    y = ht__batch_product(what, times_columns(f.v, inverses(f.s, rtol)), ht__adjoint(f.u));
    if (y == NULL || y->body->ndim > 2)
        return ht_resplit(y, split);
    return ht_resplit(y, split == HT_NONE ? HT_NONE : 1 - split);
}

static ht_tensor *pinv_of(const char *what, ht_tensor *a, const double *rtol)
{
    HT_NAMED(what);
    ht_section section;
    ht_tensor *y;

    a = ht__matrix_operand(what, "a", a, HT_MATRIX_ANY, HT_KERNEL_SVD);
    if (a == NULL)
        return NULL;
    section = ht__section_begin(a);
    y = pinv(what, a, rtol != NULL ? *rtol : default_rtol(a));
    ht__section_end(section);
    return y;
}

ht_tensor *ht_pinv(ht_tensor *a)
{
    return pinv_of("ht_pinv", a, NULL);
}

ht_tensor *ht_pinv_ext(ht_tensor *a, double rtol)
{
    return pinv_of("ht_pinv_ext", a, &rtol);
}

/* ---- least squares -------------------------------------------------------------------------- */

static ht_tensor *lstsq(const char *what, ht_tensor *a, ht_tensor *b, double rtol)
{
    ht_matrix_svd f = {0};
    ht_tensor *y, *d;

    if (factor(what, a, &f) != HT_SUCCESS)
        return NULL;
    d = inverses(f.s, rtol);
    d = d != NULL ? ht_expand_dims(d, 1) : NULL;
    y = ht_mul(ht__batch_product(what, ht__adjoint(f.u), b), d);
    return ht_resplit(ht__batch_product(what, f.v, y), b->body->split);
}

static bool fit_together(const char *what, const ht_tensor *a, const ht_tensor *b)
{
    if (a->body->ndim == 2 && b->body->ndim == 2 && ht__rows(a) == ht__rows(b))
        return true;
    HT_FAIL(a->body->comm, HT_ERR_SHAPE,
            "%s: a is %s, b is %s, expected two matrices with the same number of rows", what,
            ht__shape_str(a->body->ndim, a->body->shape),
            ht__shape_str(b->body->ndim, b->body->shape));
    return false;
}

static ht_tensor *lstsq_of(const char *what, ht_tensor *a, ht_tensor *b, const double *rtol)
{
    HT_NAMED(what);
    const ht_dtype dtype = ht__operands_dtype(2, (ht_tensor *[]){a, b});
    bool is_vector;
    ht_section section;
    ht_tensor *x;

    a = ht__matrix_operand_as(what, "a", a, HT_MATRIX_ANY, HT_KERNEL_SVD, dtype);
    if (a == NULL || HT_IS_NULL(b, what, "b") || !ht__check_together_as(what, "a", a, "b", b))
        return NULL;
    is_vector = b->body->ndim == 1;
    b = ht__matrix_operand_as(what, "b", is_vector ? ht_expand_dims(b, 1) : b, HT_MATRIX_ANY,
                              HT_KERNEL_SVD, dtype);
    if (b == NULL || !fit_together(what, a, b))
        return NULL;
    section = ht__section_begin(a);
    x = lstsq(what, a, b, rtol != NULL ? *rtol : default_rtol(a));
    ht__section_end(section);
    return x != NULL && is_vector ? ht__without_base(ht_squeeze(x, 1)) : x;
}

ht_tensor *ht_lstsq(ht_tensor *a, ht_tensor *b)
{
    return lstsq_of("ht_lstsq", a, b, NULL);
}

ht_tensor *ht_lstsq_ext(ht_tensor *a, ht_tensor *b, double rtol)
{
    return lstsq_of("ht_lstsq_ext", a, b, &rtol);
}

/* ---- polar factors -------------------------------------------------------------------------- */

static ht_status polar(const char *what, ht_tensor *x, ht_tensor **u, ht_tensor **h)
{
    const int split = x->body->split;
    ht_matrix_svd f = {0};
    ht_tensor *vh;
    ht_status status;

    if (ht__is_split_batch(x))
        x = ht_resplit(x, 0);
    status = x != NULL ? factor(what, x, &f) : ht_error_get(NULL);
    if (status != HT_SUCCESS)
        return status;
    vh = ht__adjoint(f.v);
    *u = ht_resplit(ht__batch_product(what, f.u, vh), split);
    if (h != NULL)
        *h = ht__batch_product(what, times_columns(f.v, f.s), vh);
    return *u != NULL && (h == NULL || *h != NULL) ? HT_SUCCESS : ht_error_get(NULL);
}

ht_status ht_polar(ht_tensor *x, ht_tensor **u, ht_tensor **h)
{
    static const char what[] = "ht_polar";
    HT_NAMED(what);
    ht_tensor *found_u = NULL, *found_h = NULL;
    ht_section section;
    ht_status status;

    x = ht__matrix_operand(what, "x", x, HT_MATRIX_ANY, HT_KERNEL_SVD);
    if (x == NULL || HT_IS_NULL_ON(x->body->comm, u, what, "u"))
        return ht_error_get(NULL);
    if (ht__rows(x) < ht__columns(x))
        return HT_FAIL(x->body->comm, HT_ERR_SHAPE,
                       "%s: x is %s, expected at most as many columns as rows", what,
                       ht__shape_str(x->body->ndim, x->body->shape));
    section = ht__section_begin(x);
    status = polar(what, x, &found_u, h != NULL ? &found_h : NULL);
    ht__section_end(section);
    if (status != HT_SUCCESS)
        return status;
    *u = found_u;
    if (h != NULL)
        *h = found_h;
    return HT_SUCCESS;
}
