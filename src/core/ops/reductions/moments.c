/* SPDX-License-Identifier: MIT
 *
 * Skewness, kurtosis and weighted averages, from sums in the accumulator's dtype.
 *
 * Central moments take two steps. The first is x - c, where c is the mean in float64; it is exact
 * if the elements are near c. The second takes distances from the small mean of these differences.
 * Without it, the last digits of c, which are lost if the mean is large, would appear in the third
 * moment. Value and derivative do not depend on c, which is a constant. Each rank reads its own
 * part; sums between ranks are those of ht_sum. */
#include "core/ops/drivers/drivers.h"
#include "ht/statistics.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

/* The dtype of a result that is a mean. */
static ht_dtype rounded_dtype(ht_dtype dtype)
{
    return ht__dtype_is_exact(dtype) ? HT_FLOAT32 : dtype;
}

ht_tensor *ht__centred(const char *what, ht_tensor *x, const ht_reduce_over *over)
{
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *centre = ht__mean_wide(what, x, over);

    ht_set_grad_enabled(was);
    return centre != NULL ? ht_sub(ht_astype(x, ht__dtype_wide(x->body->dtype)), centre) : NULL;
}

/* The mean of a power of distances. */
static ht_tensor *moment(const char *what, ht_tensor *power, const ht_reduce_over *over, double n)
{
    power = power != NULL ? ht__sum_over(what, power, over) : NULL;
    return power != NULL ? ht_div_scalar(power, n) : NULL;
}

typedef struct central {
    ht_tensor *second, *third, *fourth; /* the moments; of the last two the one that is asked for */
    double n;
} central;

/* False after an error. */
static bool take_moments(const char *what, ht_tensor *x, int axis, bool fourth, central *c)
{
    ht_reduce_over over, kept;
    ht_tensor *distance, *mean, *square, *power;

    if (!ht__reduce_axis(what, x, axis, &over))
        return false;
    if (ht_dtype_is_complex(x->body->dtype)) {
        HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: not defined for %s", what,
                ht_dtype_name(x->body->dtype));
        return false;
    }
    kept = (ht_reduce_over){over.axes, true};
    c->n = (double)ht__reduce_count(x->body, &over);
    distance = ht__centred(what, x, &kept);
    mean = moment(what, distance, &kept, c->n);
    distance = mean != NULL ? ht_sub(distance, mean) : NULL;
    square = distance != NULL ? ht_mul(distance, distance) : NULL;
    c->second = moment(what, square, &over, c->n);
    power = c->second != NULL ? ht_mul(square, fourth ? square : distance) : NULL;
    c->third = c->fourth = moment(what, power, &over, c->n);
    return c->third != NULL;
}

ht_tensor *ht_skew(ht_tensor *x, int axis, bool unbiased)
{
    HT_NAMED("ht_skew");
    central c;
    ht_tensor *y;

    if (!take_moments("ht_skew", x, axis, false, &c))
        return NULL;
    y = ht_mul(c.second, ht_sqrt(c.second));
    y = y != NULL ? ht_div(c.third, y) : NULL;
    if (y != NULL && unbiased)
        y = ht_mul_scalar(y, c.n > 2 ? sqrt(c.n * (c.n - 1)) / (c.n - 2) : NAN);
    return y != NULL ? ht_astype(y, rounded_dtype(x->body->dtype)) : NULL;
}

ht_tensor *ht_kurtosis(ht_tensor *x, int axis, bool unbiased, bool fischer)
{
    HT_NAMED("ht_kurtosis");
    const double normal = 3;
    central c;
    ht_tensor *y;
    double factor;

    if (!take_moments("ht_kurtosis", x, axis, true, &c))
        return NULL;
    y = ht_mul(c.second, c.second);
    y = y != NULL ? ht_div(c.fourth, y) : NULL;
    if (y != NULL && unbiased) {
        factor = c.n > 3 ? (c.n - 1) / ((c.n - 2) * (c.n - 3)) : NAN;
        y = ht_sub_scalar(ht_mul_scalar(y, c.n + 1), 3 * (c.n - 1));
        y = y != NULL ? ht_add_scalar(ht_mul_scalar(y, factor), normal) : NULL;
    }
    if (y != NULL && fischer)
        y = ht_sub_scalar(y, normal);
    return y != NULL ? ht_astype(y, rounded_dtype(x->body->dtype)) : NULL;
}

