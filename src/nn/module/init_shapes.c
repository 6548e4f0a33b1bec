/* SPDX-License-Identifier: MIT
 *
 * Initialisation that looks at a tensor as a matrix or at its bounds, composed of operations. */
#include "nn/module/init.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/decompositions.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/rounding.h"
#include "ht/sorting.h"

/* An initialisation and its arguments. */
typedef struct recipe {
    const char *what;
    ht_status (*fill)(const struct recipe *how, ht_tensor *x);
    int least, most; /* axes */
    double a, b, c, d;
} recipe;

static ht_status refuse_axes(const recipe *how, const ht_body *body)
{
    if (how->least == how->most)
        return HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s, expected %d axes", how->what,
                       ht__shape_str(body->ndim, body->shape), how->least);
    return HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s, expected %d to %d axes", how->what,
                   ht__shape_str(body->ndim, body->shape), how->least, how->most);
}

/* Without gradients, and in a separate scope. */
static ht_status run(recipe how, ht_tensor *x)
{
    ht_scope *scope;
    ht_status status;
    bool was;

    if (ht__nn_init_check(how.what, x) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (x->body->ndim < how.least || x->body->ndim > how.most)
        return refuse_axes(&how, x->body);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = how.fill(&how, x);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

/* x takes these values. */
static ht_status take(ht_tensor *x, ht_tensor *values)
{
    return values != NULL ? ht_copy_(x, values) : ht_error_get(NULL);
}

/* The indices along an axis of x, which broadcast to it. */
static ht_tensor *indices(const ht_tensor *x, int axis)
{
    const ht_body *body = x->body;
    int64_t shape[HT_MAX_NDIM];

    for (int i = 0; i < body->ndim; i++)
        shape[i] = i == axis ? body->shape[axis] : 1;
    return ht_reshape(ht_arange_ext(HT_NUM(0), HT_NUM(body->shape[axis]), HT_NUM(1), HT_INT64,
                                    HT_NONE, body->storage->device, body->comm),
                      body->ndim, shape);
}

static ht_status fill_eye(const recipe *how, ht_tensor *x)
{
    (void)how;
    return take(x, ht_eq(indices(x, 0), indices(x, 1)));
}

ht_status ht_nn_init_eye(ht_tensor *x)
{
    return run((recipe){"ht_nn_init_eye", fill_eye, 2, 2, 0, 0, 0, 0}, x);
}

static ht_status fill_dirac(const recipe *how, ht_tensor *x)
{
    const ht_body *body = x->body;
    const int64_t groups = (int64_t)fmin(how->a, (double)body->shape[0] + 1);
    int64_t outputs;
    ht_tensor *hits;

    if (groups < 1 || body->shape[0] % groups != 0)
        return HT_FAIL(body->comm, HT_ERR_ARGUMENT,
                       "%s: groups is %.0f, expected at least 1 and a divisor of the %lld outputs",
                       how->what, how->a, (long long)body->shape[0]);
    outputs = body->shape[0] / groups;
    if (ht_tensor_size(x) == 0)
        return HT_SUCCESS;
    hits = ht_eq(ht_remainder(indices(x, 0), ht_scalar((double)outputs)), indices(x, 1));
    for (int i = 2; i < body->ndim; i++)
        hits = ht_logical_and(hits, ht_eq(indices(x, i), ht_scalar((double)(body->shape[i] / 2))));
    return take(x, hits);
}

ht_status ht_nn_init_dirac(ht_tensor *x, int64_t groups)
{
    return run((recipe){"ht_nn_init_dirac", fill_dirac, 3, 5, (double)groups, 0, 0, 0}, x);
}

/* The signs of r's diagonal make q uniform among orthogonal matrices (Mezzadri, 2006). */
static ht_status fill_orthogonal(const recipe *how, ht_tensor *x)
{
    const ht_body *body = x->body;
    const int64_t rows = body->shape[0], columns = rows > 0 ? ht_tensor_size(x) / rows : 0;
    ht_tensor *random, *q, *r;
    ht_status status;

    if (!isfinite(how->a))
        return HT_FAIL(body->comm, HT_ERR_ARGUMENT, "%s: gain is %g, expected a finite number",
                       how->what, how->a);
    if (ht_tensor_size(x) == 0)
        return HT_SUCCESS;
    random = ht_empty_ext(2, (int64_t[]){rows, columns}, body->dtype, HT_NONE,
                          body->storage->device, body->comm);
    if (random == NULL || ht__nn_init_normal(how->what, random, 0, 1) != HT_SUCCESS)
        return ht_error_get(NULL);
    HT_NAMED(how->what);
    status = ht_qr(rows < columns ? ht_transpose(random, 0, 1) : random, &q, &r);
    if (status != HT_SUCCESS)
        return status;
    q = ht_mul(q, ht_sign(ht_diagonal(r, 0, 0, 1)));
    return take(x, ht_mul_scalar(ht_reshape(rows < columns ? ht_transpose(q, 0, 1) : q, body->ndim,
                                            body->shape),
                                 how->a));
}

ht_status ht_nn_init_orthogonal(ht_tensor *x, double gain)
{
    return run((recipe){"ht_nn_init_orthogonal", fill_orthogonal, 2, HT_MAX_NDIM, gain, 0, 0, 0},
               x);
}

/* The places in a random order of each column decide which elements are 0. */
static ht_status fill_sparse(const recipe *how, ht_tensor *x)
{
    const double zeros = ceil(how->a * (double)x->body->shape[0]);
    ht_tensor *random;

    if (!(how->a >= 0 && how->a <= 1))
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: sparsity is %g, expected 0 to 1",
                       how->what, how->a);
    if (!(how->b >= 0) || isinf(how->b))
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: std is %g, expected a finite number of at least 0", how->what, how->b);
    if (ht__nn_init_normal(how->what, x, 0, how->b) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (ht_tensor_size(x) == 0)
        return HT_SUCCESS;
    random = ht_astype(ht_zeros_like(x), HT_FLOAT64);
    if (random == NULL || ht__nn_init_uniform(how->what, random, 0, 1) != HT_SUCCESS)
        return ht_error_get(NULL);
    random = ht_argsort(ht_argsort(random, 0, false), 0, false);
    return take(x, ht_where(ht_lt(random, ht_scalar(zeros)), ht_scalar(0), x));
}

ht_status ht_nn_init_sparse(ht_tensor *x, double sparsity, double std)
{
    return run((recipe){"ht_nn_init_sparse", fill_sparse, 2, 2, sparsity, std, 0, 0}, x);
}

/* The share of the normal distribution below x. */
static double below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

/* Candidates in float64, and which of them to draw again; NULL after an error. Where the interval
 * has most of the distribution, candidates are normal; else they are uniform in it, and accepted by
 * their density. */
static ht_tensor *candidates(const recipe *how, ht_tensor *x, ht_tensor **again)
{
    const double mean = how->a, std = how->b, low = how->c, high = how->d;
    const double mode = fmax(low, fmin(mean, high)), peak = (mode - mean) / std;
    ht_tensor *values = ht_astype(ht_zeros_like(x), HT_FLOAT64), *chance, *score;

    if (values == NULL)
        return NULL;
    if (below((high - mean) / std) - below((low - mean) / std) > 0.3) {
        if (ht__nn_init_normal(how->what, values, mean, std) != HT_SUCCESS)
            return NULL;
        *again = ht_logical_or(ht_lt(values, ht_scalar(low)), ht_gt(values, ht_scalar(high)));
        return values;
    }
    chance = ht_zeros_like(values);
    if (chance == NULL || ht__nn_init_uniform(how->what, values, low, high) != HT_SUCCESS ||
        ht__nn_init_uniform(how->what, chance, 0, 1) != HT_SUCCESS)
        return NULL;
    score = ht_square(ht_div_scalar(ht_sub_scalar(values, mean), std));
    score = ht_mul_scalar(ht_sub_scalar(score, peak * peak), -0.5);
    *again = ht_gt(ht_log(chance), score);
    return values;
}

static ht_status fill_trunc_normal(const recipe *how, ht_tensor *x)
{
    ht_tensor *values = NULL, *again = NULL;
    double any = 0;
    bool more = true;

    if (!isfinite(how->a) || !(how->b > 0 && isfinite(how->b)) || !(how->c <= how->d) ||
        !isfinite(how->c) || !isfinite(how->d))
        return HT_FAIL(
            x->body->comm, HT_ERR_ARGUMENT,
            "%s: mean %g, std %g, low %g and high %g: expected finite numbers, std above "
            "0 and low <= high",
            how->what, how->a, how->b, how->c, how->d);
    while (more) {
        ht_tensor *pending = NULL, *next = candidates(how, x, &pending);

        values = values == NULL ? next : ht_where(again, next, values);
        again = again == NULL ? pending : ht_logical_and(again, pending);
        if (next == NULL || values == NULL || again == NULL)
            return ht_error_get(NULL);
        if (ht_tensor_size(x) > 0 && ht_tensor_item(ht_any(again, HT_NONE), &any) != HT_SUCCESS)
            return ht_error_get(NULL);
        more = any != 0;
    }
    return take(x, values);
}

ht_status ht_nn_init_trunc_normal(ht_tensor *x, double mean, double std, double low, double high)
{
    return run((recipe){"ht_nn_init_trunc_normal", fill_trunc_normal, 0, HT_MAX_NDIM, mean, std,
                        low, high},
               x);
}
