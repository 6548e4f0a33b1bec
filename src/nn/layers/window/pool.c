/* SPDX-License-Identifier: MIT
 *
 * Pooling layers of 1 to 3 axes, Unfold and Fold: a type says which function it calls. */
#include <stdio.h>

#include "nn/layers/window/sample.h"
#include "nn/module/inputs.h"
#include "nn/module/module.h"

struct pool {
    ht_pool_options options;
    int64_t length[3];
    double p;
};

typedef struct kind {
    ht_module_type type;
    const char *what;
    ht_tensor *(*of)(ht_tensor *x, const struct pool *pool);
    int spatial;
    bool adaptive;
    int input; /* axes of x */
} kind;

static ht_tensor *average(ht_tensor *x, const struct pool *pool)
{
    return ht_avg_pool(x, &pool->options);
}

static ht_tensor *power(ht_tensor *x, const struct pool *pool)
{
    return ht_lp_pool(x, pool->p, &pool->options);
}

static ht_tensor *adaptive_average(ht_tensor *x, const struct pool *pool)
{
    return ht_adaptive_avg_pool(x, pool->length);
}

static ht_tensor *adaptive_maximum(ht_tensor *x, const struct pool *pool)
{
    return ht_adaptive_max_pool(x, pool->length);
}

static ht_tensor *unfold(ht_tensor *x, const struct pool *pool)
{
    return ht_unfold(x, &pool->options);
}

static ht_tensor *fold(ht_tensor *x, const struct pool *pool)
{
    return ht_fold(x, pool->length, &pool->options);
}

static const kind *kind_of(const ht_module *self)
{
    return (const kind *)(const void *)ht_module_get_type(self);
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    const kind *k = kind_of(self);
    ht_tensor *batch = ht__as_batch(k->what, "x", x, k->input, HT_SPLIT_NONE);

    return batch != NULL ? ht__as_given(k->of(batch, ht_module_data(self)), x, k->input) : NULL;
}

static ht_value *maxima(ht_module *self, ht_value *inputs)
{
    const kind *k = kind_of(self);
    const ht_pool_options *o = &((const struct pool *)ht_module_data(self))->options;
    ht_tensor *x, *batch, *indices = NULL, *y;

    if (!ht__inputs(k->what, inputs, 1, 1, &x))
        return NULL;
    batch = ht__as_batch(k->what, "x", x, k->input, HT_SPLIT_NONE);
    if (batch == NULL)
        return NULL;
    y = ht__as_given(ht_max_pool_ext(batch, o, o->return_indices ? &indices : NULL), x, k->input);
    return ht__with_indices(y, ht__as_given(indices, x, k->input));
}

static ht_value *unpool(ht_module *self, ht_value *inputs)
{
    const kind *k = kind_of(self);
    const struct pool *pool = ht_module_data(self);
    ht_tensor *in[2], *x, *indices;

    if (!ht__inputs(k->what, inputs, 2, 2, in))
        return NULL;
    x = ht__as_batch(k->what, "x", in[0], k->input, HT_SPLIT_NONE);
    indices = x != NULL ? ht__as_batch(k->what, "indices", in[1], k->input, HT_SPLIT_ANY) : NULL;
    if (indices == NULL)
        return NULL;
    return ht__output(
        ht__as_given(ht_max_unpool(x, indices, &pool->options, pool->length), in[0], k->input));
}

static void describe(ht_module *self, char *text, size_t size)
{
    const kind *k = kind_of(self);
    const struct pool *pool = ht_module_data(self);

    if (k->adaptive)
        snprintf(text, size, "%s", ht__shape_str(k->spatial, pool->length));
    else
        snprintf(text, size, "kernel=%s", ht__shape_str(k->spatial, pool->options.kernel));
}

static bool is_at_least(const char *what, const char *name, int64_t value, int64_t low)
{
    if (value >= low)
        return true;
    HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is %lld, expected at least %lld", what, name,
            (long long)value, (long long)low);
    return false;
}

