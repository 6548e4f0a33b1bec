/* SPDX-License-Identifier: MIT
 *
 * CosineSimilarity and PairwiseDistance: layers of two inputs, without parameters. */
#include <math.h>

#include "ht/embedding.h"
#include "nn/functional/embedding/checks.h"
#include "nn/module/inputs.h"
#include "nn/module/module.h"

struct pair {
    int axis;
    double eps, p;
    bool keepdims;
};

static ht_value *similarity(ht_module *self, ht_value *inputs)
{
    const struct pair *pair = ht_module_data(self);
    ht_tensor *in[2];

    return ht__inputs("ht_nn_cosine_similarity", inputs, 2, 2, in)
               ? ht__output(ht_cosine_similarity(in[0], in[1], pair->axis, pair->eps))
               : NULL;
}

static ht_value *distance(ht_module *self, ht_value *inputs)
{
    const struct pair *pair = ht_module_data(self);
    ht_tensor *in[2];

    return ht__inputs("ht_nn_pairwise_distance", inputs, 2, 2, in)
               ? ht__output(ht_pairwise_distance(in[0], in[1], pair->p, pair->eps, pair->keepdims))
               : NULL;
}

#define SETTING(field, kind) offsetof(struct pair, field), HT_SETTING_##kind
static const ht_module_setting similarity_settings[] = {
    {"axis", SETTING(axis, INT), .usual = 1, .print = HT_PRINT_ALWAYS},
    {"eps", SETTING(eps, DOUBLE), .usual = 1e-8, .low = 0, .high = INFINITY},
    {.name = NULL}};
static const ht_module_setting distance_settings[] = {
    {"p", SETTING(p, DOUBLE), .usual = 2, .print = HT_PRINT_ALWAYS},
    {"eps", SETTING(eps, DOUBLE), .usual = 1e-6},
    {"keepdims", SETTING(keepdims, BOOL), .usual = false},
    {.name = NULL}};

static const ht_module_type similarity_type = {
    .name = "CosineSimilarity", .forward_value = similarity, .settings = similarity_settings};
static const ht_module_type distance_type = {
    .name = "PairwiseDistance", .forward_value = distance, .settings = distance_settings};

ht_module *ht_nn_cosine_similarity(int axis, double eps)
{
    const struct pair data = {.axis = axis, .eps = eps};

    return ht_module_new_ext("ht_nn_cosine_similarity", &similarity_type, sizeof data, &data);
}

ht_module *ht_nn_pairwise_distance(double p, double eps, bool keepdims)
{
    const struct pair data = {.p = p, .eps = eps, .keepdims = keepdims};

    return ht__distance_check_order("ht_nn_pairwise_distance", NULL, p)
               ? ht_module_new_ext("ht_nn_pairwise_distance", &distance_type, sizeof data, &data)
               : NULL;
}
