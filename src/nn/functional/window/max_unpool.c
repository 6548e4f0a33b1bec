/* SPDX-License-Identifier: MIT
 *
 * The inverse of maxima over windows: zeros, and x at the places that pooling found. */
#include "core/ops/ops.h"
#include "ht/statistics.h"
#include "nn/functional/window/places.h"
#include "nn/functional/window/windows.h"

enum { SPATIAL = 3, X = 0, INDICES, OPERANDS };

static const char what[] = "ht_max_unpool";

static const ht_operand_rule rules[OPERANDS] = {
    {"x", "NCL*", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_NONE, HT_REQUIRED},
    {"indices", "NCL*", HT_DTYPE_INTEGER, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_INDEX, HT_REQUIRED},
};

static bool check_shapes(const ht_body *x, const ht_body *indices)
{
    if (x->ndim > 2 + SPATIAL) {
        HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: x is %s, expected 3 to 5 axes", what,
                ht__shape_str(x->ndim, x->shape));
        return false;
    }
    if (ht__body_same_shape(x, indices))
        return true;
    HT_FAIL(x->comm, HT_ERR_SHAPE, "%s: x is %s, indices is %s, expected the same shape", what,
            ht__shape_str(x->ndim, x->shape), ht__shape_str(indices->ndim, indices->shape));
    return false;
}

static bool check_options(const ht_body *x, const ht_pool_options *o)
{
    const int spatial = x->ndim - 2;

    if (HT_CHECK_OPTIONS(x->comm, what, o, ht_pool_options) != HT_SUCCESS)
        return false;
    for (int i = 0; i < spatial; i++) {
        if (o->kernel[i] >= 1 && o->stride[i] >= 0 && o->padding[i] >= 0)
            continue;
        HT_FAIL(x->comm, HT_ERR_ARGUMENT,
                "%s: kernel is %s, stride is %s, padding is %s, expected at least 1, 0 and 0", what,
                ht__shape_str(spatial, o->kernel), ht__shape_str(spatial, o->stride),
                ht__shape_str(spatial, o->padding));
        return false;
    }
    return true;
}

/* *usual <- (in - 1) stride - 2 padding + kernel; false where 64 bits do not hold it. */
static bool usual_length(int64_t in, int64_t kernel, int64_t stride, int64_t padding,
                         int64_t *usual)
{
    int64_t length, twice;

    *usual = 0;
    if (__builtin_mul_overflow(in - 1, stride, &length) ||
        __builtin_mul_overflow(padding, 2, &twice) ||
        __builtin_add_overflow(length, kernel, &length))
        return false;
    *usual = length - twice;
    return true;
}

/* shape <- that of the result: the lengths, which differ from the usual ones by less than a stride.
 */
static bool find_shape(const ht_body *x, const ht_pool_options *o, const int64_t length[],
                       int64_t shape[])
{
    int64_t size = shape[1] = x->shape[1];

    shape[0] = x->shape[0];
    for (int i = 0; i < x->ndim - 2; i++) {
        const int64_t stride = o->stride[i] != 0 ? o->stride[i] : o->kernel[i];
        int64_t usual;
        bool fits = usual_length(x->shape[2 + i], o->kernel[i], stride, o->padding[i], &usual);

        shape[2 + i] = length != NULL && length[i] != 0 ? length[i] : usual;
        fits = fits && usual >= 0 && shape[2 + i] > 0 && shape[2 + i] > usual - stride &&
               shape[2 + i] - usual < stride;
        if (!fits || __builtin_mul_overflow(size, shape[2 + i], &size)) {
            HT_FAIL(x->comm, HT_ERR_SHAPE,
                    "%s: x is %s: length %lld of axis %d is not less than the stride %lld away "
                    "from %lld",
                    what, ht__shape_str(x->ndim, x->shape), (long long)shape[2 + i], 2 + i,
                    (long long)stride, (long long)usual);
            return false;
        }
    }
    return true;
}

/* All ranks see the same smallest and largest. */
static bool check_places(ht_tensor *places, int64_t length)
{
    ht_number low, high;

    if (ht_tensor_size(places) == 0)
        return true;
    if (ht_tensor_item_ext(ht_min(places, HT_NONE), &low) != HT_SUCCESS ||
        ht_tensor_item_ext(ht_max(places, HT_NONE), &high) != HT_SUCCESS)
        return false;
    if (low.integer >= 0 && high.integer < length)
        return true;
    HT_FAIL(places->body->comm, HT_ERR_ARGUMENT, "%s: indices are %lld to %lld, expected 0 to %lld",
            what, (long long)low.integer, (long long)high.integer, (long long)(length - 1));
    return false;
}

ht_tensor *ht_max_unpool(ht_tensor *x, ht_tensor *indices, const ht_pool_options *options,
                         const int64_t length[])
{
    const ht_pool_options o = options != NULL ? *options : ht_pool_options_default();
    ht_tensor *in[OPERANDS] = {x, indices};
    int64_t shape[2 + SPATIAL];

    if (!HT_PREPARE(what, rules, in) || !check_shapes(in[X]->body, in[INDICES]->body) ||
        !check_options(in[X]->body, &o) || !find_shape(in[X]->body, &o, length, shape))
        return NULL;
    indices = ht__match_slabs(what, in[INDICES], in[X]->body);
    if (indices == NULL || !check_places(indices, ht__plane_length(in[X]->body->ndim, shape)))
        return NULL;
    return ht__put_places(what, in[X], indices, shape);
}
