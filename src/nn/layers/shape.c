/* SPDX-License-Identifier: MIT
 *
 * MaxPool2d and Flatten: layers that only reshape or select. */
#include <inttypes.h>
#include <stdio.h>

#include "core/tensor/tensor.h"
#include "ht/manipulations.h"
#include "ht/nn.h"

static ht_tensor *max_pool2d(ht_module *self, ht_tensor *x)
{
    return ht_max_pool2d(x, *(int64_t *)ht_module_data(self));
}

static void describe_pool(ht_module *self, char *text, size_t size)
{
    snprintf(text, size, "%" PRId64, *(int64_t *)ht_module_data(self));
}

static const ht_module_type max_pool2d_type = {
    .name = "MaxPool2d", .forward = max_pool2d, .describe = describe_pool};

ht_module *ht_nn_max_pool2d(int64_t kernel_size)
{
    ht_module *module;

    if (kernel_size < 1) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_nn_max_pool2d: a kernel of %" PRId64, kernel_size);
        return NULL;
    }
    module = ht_module_new(sizeof kernel_size, &max_pool2d_type);
    *(int64_t *)ht_module_data(module) = kernel_size;
    return module;
}

static ht_tensor *flatten(ht_module *self, ht_tensor *x)
{
    return ht_flatten(x, *(int *)ht_module_data(self));
}

static void describe_flatten(ht_module *self, char *text, size_t size)
{
    snprintf(text, size, "start_axis=%d", *(int *)ht_module_data(self));
}

static const ht_module_type flatten_type = {
    .name = "Flatten", .forward = flatten, .describe = describe_flatten};

ht_module *ht_nn_flatten(int start_axis)
{
    ht_module *module = ht_module_new(sizeof start_axis, &flatten_type);

    *(int *)ht_module_data(module) = start_axis;
    return module;
}
