/* SPDX-License-Identifier: MIT
 *
 * GroupNorm: normalisation of groups of channels of a sample. */
#include <inttypes.h>
#include <math.h>

#include "ht/normalisation.h"
#include "nn/module/init.h"
#include "nn/module/module.h"

struct group_norm {
    ht_tensor *weight, *bias; /* slots; may be NULL */
    int64_t groups, channels;
    double eps;
    bool affine, has_bias;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct group_norm *norm = ht_module_data(self);

    return ht_group_norm(x, norm->groups, norm->weight, norm->bias, norm->eps);
}

#define SETTING(field, kind) offsetof(struct group_norm, field), HT_SETTING_##kind
static const ht_module_setting settings[] = {
    {"groups", SETTING(groups, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"channels", SETTING(channels, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"eps", SETTING(eps, DOUBLE), .usual = 1e-5, .low = 0, .high = INFINITY,
     .print = HT_PRINT_ALWAYS},
    {"affine", SETTING(affine, BOOL), .usual = true},
    {"bias", SETTING(has_bias, BOOL), .usual = true},
    {.name = NULL}};

static const ht_module_type type = {.name = "GroupNorm", .forward = forward, .settings = settings};

ht_module *ht_nn_group_norm_ext(int64_t groups, int64_t channels, double eps, bool affine,
                                bool bias)
{
    static const char what[] = "ht_nn_group_norm_ext";
    const struct group_norm data = {
        .groups = groups, .channels = channels, .eps = eps, .affine = affine, .has_bias = bias};
    ht_module *module = ht_module_new_ext(what, &type, sizeof data, &data);
    struct group_norm *norm = module != NULL ? ht_module_data(module) : NULL;

    if (module == NULL)
        return NULL;
    if (channels % groups == 0)
        return ht__nn_add_affine(module, 1, &channels, affine ? &norm->weight : NULL,
                                 affine && bias ? &norm->bias : NULL);
    HT_FAIL(NULL, HT_ERR_ARGUMENT,
            "%s: groups is %" PRId64 ", expected a divisor of channels %" PRId64, what, groups,
            channels);
    ht_release(module);
    return NULL;
}

ht_module *ht_nn_group_norm(int64_t groups, int64_t channels)
{
    HT_NAMED("ht_nn_group_norm");

    return ht_nn_group_norm_ext(groups, channels, 1e-5, true, true);
}