static ht_module *make(const kind *k, const int64_t length[], double p,
                       const ht_pool_options *options)
{
    struct pool data = {.options = options != NULL ? *options : ht_pool_options_default(), .p = p};

    if (HT_CHECK_OPTIONS(NULL, k->what, &data.options, ht_pool_options) != HT_SUCCESS ||
        (k->adaptive && HT_IS_NULL(length, k->what, "length")))
        return NULL;
    for (int i = 0; i < k->spatial; i++) {
        data.length[i] = length != NULL ? length[i] : 0;
        if (!is_at_least(k->what, "kernel", data.options.kernel[i], 1) ||
            !is_at_least(k->what, "length", data.length[i], 0))
            return NULL;
    }
    return ht_module_new_ext(k->what, &k->type, sizeof data, &data);
}

/* clang-format off */
#define KIND(call, label, function, axes, is_adaptive, ndim) \
    static const kind call##_kind = {{.name = label, .forward = forward, .describe = describe}, \
                                     "ht_nn_" #call, function, axes, is_adaptive, ndim};
#define POOL(call, label, function, axes) KIND(call, label, function, axes, false, axes + 2) \
    ht_module *ht_nn_##call(const ht_pool_options *options) { return make(&call##_kind, NULL, 0, options); }
#define TYPE_OF_LISTS(call, label, function, axes) \
    static const kind call##_kind = {{.name = label, .forward_value = function, .describe = describe}, \
                                     "ht_nn_" #call, NULL, axes, false, axes + 2};
#define MAXIMUM(call, label, axes) TYPE_OF_LISTS(call, label, maxima, axes) \
    ht_module *ht_nn_##call(const ht_pool_options *options) { return make(&call##_kind, NULL, 0, options); }
#define UNPOOL(call, label, axes) TYPE_OF_LISTS(call, label, unpool, axes) \
    ht_module *ht_nn_##call(const ht_pool_options *options, const int64_t length[axes]) \
    { return make(&call##_kind, length, 0, options); }
#define POWER(call, label, axes) KIND(call, label, power, axes, false, axes + 2) \
    ht_module *ht_nn_##call(double p, const ht_pool_options *options) { return make(&call##_kind, NULL, p, options); }
#define ADAPTIVE(call, label, function, axes) KIND(call, label, function, axes, true, axes + 2) \
    ht_module *ht_nn_##call(const int64_t length[axes]) { return make(&call##_kind, length, 0, NULL); }

POOL(avg_pool1d, "AvgPool1d", average, 1)
POOL(avg_pool2d, "AvgPool2d", average, 2)
POOL(avg_pool3d, "AvgPool3d", average, 3)
MAXIMUM(max_pool1d, "MaxPool1d", 1)
MAXIMUM(max_pool2d_ext, "MaxPool2d", 2)
MAXIMUM(max_pool3d, "MaxPool3d", 3)
UNPOOL(max_unpool1d, "MaxUnpool1d", 1)
UNPOOL(max_unpool2d, "MaxUnpool2d", 2)
UNPOOL(max_unpool3d, "MaxUnpool3d", 3)
POWER(lp_pool1d, "LPPool1d", 1)
POWER(lp_pool2d, "LPPool2d", 2)
POWER(lp_pool3d, "LPPool3d", 3)
ADAPTIVE(adaptive_avg_pool1d, "AdaptiveAvgPool1d", adaptive_average, 1)
ADAPTIVE(adaptive_avg_pool2d, "AdaptiveAvgPool2d", adaptive_average, 2)
ADAPTIVE(adaptive_avg_pool3d, "AdaptiveAvgPool3d", adaptive_average, 3)
ADAPTIVE(adaptive_max_pool1d, "AdaptiveMaxPool1d", adaptive_maximum, 1)
ADAPTIVE(adaptive_max_pool2d, "AdaptiveMaxPool2d", adaptive_maximum, 2)
ADAPTIVE(adaptive_max_pool3d, "AdaptiveMaxPool3d", adaptive_maximum, 3)
POOL(unfold, "Unfold", unfold, 2)
KIND(fold, "Fold", fold, 2, true, 3)
/* clang-format on */

ht_module *ht_nn_fold(const int64_t length[2], const ht_pool_options *options)
{
    return make(&fold_kind, length, 0, options);
}
