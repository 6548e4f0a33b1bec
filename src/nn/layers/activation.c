/* SPDX-License-Identifier: MIT
 *
 * ReLU, LeakyReLU and LogSoftmax. */
#include <stddef.h>

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

struct number {
    double number;
};

static ht_tensor *leaky_relu(ht_module *self, ht_tensor *x)
{
    return ht_leaky_relu(x, ((struct number *)ht_module_data(self))->number);
}

static const ht_module_setting leaky_relu_settings[] = {
    {"negative_slope", offsetof(struct number, number), HT_SETTING_DOUBLE, .usual = 0.01,
     .print = HT_PRINT_ALWAYS},
    {.name = NULL}};

static const ht_module_type leaky_relu_type = {
    .name = "LeakyReLU", .forward = leaky_relu, .settings = leaky_relu_settings};

ht_module *ht_nn_leaky_relu(double negative_slope)
{
    const struct number data = {negative_slope};

    return ht_module_new_ext("ht_nn_leaky_relu", &leaky_relu_type, sizeof data, &data);
}

struct axis {
    int axis;
};

static ht_tensor *log_softmax(ht_module *self, ht_tensor *x)
{
    return ht_log_softmax(x, ((struct axis *)ht_module_data(self))->axis);
}

static const ht_module_setting log_softmax_settings[] = {
    {"axis", offsetof(struct axis, axis), HT_SETTING_INT, .print = HT_PRINT_ALWAYS},
    {.name = NULL}};

static const ht_module_type log_softmax_type = {
    .name = "LogSoftmax", .forward = log_softmax, .settings = log_softmax_settings};

ht_module *ht_nn_log_softmax(int axis)
{
    const struct axis data = {axis};

    return ht_module_new_ext("ht_nn_log_softmax", &log_softmax_type, sizeof data, &data);
}
