/* SPDX-License-Identifier: MIT
 *
 * The largest singular values and eigenvalues by a random sample of the range (Halko, Martinsson,
 * Tropp 2011, algorithms 4.4, 5.1 and 5.3). x is multiplied by a few random columns, and the
 * product is orthonormalised. Only matrices with these few columns travel. */
#include "core/algorithms/spectral/spectra.h"
#include "ht/decompositions.h"
#include "ht/factories.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"

enum { OVERSAMPLES = 10 };

typedef struct sample {
    const char *what, *name; /* name: of the operand; NULL: x */
    int64_t rank, columns;   /* wanted, and sampled */
    int power_iterations;
} sample;

static bool settle(sample *s, const ht_tensor *x, int64_t oversamples)
{
    const int64_t most = ht__order(x);

    if (x->body->ndim != 2) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: %s is %s, expected one matrix", s->what,
                s->name != NULL ? s->name : "x", ht__shape_str(x->body->ndim, x->body->shape));
        return false;
    }
    if (s->rank < 1 || s->rank > most || oversamples < 0 || s->power_iterations < 0) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "%s: %lld values of a matrix %s, %lld oversamples and %d power iterations are "
                "requested, expected 1 to %lld values and at least 0 of the others",
                s->what, (long long)s->rank, ht__shape_str(2, x->body->shape),
                (long long)oversamples, s->power_iterations, (long long)most);
        return false;
    }
    s->columns = oversamples < most - s->rank ? s->rank + oversamples : most;
    return true;
}

static ht_tensor *orthonormal(const sample *s, ht_tensor *y)
{
    ht_tensor *q, *r;

    if (y == NULL || ht__qr(s->what, y, &q, &r) != HT_SUCCESS)
        return NULL;
    return q;
}

static ht_tensor *range_of(const sample *s, ht_tensor *x)
{
    const ht_body *body = x->body;
    const int64_t shape[2] = {body->shape[1], s->columns};
    const ht_dtype real = ht__dtype_real(body->dtype);
    ht_tensor *q = ht_randn_ext(2, shape, real, body->split == 1 ? 0 : HT_NONE,
                                body->storage->device, body->comm);

    q = orthonormal(s, ht_matmul(x, ht_astype(q, body->dtype)));
    for (int i = 0; i < s->power_iterations && q != NULL; i++) {
        q = orthonormal(s, ht_matmul(ht__adjoint(x), q));
        q = q != NULL ? orthonormal(s, ht_matmul(x, q)) : NULL;
    }
    return q;
}

