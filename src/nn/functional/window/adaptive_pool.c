/* SPDX-License-Identifier: MIT
 *
 * Adaptive pooling, axis by axis: means and maxima of windows that are taken by index. */
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/reduction.h"
#include "ht/relational.h"
#include "ht/statistics.h"
#include "nn/functional/constants.h"
#include "nn/functional/first_max.h"
#include "nn/functional/window.h"
#include "nn/functional/window/windows.h"

enum { SPATIAL = 3 };

static const ht_operand_rule rules[] = {
    {"x", "NCL*", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
};

static int64_t first_of(int64_t j, int64_t in, int64_t out)
{
    return j * in / out;
}

static int64_t end_of(int64_t j, int64_t in, int64_t out)
{
    return ((j + 1) * in + out - 1) / out;
}

static int64_t longest_of(int64_t in, int64_t out)
{
    int64_t longest = 1;

    for (int64_t j = 0; j < out; j++) {
        const int64_t length = end_of(j, in, out) - first_of(j, in, out);

        longest = length > longest ? length : longest;
    }
    return longest;
}

/* x with (out, longest) in the place of `axis`: its windows, filled up to one length with their last
 * element. */
static ht_tensor *windows_of(ht_tensor *x, int axis, int64_t out)
{
    const int64_t in = x->body->shape[axis], longest = longest_of(in, out);
    int64_t *index = ht__alloc((size_t)(out * longest) * sizeof *index);
    ht_tensor *indices;

    for (int64_t j = 0; j < out; j++) {
        for (int64_t t = 0; t < longest; t++) {
            const int64_t i = first_of(j, in, out) + t, last = end_of(j, in, out) - 1;

            index[j * longest + t] = i < last ? i : last;
        }
    }
    indices = ht__constant_indices(x, 2, (int64_t[]){out, longest}, index);
    ht__free(index);
    return ht_take(x, indices, axis);
}

/* Which elements of windows_of are inside of their windows, with an axis for each of x's. */
static ht_tensor *inside_of(const ht_tensor *x, int axis, int64_t out)
{
    const int64_t in = x->body->shape[axis], longest = longest_of(in, out);
    double *inside = ht__alloc((size_t)(out * longest) * sizeof *inside);
    int64_t shape[HT_MAX_NDIM];
    ht_tensor *numbers;

    for (int64_t j = 0; j < out; j++) {
        for (int64_t t = 0; t < longest; t++)
            inside[j * longest + t] = first_of(j, in, out) + t < end_of(j, in, out);
    }
    for (int i = 0; i <= x->body->ndim; i++)
        shape[i] = i == axis ? out : i == axis + 1 ? longest : 1;
    numbers = ht__constant_numbers(x, x->body->ndim + 1, shape, inside);
    ht__free(inside);
    return ht_ne(numbers, ht_scalar(0));
}

/* Means of 16 bits are computed in float32. */
static ht_tensor *average(ht_tensor *x, int axis, int64_t out)
{
    const int64_t length = x->body->shape[axis] / out;
    ht_reduce_options options = ht_reduce_options_default();

    x = ht__wide(x);
    if (x == NULL)
        return NULL;
    if (length * out == x->body->shape[axis])
        return ht_mean(ht__axis_windows(x, axis, &(ht_axis_windows){out, length, length, 0, 1}, 0),
                       axis + 1);
    options.where = inside_of(x, axis, out);
    if (options.where == NULL)
        return NULL;
    options.axes = (int[]){axis + 1};
    options.count = 1;
    return ht_mean_ext(windows_of(x, axis, out), &options);
}

static ht_tensor *maximum(ht_tensor *x, int axis, int64_t out)
{
    return ht__first_max(windows_of(x, axis, out), axis + 1);
}

static bool check(const char *what, const ht_tensor *x, const int64_t length[])
{
    const ht_body *body = x->body;
    const int spatial = body->ndim - 2;

    if (spatial > SPATIAL) {
        HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s, expected 3 to 5 axes", what,
                ht__shape_str(body->ndim, body->shape));
        return false;
    }
    for (int i = 0; i < spatial; i++) {
        if (length[i] < 0 || length[i] > INT32_MAX) {
            HT_FAIL(body->comm, HT_ERR_ARGUMENT, "%s: length is %s, expected at least 0", what,
                    ht__shape_str(spatial, length));
            return false;
        }
        if (body->shape[2 + i] > 0)
            continue;
        HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s, expected elements along axis %d", what,
                ht__shape_str(body->ndim, body->shape), 2 + i);
        return false;
    }
    return true;
}

static ht_tensor *pool(const char *what, ht_tensor *x, const int64_t length[],
                       ht_tensor *(*of_axis)(ht_tensor *x, int axis, int64_t out))
{
    int spatial;

    if (HT_IS_NULL(length, what, "length") || !HT_PREPARE(what, rules, &x) ||
        !check(what, x, length) || (of_axis == maximum && !ht__has_channels(what, x)))
        return NULL;
    spatial = x->body->ndim - 2;
    for (int i = spatial - 1; i >= 0 && x != NULL; i--) {
        if (length[i] != 0 && length[i] != x->body->shape[2 + i])
            x = of_axis(x, 2 + i, length[i]);
    }
    return x;
}

ht_tensor *ht_adaptive_avg_pool(ht_tensor *x, const int64_t length[])
{
    const ht_tensor *given = x;

    x = pool("ht_adaptive_avg_pool", x, length, average);
    if (x == NULL || x->body->dtype == given->body->dtype)
        return x;
    return ht_astype(x, given->body->dtype);
}

ht_tensor *ht_adaptive_max_pool(ht_tensor *x, const int64_t length[])
{
    return pool("ht_adaptive_max_pool", x, length, maximum);
}
