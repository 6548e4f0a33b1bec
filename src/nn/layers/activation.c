/* SPDX-License-Identifier: MIT
 *
 * Layers without parameters that are one function of x, of x and one or two numbers, or of x and an
 * axis. */
#include <stddef.h>

#include "ht/nn.h"
#include "ht/trigonometrics.h"
#include "nn/functional/activations.h"

/* The type of each layer lies in the row that says which function it calls. */
typedef struct row {
    ht_module_type type;
    ht_tensor *(*of)(ht_tensor *x);
    ht_tensor *(*of_number)(ht_tensor *x, double number);
    ht_tensor *(*of_numbers)(ht_tensor *x, double number, double second);
    ht_tensor *(*of_axis)(ht_tensor *x, int axis);
} row;

struct setting {
    double number, second;
    int axis;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    const row *r = (const row *)(const void *)ht_module_get_type(self);
    const struct setting *setting = ht_module_data(self);

    return r->of != NULL           ? r->of(x)
           : r->of_number != NULL  ? r->of_number(x, setting->number)
           : r->of_numbers != NULL ? r->of_numbers(x, setting->number, setting->second)
                                   : r->of_axis(x, setting->axis);
}

/* clang-format off */
#define LAYER(f, label, ...) \
    static const row f##_layer = {.type = {.name = label, .forward = forward}, .of = ht_##f}; \
    ht_module *ht_nn_##f(void) { return ht_module_new(0, &f##_layer.type); }

#define LAYER_WITH(f, label, KIND, c_type, field, setting_name, default_value) \
    static const ht_module_setting f##_settings[] = { \
        {#setting_name, offsetof(struct setting, field), HT_SETTING_##KIND, \
         .usual = default_value, .print = HT_PRINT_ALWAYS}, \
        {.name = NULL}}; \
    static const row f##_layer = {.type = {.name = label, .forward = forward, .settings = f##_settings}, \
                          .of_##field = ht_##f}; \
    ht_module *ht_nn_##f(c_type setting_name) { \
        return ht_module_new_ext("ht_nn_" #f, &f##_layer.type, sizeof(struct setting), \
                                 &(struct setting){.field = setting_name}); }
#define LAYER_WITH_NUMBERS(f, label, first_name, first_default, second_name, second_default) \
    static const ht_module_setting f##_settings[] = { \
        {#first_name, offsetof(struct setting, number), HT_SETTING_DOUBLE, \
         .usual = first_default, .print = HT_PRINT_ALWAYS}, \
        {#second_name, offsetof(struct setting, second), HT_SETTING_DOUBLE, \
         .usual = second_default, .print = HT_PRINT_ALWAYS}, \
        {.name = NULL}}; \
    static const row f##_layer = {.type = {.name = label, .forward = forward, .settings = f##_settings}, \
                          .of_numbers = ht_##f}; \
    ht_module *ht_nn_##f(double first_name, double second_name) { \
        return ht_module_new_ext("ht_nn_" #f, &f##_layer.type, sizeof(struct setting), \
                                 &(struct setting){.number = first_name, .second = second_name}); }
#define LAYER_WITH_NUMBER(f, label, K, keeps, number_name, default_value) \
    LAYER_WITH(f, label, DOUBLE, double, number, number_name, default_value)
/* clang-format on */

HT_ACTIVATIONS(LAYER)
HT_ACTIVATIONS_WITH_NUMBER(LAYER_WITH_NUMBER)
LAYER(tanh, "Tanh")
LAYER(selu, "SELU")
LAYER(gelu_tanh, "GELUTanh")
LAYER(relu6, "ReLU6")
LAYER(hardsigmoid, "Hardsigmoid")
LAYER(hardswish, "Hardswish")
LAYER(logsigmoid, "LogSigmoid")
LAYER(softsign, "Softsign")
LAYER(tanhshrink, "Tanhshrink")
LAYER_WITH(elu, "ELU", DOUBLE, double, number, alpha, 1)
LAYER_WITH(celu, "CELU", DOUBLE, double, number, alpha, 1)
LAYER_WITH(hardshrink, "Hardshrink", DOUBLE, double, number, lambda, 0.5)
LAYER_WITH(softshrink, "Softshrink", DOUBLE, double, number, lambda, 0.5)
LAYER_WITH_NUMBERS(softplus, "Softplus", beta, 1, threshold, 20)
LAYER_WITH_NUMBERS(hardtanh, "Hardtanh", min, -1, max, 1)
LAYER_WITH_NUMBERS(threshold, "Threshold", threshold, 0, value, 0)
LAYER_WITH(log_softmax, "LogSoftmax", INT, int, axis, axis, -1)
LAYER_WITH(softmax, "Softmax", INT, int, axis, axis, -1)
LAYER_WITH(softmin, "Softmin", INT, int, axis, axis, -1)
LAYER_WITH(glu, "GLU", INT, int, axis, axis, -1)