static ht_status rsvd(const sample *s, ht_tensor *x, ht_matrix_svd *to)
{
    const int split = x->body->split;
    ht_tensor *q = range_of(s, x), *b;
    ht_status status;

    if (q == NULL)
        return ht_error_get(NULL);
    b = ht_matmul(ht__adjoint(q), x);
    b = split != HT_NONE ? ht_resplit(b, 1) : b;
    status = b != NULL ? ht__svd(s->what, b, to) : ht_error_get(NULL);
    if (status != HT_SUCCESS)
        return status;
    to->u = ht_matmul(q, ht_narrow(to->u, 1, 0, s->rank));
    to->u = ht_resplit(to->u, split == 0 ? 0 : HT_NONE);
    to->s = ht__owned(ht_narrow(to->s, 0, 0, s->rank));
    to->v = ht__adjoint(ht_narrow(to->v, 1, 0, s->rank));
    to->v = ht__owned(ht_resplit(to->v, split == 1 ? 1 : HT_NONE));
    return to->u != NULL && to->s != NULL && to->v != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status rsvd_of(sample s, ht_tensor *x, int64_t oversamples, ht_tensor **u,
                         ht_tensor **values, ht_tensor **vh)
{
    HT_NAMED(s.what);
    ht_matrix_svd found = {.vectors = true};
    ht_section section;
    ht_status status;

    x = ht__matrix_operand(s.what, "x", x, HT_MATRIX_ANY, HT_KERNEL_SVD);
    if (x == NULL || HT_IS_NULL_ON(x->body->comm, u, s.what, "u") ||
        HT_IS_NULL_ON(x->body->comm, values, s.what, "s") ||
        HT_IS_NULL_ON(x->body->comm, vh, s.what, "vh") || !settle(&s, x, oversamples))
        return ht_error_get(NULL);
    section = ht__section_begin(x);
    status = ht__check_finite(s.what, x);
    if (status == HT_SUCCESS)
        status = rsvd(&s, x, &found);
    ht__section_end(section);
    if (status != HT_SUCCESS)
        return status;
    *u = found.u;
    *values = found.s;
    *vh = found.v;
    return HT_SUCCESS;
}

ht_status ht_rsvd(ht_tensor *x, int64_t rank, ht_tensor **u, ht_tensor **s, ht_tensor **vh)
{
    return rsvd_of((sample){.what = "ht_rsvd", .rank = rank}, x, OVERSAMPLES, u, s, vh);
}

ht_status ht_rsvd_ext(ht_tensor *x, int64_t rank, int64_t oversamples, int power_iterations,
                      ht_tensor **u, ht_tensor **s, ht_tensor **vh)
{
    const sample of = {.what = "ht_rsvd_ext", .rank = rank, .power_iterations = power_iterations};

    return rsvd_of(of, x, oversamples, u, s, vh);
}

static ht_status reigh(const sample *s, ht_tensor *a, ht_tensor **w, ht_tensor **v)
{
    ht_tensor *q = range_of(s, a), *b, *vectors;
    ht_status status;

    if (q == NULL)
        return ht_error_get(NULL);
    b = ht_resplit(ht_matmul(ht__adjoint(q), ht_matmul(a, q)), HT_NONE);
    status = b != NULL ? ht__eigh(s->what, b, w, &vectors) : ht_error_get(NULL);
    if (status != HT_SUCCESS)
        return status;
    *w = ht__owned(ht_narrow(ht_flip(*w, HT_AXES(0)), 0, 0, s->rank));
    vectors = ht_narrow(ht_flip(vectors, HT_AXES(1)), 1, 0, s->rank);
    *v = ht_resplit(ht_matmul(q, vectors), a->body->split == HT_NONE ? HT_NONE : 0);
    return *w != NULL && *v != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status reigh_of(sample s, ht_tensor *a, int64_t oversamples, ht_tensor **w, ht_tensor **v)
{
    HT_NAMED(s.what);
    ht_tensor *found_w = NULL, *found_v = NULL;
    ht_section section;
    ht_status status;

    a = ht__matrix_operand(s.what, "a", a, HT_MATRIX_SQUARE, HT_KERNEL_EIGH);
    if (a == NULL || HT_IS_NULL_ON(a->body->comm, w, s.what, "w") || !settle(&s, a, oversamples))
        return ht_error_get(NULL);
    section = ht__section_begin(a);
    status = ht__check_finite(s.what, a);
    if (status == HT_SUCCESS)
        status = reigh(&s, a, &found_w, &found_v);
    ht__section_end(section);
    if (status != HT_SUCCESS)
        return status;
    *w = found_w;
    if (v != NULL)
        *v = found_v;
    return HT_SUCCESS;
}

ht_status ht_reigh(ht_tensor *a, int64_t count, ht_tensor **w, ht_tensor **v)
{
    return reigh_of((sample){.what = "ht_reigh", .name = "a", .rank = count}, a, OVERSAMPLES, w, v);
}

ht_status ht_reigh_ext(ht_tensor *a, int64_t count, int64_t oversamples, int power_iterations,
                       ht_tensor **w, ht_tensor **v)
{
    const sample of = {
        .what = "ht_reigh_ext", .name = "a", .rank = count, .power_iterations = power_iterations};

    return reigh_of(of, a, oversamples, w, v);
}
