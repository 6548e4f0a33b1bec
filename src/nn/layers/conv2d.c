/* SPDX-License-Identifier: MIT
 *
 * Conv2d: a 2-d convolution with its weight and bias. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "nn/layers/window/conv.h"
#include "nn/module/init.h"

struct conv2d {
    ht_tensor *weight, *bias; /* slots; bias may be NULL */
    int64_t in_channels, out_channels, kernel;
    ht_conv2d_options options;
    bool has_bias;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct conv2d *conv = ht_module_data(self);

    return ht_conv2d(x, conv->weight, conv->bias, &conv->options);
}

#define INT64(field) offsetof(struct conv2d, field), HT_SETTING_INT64
static const ht_module_setting settings[] = {
    {"in_channels", INT64(in_channels), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"out_channels", INT64(out_channels), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"kernel_size", INT64(kernel), .low = 1, .high = INFINITY, .print = HT_PRINT_ALWAYS},
    {"stride", INT64(options.stride), .count = 2, .usual = 1, .low = 1, .high = INFINITY},
    {"padding", INT64(options.padding), .count = 2, .low = 0, .high = INFINITY},
    {"dilation", INT64(options.dilation), .count = 2, .usual = 1, .low = 1, .high = INFINITY},
    {"groups", INT64(options.groups), .usual = 1, .low = 1, .high = INFINITY},
    {"same", offsetof(struct conv2d, options.same), HT_SETTING_BOOL, .usual = false},
    {"bias", offsetof(struct conv2d, has_bias), HT_SETTING_BOOL, .usual = true},
    {.name = NULL}};

static const ht_module_type type = {.name = "Conv2d", .forward = forward, .settings = settings};

bool ht__nn_is_conv2d(const ht_module *module)
{
    return module->type == &type;
}

static const char what[] = "ht_nn_conv2d_ext";

static ht_module *make(const struct conv2d *conv)
{
    ht_module *module = ht_module_new_ext(what, &type, sizeof *conv, conv);
    const int64_t groups = conv->options.groups;

    if (module == NULL || (conv->in_channels % groups == 0 && conv->out_channels % groups == 0))
        return module;
    HT_FAIL(NULL, HT_ERR_ARGUMENT,
            "%s: groups is %" PRId64 ", expected a divisor of in_channels %" PRId64
            " and out_channels %" PRId64,
            what, groups, conv->in_channels, conv->out_channels);
    ht_release(module);
    return NULL;
}

ht_module *ht_nn_conv2d_ext(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                            const ht_conv2d_options *options, bool bias)
{
    ht_conv2d_options defaults = ht_conv2d_options_default();
    ht_module *module;
    struct conv2d *conv;

    options = options != NULL ? options : &defaults;
    if (HT_CHECK_OPTIONS(NULL, what, options, ht_conv2d_options) != HT_SUCCESS)
        return NULL;
    module = make(&(struct conv2d){.in_channels = in_channels,
                                   .out_channels = out_channels,
                                   .kernel = kernel_size,
                                   .options = *options,
                                   .has_bias = bias});
    if (module == NULL)
        return NULL;

    int64_t shape[4] = {out_channels, in_channels / options->groups, kernel_size, kernel_size};
    double bound = 1.0 / sqrt((double)shape[1] * (double)shape[2] * (double)shape[3]);

    conv = ht_module_data(module);
    return ht__nn_add_uniform(module, 4, shape, out_channels, bound, &conv->weight,
                              bias ? &conv->bias : NULL);
}

ht_module *ht_nn_conv2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size)
{
    HT_NAMED("ht_nn_conv2d");

    return ht_nn_conv2d_ext(in_channels, out_channels, kernel_size, NULL, true);
}
