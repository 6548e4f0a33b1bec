/* SPDX-License-Identifier: MIT
 *
 * LocalResponseNorm: normalisation by the squares of neighbouring channels. */
#include <math.h>

#include "ht/normalisation.h"
#include "nn/module/module.h"

struct local_response_norm {
    int64_t size;
    double alpha, beta, k;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    const struct local_response_norm *norm = ht_module_data(self);

    return ht_local_response_norm(x, norm->size, norm->alpha, norm->beta, norm->k);
}

#define SETTING(field, kind) offsetof(struct local_response_norm, field), HT_SETTING_##kind
#define NUMBER(field, value)                                                                \
    {                                                                                       \
#field, SETTING(field, DOUBLE), .usual = value, .low = -INFINITY, .high = INFINITY, \
                                        .print = HT_PRINT_ALWAYS                            \
    }
static const ht_module_setting settings[] = {
    {"size", SETTING(size, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    NUMBER(alpha, 1e-4),
    NUMBER(beta, 0.75),
    NUMBER(k, 1),
    {.name = NULL}};

static const ht_module_type type = {
    .name = "LocalResponseNorm", .forward = forward, .settings = settings};

ht_module *ht_nn_local_response_norm_ext(int64_t size, double alpha, double beta, double k)
{
    const struct local_response_norm data = {size, alpha, beta, k};

    return ht_module_new_ext("ht_nn_local_response_norm_ext", &type, sizeof data, &data);
}

ht_module *ht_nn_local_response_norm(int64_t size)
{
    HT_NAMED("ht_nn_local_response_norm");

    return ht_nn_local_response_norm_ext(size, 1e-4, 0.75, 1);
}
