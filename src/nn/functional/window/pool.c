/* SPDX-License-Identifier: MIT
 *
 * Pooling, axis by axis: means and powers of windows that are taken by index. */
#include <math.h>

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "nn/functional/constants.h"
#include "nn/functional/window/windows.h"

static ht_pool_options options_or_default(const ht_pool_options *options)
{
    return options != NULL ? *options : ht_pool_options_default();
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* 1 / the number of elements of each window that count. */
static ht_tensor *inverse_counts(const ht_tensor *x, int axis, const ht_axis_windows *w,
                                 bool with_padding)
{
    const int64_t length = x->body->shape[axis];
    double *inverse = ht__alloc((size_t)w->count * sizeof *inverse);
    int64_t shape[HT_MAX_NDIM];
    ht_tensor *y;

    for (int64_t j = 0; j < w->count; j++) {
        const int64_t from = j * w->stride - w->padding;
        const int64_t to = smaller(from + w->kernel, length + w->padding);

        inverse[j] = 1 / (double)(with_padding ? to - from : smaller(to, length) - larger(from, 0));
    }
    for (int i = 0; i < x->body->ndim; i++)
        shape[i] = i == axis ? w->count : 1;
    y = ht__constant_numbers(x, x->body->ndim, shape, inverse);
    ht__free(inverse);
    return y;
}

/* x: of at least 32 bits. */
static ht_tensor *average(ht_tensor *x, const ht_axis_windows windows[],
                          const ht_pool_options *options)
{
    const int spatial = x != NULL ? x->body->ndim - 2 : 0;

    for (int i = 0; i < spatial && x != NULL; i++) {
        ht_tensor *inverse = NULL;

        if (options->divisor_override == 0 &&
            (inverse = inverse_counts(x, 2 + i, &windows[i], options->count_include_pad)) == NULL)
            return NULL;
        x = ht_sum(ht__axis_windows(x, 2 + i, &windows[i], 0), 3 + i);
        x = inverse != NULL ? ht_mul(x, inverse) : x;
    }
    return options->divisor_override != 0 ? ht_div_scalar(x, (double)options->divisor_override) : x;
}

static bool check_no_dilation(const char *what, const ht_tensor *x, const ht_pool_options *options)
{
    for (int i = 0; i < x->body->ndim - 2; i++) {
        if (options->dilation[i] == 1)
            continue;
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: dilation is %s, expected 1", what,
                ht__shape_str(x->body->ndim - 2, options->dilation));
        return false;
    }
    return true;
}

ht_tensor *ht_avg_pool(ht_tensor *x, const ht_pool_options *options)
{
    const ht_pool_options o = options_or_default(options);
    ht_axis_windows windows[3];

    return ht__pool_windows("ht_avg_pool", &x, &o, 0, windows) &&
                   check_no_dilation("ht_avg_pool", x, &o)
               ? ht_astype(average(ht__wide(x), windows, &o), x->body->dtype)
               : NULL;
}

/* x^(1 / p), whose gradient at 0 is 0. */
static ht_tensor *root(ht_tensor *x, double p)
{
    ht_tensor *zero = ht_eq(x, ht_scalar(0));
    ht_tensor *y = ht_pow(ht_where(zero, ht_scalar(1), x), ht_scalar(1 / p));

    return ht_where(zero, ht_scalar(pow(0, 1 / p)), y);
}

ht_tensor *ht_lp_pool(ht_tensor *x, double p, const ht_pool_options *options)
{
    ht_pool_options o = options_or_default(options);
    ht_axis_windows windows[3];
    double elements = 1;
    ht_tensor *mean;

    o.count_include_pad = true;
    o.divisor_override = 0;
    if (!ht__pool_windows("ht_lp_pool", &x, &o, 0, windows) ||
        !check_no_dilation("ht_lp_pool", x, &o))
        return NULL;
    for (int i = 0; i < x->body->ndim - 2; i++) {
        elements *= (double)o.kernel[i];
        if (o.padding[i] == 0 && p != 0 && !isnan(p))
            continue;
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "ht_lp_pool: p is %g, expected neither 0 nor NaN, and padding of 0", p);
        return NULL;
    }
    mean = average(ht_pow(ht__wide(x), ht_scalar(p)), windows, &o);
    return ht_astype(root(ht_mul_scalar(mean, elements), p), x->body->dtype);
}
