/* SPDX-License-Identifier: MIT
 *
 * Windows of images as columns, and columns added to images. */
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/key.h"
#include "ht/manipulations.h"
#include "nn/functional/window.h"
#include "nn/functional/window/windows.h"

static const ht_operand_rule image_rules[] = {
    {"x", "NCHW", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_NONE, HT_REQUIRED},
};
static const ht_operand_rule column_rules[] = {
    {"x", "NCL", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_NONE, HT_REQUIRED},
};

/* Refuses options of pooling that columns do not have; size and windows are checked. */
static bool check_options(const char *what, const ht_tensor *x, const ht_pool_options *o)
{
    const ht_pool_options none = ht_pool_options_default();
    const struct {
        const char *name;
        int64_t value, expected;
    } options[] = {
        {"ceil_mode", o->ceil_mode, none.ceil_mode},
        {"count_include_pad", o->count_include_pad, none.count_include_pad},
        {"divisor_override", o->divisor_override, none.divisor_override},
        {"return_indices", o->return_indices, none.return_indices},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].value == options[i].expected)
            continue;
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: %s is %lld, expected the default, %lld", what,
                options[i].name, (long long)options[i].value, (long long)options[i].expected);
        return false;
    }
    return true;
}

ht_tensor *ht_unfold(ht_tensor *x, const ht_pool_options *options)
{
    const ht_pool_options o = options != NULL ? *options : ht_pool_options_default();
    ht_axis_windows w[3];
    int64_t n, c;

    if (!HT_PREPARE("ht_unfold", image_rules, &x) || !ht__pool_windows("ht_unfold", &x, &o, 1, w) ||
        !check_options("ht_unfold", x, &o))
        return NULL;
    n = x->body->shape[0];
    c = x->body->shape[1];
    x = ht__axis_windows(ht__axis_windows(x, 2, &w[0], 0), 4, &w[1], 0);
    return ht_reshape(ht_permute(x, HT_AXES(0, 1, 3, 5, 2, 4)),
                      HT_SHAPE(n, c * w[0].kernel * w[1].kernel, w[0].count * w[1].count));
}

/* Windows x (..., count kernel, ...) added along an axis to zeros of `length` and the padding. */
static ht_tensor *add_windows(ht_tensor *x, int axis, const ht_axis_windows *w, int64_t length)
{
    const int64_t count = w->count * w->kernel, whole = length + 2 * w->padding;
    int64_t shape[HT_MAX_NDIM];
    ht_index key[HT_MAX_NDIM];
    ht_tensor *sum, *indices;

    if (x == NULL)
        return NULL;
    indices = ht_reshape(ht__window_indices(x, w), 1, &count);
    for (int i = 0; i < x->body->ndim; i++) {
        shape[i] = i == axis ? whole : x->body->shape[i];
        key[i] = i == axis ? ht_index_tensor(indices) : HT_ALL;
    }
    sum = ht__batch_result("ht_fold", x, x->body->dtype, x->body->ndim, shape);
    if (sum == NULL || indices == NULL || ht_fill_(sum, 0) != HT_SUCCESS ||
        ht_add_at_(sum, axis + 1, key, x) != HT_SUCCESS)
        return NULL;
    return ht_narrow(sum, axis, w->padding, w->padding + length);
}

static bool check_columns(const ht_tensor *x, const ht_axis_windows w[2])
{
    const ht_body *body = x->body;
    const int64_t elements = w[0].kernel * w[1].kernel, windows = w[0].count * w[1].count;

    if (body->shape[1] % elements == 0 && body->shape[2] == windows)
        return true;
    HT_FAIL(body->comm, HT_ERR_SHAPE,
            "ht_fold: x is %s, expected a multiple of %lld channels and %lld windows",
            ht__shape_str(body->ndim, body->shape), (long long)elements, (long long)windows);
    return false;
}

static ht_tensor *fold(ht_tensor *x, const int64_t length[2], const ht_pool_options *o)
{
    const int64_t n = x->body->shape[0];
    ht_axis_windows w[3];
    ht_tensor *image = ht_empty_ext(HT_SHAPE(0, 1, length[0], length[1]), x->body->dtype, HT_NONE,
                                    x->body->storage->device, x->body->comm);
    int64_t c;

    if (image == NULL || !ht__pool_windows("ht_fold", &image, o, 1, w) ||
        !check_options("ht_fold", x, o) || !check_columns(x, w))
        return NULL;
    c = x->body->shape[1] / (w[0].kernel * w[1].kernel);
    x = ht_reshape(x, HT_SHAPE(n, c, w[0].kernel, w[1].kernel, w[0].count, w[1].count));
    x = ht_reshape(ht_permute(x, HT_AXES(0, 1, 4, 2, 5, 3)),
                   HT_SHAPE(n, c, w[0].count * w[0].kernel, w[1].count * w[1].kernel));
    return ht__without_base(add_windows(add_windows(x, 2, &w[0], length[0]), 3, &w[1], length[1]));
}

ht_tensor *ht_fold(ht_tensor *x, const int64_t length[2], const ht_pool_options *options)
{
    const ht_pool_options o = options != NULL ? *options : ht_pool_options_default();

    if (HT_IS_NULL(length, "ht_fold", "length") || !HT_PREPARE("ht_fold", column_rules, &x))
        return NULL;
    HT_NAMED("ht_fold");
    return fold(x, length, &o);
}
