/* SPDX-License-Identifier: MIT
 *
 * Conjugate gradients. Every rank has all of the vectors. With a split matrix each step multiplies
 * where the matrix's parts lie, and gathers one vector. */
#include "core/algorithms/factor/decompositions.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/factories.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/solvers.h"

/* Columns of length n, of no split. */
typedef struct descent {
    ht_tensor *a, *x, *residual, *direction;
    double square; /* of the residual */
} descent;

static ht_tensor *times(ht_tensor *a, ht_tensor *v)
{
    return ht_resplit(ht_matmul(a, v), HT_NONE);
}

/* The real part of x^H y; NaN after an error. */
static double dot(ht_tensor *x, ht_tensor *y)
{
    return ht_item(ht_sum(ht_real(ht_mul(ht__conj(x), y)), HT_NONE));
}

static ht_status begin(descent *d, ht_tensor *a, ht_tensor *b, ht_tensor *x0)
{
    d->a = a;
    d->x = x0 != NULL ? ht_copy(x0) : ht_zeros_like(b);
    d->residual = x0 != NULL ? ht_sub(b, times(a, x0)) : ht_copy(b);
    if (d->x == NULL || d->residual == NULL)
        return ht_error_get(NULL);
    d->direction = ht_copy(d->residual);
    d->square = dot(d->residual, d->residual);
    return d->direction != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status step(descent *d)
{
    ht_tensor *image = times(d->a, d->direction);
    const double before = d->square, curvature = image != NULL ? dot(d->direction, image) : 0;
    ht_status status;

    if (image == NULL)
        return ht_error_get(NULL);
    status = ht_add_(d->x, d->direction, before / curvature);
    if (status == HT_SUCCESS)
        status = ht_add_(d->residual, image, -before / curvature);
    if (status != HT_SUCCESS)
        return status;
    d->square = dot(d->residual, d->residual);
    status = ht_mul_scalar_(d->direction, d->square / before);
    return status == HT_SUCCESS ? ht_add_(d->direction, d->residual, 1) : status;
}

/* a and b near 1: x of both is 2^(exponent of b less that of a) times theirs. */
static ht_tensor *descend(ht_tensor *a, ht_tensor *b, ht_tensor *x0, double tolerance,
                          int64_t most_steps)
{
    descent d = {0};
    ht_status status;
    int of_a, of_b;
    double goal;

    a = ht__near_one(a, &of_a);
    b = a != NULL ? ht__near_one(b, &of_b) : NULL;
    if (b == NULL)
        return NULL;
    status = begin(&d, a, b, ht__times_power(x0, of_a - of_b));
    if (status != HT_SUCCESS)
        return NULL;
    goal = tolerance * sqrt(dot(b, b));
    for (int64_t i = 0; i < most_steps && d.square > goal * goal && status == HT_SUCCESS; i++) {
        ht_scope *scope = ht_scope_open();

        status = step(&d);
        ht_scope_close(scope);
    }
    return status == HT_SUCCESS ? ht__times_power(d.x, of_b - of_a) : NULL;
}

/* b, or x0, as a column on every rank, of the dtype of a. */
static ht_tensor *column(const char *what, const char *name, const ht_tensor *a, ht_tensor *b)
{
    if (HT_IS_NULL(b, what, name) || !ht__check_together_as(what, "a", a, name, b))
        return NULL;
    b = ht__wide_operand(what, name, b, a->body->dtype);
    if (b == NULL)
        return NULL;
    if (b->body->ndim == 1 && b->body->shape[0] == ht__rows(a))
        return ht_expand_dims(ht_resplit(b, HT_NONE), 1);
    HT_FAIL(a->body->comm, HT_ERR_SHAPE,
            "%s: a is %s, %s is %s, expected a vector with an element for each row of a", what,
            ht__shape_str(a->body->ndim, a->body->shape), name,
            ht__shape_str(b->body->ndim, b->body->shape));
    return NULL;
}

/* tolerance below 0: ten roundings of the dtype that is computed in. */
static ht_tensor *solve(const char *what, ht_tensor *a, ht_tensor *b, ht_tensor *x0,
                        double tolerance, int64_t most_steps)
{
    const bool has_start = x0 != NULL;
    ht_section section;
    ht_tensor *x = NULL;

    section = ht__section_begin(a);
    b = column(what, "b", a, b);
    x0 = has_start && b != NULL ? column(what, "x0", a, x0) : NULL;
    if (tolerance < 0)
        tolerance = 10 * (ht_dtype_size(ht__dtype_real(a->body->dtype)) == 4 ? 0x1p-23 : 0x1p-52);
    if (b != NULL && (x0 != NULL || !has_start))
        x = descend(a, b, x0, tolerance, most_steps);
    ht__section_end(section);
    return x != NULL ? ht__without_base(ht_squeeze(x, 1)) : NULL;
}

/* One matrix, of the dtype that all operands are computed in. */
static ht_tensor *matrix(const char *what, ht_tensor *a, ht_tensor *b, ht_tensor *x0)
{
    const ht_dtype dtype = ht__operands_dtype(3, (ht_tensor *[]){a, b, x0});

    a = ht__matrix_operand_as(what, "a", a, HT_MATRIX_SQUARE, HT_KERNEL_LU, dtype);
    if (a == NULL || a->body->ndim == 2)
        return a;
    HT_FAIL(a->body->comm, HT_ERR_SHAPE, "%s: a is %s, expected one matrix", what,
            ht__shape_str(a->body->ndim, a->body->shape));
    return NULL;
}

ht_tensor *ht_cg(ht_tensor *a, ht_tensor *b, ht_tensor *x0)
{
    static const char what[] = "ht_cg";
    HT_NAMED(what);

    a = matrix(what, a, b, x0);
    return a != NULL ? solve(what, a, b, x0, -1, ht__rows(a)) : NULL;
}

ht_tensor *ht_cg_ext(ht_tensor *a, ht_tensor *b, ht_tensor *x0, double tolerance,
                     int64_t most_steps)
{
    static const char what[] = "ht_cg_ext";
    HT_NAMED(what);

    a = matrix(what, a, b, x0);
    if (a == NULL)
        return NULL;
    if (!(tolerance >= 0) || most_steps < 0) {
        HT_FAIL(a->body->comm, HT_ERR_ARGUMENT,
                "%s: tolerance is %g and most_steps is %lld, expected at least 0 each", what,
                tolerance, (long long)most_steps);
        return NULL;
    }
    return solve(what, a, b, x0, tolerance, most_steps);
}
