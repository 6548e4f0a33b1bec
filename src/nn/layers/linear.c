/* SPDX-License-Identifier: MIT
 *
 * Linear: y = x W^T + b. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "nn/module/init.h"
#include "nn/module/module.h"

struct linear {
    ht_tensor *weight, *bias; /* slots; bias may be NULL */
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct linear *data = ht_module_data(self);

    return ht_linear(x, data->weight, data->bias);
}

static void describe(ht_module *self, char *text, size_t size)
{
    struct linear *data = ht_module_data(self);
    const int64_t *shape = ht_tensor_shape(data->weight);

    snprintf(text, size, "%" PRId64 ", %" PRId64 "%s", shape[1], shape[0],
             data->bias == NULL ? ", bias=false" : "");
}

static const ht_module_type type = {.name = "Linear", .forward = forward, .describe = describe};

bool ht__nn_is_linear(const ht_module *module)
{
    return module->type == &type;
}

ht_module *ht_nn_linear_ext(int64_t in_features, int64_t out_features, bool bias)
{
    ht_module *module;
    struct linear *data;
    ht_scope *scope;
    ht_status status;
    double bound;

    if (in_features < 1 || out_features < 1) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "ht_nn_linear: in %" PRId64 ", out %" PRId64 ": at least 1 is needed", in_features,
                out_features);
        return NULL;
    }
    module = ht_module_new(sizeof *data, &type);
    data = ht_module_data(module);
    bound = 1.0 / sqrt((double)in_features);
    scope = ht_scope_open();
    status = ht_module_add_parameter(module, "weight", &data->weight,
                                     ht__nn_parameter(HT_SHAPE(out_features, in_features), bound));
    if (status == HT_SUCCESS && bias)
        status = ht_module_add_parameter(module, "bias", &data->bias,
                                         ht__nn_parameter(1, &out_features, bound));
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

ht_module *ht_nn_linear(int64_t in_features, int64_t out_features)
{
    return ht_nn_linear_ext(in_features, out_features, true);
}
