/* SPDX-License-Identifier: MIT
 *
 * Embedding: rows of its weight by index. */
#include <math.h>

#include "ht/manipulations.h"
#include "nn/functional/embedding/checks.h"
#include "nn/layers/embedding/embedding.h"
#include "nn/module/init.h"

struct embedding {
    ht_tensor *weight; /* slot */
    int64_t rows, columns;
    ht_embedding_options options;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct embedding *layer = ht_module_data(self);

    return ht_embedding_ext(x, layer->weight, &layer->options);
}

#define SETTING(field, kind) offsetof(struct embedding, field), HT_SETTING_##kind
static const ht_module_setting settings[] = {
    {"rows", SETTING(rows, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"columns", SETTING(columns, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"padding_idx", SETTING(options.padding_idx, INT64), .usual = (double)HT_NO_PADDING},
    {"max_norm", SETTING(options.max_norm, DOUBLE), .usual = INFINITY},
    {"norm_type", SETTING(options.norm_type, DOUBLE), .usual = 2},
    {"scale_grad_by_freq", SETTING(options.scale_grad_by_freq, BOOL), .usual = false},
    {.name = NULL}};

static const ht_module_type type = {.name = "Embedding", .forward = forward, .settings = settings};

static bool check_padding(const char *what, int64_t rows, int64_t padding_idx)
{
    if (padding_idx == HT_NO_PADDING || (padding_idx >= -rows && padding_idx < rows))
        return true;
    HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: padding_idx is %lld, expected %lld to %lld", what,
            (long long)padding_idx, (long long)-rows, (long long)rows - 1);
    return false;
}

static ht_tensor *new_weight(int64_t rows, int64_t columns, int64_t padding_idx)
{
    const int64_t row = padding_idx < 0 ? padding_idx + rows : padding_idx;
    ht_tensor *weight = ht__nn_normal(HT_SHAPE(rows, columns));

    if (weight == NULL || padding_idx == HT_NO_PADDING ||
        ht_fill_(ht_narrow(weight, 0, row, row + 1), 0) == HT_SUCCESS)
        return weight;
    return NULL;
}

ht_module *ht__embedding_add_weight(const char *what, ht_module *module, ht_tensor **slot,
                                    int64_t rows, int64_t columns, int64_t padding_idx)
{
    ht_scope *scope = ht_scope_open();
    ht_status status = HT_ERR_ARGUMENT;

    if (check_padding(what, rows, padding_idx))
        status = ht_module_add_parameter(module, "weight", slot,
                                         new_weight(rows, columns, padding_idx));
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

static ht_module *new_embedding(const char *what, int64_t rows, int64_t columns,
                                const ht_embedding_options *options)
{
    const struct embedding data = {.rows = rows,
                                   .columns = columns,
                                   .options = options != NULL ? *options
                                                              : ht_embedding_options_default()};
    ht_module *module;
    struct embedding *layer;

    if (HT_CHECK_OPTIONS(NULL, what, &data.options, ht_embedding_options) != HT_SUCCESS ||
        !ht__lookup_check_norm(what, NULL, data.options.max_norm, data.options.norm_type) ||
        (module = ht_module_new_ext(what, &type, sizeof data, &data)) == NULL)
        return NULL;
    layer = ht_module_data(module);
    return ht__embedding_add_weight(what, module, &layer->weight, rows, columns,
                                    data.options.padding_idx);
}

ht_module *ht_nn_embedding_ext(int64_t rows, int64_t columns, const ht_embedding_options *options)
{
    return new_embedding("ht_nn_embedding_ext", rows, columns, options);
}

ht_module *ht_nn_embedding(int64_t rows, int64_t columns)
{
    return new_embedding("ht_nn_embedding", rows, columns, NULL);
}
