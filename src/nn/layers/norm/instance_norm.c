/* SPDX-License-Identifier: MIT
 *
 * InstanceNorm1d, InstanceNorm2d and InstanceNorm3d: one layer, which differs in the axes that it
 * takes. */
#include <inttypes.h>
#include <math.h>

#include "ht/factories.h"
#include "ht/normalisation.h"
#include "nn/module/init.h"
#include "nn/module/module.h"

struct instance_norm {
    ht_tensor *weight, *bias;              /* slots; may be NULL */
    ht_tensor *running_mean, *running_var; /* slots; may be NULL */
    ht_tensor *batches;                    /* slot; PyTorch keeps this count, and uses it nowhere */
    int dims;
    int64_t features;
    ht_instance_norm_options options;
};

static const char *const names[] = {NULL, "ht_nn_instance_norm1d", "ht_nn_instance_norm2d",
                                    "ht_nn_instance_norm3d"};

ht_instance_norm_options ht_instance_norm_options_default(void)
{
    return (ht_instance_norm_options){
        .size = sizeof(ht_instance_norm_options), .eps = 1e-5, .momentum = 0.1, .bias = true};
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct instance_norm *norm = ht_module_data(self);
    const int ndim = ht_tensor_ndim(x);

    if (ndim != norm->dims + 2 || ht_tensor_shape(x)[1] != norm->features) {
        HT_FAIL(ht_tensor_comm(x), HT_ERR_SHAPE,
                "%s: x is %s, expected %d axes with %" PRId64 " channels in axis 1",
                names[norm->dims], ht__shape_str(ndim, ht_tensor_shape(x)), norm->dims + 2,
                norm->features);
        return NULL;
    }
    const bool batch = self->training || norm->running_mean == NULL;
    const bool follows = !batch || !ht__replaying();

    return ht_instance_norm(x, follows ? norm->running_mean : NULL,
                            follows ? norm->running_var : NULL, norm->weight, norm->bias, batch,
                            norm->options.momentum, norm->options.eps);
}

#define SETTING(field, kind) offsetof(struct instance_norm, field), HT_SETTING_##kind
static const ht_module_setting settings[] = {
    {"features", SETTING(features, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"eps", SETTING(options.eps, DOUBLE), .usual = 1e-5, .low = 0, .high = INFINITY,
     .print = HT_PRINT_ALWAYS},
    {"momentum", SETTING(options.momentum, DOUBLE), .usual = 0.1, .low = 0, .high = 1,
     .print = HT_PRINT_ALWAYS},
    {"affine", SETTING(options.affine, BOOL), .usual = false},
    {"bias", SETTING(options.bias, BOOL), .usual = true},
    {"track_running_stats", SETTING(options.track_running_stats, BOOL), .usual = false},
    {.name = NULL}};

#define TYPE(type_name)                                             \
    {                                                               \
        .name = type_name, .forward = forward, .settings = settings \
    }
static const ht_module_type types[] = {
    {.name = NULL}, TYPE("InstanceNorm1d"), TYPE("InstanceNorm2d"), TYPE("InstanceNorm3d")};

static ht_status add_buffers(ht_module *module, struct instance_norm *norm)
{
    const int64_t features = norm->features;
    ht_status status = ht_module_add_buffer(module, "running_mean", &norm->running_mean,
                                            ht__nn_filled(1, &features, 0));

    if (status == HT_SUCCESS)
        status = ht_module_add_buffer(module, "running_var", &norm->running_var,
                                      ht__nn_filled(1, &features, 1));
    if (status == HT_SUCCESS)
        status = ht_module_add_buffer(module, "num_batches_tracked", &norm->batches,
                                      ht_zeros(0, NULL, HT_INT64, HT_LOCAL));
    return status;
}

static ht_module *make(int dims, int64_t features, const ht_instance_norm_options *options)
{
    const ht_instance_norm_options o = options != NULL ? *options
                                                       : ht_instance_norm_options_default();
    const struct instance_norm data = {.dims = dims, .features = features, .options = o};
    ht_module *module;
    struct instance_norm *norm;
    ht_scope *scope;
    ht_status status;

    if (HT_CHECK_OPTIONS(NULL, names[dims], &o, ht_instance_norm_options) != HT_SUCCESS ||
        (module = ht_module_new_ext(names[dims], &types[dims], sizeof data, &data)) == NULL)
        return NULL;
    norm = ht_module_data(module);
    module = ht__nn_add_affine(module, 1, &features, o.affine ? &norm->weight : NULL,
                               o.affine && o.bias ? &norm->bias : NULL);
    if (module == NULL || !o.track_running_stats)
        return module;
    scope = ht_scope_open();
    status = add_buffers(module, norm);
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

ht_module *ht_nn_instance_norm1d(int64_t features, const ht_instance_norm_options *options)
{
    return make(1, features, options);
}

ht_module *ht_nn_instance_norm2d(int64_t features, const ht_instance_norm_options *options)
{
    return make(2, features, options);
}

ht_module *ht_nn_instance_norm3d(int64_t features, const ht_instance_norm_options *options)
{
    return make(3, features, options);
}
