/* SPDX-License-Identifier: MIT
 *
 * Dropout and Dropout2d. A mask is drawn from (ht_nn_seed, the layer's path, how often it ran in
 * training, rank, replica): layers, ranks and devices differ, and nothing else is ever reseeded. */
#include <stddef.h>

#include "nn/module/init.h"
#include "nn/module/module.h"

struct dropout {
    double p;
    uint64_t count; /* forwards in training */
};

static uint64_t mask_seed(const ht_module *self)
{
    uint64_t key = ht__nn_mix(ht__nn_seed_get(), (uint64_t)ht__process.rank);

    for (const char *c = self->path; *c != '\0'; c++)
        key = ht__nn_mix(key, (unsigned char)*c);
    if (self->replica > 0)
        key = ht__nn_mix(key, 256 + (uint64_t)self->replica); /* beyond any byte of a path */
    return key;
}

static ht_tensor *dropout(ht_module *self, ht_tensor *x)
{
    struct dropout *data = ht_module_data(self);

    if (!self->training)
        return x;
    return ht_dropout(x, data->p, mask_seed(self), data->count++);
}

static ht_tensor *dropout2d(ht_module *self, ht_tensor *x)
{
    struct dropout *data = ht_module_data(self);

    if (!self->training)
        return x;
    return ht_dropout2d(x, data->p, mask_seed(self), data->count++);
}

static uint64_t *counter(ht_module *self)
{
    return &((struct dropout *)ht_module_data(self))->count;
}

static const ht_module_setting settings[] = {{"p", offsetof(struct dropout, p), HT_SETTING_DOUBLE,
                                              .low = 0, .high = 1, .print = HT_PRINT_ALWAYS},
                                             {.name = NULL}};
static const ht_module_type dropout_type = {
    .name = "Dropout", .forward = dropout, .counter = counter, .settings = settings};
static const ht_module_type dropout2d_type = {
    .name = "Dropout2d", .forward = dropout2d, .counter = counter, .settings = settings};

static ht_module *make(const char *what, const ht_module_type *type, double p)
{
    const struct dropout data = {.p = p};

    return ht_module_new_ext(what, type, sizeof data, &data);
}

ht_module *ht_nn_dropout(double p)
{
    return make("ht_nn_dropout", &dropout_type, p);
}

ht_module *ht_nn_dropout2d(double p)
{
    return make("ht_nn_dropout2d", &dropout2d_type, p);
}
