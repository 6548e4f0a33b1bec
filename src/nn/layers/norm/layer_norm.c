/* SPDX-License-Identifier: MIT
 *
 * LayerNorm and RMSNorm: normalisation over the last axes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ht/normalisation.h"
#include "nn/module/init.h"
#include "nn/module/module.h"

struct layer_norm {
    ht_tensor *weight, *bias; /* slots; may be NULL */
    int ndim;
    int64_t shape[HT_MAX_NDIM];
    double eps;
    bool affine, has_bias, rms; /* rms: there is no bias to mention */
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct layer_norm *norm = ht_module_data(self);

    return ht_layer_norm(x, norm->ndim, norm->shape, norm->weight, norm->bias, norm->eps);
}

static ht_tensor *forward_rms(ht_module *self, ht_tensor *x)
{
    struct layer_norm *norm = ht_module_data(self);

    return ht_rms_norm(x, norm->ndim, norm->shape, norm->weight, norm->eps);
}

static void describe(ht_module *self, char *text, size_t size)
{
    const struct layer_norm *norm = ht_module_data(self);
    char eps[40] = "";

    if (norm->eps >= 0)
        snprintf(eps, sizeof eps, ", eps=%g", norm->eps);
    snprintf(text, size, "%s%s%s%s", ht__shape_str(norm->ndim, norm->shape), eps,
             norm->affine ? "" : ", affine=false",
             norm->affine && !norm->has_bias && !norm->rms ? ", bias=false" : "");
}

static const ht_module_setting settings[] = {{"eps", offsetof(struct layer_norm, eps),
                                              HT_SETTING_DOUBLE, .usual = 1e-5, .low = 0,
                                              .high = INFINITY},
                                             {.name = NULL}};
static const ht_module_setting rms_settings[] = {{"eps", offsetof(struct layer_norm, eps),
                                                  HT_SETTING_DOUBLE, .usual = -1, .low = -INFINITY,
                                                  .high = INFINITY},
                                                 {.name = NULL}};

static const ht_module_type layer_norm_type = {
    .name = "LayerNorm", .forward = forward, .describe = describe, .settings = settings};
static const ht_module_type rms_norm_type = {
    .name = "RMSNorm", .forward = forward_rms, .describe = describe, .settings = rms_settings};

static bool check_shape(const char *what, int ndim, const int64_t shape[])
{
    if (ndim < 1 || ndim > HT_MAX_NDIM) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: ndim is %d, expected 1 to %d", what, ndim, HT_MAX_NDIM);
        return false;
    }
    if (HT_IS_NULL(shape, what, "shape"))
        return false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] >= 0)
            continue;
        HT_FAIL(NULL, HT_ERR_SHAPE, "%s: shape is %s, expected lengths of at least 0", what,
                ht__shape_str(ndim, shape));
        return false;
    }
    return true;
}

static ht_module *make(const char *what, const ht_module_type *type, int ndim,
                       const int64_t shape[], struct layer_norm data)
{
    ht_module *module;
    struct layer_norm *norm;

    if (!check_shape(what, ndim, shape))
        return NULL;
    data.ndim = ndim;
    memcpy(data.shape, shape, (size_t)ndim * sizeof *shape);
    module = ht_module_new_ext(what, type, sizeof data, &data);
    if (module == NULL)
        return NULL;
    norm = ht_module_data(module);
    return ht__nn_add_affine(module, ndim, shape, data.affine ? &norm->weight : NULL,
                             data.affine && data.has_bias ? &norm->bias : NULL);
}

ht_module *ht_nn_layer_norm_ext(int ndim, const int64_t shape[], double eps, bool affine, bool bias)
{
    return make("ht_nn_layer_norm_ext", &layer_norm_type, ndim, shape,
                (struct layer_norm){.eps = eps, .affine = affine, .has_bias = bias});
}

ht_module *ht_nn_layer_norm(int ndim, const int64_t shape[])
{
    return make("ht_nn_layer_norm", &layer_norm_type, ndim, shape,
                (struct layer_norm){.eps = 1e-5, .affine = true, .has_bias = true});
}

ht_module *ht_nn_rms_norm_ext(int ndim, const int64_t shape[], double eps, bool affine)
{
    return make("ht_nn_rms_norm_ext", &rms_norm_type, ndim, shape,
                (struct layer_norm){.eps = eps, .affine = affine, .rms = true});
}

ht_module *ht_nn_rms_norm(int ndim, const int64_t shape[])
{
    return make("ht_nn_rms_norm", &rms_norm_type, ndim, shape,
                (struct layer_norm){.eps = -1, .affine = true, .rms = true});
}
