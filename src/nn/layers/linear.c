/* SPDX-License-Identifier: MIT
 *
 * Linear: y = x W^T + b. */
#include <math.h>
#include <stddef.h>

#include "nn/module/init.h"
#include "nn/module/module.h"

struct linear {
    ht_tensor *weight, *bias; /* slots; bias may be NULL */
    int64_t in_features, out_features;
    bool has_bias;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct linear *data = ht_module_data(self);

    return ht_linear(x, data->weight, data->bias);
}

static const ht_module_setting settings[] = {
    {"in_features", offsetof(struct linear, in_features), HT_SETTING_INT64, .low = 1,
     .high = INFINITY, .print = HT_PRINT_VALUE},
    {"out_features", offsetof(struct linear, out_features), HT_SETTING_INT64, .low = 1,
     .high = INFINITY, .print = HT_PRINT_VALUE},
    {"bias", offsetof(struct linear, has_bias), HT_SETTING_BOOL, .usual = true},
    {.name = NULL}};

static const ht_module_type type = {.name = "Linear", .forward = forward, .settings = settings};

bool ht__nn_is_linear(const ht_module *module)
{
    return module->type == &type;
}

ht_module *ht_nn_linear_ext(int64_t in_features, int64_t out_features, bool bias)
{
    const struct linear made = {
        .in_features = in_features, .out_features = out_features, .has_bias = bias};
    ht_module *module = ht_module_new_ext("ht_nn_linear_ext", &type, sizeof made, &made);
    struct linear *data;
    double bound;

    if (module == NULL)
        return NULL;
    data = ht_module_data(module);
    bound = 1.0 / sqrt((double)in_features);
    return ht__nn_add_uniform(module, HT_SHAPE(out_features, in_features), out_features, bound,
                              &data->weight, bias ? &data->bias : NULL);
}

ht_module *ht_nn_linear(int64_t in_features, int64_t out_features)
{
    HT_NAMED("ht_nn_linear");

    return ht_nn_linear_ext(in_features, out_features, true);
}
