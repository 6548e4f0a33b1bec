/* SPDX-License-Identifier: MIT
 *
 * Flatten: one axis in the place of start_axis and those behind it. */
#include <stddef.h>

#include "ht/manipulations.h"
#include "ht/nn.h"

struct flatten {
    int start_axis;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    return ht_flatten(x, ((struct flatten *)ht_module_data(self))->start_axis);
}

static const ht_module_setting settings[] = {{"start_axis", offsetof(struct flatten, start_axis),
                                              HT_SETTING_INT, .usual = 1, .print = HT_PRINT_ALWAYS},
                                             {.name = NULL}};

static const ht_module_type type = {.name = "Flatten", .forward = forward, .settings = settings};

ht_module *ht_nn_flatten(int start_axis)
{
    const struct flatten data = {.start_axis = start_axis};

    return ht_module_new_ext("ht_nn_flatten", &type, sizeof data, &data);
}
