/* SPDX-License-Identifier: MIT
 *
 * Layers that draw at random in training: the dropout family and RReLU. A draw comes from
 * (ht_nn_seed, the layer's path, how often it ran in training, rank, replica): layers, ranks and
 * devices differ, and nothing else is ever reseeded. */
#include <stddef.h>

#include "nn/module/init.h"
#include "nn/module/module.h"

/* The type of each layer lies in the row that says which function it calls. */
typedef ht_tensor *dropout_fn(ht_tensor *x, double p, uint64_t seed, uint64_t draw);
typedef struct row {
    ht_module_type type;
    dropout_fn *of;
} row;

struct drawing {
    double p, lower, upper; /* a probability, or the range of slopes */
    uint64_t count;         /* forwards in training */
};

static ht_tensor *drop(ht_module *self, ht_tensor *x)
{
    const row *r = (const row *)(const void *)ht_module_get_type(self);
    struct drawing *data = ht_module_data(self);

    return self->training
               ? r->of(x, data->p, ht__nn_draw_seed(self), ht__replay_count(&data->count))
               : x;
}

static ht_tensor *rectify(ht_module *self, ht_tensor *x)
{
    struct drawing *data = ht_module_data(self);

    return ht_rrelu(x, data->lower, data->upper, self->training, ht__nn_draw_seed(self),
                    self->training ? ht__replay_count(&data->count) : 0);
}

static uint64_t *counter(ht_module *self)
{
    return &((struct drawing *)ht_module_data(self))->count;
}

static const ht_module_setting probability[] = {{"p", offsetof(struct drawing, p),
                                                 HT_SETTING_DOUBLE, .low = 0, .high = 1,
                                                 .print = HT_PRINT_ALWAYS},
                                                {.name = NULL}};

/* clang-format off */
#define DROPOUT(f, label) \
    static const row f##_layer = {.type = {.name = label, .forward = drop, .counter = counter, \
                                           .settings = probability}, .of = ht_##f}; \
    ht_module *ht_nn_##f(double p) { \
        return ht_module_new_ext("ht_nn_" #f, &f##_layer.type, sizeof(struct drawing), \
                                 &(struct drawing){.p = p}); }
/* clang-format on */

DROPOUT(dropout, "Dropout")
DROPOUT(dropout1d, "Dropout1d")
DROPOUT(dropout2d, "Dropout2d")
DROPOUT(dropout3d, "Dropout3d")
DROPOUT(alpha_dropout, "AlphaDropout")
DROPOUT(feature_alpha_dropout, "FeatureAlphaDropout")

static const ht_module_setting slopes[] = {
    {"lower", offsetof(struct drawing, lower), HT_SETTING_DOUBLE, .usual = 1. / 8,
     .print = HT_PRINT_ALWAYS},
    {"upper", offsetof(struct drawing, upper), HT_SETTING_DOUBLE, .usual = 1. / 3,
     .print = HT_PRINT_ALWAYS},
    {.name = NULL}};
static const ht_module_type rrelu_type = {
    .name = "RReLU", .forward = rectify, .counter = counter, .settings = slopes};

ht_module *ht_nn_rrelu(double lower, double upper)
{
    return ht_module_new_ext("ht_nn_rrelu", &rrelu_type, sizeof(struct drawing),
                             &(struct drawing){.lower = lower, .upper = upper});
}
