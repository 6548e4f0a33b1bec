/* SPDX-License-Identifier: MIT
 *
 * MaxPool2d: the maximum over square windows that do not overlap. */
#include <math.h>
#include <stddef.h>

#include "ht/nn.h"

struct max_pool2d {
    int64_t kernel_size;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    return ht_max_pool2d(x, ((struct max_pool2d *)ht_module_data(self))->kernel_size);
}

static const ht_module_setting settings[] = {
    {"kernel_size", offsetof(struct max_pool2d, kernel_size), HT_SETTING_INT64, .low = 1,
     .high = INFINITY, .print = HT_PRINT_VALUE},
    {.name = NULL}};

static const ht_module_type type = {.name = "MaxPool2d", .forward = forward, .settings = settings};

ht_module *ht_nn_max_pool2d(int64_t kernel_size)
{
    const struct max_pool2d data = {.kernel_size = kernel_size};

    return ht_module_new_ext("ht_nn_max_pool2d", &type, sizeof data, &data);
}
