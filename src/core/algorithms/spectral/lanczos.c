/* SPDX-License-Identifier: MIT
 *
 * Lanczos with full reorthogonalisation. Vectors are split by rows if a is split. Each step
 * multiplies by a, sums the products with all earlier vectors, twice, and sums their lengths. */
#include "core/algorithms/factor/decompositions.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/factories.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/exponential.h"
#include "ht/rounding.h"
#include "ht/solvers.h"

static const char what[] = "ht_lanczos";

typedef struct process {
    ht_tensor *a, *v; /* v (n, m), whose first columns are there */
    int64_t steps;
    double *alpha, *beta; /* beta[j]: between vectors j and j + 1 */
} process;

/* w less its parts along the first `count` vectors; *last: the one along the last of them. */
static ht_tensor *orthogonal(const process *p, ht_tensor *w, int64_t count, double *last)
{
    ht_tensor *before = ht_narrow(p->v, 1, 0, count), *parts;

    *last = 0;
    for (int pass = 0; pass < 2 && count > 0 && w != NULL; pass++) {
        parts = ht_resplit(ht_matmul(ht__adjoint(before), w), HT_NONE);
        if (parts == NULL ||
            (pass == 0 &&
             ht_tensor_item(ht_real(ht_narrow(parts, 0, count - 1, count)), last) != HT_SUCCESS))
            return NULL;
        w = ht_sub(w, ht_matmul(before, parts));
    }
    return w;
}

static ht_tensor *random_column(const process *p)
{
    const ht_body *v = p->v->body;
    const int64_t shape[2] = {v->shape[0], 1};

    return ht_astype(
        ht_randn_ext(2, shape, ht__dtype_real(v->dtype), v->split, v->storage->device, v->comm),
        v->dtype);
}

/* Vector number `at` <- w / its length, or another one where nothing of w is left. */
static ht_status put(process *p, int64_t at, ht_tensor *w, double scale)
{
    const double eps = ht_dtype_size(ht__dtype_real(p->v->body->dtype)) == 4 ? 0x1p-23 : 0x1p-52;
    double length = 0, unused;
    ht_status status = ht__length(w, &length);

    if (status != HT_SUCCESS)
        return status;
    if (at > 0)
        p->beta[at - 1] = length > 10 * eps * scale ? length : 0;
    if (!(length > 10 * eps * scale) && !isnan(length)) {
        w = orthogonal(p, random_column(p), at, &unused);
        status = ht__length(w, &length);
    }
    if (status != HT_SUCCESS)
        return status;
    return ht_copy_(ht_narrow(p->v, 1, at, at + 1), ht_div_scalar_ext(w, HT_NUM(length)));
}

static ht_status step(process *p, int64_t j)
{
    ht_tensor *image = ht_matmul(p->a, ht_contiguous(ht_narrow(p->v, 1, j, j + 1))), *w;
    double length = 0;
    ht_status status;

    w = image != NULL ? orthogonal(p, ht_resplit(image, p->v->body->split), j + 1, &p->alpha[j])
                      : NULL;
    if (w == NULL)
        return ht_error_get(NULL);
    if (j + 1 == p->steps)
        return HT_SUCCESS;
    status = ht__length(image, &length);
    return status == HT_SUCCESS ? put(p, j + 1, w, length) : status;
}

static ht_tensor *tridiagonal(const process *p)
{
    const int64_t m = p->steps, shape[2] = {m, m};
    double *t = ht__alloc((size_t)(m * m) * sizeof *t);
    ht_tensor *y;

    for (int64_t i = 0; i < m; i++) {
        t[i * m + i] = p->alpha[i];
        if (i + 1 < m)
            t[i * m + i + 1] = t[(i + 1) * m + i] = p->beta[i];
    }
    y = ht_array_ext(t, 2, shape, HT_FLOAT64, HT_NONE, p->a->body->storage->device,
                     p->a->body->comm);
    ht__free(t);
    return ht_astype(y, ht__dtype_real(p->a->body->dtype));
}

static ht_status run(process *p, ht_tensor *v0)
{
    ht_status status = HT_SUCCESS;
    int unused;

    if (v0 != NULL)
        v0 = ht__near_one(
            ht_astype(ht_resplit(ht_expand_dims(v0, 1), p->v->body->split), p->v->body->dtype),
            &unused);
    else
        v0 = random_column(p);
    status = v0 != NULL ? put(p, 0, v0, 0) : ht_error_get(NULL);
    for (int64_t j = 0; j < p->steps && status == HT_SUCCESS; j++) {
        ht_scope *scope = ht_scope_open();

        status = step(p, j);
        ht_scope_close(scope);
    }
    return status;
}

static ht_status lanczos(ht_tensor *a, int64_t m, ht_tensor *v0, ht_tensor **v, ht_tensor **t)
{
    const int64_t shape[2] = {ht__rows(a), m};
    process p = {.steps = m};
    ht_status status;
    int exponent;

    p.a = a = ht__near_one(a, &exponent);
    if (a == NULL)
        return ht_error_get(NULL);

    p.v = ht_zeros_ext(2, shape, a->body->dtype, a->body->split == HT_NONE ? HT_NONE : 0,
                       a->body->storage->device, a->body->comm);
    if (p.v == NULL)
        return ht_error_get(NULL);
    p.alpha = ht__alloc((size_t)(2 * m) * sizeof *p.alpha);
    p.beta = p.alpha + m;
    status = run(&p, v0);
    *v = p.v;
    *t = status == HT_SUCCESS ? ht__times_power(tridiagonal(&p), exponent) : NULL;
    ht__free(p.alpha);
    return *t != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

ht_status ht_lanczos(ht_tensor *a, int64_t m, ht_tensor *v0, ht_tensor **v, ht_tensor **t)
{
    HT_NAMED(what);
    const ht_dtype dtype = ht__operands_dtype(2, (ht_tensor *[]){a, v0});
    ht_tensor *found_v = NULL, *found_t = NULL;
    ht_section section;
    ht_status status;

    a = ht__matrix_operand_as(what, "a", a, HT_MATRIX_SQUARE, HT_KERNEL_EIGH, dtype);
    if (a == NULL || HT_IS_NULL_ON(a->body->comm, v, what, "v") ||
        HT_IS_NULL_ON(a->body->comm, t, what, "t") ||
        (v0 != NULL && !ht__check_together_as(what, "a", a, "v0", v0)))
        return ht_error_get(NULL);
    if (a->body->ndim != 2)
        return HT_FAIL(a->body->comm, HT_ERR_SHAPE, "%s: a is %s, expected one matrix", what,
                       ht__shape_str(a->body->ndim, a->body->shape));
    if (m < 1 || m > ht__rows(a))
        return HT_FAIL(a->body->comm, HT_ERR_ARGUMENT,
                       "%s: m is %lld and a is %s, expected m from 1 to the order of a", what,
                       (long long)m, ht__shape_str(2, a->body->shape));
    if (v0 != NULL && (v0->body->ndim != 1 || v0->body->shape[0] != ht__rows(a)))
        return HT_FAIL(a->body->comm, HT_ERR_SHAPE,
                       "%s: a is %s, v0 is %s, expected a vector with an element for each row of "
                       "a",
                       what, ht__shape_str(2, a->body->shape),
                       ht__shape_str(v0->body->ndim, v0->body->shape));
    section = ht__section_begin(a);
    status = lanczos(a, m, v0, &found_v, &found_t);
    ht__section_end(section);
    if (status != HT_SUCCESS)
        return status;
    *v = found_v;
    *t = found_t;
    return HT_SUCCESS;
}
