/* SPDX-License-Identifier: MIT
 *
 * Eigenvalues of Hermitian matrices. A split matrix a becomes 2 - a / c first, with c no smaller
 * than any eigenvalue. The eigenvalues then lie between 1 and 3, so that they are the singular
 * values. Its columns, made orthogonal (jacobi.c), are the eigenvectors. Eigenvalues are exact to
 * some roundings of c, like LAPACK's to roundings of the largest. */
#include "core/algorithms/spectral/jacobi.h"
#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/decompositions.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/rounding.h"
#include "ht/statistics.h"

static const char what_eigh[] = "ht_eigh";

/* The Hermitian matrix of which a's lower triangle is one half. */
static ht_tensor *whole_of(ht_tensor *a)
{
    ht_tensor *below = ht_tril(a, -1), *diagonal = ht_sub(ht_tril(a, 0), below);

    if (diagonal != NULL && ht_dtype_is_complex(a->body->dtype))
        diagonal = ht_astype(ht_real(diagonal), a->body->dtype);
    return ht_add(ht_add(below, ht__adjoint(below)), diagonal);
}

/* The lengths of the columns of x, on every rank. */
static ht_tensor *lengths_of(ht_tensor *x)
{
    return ht_resplit(ht_sqrt(ht_sum(ht_square(ht_abs(x)), 0)), HT_NONE);
}

static ht_status eigh_split(const char *what, ht_tensor *a, ht_tensor **w, ht_tensor **v)
{
    const int64_t n = ht__rows(a);
    ht_tensor *x, *two, *lengths;
    int exponent; /* sums of large elements may be out of range */
    double c;

    x = ht__near_one(whole_of(a), &exponent);
    if (x == NULL || ht_tensor_item(ht_max(ht_sum(ht_abs(x), 0), HT_NONE), &c) != HT_SUCCESS)
        return ht_error_get(NULL);
    c = c > 0 ? c : 1;
    two = ht_eye_ext(n, n, a->body->dtype, x->body->split, a->body->storage->device, a->body->comm);
    x = ht__own_columns(what, ht_sub(ht_mul_scalar(two, 2), ht_div_scalar_ext(x, HT_NUM(c))));
    if (x == NULL || ht__jacobi(what, x, NULL, true) != HT_SUCCESS)
        return ht_error_get(NULL);
    lengths = lengths_of(x);
    *w = ht_mul_scalar_ext(ht_sub(ht_scalar(2), lengths), HT_NUM(c));
    *w = ht__times_power(ht__in_order(what, *w, false), exponent);
    if (v != NULL)
        *v = ht_resplit(ht_div(x, lengths), a->body->split);
    return *w != NULL && (v == NULL || *v != NULL) ? HT_SUCCESS : ht_error_get(NULL);
}

ht_status ht__eigh(const char *what, ht_tensor *a, ht_tensor **w, ht_tensor **v)
{
    int64_t info = 0;
    ht_status status = ht__check_finite(what, a);

    if (status != HT_SUCCESS)
        return status;
    if (ht__is_split_matrix(a) && ht__rows(a) > 0)
        return eigh_split(what, a, w, v);
    status = ht__local_eigh(what, a, w, v, &info);
    if (status == HT_SUCCESS)
        status = ht__first_info(what, a, &info);
    if (status == HT_SUCCESS && info > 0)
        status = HT_FAIL(a->body->comm, HT_ERR_ARGUMENT, "%s: the iteration did not converge",
                         what);
    if (status != HT_SUCCESS || v == NULL || a->body->ndim > 2)
        return status;
    *v = ht_resplit(*v, a->body->split);
    return *v != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

ht_status ht_eigh(ht_tensor *a, ht_tensor **w, ht_tensor **v)
{
    HT_NAMED(what_eigh);
    ht_tensor *found_w = NULL, *found_v = NULL;
    ht_section section;
    ht_status status;
    int split;

    a = ht__matrix_operand(what_eigh, "a", a, HT_MATRIX_SQUARE, HT_KERNEL_EIGH);
    if (a == NULL || HT_IS_NULL_ON(a->body->comm, w, what_eigh, "w"))
        return ht_error_get(NULL);
    section = ht__section_begin(a);
    split = a->body->split;
    if (ht__is_split_batch(a))
        a = ht_resplit(a, 0);
    status = a != NULL ? ht__eigh(what_eigh, a, &found_w, v != NULL ? &found_v : NULL)
                       : ht_error_get(NULL);
    if (status == HT_SUCCESS && v != NULL)
        found_v = ht_resplit(found_v, split);
    ht__section_end(section);
    if (status != HT_SUCCESS || (v != NULL && found_v == NULL))
        return ht_error_get(NULL);
    *w = found_w;
    if (v != NULL)
        *v = found_v;
    return HT_SUCCESS;
}
