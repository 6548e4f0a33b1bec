/* SPDX-License-Identifier: MIT
 *
 * PReLU: a rectifier whose slopes are learned. */
#include <math.h>
#include <stddef.h>

#include "ht/factories.h"
#include "ht/nn.h"
#include "ht/object.h"

struct prelu {
    ht_tensor *weight; /* slot */
    int64_t num_parameters;
    double init;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    return ht_prelu(x, ((struct prelu *)ht_module_data(self))->weight);
}

static const ht_module_setting settings[] = {
    {"num_parameters", offsetof(struct prelu, num_parameters), HT_SETTING_INT64, .usual = 1,
     .low = 1, .high = INFINITY, .print = HT_PRINT_ALWAYS},
    {"init", offsetof(struct prelu, init), HT_SETTING_DOUBLE, .usual = 0.25},
    {.name = NULL}};

static const ht_module_type type = {.name = "PReLU", .forward = forward, .settings = settings};

ht_module *ht_nn_prelu(int64_t num_parameters, double init)
{
    const struct prelu made = {.num_parameters = num_parameters, .init = init};
    ht_module *module = ht_module_new_ext("ht_nn_prelu", &type, sizeof made, &made);
    struct prelu *data;
    ht_scope *scope;
    ht_status status;

    if (module == NULL)
        return NULL;
    data = ht_module_data(module);
    scope = ht_scope_open();
    status = ht_module_add_parameter(module, "weight", &data->weight,
                                     ht_full(1, &num_parameters, init, HT_FLOAT32, HT_LOCAL));
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}
