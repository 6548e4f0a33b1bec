/* SPDX-License-Identifier: MIT
 *
 * An estimate of the condition number of x. The triangular factor r of a QR has the singular values
 * of x; power iterations on r^H r and on its inverse estimate the extreme ones. A vector travels in
 * each step. */
#include "core/algorithms/factor/decompositions.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/rounding.h"
#include "ht/solvers.h"

static const char what[] = "ht_condest";

enum { ITERATIONS = 20 };

/* r^H r v, or what that is the inverse of. */
static ht_tensor *apply(ht_tensor *r, ht_tensor *v, bool inverse)
{
    const ht_triangle plain = {.upper = true}, adjoint = {.upper = true, .op = HT_MATRIX_ADJOINT};

    if (inverse)
        return ht__solve_triangle(what, r, plain, ht__solve_triangle(what, r, adjoint, v));
    return ht_resplit(ht_matmul(ht__adjoint(r), ht_resplit(ht_matmul(r, v), HT_NONE)), HT_NONE);
}

/* The square root of the largest factor by which it makes a vector longer. */
static ht_status largest(ht_tensor *r, bool inverse, double *factor)
{
    const int64_t shape[2] = {ht__columns(r), 1};
    const ht_body *body = r->body;
    ht_tensor *v = ht_astype(ht_randn_ext(2, shape, ht__dtype_real(body->dtype), HT_NONE,
                                          body->storage->device, body->comm),
                             body->dtype);
    double found = NAN;
    ht_status status = ht__length(v, &found);

    for (int i = 0; i < ITERATIONS && status == HT_SUCCESS; i++) {
        v = ht_div_scalar_ext(v, HT_NUM(found));
        v = v != NULL ? apply(r, v, inverse) : NULL;
        status = ht__length(v, &found);
        if (!isfinite(found) || found == 0)
            break;
    }
    *factor = sqrt(found);
    return status;
}

static ht_status estimate(ht_tensor *x, double *condition)
{
    ht_tensor *r;
    ht_status status = ht__check_finite(what, x);
    double up = NAN, down = NAN;
    int exponent;

    if (status == HT_SUCCESS && (x = ht__near_one(x, &exponent)) == NULL)
        status = ht_error_get(NULL);
    if (status == HT_SUCCESS)
        status = ht__qr(what, x, NULL, &r);
    if (status != HT_SUCCESS)
        return status;
    status = largest(r, false, &up);
    if (status == HT_SUCCESS)
        status = largest(r, true, &down);
    if (status == HT_SUCCESS)
        *condition = isnan(down) ? INFINITY : fmax(up * down, 1);
    return status;
}

ht_status ht_condest(ht_tensor *x, double *condition)
{
    HT_NAMED(what);
    ht_section section;
    ht_status status;
    double found;

    x = ht__matrix_operand(what, "x", x, HT_MATRIX_ANY, HT_KERNEL_QR);
    if (x == NULL || HT_IS_NULL_ON(x->body->comm, condition, what, "condition"))
        return ht_error_get(NULL);
    if (x->body->ndim != 2 || ht__rows(x) < ht__columns(x) || ht__columns(x) == 0)
        return HT_FAIL(x->body->comm, HT_ERR_SHAPE,
                       "%s: x is %s, expected one matrix (m, n) with m >= n >= 1", what,
                       ht__shape_str(x->body->ndim, x->body->shape));
    section = ht__section_begin(x);
    status = estimate(x, &found);
    ht__section_end(section);
    if (status == HT_SUCCESS)
        *condition = found;
    return status;
}
