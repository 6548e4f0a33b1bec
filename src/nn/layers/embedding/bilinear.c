/* SPDX-License-Identifier: MIT
 *
 * Bilinear: y = x1^T W x2 + b. */
#include <math.h>

#include "ht/embedding.h"
#include "nn/module/init.h"
#include "nn/module/inputs.h"
#include "nn/module/module.h"

struct bilinear {
    ht_tensor *weight, *bias; /* slots; bias may be NULL */
    int64_t in1_features, in2_features, out_features;
    bool has_bias;
};

static ht_value *forward(ht_module *self, ht_value *inputs)
{
    struct bilinear *data = ht_module_data(self);
    ht_tensor *in[2];

    return ht__inputs("ht_nn_bilinear", inputs, 2, 2, in)
               ? ht__output(ht_bilinear(in[0], in[1], data->weight, data->bias))
               : NULL;
}

#define INT64(field) offsetof(struct bilinear, field), HT_SETTING_INT64
static const ht_module_setting settings[] = {
    {"in1_features", INT64(in1_features), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"in2_features", INT64(in2_features), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"out_features", INT64(out_features), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"bias", offsetof(struct bilinear, has_bias), HT_SETTING_BOOL, .usual = true},
    {.name = NULL}};

static const ht_module_type type = {
    .name = "Bilinear", .forward_value = forward, .settings = settings};

ht_module *ht_nn_bilinear(int64_t in1_features, int64_t in2_features, int64_t out_features,
                          bool bias)
{
    const struct bilinear made = {.in1_features = in1_features,
                                  .in2_features = in2_features,
                                  .out_features = out_features,
                                  .has_bias = bias};
    ht_module *module = ht_module_new_ext("ht_nn_bilinear", &type, sizeof made, &made);
    struct bilinear *data;
    double bound;

    if (module == NULL)
        return NULL;
    data = ht_module_data(module);
    bound = 1.0 / sqrt((double)in1_features);
    return ht__nn_add_uniform(module, HT_SHAPE(out_features, in1_features, in2_features),
                              out_features, bound, &data->weight, bias ? &data->bias : NULL);
}
