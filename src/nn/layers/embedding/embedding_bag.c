/* SPDX-License-Identifier: MIT
 *
 * EmbeddingBag: means, sums or maxima of rows of its weight. */
#include <math.h>
#include <stdio.h>

#include "nn/functional/embedding/checks.h"
#include "nn/layers/embedding/embedding.h"
#include "nn/module/inputs.h"

enum { INDICES, OFFSETS, SAMPLE_WEIGHTS, INPUTS };

struct embedding_bag {
    ht_tensor *weight; /* slot */
    int64_t rows, columns;
    ht_embedding_bag_options options;
};

static ht_value *forward(ht_module *self, ht_value *inputs)
{
    struct embedding_bag *layer = ht_module_data(self);
    ht_embedding_bag_options options = layer->options;
    ht_tensor *in[INPUTS];

    if (!ht__inputs("ht_nn_embedding_bag", inputs, 1, INPUTS, in))
        return NULL;
    options.per_sample_weights = in[SAMPLE_WEIGHTS];
    return ht__output(ht_embedding_bag(in[INDICES], layer->weight, in[OFFSETS], &options));
}

static void describe(ht_module *self, char *text, size_t size)
{
    static const char *const modes[] = {"mean", "sum", "max"};
    const struct embedding_bag *layer = ht_module_data(self);

    snprintf(text, size, "%lld, %lld, mode=%s", (long long)layer->rows, (long long)layer->columns,
             modes[layer->options.mode]);
}

#define SETTING(field, kind) offsetof(struct embedding_bag, field), HT_SETTING_##kind
static const ht_module_setting settings[] = {
    {"rows", SETTING(rows, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"columns", SETTING(columns, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {.name = NULL}};

static const ht_module_type type = {
    .name = "EmbeddingBag", .forward_value = forward, .describe = describe, .settings = settings};

ht_module *ht_nn_embedding_bag(int64_t rows, int64_t columns,
                               const ht_embedding_bag_options *options)
{
    struct embedding_bag data = {.rows = rows,
                                 .columns = columns,
                                 .options = options != NULL ? *options
                                                            : ht_embedding_bag_options_default()};
    ht_module *module;
    struct embedding_bag *layer;

    if (HT_CHECK_OPTIONS(NULL, "ht_nn_embedding_bag", &data.options, ht_embedding_bag_options) !=
        HT_SUCCESS)
        return NULL;
    if ((unsigned)data.options.mode > HT_BAG_MAX || data.options.per_sample_weights != NULL) {
        HT_FAIL(
            NULL, HT_ERR_ARGUMENT,
            "ht_nn_embedding_bag: mode is invalid or per_sample_weights is set, expected a mode "
            "and NULL");
        return NULL;
    }
    if (!ht__lookup_check_norm("ht_nn_embedding_bag", NULL, data.options.max_norm,
                               data.options.norm_type) ||
        (module = ht_module_new_ext("ht_nn_embedding_bag", &type, sizeof data, &data)) == NULL)
        return NULL;
    layer = ht_module_data(module);
    return ht__embedding_add_weight("ht_nn_embedding_bag", module, &layer->weight, rows, columns,
                                    data.options.padding_idx);
}
