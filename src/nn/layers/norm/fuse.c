/* SPDX-License-Identifier: MIT
 *
 * A convolution or linear layer and a BatchNorm in evaluation as one layer. Both are affine in each
 * output channel: w' = w s and b' = (b - mean) s + bias, with s = weight / sqrt(var + eps). */
#include <inttypes.h>
#include <string.h>

#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "nn/layers/batch_norm.h"
#include "nn/layers/window/conv.h"
#include "nn/module/module.h"

static const char what[] = "ht_nn_fuse_conv_bn";

/* The beginning of the struct of each of the layers. */
struct affine {
    ht_tensor *weight, *bias; /* slots; bias may be NULL */
};

static bool is_affine(const ht_module *module, int64_t *transposed)
{
    return ht__nn_is_conv(module, transposed) || ht__nn_is_linear(module) ||
           ht__nn_is_conv2d(module);
}

/* transposed: receives the groups of a transposed convolution, 0 of another layer. */
static ht_status check(ht_module *conv, ht_module *bn, int64_t *transposed)
{
    if (HT_IS_NULL(conv, what, "conv") || HT_IS_NULL(bn, what, "bn"))
        return ht_error_get(NULL);
    if (!is_affine(conv, transposed))
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: conv is %s, expected a convolution or a linear layer", what,
                       conv->type->name);
    if (ht__batch_norm_of(bn) == NULL || ht__batch_norm_of(bn)->running_mean == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: bn is %s, expected a BatchNorm with running statistics", what,
                       bn->type->name);
    if (conv->training || bn->training)
        return HT_FAIL(NULL, HT_ERR_STATE, "%s: %s is in training, expected evaluation", what,
                       conv->training ? "conv" : "bn");
    if (conv->compute != NULL || bn->compute != NULL)
        return HT_FAIL(NULL, HT_ERR_STATE,
                       "%s: %s is parametrized, expected a layer without parametrizations", what,
                       conv->compute != NULL ? "conv" : "bn");
    return HT_SUCCESS;
}

/* The weight of a transposed convolution is (groups, in / groups, out / groups, ...) by s (groups,
 * 1, out / groups, ...); all others are (out, ...) by s (out, ...). */
static ht_tensor *scaled(ht_tensor *weight, ht_tensor *s, int64_t transposed)
{
    const int64_t *shape = ht_tensor_shape(weight);
    int64_t parts[HT_MAX_NDIM + 1], across[HT_MAX_NDIM + 1];
    const int ndim = ht_tensor_ndim(weight), count = ndim + (transposed > 0);

    for (int i = 0; i < count; i++) {
        parts[i] = shape[transposed > 0 && i > 0 ? i - 1 : i];
        across[i] = 1;
    }
    across[0] = ht_tensor_size(s);
    if (transposed > 0) {
        across[0] = parts[0] = transposed;
        across[2] = parts[2];
        parts[1] /= transposed;
    }
    weight = ht_mul(ht_reshape(weight, count, parts), ht_reshape(s, count, across));
    return ht_reshape(weight, ndim, shape);
}

static ht_status set_bias(ht_module *fused, ht_tensor *bias, bool requires_grad)
{
    struct affine *layer = ht_module_data(fused);
    const ht_module_setting *setting = fused->type->settings;
    ht_status status;

    if (layer->bias != NULL)
        return ht_copy_(layer->bias, bias);
    status = ht_module_add_parameter(fused, "bias", &layer->bias,
                                     ht_astype(bias, ht_tensor_dtype(layer->weight)));
    if (status == HT_SUCCESS)
        status = ht_tensor_set_requires_grad(layer->bias, requires_grad);
    while (strcmp(setting->name, "bias") != 0)
        setting++;
    *(bool *)((char *)ht_module_data(fused) + setting->offset) = true;
    return status;
}

static ht_status fuse(ht_module *fused, const ht_batch_norm_layer *norm, int64_t transposed)
{
    struct affine *layer = ht_module_data(fused);
    ht_tensor *s = ht_sqrt(ht_add_scalar(norm->running_var, norm->options.eps)), *bias;
    ht_status status;

    s = norm->weight != NULL ? ht_div(norm->weight, s) : ht_div(ht_scalar(1), s);
    bias = layer->bias != NULL ? ht_sub(layer->bias, norm->running_mean)
                               : ht_neg(norm->running_mean);
    bias = ht_mul(bias, s);
    if (norm->bias != NULL)
        bias = ht_add(bias, norm->bias);
    status = ht_copy_(layer->weight, scaled(layer->weight, s, transposed));
    return status == HT_SUCCESS ? set_bias(fused, bias, ht_tensor_requires_grad(layer->weight))
                                : status;
}

static ht_status check_channels(const ht_module *fused, int64_t features, int64_t transposed)
{
    const struct affine *layer = ht_module_data((ht_module *)fused);
    const int64_t *shape = ht_tensor_shape(layer->weight);

    if (features == (transposed > 0 ? shape[1] * transposed : shape[0]))
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_SHAPE,
                   "%s: bn has %" PRId64 " features, expected the output channels of conv", what,
                   features);
}

ht_module *ht_nn_fuse_conv_bn(ht_module *conv, ht_module *bn)
{
    int64_t transposed;
    ht_module *fused;
    ht_scope *scope;
    ht_status status;
    bool was;

    if (check(conv, bn, &transposed) != HT_SUCCESS ||
        check_channels(conv, ht__batch_norm_of(bn)->features, transposed) != HT_SUCCESS ||
        ht__module_drain(bn) != HT_SUCCESS || (fused = ht_module_clone(conv)) == NULL)
        return NULL;
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = fuse(fused, ht__batch_norm_of(bn), transposed);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return fused;
    ht_release(fused);
    return NULL;
}
