/* SPDX-License-Identifier: MIT
 *
 * Conv2d: a 2-d convolution with its weight and bias. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "nn/module/init.h"

struct conv2d {
    ht_tensor *weight, *bias; /* slots; bias may be NULL */
    ht_conv2d_options options;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct conv2d *conv = ht_module_data(self);

    return ht_conv2d(x, conv->weight, conv->bias, &conv->options);
}

/* What differs from the default is said. */
static void describe(ht_module *self, char *text, size_t size)
{
    struct conv2d *conv = ht_module_data(self);
    const ht_conv2d_options *o = &conv->options;
    const int64_t *shape = ht_tensor_shape(conv->weight);
    const struct {
        const char *name;
        int64_t value, usual;
    } settings[] = {
        {"stride", o->stride[0], 1},
        {"padding", o->padding[0], 0},
        {"dilation", o->dilation[0], 1},
        {"groups", o->groups, 1},
    };
    size_t used = (size_t)snprintf(text, size, "%" PRId64 ", %" PRId64 ", kernel=%" PRId64,
                                   shape[1] * o->groups, shape[0], shape[2]);

    for (size_t i = 0; i < sizeof settings / sizeof *settings && used < size; i++) {
        if (settings[i].value != settings[i].usual)
            used += (size_t)snprintf(text + used, size - used, ", %s=%" PRId64, settings[i].name,
                                     settings[i].value);
    }
    if (conv->bias == NULL && used < size)
        snprintf(text + used, size - used, ", bias=false");
}

static const ht_module_type type = {.name = "Conv2d", .forward = forward, .describe = describe};

static bool check(int64_t in, int64_t out, int64_t kernel, const ht_conv2d_options *options)
{
    if (HT_CHECK_OPTIONS(NULL, "ht_nn_conv2d", options, ht_conv2d_options) != HT_SUCCESS)
        return false;
    if (in < 1 || out < 1 || kernel < 1 || options->groups < 1 || in % options->groups != 0 ||
        out % options->groups != 0) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "ht_nn_conv2d: %" PRId64 " and %" PRId64 " channels, kernel %" PRId64 ", %" PRId64
                " groups: at least 1 of each, and groups that divide the channels",
                in, out, kernel, options->groups);
        return false;
    }
    return true;
}

ht_module *ht_nn_conv2d_ext(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                            const ht_conv2d_options *options, bool bias)
{
    ht_conv2d_options defaults = ht_conv2d_options_default();
    ht_module *module;
    struct conv2d *conv;
    ht_scope *scope;
    ht_status status;

    options = options != NULL ? options : &defaults;
    if (!check(in_channels, out_channels, kernel_size, options))
        return NULL;

    int64_t shape[4] = {out_channels, in_channels / options->groups, kernel_size, kernel_size};
    double bound = 1.0 / sqrt((double)shape[1] * (double)shape[2] * (double)shape[3]);

    module = ht_module_new(sizeof *conv, &type);
    conv = ht_module_data(module);
    conv->options = *options;
    scope = ht_scope_open();
    status = ht_module_add_parameter(module, "weight", &conv->weight,
                                     ht__nn_parameter(4, shape, bound));
    if (status == HT_SUCCESS && bias)
        status = ht_module_add_parameter(module, "bias", &conv->bias,
                                         ht__nn_parameter(1, shape, bound));
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

ht_module *ht_nn_conv2d(int64_t in_channels, int64_t out_channels, int64_t kernel_size)
{
    return ht_nn_conv2d_ext(in_channels, out_channels, kernel_size, NULL, true);
}
