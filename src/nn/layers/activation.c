/* SPDX-License-Identifier: MIT
 *
 * ReLU, LeakyReLU and LogSoftmax. */
#include <stdio.h>

#include "core/tensor/tensor.h"
#include "ht/nn.h"

static ht_tensor *relu(ht_module *self, ht_tensor *x)
{
    (void)self;
    return ht_relu(x);
}

static const ht_module_type relu_type = {.name = "ReLU", .forward = relu};

ht_module *ht_nn_relu(void)
{
    return ht_module_new(0, &relu_type);
}

static ht_tensor *leaky_relu(ht_module *self, ht_tensor *x)
{
    return ht_leaky_relu(x, *(double *)ht_module_data(self));
}

static void describe_slope(ht_module *self, char *text, size_t size)
{
    snprintf(text, size, "negative_slope=%g", *(double *)ht_module_data(self));
}

static const ht_module_type leaky_relu_type = {
    .name = "LeakyReLU", .forward = leaky_relu, .describe = describe_slope};

ht_module *ht_nn_leaky_relu(double negative_slope)
{
    ht_module *module = ht_module_new(sizeof negative_slope, &leaky_relu_type);

    *(double *)ht_module_data(module) = negative_slope;
    return module;
}

static ht_tensor *log_softmax(ht_module *self, ht_tensor *x)
{
    return ht_log_softmax(x, *(int *)ht_module_data(self));
}

static void describe_axis(ht_module *self, char *text, size_t size)
{
    snprintf(text, size, "axis=%d", *(int *)ht_module_data(self));
}

static const ht_module_type log_softmax_type = {
    .name = "LogSoftmax", .forward = log_softmax, .describe = describe_axis};

ht_module *ht_nn_log_softmax(int axis)
{
    ht_module *module = ht_module_new(sizeof axis, &log_softmax_type);

    *(int *)ht_module_data(module) = axis;
    return module;
}
