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

static double length_of(ht_tensor *x)
{
    return sqrt(ht_item(ht_sum(ht_square(ht_abs(x)), HT_NONE)));
}

/* r^H r v, or what that is the inverse of. */
static ht_tensor *apply(ht_tensor *r, ht_tensor *v, bool inverse)
{
    const ht_triangle plain = {.upper = true}, adjoint = {.upper = true, .op = HT_MATRIX_ADJOINT};

    if (inverse)
        return ht__solve_triangle(what, r, plain, ht__solve_triangle(what, r, adjoint, v));
    return ht_resplit(ht_matmul(ht__adjoint(r), ht_resplit(ht_matmul(r, v), HT_NONE)), HT_NONE);
}

/* The square root of the largest factor by which it makes a vector longer; NaN after an error. */
static double largest(ht_tensor *r, bool inverse)
{
    const int64_t shape[2] = {ht__columns(r), 1};
    const ht_body *body = r->body;
    ht_tensor *v = ht_astype(ht_randn_ext(2, shape, ht__dtype_real(body->dtype), HT_NONE,
                                          body->storage->device, body->comm),
                             body->dtype);
    double found = NAN;

    for (int i = 0; i < ITERATIONS && v != NULL; i++) {
        v = ht_div_scalar_ext(v, HT_NUM(length_of(v)));
        v = v != NULL ? apply(r, v, inverse) : NULL;
        found = v != NULL ? length_of(v) : NAN;
        if (!isfinite(found) || found == 0)
            break;
    }
    return sqrt(found);
}

static ht_status estimate(ht_tensor *x, double *condition)
{
    ht_tensor *r;
    ht_status status = ht__check_finite(what, x);
    double up, down;
    int exponent;

    if (status == HT_SUCCESS && (x = ht__near_one(x, &exponent)) == NULL)
        status = ht_error_get(NULL);
    if (status == HT_SUCCESS)
        status = ht__qr(what, x, NULL, &r);
    if (status != HT_SUCCESS)
        return status;
    up = largest(r, false);
    down = largest(r, true);
    *condition = isnan(down) ? INFINITY : fmax(up * down, 1);
    return HT_SUCCESS;
}

ht_status ht_condest(ht_tensor *x, double *condition)
{
    ht_section section;
    ht_status status;
    double found;

    x = ht__matrix_operand(what, "x", x, HT_MATRIX_ANY, HT_KERNEL_QR);
    if (x == NULL || HT_IS_NULL_ON(x->body->comm, condition, what, "condition"))
        return ht_error_get(NULL);
    if (x->body->ndim != 2 || ht__rows(x) < ht__columns(x) || ht__columns(x) == 0)
        return HT_FAIL(x->body->comm, HT_ERR_SHAPE,
                       "%s: x is %s, expected one matrix with at least as many rows as columns",
                       what, ht__shape_str(x->body->ndim, x->body->shape));
    section = ht__section_begin(x);
    status = estimate(x, &found);
    ht__section_end(section);
    if (status == HT_SUCCESS)
        *condition = found;
    return status;
}
