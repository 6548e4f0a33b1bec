/* SPDX-License-Identifier: MIT
 *
 * FractionalMaxPool2d and 3d. Windows are drawn from (ht_nn_seed, the layer's path, how often it
 * drew, rank, replica), in training and in evaluation. */
#include <stdio.h>

#include "nn/layers/window/sample.h"
#include "nn/module/init.h"
#include "nn/module/inputs.h"
#include "nn/module/module.h"

enum { X, SAMPLES, INPUTS };

struct fractional {
    ht_fractional_options options;
    uint64_t count; /* draws */
};

typedef struct kind {
    ht_module_type type;
    const char *what;
    int spatial;
} kind;

static const kind *kind_of(const ht_module *self)
{
    return (const kind *)(const void *)ht_module_get_type(self);
}

static ht_value *forward(ht_module *self, ht_value *inputs)
{
    const kind *k = kind_of(self);
    const int axes = 2 + k->spatial;
    struct fractional *data = ht_module_data(self);
    ht_fractional_options o = data->options;
    ht_tensor *in[INPUTS], *x, *indices = NULL, *y;

    if (!ht__inputs(k->what, inputs, 1, INPUTS, in))
        return NULL;
    x = ht__as_batch(k->what, "x", in[X], axes, HT_SPLIT_NONE);
    if (x == NULL)
        return NULL;
    o.seed = ht__nn_draw_seed(self);
    o.draw = in[SAMPLES] == NULL ? ht__replay_count(&data->count) : 0;
    y = ht_fractional_max_pool(x, in[SAMPLES], &o, o.return_indices ? &indices : NULL);
    return ht__with_indices(ht__as_given(y, in[X], axes), ht__as_given(indices, in[X], axes));
}

static void describe(ht_module *self, char *text, size_t size)
{
    const struct fractional *data = ht_module_data(self);

    snprintf(text, size, "kernel=%s", ht__shape_str(kind_of(self)->spatial, data->options.kernel));
}

static uint64_t *counter(ht_module *self)
{
    return &((struct fractional *)ht_module_data(self))->count;
}

static ht_module *make(const kind *k, const ht_fractional_options *options)
{
    struct fractional data = {.options = options != NULL ? *options
                                                         : ht_fractional_options_default()};

    if (HT_CHECK_OPTIONS(NULL, k->what, &data.options, ht_fractional_options) != HT_SUCCESS)
        return NULL;
    for (int i = 0; i < k->spatial; i++) {
        const ht_fractional_options *o = &data.options;

        if (o->kernel[i] >= 1 && (o->length[i] >= 1 || (o->ratio[i] > 0 && o->ratio[i] < 1)))
            continue;
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "%s: kernel is %lld, length is %lld, ratio is %g, expected a kernel of at least 1, "
                "and a length of at least 1 or a ratio between 0 and 1",
                k->what, (long long)o->kernel[i], (long long)o->length[i], o->ratio[i]);
        return NULL;
    }
    return ht_module_new_ext(k->what, &k->type, sizeof data, &data);
}

/* clang-format off */
#define FRACTIONAL(call, label, axes) \
    static const kind call##_kind = {{.name = label, .forward_value = forward, .describe = describe, \
                                      .counter = counter}, "ht_nn_" #call, axes}; \
    ht_module *ht_nn_##call(const ht_fractional_options *options) { return make(&call##_kind, options); }

FRACTIONAL(fractional_max_pool2d, "FractionalMaxPool2d", 2)
FRACTIONAL(fractional_max_pool3d, "FractionalMaxPool3d", 3)
/* clang-format on */
