/* SPDX-License-Identifier: MIT
 *
 * Covariances of v variables with n observations. Each rank subtracts a constant near the mean from
 * its own part (one sum of v numbers between the ranks), d = x - c. ht_matmul gives the product d
 * d^H: with split observations by one sum of v * v numbers, with split variables by rounds of
 * slabs. The remaining means are then subtracted from the product: n mean(d) mean(d)^H, which is
 * small in comparison. A rank stores its part of x in float64, and its part of the result. */
#include "core/ops/drivers/drivers.h"
#include "ht/statistics.h"

#include <inttypes.h>

#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/exponential.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/rounding.h"

/* (variables, observations) of one operand; NULL after an error. */
static ht_tensor *as_rows(const char *what, const char *name, ht_tensor *x, bool rowvar)
{
    if (HT_IS_NULL(x, what, name))
        return NULL;
    if (x->body->ndim == 1)
        return ht_expand_dims(x, 0);
    if (x->body->ndim != 2) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: %s is %s, expected one axis or two", what, name,
                ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    return rowvar ? x : ht_transpose(x, 0, 1);
}

static ht_tensor *join(const char *what, ht_tensor *m, ht_tensor *y, bool rowvar)
{
    ht_tensor *rows[2] = {as_rows(what, "m", m, rowvar)};

    if (rows[0] == NULL || y == NULL)
        return rows[0];
    rows[1] = as_rows(what, "y", y, rowvar);
    if (rows[1] == NULL || !ht__check_together_as(what, "m", m, "y", y))
        return NULL;
    if (rows[0]->body->shape[1] != rows[1]->body->shape[1]) {
        HT_FAIL(m->body->comm, HT_ERR_SHAPE,
                "%s: y has %" PRId64 " observations, expected as many as m has, %" PRId64, what,
                rows[1]->body->shape[1], rows[0]->body->shape[1]);
        return NULL;
    }
    return ht__concatenate(what, 2, rows, 0);
}

/* c (v, v) = sum of (x - mean) (x - mean)^H of x (v, n), in the accumulator's dtype. */
static ht_tensor *scatter(const char *what, ht_tensor *x)
{
    const ht_reduce_over over = {1u << 1, true};
    const double n = (double)x->body->shape[1];
    ht_tensor *d = ht__centred(what, x, &over), *sum, *c, *rest;

    sum = d != NULL ? ht__sum_over(what, d, &over) : NULL;
    c = sum != NULL ? ht_matmul(d, ht_transpose(ht_conj(d), 0, 1)) : NULL;
    rest = c != NULL ? ht_mul(sum, ht_transpose(ht_conj(sum), 0, 1)) : NULL;
    return rest != NULL ? ht_sub(c, ht_div_scalar(rest, n)) : NULL;
}

/* In the accumulator's dtype; the dtype it is to be rounded to. */
static ht_tensor *covariance(const char *what, ht_tensor *m, ht_tensor *y, bool rowvar,
                             int64_t ddof, ht_dtype *dtype)
{
    ht_tensor *x = join(what, m, y, rowvar), *c;
    int64_t n;

    if (x == NULL)
        return NULL;
    n = x->body->shape[1];
    if (n <= ddof) {
        HT_FAIL(m->body->comm, HT_ERR_ARGUMENT,
                "%s: number of observations is %" PRId64 ", expected more than %" PRId64, what, n,
                ddof);
        return NULL;
    }
    *dtype = ht__dtype_is_exact(x->body->dtype) ? HT_FLOAT32 : x->body->dtype;
    c = scatter(what, x);
    c = c != NULL ? ht_div_scalar(c, (double)n - (double)ddof) : NULL;
    return c != NULL && y == NULL && m->body->ndim == 1 ? ht__without_base(ht_reshape(c, 0, NULL))
                                                        : c;
}

ht_tensor *ht_cov_ext(ht_tensor *m, ht_tensor *y, bool rowvar, int64_t ddof)
{
    HT_NAMED("ht_cov_ext");
    ht_dtype dtype;
    ht_tensor *c = covariance("ht_cov_ext", m, y, rowvar, ddof, &dtype);

    return c != NULL ? ht_astype(c, dtype) : NULL;
}

ht_tensor *ht_cov(ht_tensor *m, ht_tensor *y, bool rowvar, bool bias)
{
    HT_NAMED("ht_cov");
    ht_dtype dtype;
    ht_tensor *c = covariance("ht_cov", m, y, rowvar, bias ? 0 : 1, &dtype);

    return c != NULL ? ht_astype(c, dtype) : NULL;
}

/* Cuts a real tensor to [-1, 1]; NaN stays. */
static ht_tensor *cut(ht_tensor *x)
{
    return x != NULL ? ht_clip(x, -1, 1) : NULL;
}

/* c[i][j] / s[i] / s[j], one after the other, as the product may be too large or too small. */
static ht_tensor *over_deviations(ht_tensor *c)
{
    ht_tensor *s = ht_sqrt(ht_real(ht_diagonal(c, 0, 0, 1)));

    s = s != NULL ? ht_resplit(s, HT_NONE) : NULL;
    c = s != NULL ? ht_div(c, ht_expand_dims(s, 1)) : NULL;
    return c != NULL ? ht_div(c, ht_expand_dims(s, 0)) : NULL;
}

ht_tensor *ht_corrcoef(ht_tensor *m, ht_tensor *y, bool rowvar)
{
    HT_NAMED("ht_corrcoef");
    ht_dtype dtype;
    ht_tensor *c = covariance("ht_corrcoef", m, y, rowvar, 0, &dtype);

    if (c == NULL)
        return NULL;
    c = c->body->ndim == 0 ? ht_div(c, c) : over_deviations(c);
    if (c != NULL && !ht_dtype_is_complex(c->body->dtype))
        c = cut(c);
    return c != NULL ? ht_astype(c, dtype) : NULL;
}
