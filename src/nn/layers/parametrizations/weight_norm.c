/* SPDX-License-Identifier: MIT
 *
 * Weight normalisation: w = g v / |v|, with the norms of v over all axes but one. */
#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/linalg.h"
#include "ht/parametrize.h"
#include "nn/module/inputs.h"
#include "nn/module/module.h"

struct weight_norm {
    int dim; /* HT_NONE: one norm */
};

/* Reduced axes stay; the result broadcasts to v. */
static ht_tensor *norm_except(ht_tensor *v, int dim)
{
    ht_reduce_options options = ht_reduce_options_default();
    int axes[HT_MAX_NDIM];

    if (dim == HT_NONE)
        return ht_norm(v);
    for (int i = 0; i < ht_tensor_ndim(v); i++) {
        if (i != dim)
            axes[options.count++] = i;
    }
    options.axes = axes;
    options.keepdims = true;
    return ht_sqrt(ht_sum_ext(ht_square(v), &options));
}

static ht_value *forward(ht_module *self, ht_value *inputs)
{
    const struct weight_norm *data = ht_module_data(self);
    ht_tensor *in[2];

    if (!ht__inputs("ht_nn_weight_norm", inputs, 2, 2, in))
        return NULL;
    return ht__output(ht_mul(in[1], ht_div(in[0], norm_except(in[1], data->dim))));
}

static ht_value *right_inverse(ht_module *self, ht_tensor *value)
{
    const struct weight_norm *data = ht_module_data(self);

    return ht_value_tensors(2, (ht_tensor *[]){norm_except(value, data->dim), value});
}

#define DIM offsetof(struct weight_norm, dim), HT_SETTING_INT
static const ht_module_setting settings[] = {{"dim", DIM, .print = HT_PRINT_ALWAYS},
                                             {.name = NULL}};

static const ht_module_type type = {
    .name = "_WeightNorm", .forward_value = forward, .settings = settings};

ht_status ht_nn_weight_norm(ht_module *module, const char *name, int dim)
{
    static const char what[] = "ht_nn_weight_norm";
    struct weight_norm data = {.dim = dim};
    ht_tensor *parameter = ht__module_parameter(what, module, name);

    if (parameter == NULL ||
        (dim != HT_NONE && !ht__check_axis_of(what, "dim", name, parameter, &data.dim)))
        return ht_error_get(NULL);
    return ht__register_parametrization(
        what, module, name, ht_module_new_ext(what, &type, sizeof data, &data), right_inverse);
}