/* Weights in the form of x: those of one axis lie along it. NULL after an error. */
static ht_tensor *fit_weights(const char *what, const ht_tensor *x, int axis, ht_tensor *weights)
{
    const ht_body *w = weights->body;
    int64_t shape[HT_MAX_NDIM];

    if (!ht__check_together_as(what, "x", x, "weights", weights))
        return NULL;
    if (ht__body_same_shape(x->body, w))
        return weights;
    if (axis == HT_NONE || w->ndim != 1 || w->shape[0] != x->body->shape[axis]) {
        HT_FAIL(
            x->body->comm, HT_ERR_SHAPE,
            "%s: weights are %s and x is %s, expected the shape of x, or the length of one axis",
            what, ht__shape_str(w->ndim, w->shape), ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    for (int i = 0; i < x->body->ndim; i++)
        shape[i] = i == axis ? w->shape[0] : 1;
    return ht_reshape(weights, x->body->ndim, shape);
}

/* Whether no sum of weights is 0; every rank learns of it. */
static bool check_sums(const char *what, ht_tensor *sum)
{
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *zero = ht_any(ht_eq(sum, ht_scalar(0)), HT_NONE);
    double found = 0;
    ht_status status = zero != NULL ? ht__item(what, zero, &found) : ht_error_get(NULL);

    ht_set_grad_enabled(was);
    if (status == HT_SUCCESS && found != 0)
        status = HT_FAIL(sum->body->comm, HT_ERR_ARGUMENT,
                         "%s: the weights add up to 0, expected another sum", what);
    return status == HT_SUCCESS;
}

/* x times weights and the weights, summed; numbers of the accumulator's dtype. */
static bool sum_weighted(const char *what, ht_tensor *x, int axis, ht_tensor *weights,
                         ht_tensor **top, ht_tensor **bottom)
{
    ht_reduce_over over;
    ht_tensor *product;
    ht_dtype dtype;

    if (axis != HT_NONE && !ht__check_axis(what, x, &axis))
        return false;
    weights = fit_weights(what, x, axis, weights);
    if (weights == NULL || !ht__reduce_axis(what, x, axis, &over))
        return false;
    dtype = ht__dtype_wide(ht__binary_dtype(x, weights));
    weights = ht_astype(weights, dtype);
    product = weights != NULL ? ht_mul(ht_astype(x, dtype), weights) : NULL;
    if (product == NULL)
        return false;
    *top = ht__sum_over(what, product, &over);
    *bottom = *top != NULL ? ht__sum_over(what, weights, &over) : NULL;
    return *bottom != NULL && check_sums(what, *bottom);
}

/* Also of a 1-D weight, as many as the average has elements. */
static ht_tensor *sums_like(const char *what, ht_tensor *sum, const ht_tensor *average)
{
    const ht_body *like = average->body;

    sum = ht_astype(sum, like->dtype);
    sum = sum != NULL ? ht__broadcast_to(what, "weights", sum, like->ndim, like->shape) : NULL;
    sum = sum != NULL ? ht__match_slabs(what, sum, like) : NULL;
    return sum != NULL ? ht_copy(sum) : NULL;
}

static ht_tensor *counts_like(const char *what, const ht_tensor *x, const ht_tensor *average)
{
    const ht_body *like = average->body;
    const double size = (double)ht_tensor_size(average);
    ht_tensor *sum = ht__empty(what, like, like->dtype);
    const double count = size > 0 ? (double)ht_tensor_size(x) / size : 0;

    return sum != NULL && ht__fill_local(what, sum->body, HT_NUM(count)) == HT_SUCCESS ? sum : NULL;
}

static ht_tensor *average_of(const char *what, ht_tensor *x, int axis, ht_tensor *weights,
                             ht_tensor **sum)
{
    ht_tensor *top, *bottom, *y;
    ht_dtype dtype;

    if (weights == NULL) {
        y = ht_mean(x, axis);
        if (y != NULL && sum != NULL)
            *sum = counts_like(what, x, y);
        return y;
    }
    if (!sum_weighted(what, x, axis, weights, &top, &bottom))
        return NULL;
    dtype = rounded_dtype(ht__binary_dtype(x, weights));
    y = ht_astype(ht_div(top, bottom), dtype);
    if (y != NULL && sum != NULL)
        *sum = sums_like(what, bottom, y);
    return y;
}

ht_tensor *ht_average(ht_tensor *x, int axis, ht_tensor *weights)
{
    static const char what[] = "ht_average";
    HT_NAMED(what);

    return HT_IS_NULL(x, what, "x") ? NULL : average_of(what, x, axis, weights, NULL);
}

ht_status ht_average_ext(ht_tensor *x, int axis, ht_tensor *weights, ht_tensor **average,
                         ht_tensor **sum_of_weights)
{
    static const char what[] = "ht_average_ext";
    ht_tensor *found, *sum = NULL;

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL_ON(x->body->comm, average, what, "average") ||
        HT_IS_NULL_ON(x->body->comm, sum_of_weights, what, "sum_of_weights"))
        return ht_error_get(NULL);
    HT_NAMED(what);
    found = average_of(what, x, axis, weights, &sum);
    if (found == NULL || sum == NULL)
        return ht_error_get(NULL);
    *average = found;
    *sum_of_weights = sum;
    return HT_SUCCESS;
}
