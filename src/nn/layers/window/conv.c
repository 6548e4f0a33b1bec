/* SPDX-License-Identifier: MIT
 *
 * Conv1d, Conv3d, ConvTranspose1d, ConvTranspose2d and ConvTranspose3d: one layer, whose type says
 * which function it calls. */
#include <math.h>

#include "ht/windows.h"
#include "nn/layers/window/conv.h"
#include "nn/module/init.h"
#include "nn/module/module.h"

typedef ht_tensor *conv_fn(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                           const ht_conv_options *options);

typedef struct kind {
    ht_module_type type;
    const char *what;
    conv_fn *of;
    int spatial;
    bool transposed;
} kind;

struct conv {
    ht_tensor *weight, *bias; /* slots; bias may be NULL */
    int64_t in_channels, out_channels, kernel;
    ht_conv_options options;
    bool has_bias;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    const kind *k = (const kind *)(const void *)ht_module_get_type(self);
    struct conv *conv = ht_module_data(self);

    return k->of(x, conv->weight, conv->bias, &conv->options);
}

#define INT64(field) offsetof(struct conv, field), HT_SETTING_INT64
#define CONV_SETTINGS(spatial)                                                                    \
    {                                                                                             \
        {"in_channels", INT64(in_channels), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE}, \
            {"out_channels", INT64(out_channels), .low = 1, .high = INFINITY,                     \
             .print = HT_PRINT_VALUE},                                                            \
            {"kernel_size", INT64(kernel), .low = 1, .high = INFINITY, .print = HT_PRINT_ALWAYS}, \
            {"stride", INT64(options.stride), .count = spatial, .usual = 1,                       \
             .low = 1, .high = INFINITY},                                                         \
            {"padding", INT64(options.padding), .count = spatial, .low = 0, .high = INFINITY},    \
            {"dilation", INT64(options.dilation), .count = spatial, .usual = 1,                   \
             .low = 1,   .high = INFINITY},                                                       \
            {"output_padding", INT64(options.output_padding), .count = spatial, .low = 0,         \
             .high = INFINITY},                                                                   \
            {"groups", INT64(options.groups), .usual = 1, .low = 1, .high = INFINITY},            \
            {"same", offsetof(struct conv, options.same), HT_SETTING_BOOL, .usual = false},       \
            {"bias", offsetof(struct conv, has_bias), HT_SETTING_BOOL, .usual = true},            \
        {                                                                                         \
            .name = NULL                                                                          \
        }                                                                                         \
    }
static const ht_module_setting settings[3][12] = {CONV_SETTINGS(1), CONV_SETTINGS(2),
                                                  CONV_SETTINGS(3)};

/* The channels of a group on the other side of the weight, and how many of all it begins with. */
static void weight_shape(const kind *k, const struct conv *conv, int64_t shape[5])
{
    shape[0] = k->transposed ? conv->in_channels : conv->out_channels;
    shape[1] = (k->transposed ? conv->out_channels : conv->in_channels) / conv->options.groups;
    for (int i = 0; i < k->spatial; i++)
        shape[2 + i] = conv->kernel;
}

static ht_module *checked(const kind *k, const struct conv *data)
{
    ht_module *module = ht_module_new_ext(k->what, &k->type, sizeof *data, data);
    const int64_t groups = data->options.groups;

    if (module == NULL || (data->in_channels % groups == 0 && data->out_channels % groups == 0))
        return module;
    HT_FAIL(NULL, HT_ERR_ARGUMENT,
            "%s: groups is %lld, expected a divisor of in_channels %lld and out_channels %lld",
            k->what, (long long)groups, (long long)data->in_channels,
            (long long)data->out_channels);
    ht_release(module);
    return NULL;
}

bool ht__nn_is_conv(const ht_module *module, int64_t *transposed)
{
    const struct conv *conv = ht_module_data((ht_module *)module);
    const bool is = module->type->forward == forward;

    *transposed = 0;
    if (is && ((const kind *)(const void *)module->type)->transposed)
        *transposed = conv->options.groups;
    return is;
}

static ht_module *make(const kind *k, int64_t in_channels, int64_t out_channels,
                       int64_t kernel_size, const ht_conv_options *options, bool bias)
{
    const struct conv data = {.in_channels = in_channels,
                              .out_channels = out_channels,
                              .kernel = kernel_size,
                              .options = options != NULL ? *options : ht_conv_options_default(),
                              .has_bias = bias};
    ht_module *module;
    struct conv *conv;
    int64_t shape[5];
    double bound;

    if (HT_CHECK_OPTIONS(NULL, k->what, &data.options, ht_conv_options) != HT_SUCCESS ||
        (module = checked(k, &data)) == NULL)
        return NULL;
    conv = ht_module_data(module);
    weight_shape(k, conv, shape);
    bound = 1 / sqrt((double)shape[1] * pow((double)kernel_size, k->spatial));
    return ht__nn_add_uniform(module, 2 + k->spatial, shape, out_channels, bound, &conv->weight,
                              bias ? &conv->bias : NULL);
}

/* clang-format off */
#define CONV(call, label, axes, is_transposed) \
    static const kind call##_kind = { \
        {.name = label, .forward = forward, .settings = settings[axes - 1]}, \
        "ht_nn_" #call, ht_##call, axes, is_transposed}; \
    ht_module *ht_nn_##call(int64_t in_channels, int64_t out_channels, int64_t kernel_size, \
                            const ht_conv_options *options, bool bias) { \
        return make(&call##_kind, in_channels, out_channels, kernel_size, options, bias); }
/* clang-format on */

CONV(conv1d, "Conv1d", 1, false)
CONV(conv3d, "Conv3d", 3, false)
CONV(conv_transpose1d, "ConvTranspose1d", 1, true)
CONV(conv_transpose2d, "ConvTranspose2d", 2, true)
CONV(conv_transpose3d, "ConvTranspose3d", 3, true)
