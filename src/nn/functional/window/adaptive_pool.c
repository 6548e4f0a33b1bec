/* SPDX-License-Identifier: MIT
 *
 * Adaptive pooling, axis by axis: means by a product with a matrix, maxima of windows that are
 * filled up to one length with their last element. */
#include "ht/indexing.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
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

/* y = x A^T along an axis, where row j of A has 1 / length inside of window j. */
static ht_tensor *average(ht_tensor *x, int axis, int64_t out)
{
    const int64_t in = x->body->shape[axis], shape[2] = {in, out};
    double *matrix = ht__alloc((size_t)(in * out) * sizeof *matrix);
    ht_tensor *a;

    for (int64_t j = 0; j < out; j++) {
        const int64_t first = first_of(j, in, out), end = end_of(j, in, out);

        for (int64_t i = first; i < end; i++)
            matrix[i * out + j] = 1 / (double)(end - first);
    }
    a = ht__constant_numbers(x, 2, shape, matrix);
    ht__free(matrix);
    return ht_transpose(ht_matmul(ht_transpose(x, axis, -1), a), axis, -1);
}

static ht_tensor *maximum(ht_tensor *x, int axis, int64_t out)
{
    const int64_t in = x->body->shape[axis];
    int64_t shape[2] = {out, 1}, *index;
    ht_tensor *indices;

    for (int64_t j = 0; j < out; j++) {
        const int64_t length = end_of(j, in, out) - first_of(j, in, out);

        shape[1] = length > shape[1] ? length : shape[1];
    }
    index = ht__alloc((size_t)(out * shape[1]) * sizeof *index);
    for (int64_t j = 0; j < out; j++) {
        for (int64_t t = 0; t < shape[1]; t++) {
            const int64_t i = first_of(j, in, out) + t, last = end_of(j, in, out) - 1;

            index[j * shape[1] + t] = i < last ? i : last;
        }
    }
    indices = ht__constant_indices(x, 2, shape, index);
    ht__free(index);
    return ht__first_max(ht_take(x, indices, axis), axis + 1);
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
        HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s: axis %d has no elements", what,
                ht__shape_str(body->ndim, body->shape), 2 + i);
        return false;
    }
    return true;
}

static ht_tensor *pool(const char *what, ht_tensor *x, const int64_t length[],
                       ht_tensor *(*of_axis)(ht_tensor *x, int axis, int64_t out))
{
    int spatial;

    if (HT_IS_NULL(length, what, "the length") || !HT_PREPARE(what, rules, &x) ||
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
    return pool("ht_adaptive_avg_pool", x, length, average);
}

ht_tensor *ht_adaptive_max_pool(ht_tensor *x, const int64_t length[])
{
    return pool("ht_adaptive_max_pool", x, length, maximum);
}
